package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// settingsOfRun are the settings of a run, and what they are made of: by the
// configuration files that settings.Choose says. A command answers for its verb; given is
// what flags, inputs and words say, the strongest first.
func settingsOfRun(ctx context.Context, env Env, verb verbs.Verb, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	g := groundsOf(env, verb, given)
	files := settings.Choose(g.facts)
	operator, err := g.operator(ctx, files.Operator)
	if err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	from := g.sources(operator)
	own, err := g.own(ctx, files, from)
	if err != nil {
		return from, settings.Settings{}, err
	}
	s, err := from.With(own)
	if err == nil && files.Own == settings.BaseUnknown {
		s.Notices = append(s.Notices, baseUnknown)
	}
	return from, s, err
}

// grounds are what is known of a run before its configuration files are read.
type grounds struct {
	env    Env
	given  []settings.Values
	config string // the configuration file as it is named; empty: none is
	facts  settings.Facts
	read   []string // the repositories that are read from disk
	// root is the repository whose base has the configuration file, by name; empty: by one
	// of settings.FileNames.
	root, name string
	// proposes says that the run makes pull requests from the commit that is checked out. In
	// a dry run on their own machine, people try settings that no commit has yet.
	proposes bool
}

// groundsOf gathers what decides about the files of a run.
func groundsOf(env Env, verb verbs.Verb, given []settings.Values) grounds {
	given = settings.GivenTo(verb, given)
	values := settings.Merge(append(slices.Clip(given), settings.Environment(env.Getenv))...)
	config, read, others := values["config"].Items[0], scanned(env, values), settings.OthersNamed(values)
	here := worktree.RootOf(env.WorkDir)
	tops := append(slices.Clip(read), here)
	if others {
		tops = []string{here}
	}
	path, root, name, byLink := settings.PathNone, here, "", false
	if config != "" {
		path = whereIs(env.path(config), read, here)
	}
	if path != settings.PathNone && path != settings.PathOutside {
		root, name = relativeToOne(env.path(config), tops)
		byLink = name == ""
	}
	head, _ := env.runtime().Head()
	tries := values["dry-run"].Items[0] == "true" && env.Getenv("GITHUB_ACTIONS") != "true"
	return grounds{env: env, given: given, config: config, read: read, root: root, name: name, proposes: verb == verbs.PR && !others && !tries, facts: settings.Facts{
		Verb: verb, Head: head, BaseKnown: head && baseKnown(env, root, fileNames(name), values), OthersNamed: others, Path: path, ByLink: byLink,
	}}
}

// whereIs is where a configuration file lies, for a run that reads repositories from disk.
func whereIs(path string, read []string, here string) settings.Path {
	inRead, atHand := !file.Outside(path, read), !file.Outside(path, []string{here})
	switch {
	case inRead && atHand:
		return settings.PathAtHand
	case inRead:
		return settings.PathElsewhere
	case atHand:
		return settings.PathUnread
	}
	return settings.PathOutside
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

// sources are what the settings are made of, with the operator's file if there is one.
func (g grounds) sources(operator settings.File) settings.Sources {
	from := settings.Sources{Given: g.given, Operator: operator, Getenv: g.env.Getenv, Sound: verify.Sound}
	from.Outside = operator.Name != "" && (g.facts.OthersNamed || g.facts.Path == settings.PathOutside)
	if g.facts.Path == settings.PathAtHand || g.facts.Path == settings.PathElsewhere {
		from.Named = slashed(g.env, g.env.path(g.config))
	}
	return from
}

// operator reads the operator's configuration file. One in a head is not read: where its
// base cannot be read, nothing may go on.
func (g grounds) operator(ctx context.Context, from settings.From) (settings.File, error) {
	if from == settings.FromNowhere {
		return settings.File{}, nil
	}
	if from == settings.FromDisk {
		return readOperators(g.env, g.config)
	}
	s, err := g.sources(settings.File{}).With(settings.File{})
	if err != nil {
		return settings.File{}, err
	}
	switch from {
	case settings.BaseByLink:
		return settings.File{}, notOfTheBase("configuration file", g.config)
	case settings.BaseUnknown:
		return settings.File{}, unreadBase("configuration file", g.config)
	}
	base, err := baseFiles(ctx, g.env, s, g.root, fileNames(g.name))
	if err != nil {
		return settings.File{}, err
	}
	operator, err := settings.ReadOperatorFile(g.config, func() ([]byte, error) { return fs.ReadFile(base, g.name) })
	if errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, fmt.Errorf("the base of the pull request has no configuration file %s", g.config)
	}
	if err != nil {
		return settings.File{}, fmt.Errorf("on the base of the pull request: %w", err)
	}
	return operator, nil
}

// own reads the repository's own configuration file. from are the sources without it, by
// which GitHub is asked for the base's.
func (g grounds) own(ctx context.Context, files settings.Layers, from settings.Sources) (settings.File, error) {
	switch files.Own {
	case settings.FromDisk:
		if g.proposes && (g.config == "" || g.facts.Path == settings.PathAtHand || g.facts.Path == settings.PathElsewhere) {
			return g.ownOfHead()
		}
		if g.config == "" || files.Operator != settings.FromNowhere {
			return fileHere(g.env)
		}
		return ownFileAt(g.env.WorkDir, g.config, g.read)
	case settings.BaseByLink:
		return settings.File{}, fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", g.config)
	case settings.FromBase:
		s, err := from.With(settings.File{})
		if err != nil {
			return settings.File{}, err
		}
		base, err := baseFiles(ctx, g.env, s, g.root, fileNames(g.name))
		if err != nil {
			return settings.File{}, err
		}
		own, err := baseFile(base, g.name)
		if err != nil {
			return settings.File{}, fmt.Errorf("on the base of the pull request: %w", err)
		}
		return own, nil
	}
	return settings.File{}, nil
}

// ownOfHead reads the configuration file of the commit that is checked out. Without git
// there is none but that on disk.
func (g grounds) ownOfHead() (settings.File, error) {
	if g.facts.ByLink {
		return settings.File{}, fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", g.config)
	}
	head, err := revision(g.root, "HEAD")
	if err != nil {
		return ownFileAt(g.root, g.name, []string{g.root})
	}
	files, ok := head.Files(fileNames(g.name))
	if !ok {
		return settings.File{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "the configuration file of HEAD could not be read: it is a link, or the clone lacks it",
			Hint: "commit it as a file; a partial clone gets it with git checkout HEAD -- " + fileNames(g.name)[0],
		}}
	}
	own, err := settings.ReadFile(files, g.name)
	if g.name != "" && errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "HEAD has no configuration file " + g.config, Hint: "commit it; --dry-run reads it from disk",
		}}
	}
	return own, err
}

// scanned are the top directories of the repositories that the run reads from
// disk; where there is no repository, the directory itself.
func scanned(env Env, values settings.Values) []string {
	dirs := values["directories"].Items
	if len(dirs) == 0 && !settings.OthersNamed(values) {
		dirs = []string{"."}
	}
	var roots []string
	for _, dir := range dirs {
		roots = append(roots, worktree.RootOf(file.Absolute(env.WorkDir, strings.TrimSuffix(dir, "/..."))))
	}
	return roots
}

// slashed is a path relative to the working directory, as a tree of files has it.
func slashed(env Env, name string) string {
	if rel, err := filepath.Rel(env.WorkDir, name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}
