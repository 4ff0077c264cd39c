package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// origin is where a run reads a configuration file.
type origin int

const (
	nowhere  origin = iota // there is none, or Sources.In reads it for each repository
	fromDisk               // for a proposal, from the commit that is checked out
	fromBase               // of the pull request
)

// files says where a run reads its configuration files. The repository's own file overrides
// the operator's.
type files struct{ operator, own origin }

// named is the place of the configuration file that --config names.
type named int

const (
	unnamed named = iota // none is named: the repository's own is one of settings.FileNames
	inside               // in a repository that the run reads, or in a pull request's head
	outside
)

// facts decide which configuration files make the settings of a run.
type facts struct {
	others   bool // the run is about repositories that are not checked out
	named    named
	head     bool // the checkout is the head of a pull request, and the run judges or writes
	proposes bool // the run makes, answers or shows proposals
}

// filesOf is the table of configuration files. The head of a pull request decides nothing:
// its base's file counts.
func filesOf(f facts) files {
	own := fromDisk
	if f.head {
		own = fromBase
	}
	switch {
	// Other repositories have their own files.
	case f.others && f.named == unnamed:
		return files{}
	// For them, a named file is the operator's. In a head it is the base's.
	case f.others && f.named == inside && f.head:
		return files{operator: fromBase}
	// Nothing in the repository decides how it is judged by a file outside of it.
	case f.others, f.named == outside && !f.proposes:
		return files{operator: fromDisk}
	// For proposals, the repository's own file overrides that one.
	case f.named == outside:
		return files{operator: fromDisk, own: own}
	}
	// A file inside of the repository is the repository's own.
	return files{own: own}
}

// These verbs may be about repositories that are not checked out, and go by both files.
var proposing = []verbs.Verb{verbs.PR, verbs.Comment, verbs.ConfigShow}

// These verbs judge and write nothing in a repository, so that the head's file counts.
var showing = []verbs.Verb{verbs.ConfigShow, verbs.ConfigValidate, verbs.Diff, verbs.MergeDriver}

// othersNamed are the settings that name repositories that are not checked out.
var othersNamed = []string{"repo", "org"}

// givenTo returns the values for a verb. A verb about the checkout gets no other
// repositories, which inputs may name for another step.
func givenTo(verb verbs.Verb, given []settings.Values) []settings.Values {
	if slices.Contains(proposing, verb) {
		return given
	}
	var kept []settings.Values
	for _, values := range given {
		values = maps.Clone(values)
		for _, name := range othersNamed {
			delete(values, name)
		}
		kept = append(kept, values)
	}
	return kept
}

// settingsOfRun returns the settings of a run, and the sources that they are made of. A
// command answers for its verb. given is what flags, inputs and words say, the strongest
// first.
func settingsOfRun(ctx context.Context, env Env, verb verbs.Verb, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	g := groundsOf(env, verb, given)
	read := filesOf(g.facts)
	operator, err := g.operator(ctx, read.operator)
	if err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	from := g.sources(operator)
	own, err := g.own(ctx, read.own, from)
	if err != nil {
		return from, settings.Settings{}, err
	}
	s, err := from.With(own)
	return from, s, err
}

// grounds are what is known of a run before its configuration files are read.
type grounds struct {
	facts
	env    Env
	verb   verbs.Verb
	given  []settings.Values
	config string   // the configuration file as it is named; empty: none is
	read   []string // the repositories that are read from disk
	// root is the repository that has the configuration file, and name its path there. The
	// name is empty if none is named, or if only a link leads there.
	root, name string
	// dry says that the run only tries what pr would do. People try settings that no commit
	// has yet.
	dry bool
}

// groundsOf gathers what decides about the files of a run.
func groundsOf(env Env, verb verbs.Verb, given []settings.Values) grounds {
	given = givenTo(verb, given)
	values := settings.Merge(append(slices.Clip(given), settings.Environment(env.Getenv))...)
	head, _ := env.runtime().Head()
	g := grounds{
		env: env, verb: verb, given: given, config: values.Text("config"), root: worktree.RootOf(env.WorkDir),
		dry: values.Text("dry-run") == "true" && env.Getenv("GITHUB_ACTIONS") != "true",
		facts: facts{
			others:   slices.ContainsFunc(othersNamed, func(name string) bool { return strings.Join(values.Texts(name), "") != "" }),
			head:     head && !slices.Contains(showing, verb),
			proposes: slices.Contains(proposing, verb),
		},
	}
	if dirs := values.Texts("directories"); len(dirs) > 0 || !g.others {
		g.read = rootsOf(env, dirs)
	}
	if g.config == "" {
		return g
	}
	within := slices.Clip(g.read)
	if g.head {
		within = append(within, g.root)
	}
	g.named = inside
	if file.Outside(env.path(g.config), within) {
		g.named = outside
		return g
	}
	g.root, g.name = relativeToOne(env.path(g.config), within)
	return g
}

// rootsOf are the top directories of the repositories that have the directories; without
// any, that of the working directory. Outside of a repository it is the directory itself.
func rootsOf(env Env, dirs []string) []string {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var roots []string
	for _, dir := range dirs {
		roots = append(roots, worktree.RootOf(file.Absolute(env.WorkDir, strings.TrimSuffix(dir, "/..."))))
	}
	return roots
}

// relativeToOne is the first of the repositories that a path names a file of, and how that is
// called there. It has no name if a link alone leads to one.
func relativeToOne(path string, repositories []string) (root, name string) {
	for _, root := range repositories {
		if rel, err := filepath.Rel(root, path); err == nil && fs.ValidPath(filepath.ToSlash(rel)) {
			return root, filepath.ToSlash(rel)
		}
	}
	return repositories[0], ""
}

// slashed is a path relative to the working directory, with slashes.
func slashed(env Env, name string) string {
	if rel, err := filepath.Rel(env.WorkDir, name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}

// sources are what the settings are made of, with the operator's file if there is one.
func (g grounds) sources(operator settings.File) settings.Sources {
	named := ""
	if g.named == inside && !g.others {
		named = slashed(g.env, g.env.path(g.config))
	}
	return settings.Sources{Given: g.given, Operator: operator, Named: named, Getenv: g.env.Getenv, Sound: verify.Sound}
}

// operator reads the operator's configuration file.
func (g grounds) operator(ctx context.Context, read origin) (settings.File, error) {
	switch read {
	case nowhere:
		return settings.File{}, nil
	case fromDisk:
		return readOperators(g.env, g.config)
	}
	base, err := g.base(ctx, g.sources(settings.File{}))
	if err != nil {
		return settings.File{}, err
	}
	operator, err := settings.ReadOperatorFile(g.config, func() ([]byte, error) { return fs.ReadFile(base, g.name) })
	if errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, fmt.Errorf("the base of the pull request has no configuration file %s", g.config)
	}
	return operator, ofBase(err)
}

// own reads the repository's own configuration file. That of a comment's pull request is
// read later, by Sources.In. A step without a verb is refused later, and needs none.
func (g grounds) own(ctx context.Context, read origin, from settings.Sources) (settings.File, error) {
	switch {
	case read == nowhere || g.verb == verbs.Comment || g.verb == "":
		return settings.File{}, nil
	case read == fromBase:
		base, err := g.base(ctx, from)
		if err != nil {
			return settings.File{}, err
		}
		own, err := settings.ReadFile(base, g.name)
		if g.name != "" && errors.Is(err, fs.ErrNotExist) {
			return settings.File{}, nil // the pull request adds it
		}
		return own, ofBase(err)
	case g.verb == verbs.PR && !g.dry:
		if err := g.linked(); err != nil {
			return settings.File{}, err
		}
		head, err := revision(g.root, "HEAD")
		if err != nil { // without git there is none but that on disk
			return ownFileAt(g.root, g.name, []string{g.root})
		}
		return g.ownOf(head)
	case g.named == inside:
		return ownFileAt(g.env.WorkDir, g.config, g.read)
	}
	own, err := ownFileAt(g.root, "", []string{g.root})
	if err != nil || own.Name != "" || !worktree.Sparse(g.root) {
		return own, err
	}
	// Without the file that HEAD has and a sparse checkout lacks, the run would follow other
	// rules than the repository's.
	head, err := revision(g.root, "HEAD")
	if err != nil {
		return settings.File{}, err
	}
	return g.ownOf(head)
}

// ofBase adds to an error that the file is that of the base.
func ofBase(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("on the base of the pull request: %w", err)
}

// base is the tree of the base with the configuration file. from are the sources without
// that file, by which GitHub is asked for it.
func (g grounds) base(ctx context.Context, from settings.Sources) (fs.FS, error) {
	if err := g.linked(); err != nil {
		return nil, err
	}
	s, err := from.With(settings.File{})
	if err != nil {
		return nil, err
	}
	return baseFiles(ctx, g.env, s, g.root, strings.TrimSpace("configuration file "+g.name), g.fileNames())
}

// linked is the error for a configuration file whose path in the repository is unknown.
func (g grounds) linked() error {
	if g.named != inside || g.name != "" {
		return nil
	}
	return fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", g.config)
}

// fileNames are the possible names of the configuration file in its repository.
func (g grounds) fileNames() []string {
	if g.name != "" {
		return []string{g.name}
	}
	return settings.FileNames
}

// ownOf reads the configuration file of the commit that is checked out.
func (g grounds) ownOf(head worktree.Revision) (settings.File, error) {
	files, ok := head.Files(g.fileNames())
	if !ok {
		return settings.File{}, refused("the configuration file of HEAD could not be read: it is a link, or the clone lacks it",
			"commit it as a file; a partial clone gets it with git checkout HEAD -- "+g.fileNames()[0])
	}
	own, err := settings.ReadFile(files, g.name)
	if g.name != "" && errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, refused("HEAD has no configuration file "+g.config, "commit it; --dry-run reads it from disk")
	}
	return own, err
}

// ownFileAt reads a configuration file of a repository, by its name or, if that is empty,
// by one of settings.FileNames. It refuses a link that leads out of tops.
func ownFileAt(dir, name string, tops []string) (settings.File, error) {
	return settings.ReadFileBy(os.DirFS(dir), name, func(name string) ([]byte, error) {
		path := file.Absolute(dir, name)
		src, err := readBounded(path)
		if err == nil && leadsOut(path, tops) {
			err = errors.New("it is a link that leads out of the repository")
		}
		return src, err
	})
}

// readBounded reads a configuration file, but at most one byte more than the bound allows.
func readBounded(path string) ([]byte, error) { return file.ReadAtMost(path, settings.MaxFileSize+1) }

func readOperators(env Env, name string) (settings.File, error) {
	return settings.ReadOperatorFile(name, func() ([]byte, error) { return readBounded(env.path(name)) })
}

// leadsOut reports whether the links of a path lead to a file outside of the directories.
// It is true if that is unknown.
func leadsOut(path string, tops []string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err != nil || file.Outside(target, tops)
}

// baseFiles reads the named files at the base of a pull request: from the checkout, if that
// has the commit, or else from GitHub. what they are is for the error if neither has it.
func baseFiles(ctx context.Context, env Env, s settings.Settings, root, what string, names []string) (files fs.FS, err error) {
	base, _, err := baseOf(ctx, env, s, root)
	if err != nil {
		return nil, err
	}
	if files, ok := filesOfCommit(root, base, names); ok && base != "" {
		return files, nil
	}
	if base == "" || !mayAsk(s.Values) {
		hint := "give the step a token that may read contents, or let actions/checkout fetch the base with fetch-depth: 0"
		if base == "" {
			hint = "the event names no base; name a configuration file outside of the repository with --config"
		}
		return nil, refused(fmt.Sprintf("the %s is not read: that of a pull request's head decides nothing, and its base is not here", what), hint)
	}
	err = withRepository(env, s, func(repo *github.Repository) error {
		files, err = repo.Snapshot(ctx, base, func(name string) bool { return slices.Contains(names, name) })
		return err
	})
	return files, err
}

// baseOf is the base of a pull request. tested is as in action.Runtime.Tested. If the
// checkout lacks the test merge, GitHub is asked for it. If GitHub does not show it, the
// base in the event counts.
func baseOf(ctx context.Context, env Env, s settings.Settings, root string) (base string, tested bool, err error) {
	rt := env.runtime()
	here, err := revision(root, rt.SHA())
	if err == nil {
		base, tested = rt.Tested(here.Parents())
		return base, tested, nil
	}
	base, tested = rt.Tested(nil)
	if tested || rt.Event() == "merge_group" || rt.SHA() == "" || !mayAsk(s.Values) {
		return base, tested, nil
	}
	merge, err := env.commits.Do(ctx, rt.SHA(), func() (merge github.Commit, err error) {
		err = withRepository(env, s, func(repo *github.Repository) error {
			merge, err = repo.Commit(ctx, rt.SHA())
			return err
		})
		return merge, err
	})
	if errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrForbidden) {
		return base, false, nil
	}
	base, tested = rt.Tested(merge.Parents)
	return base, tested, err
}

// mayAsk reports whether there are credentials for GitHub.
func mayAsk(values settings.Values) bool {
	return values.Text("token") != "" || values.Text("app-id") != ""
}

// revision is a commit of the repository on disk. It is an error if a shallow clone lacks
// it.
func revision(root, name string) (worktree.Revision, error) {
	clone, err := worktree.OpenClone(root)
	if err != nil {
		return worktree.Revision{}, err
	}
	return clone.At(name)
}

// filesOfCommit are those of the named files that a commit on disk has. ok is false if the
// commit cannot be read there, or if a file is a link, which could lead elsewhere.
func filesOfCommit(root, commit string, names []string) (files fs.FS, ok bool) {
	at, err := revision(root, commit)
	if err != nil {
		return nil, false
	}
	return at.Files(names)
}

// withRepository calls act with the repository of the event on GitHub, in a session of its
// own.
func withRepository(env Env, s settings.Settings, act func(*github.Repository) error) error {
	ask := run.ToScan(run.Means{Settings: s, Head: env.head()}, env.checkout(), nil)
	session, err := run.Open(env.ofRun(s), ask)
	if err != nil {
		return err
	}
	defer session.Close()
	repo, err := session.Repository(ask)
	if err != nil {
		return err
	}
	return act(repo)
}
