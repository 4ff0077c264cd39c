package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// Options says which root modules to find, and by whose rules to read them. The zero value
// finds every locked root module, and recognises the tool by its files.
type Options struct {
	// Dirs are slash-separated and relative to the top of the file tree. A DIR with
	// configuration is a root module, locked or not. A DIR without configuration is
	// searched. DIR/... is always searched. Empty means "./...".
	Dirs []string
	// Create lets a search also find root modules without a lock file, if they are unlikely
	// to be anything else.
	Create bool
	// Unproven adds to those of Create the directories with configuration of which nothing
	// says whether they are root modules.
	Unproven bool
	// Unlocked lets a search report root modules that it leaves out because they have no
	// lock file: a warning with CodeUnlocked for each directory. If there are any, the
	// search reads the whole file tree.
	Unlocked bool
	// PassedOver is for a search for root modules without a lock file. It lets the search
	// also report directories with configuration that seem to be no root modules although
	// nothing calls them: a warning with CodePassedOver for each.
	PassedOver bool
	// Tool is the tool of every root module. If it is empty, lock files, other files and
	// version files decide.
	Tool provider.ToolName
	// ToolVersion is the release whose rules apply. If it is zero, version files decide.
	// Without them the newest known release is assumed.
	ToolVersion provider.Version
	// Include and Exclude are globs of directories, in which ** means any number of path
	// elements. With an Include, a search finds only root modules that match one. It finds
	// none that match an Exclude or are below a directory that does. A named DIR is found
	// in any case. A search enters a hidden directory only if an Include has its name.
	Include, Exclude []string
	// IgnoredDir returns the line of an ignore file, such as .gitignore:3, by which git
	// ignores a directory. HiddenBy returns the one by which git ignores a file. They
	// return nothing if there is no such line. nil: git ignores nothing. A search skips
	// ignored directories, but enters those on the way to a DIR. It also enters those below
	// a DIR that is ignored itself.
	IgnoredDir, HiddenBy func(path string) string
	// MergeBase returns the common ancestor of a lock file with conflict markers, during a
	// merge. It returns nil if that is unknown. It may be nil, too.
	MergeBase func(path string) []byte
	// Orphans lets a search also find lock files without configuration beside them, as
	// modules that are Standalone.
	Orphans bool
	// Made are kinds whose configuration another program makes. A search finds them like
	// root modules, and a named directory of such a kind is one. They are Standalone until
	// the configuration is made. With Create or Unlocked, and if they are named, those
	// without a lock file are found, too. Some of these may be no root modules after all.
	Made []Kind

	// TerragruntStack is called for each directory with a Terragrunt stack file that a
	// search finds. It may be nil.
	TerragruntStack func(dir string)
	// StackAddsTo is called for each directory with a lock file and configuration to which a
	// Terragrunt stack would add files. It is left out. It may be nil.
	StackAddsTo func(dir string)
	// Generated reports whether a directory of the file tree is in memory only, because a
	// Terragrunt stack generates it. A search finds it, locked or not. nil: there are none.
	Generated func(dir string) bool
	// CopiedLock reports whether a stack copies a lock file to where the repository has
	// none. A search treats it as missing. nil: there are none.
	CopiedLock func(name string) bool

	// Absent reports whether the repository has a directory that the file tree lacks, as in
	// a sparse checkout; nil: none is missing.
	Absent func(dir string) bool

	// Around is a larger file tree with the scanned one at the path Within. It is nil if
	// the scanned tree is a whole repository. Local modules and links that lead out of the
	// scanned tree are followed there, one by one. Nothing in it is searched. Callers of a
	// module are looked for only below the common top of Dirs.
	Around fs.FS
	Within string

	// LockModules gives root modules a lock file of modules that have none. Moves reports
	// which packages of a root module move as by init -upgrade, by their addresses in the lock
	// file; nil: none does. The others stay if the lock file names them.
	LockModules bool
	Moves       func(dir, address string) bool

	// ModuleRules has the rules about locked modules.
	ModuleRules policy.ModuleRules
	// Installed asks for the records that init makes of a module tree.
	Installed bool

	// Jobs bounds how many modules are fetched at once; 0: a default.
	Jobs int
	// Wanted reports whether a root module is wanted, after the file tree was read. Load
	// fetches nothing for the others, and does not return them. The Dirs of the argument
	// are already complete. nil: all are wanted.
	Wanted func(RootModule) bool
	// Met receives the root modules as far as they are read. It runs while Load fetches
	// what they lack, and Load waits for it. It may be nil.
	Met func([]RootModule)
	// Variables are values of root modules' variables from the tools' command line.
	// Environment has those of the variables TF_VAR_NAME, by NAME. Tools that evaluate the
	// sources of modules early need them.
	Variables, Environment map[string]string
	// Sets replace Variables. A root module is read once with each set that applies to it,
	// and its lock file serves all of them.
	Sets []VariableSet
	// Workspace is the selected workspace. If it is empty, it is the one that the tool has
	// noted below the root module, else "default".
	Workspace string
	// Path is the place of the file tree on this machine, absolute and slash-separated;
	// empty: none. The value of path.cwd depends on it.
	Path string
}

// everything is the last element of a DIR that is always searched.
const everything = "..."

// cutEverything is the directory of a DIR, and whether it must be searched.
func cutEverything(dir string) (name string, search bool) {
	name = path.Clean(dir)
	if path.Base(name) == everything {
		return path.Dir(name), true
	}
	return name, false
}

// Find finds the root modules in a file tree, sorted by Dir. The tree should be the whole
// repository, since modules call each other across it. Each root module has the problems of
// its lock file. The returned diagnostics belong to no root module: a DIR that is not in
// the tree, lock files without configuration, searches that found nothing.
//
// To read links, fsys must be an fs.ReadLinkFS. The error is not nil if ctx is done or a
// glob is malformed.
func Find(ctx context.Context, fsys fs.FS, opts Options) ([]Root, []problem.Problem, error) {
	for _, pattern := range slices.Concat(opts.Include, opts.Exclude) {
		if err := globs.Malformed(pattern); err != nil {
			return nil, nil, fmt.Errorf("reading the glob %q: %w", pattern, err)
		}
	}
	if len(opts.Dirs) == 0 {
		opts.Dirs = []string{everything}
	}
	f := &finder{tree: tfconfig.Searched(fsys, opts.Around, opts.Within), opts: opts, roots: map[string]Root{}}
	f.tools = toolFiles{tree: f.tree, opts: &f.opts}
	for _, dir := range opts.Dirs {
		if err := f.find(ctx, dir); err != nil {
			return nil, nil, err
		}
	}
	f.Diags = slices.DeleteFunc(f.Diags, func(d problem.Problem) bool {
		_, found := f.roots[d.Place.Path]
		return (d.Code == problem.CodeUnlocked || d.Code == problem.CodePassedOver) && found // another DIR has found it
	})
	for dir := range f.roots {
		f.Diags = append(f.Diags, f.tools.pins(dir).problems...)
	}
	roots := slices.SortedFunc(maps.Values(f.roots), func(a, b Root) int { return strings.Compare(a.Dir, b.Dir) })
	return roots, sorted(f.Diags), nil
}

// Everywhere reports whether a search reaches all directories.
func (o Options) Everywhere() bool {
	return len(o.Dirs) == 0 || slices.ContainsFunc(o.Dirs, func(dir string) bool { return path.Clean(dir) == everything })
}

// TerragruntStacks returns all directories of a repository with a Terragrunt stack file.
// Outside of a repository it looks below the common top of Dirs.
func TerragruntStacks(ctx context.Context, fsys fs.FS, opts Options) ([]string, error) {
	var dirs []string
	opts.TerragruntStack = func(dir string) { dirs = append(dirs, dir) }
	f := &finder{tree: tfconfig.Searched(fsys, opts.Around, opts.Within), opts: opts}
	_, err := f.walk(ctx, tfconfig.Directory{Tree: f.tree, Path: f.top()})
	return dirs, err
}

type finder struct {
	tfconfig.Mistakes
	tree  *tfconfig.Tree
	opts  Options
	tools toolFiles
	roots map[string]Root // by Dir
}

// find adds the root modules of a DIR.
func (f *finder) find(ctx context.Context, dir string) error {
	name, search := cutEverything(dir)
	at, err := f.tree.Dir(name)
	if err == nil && at.Tree != f.tree {
		err = tfconfig.ErrOutside
	}
	if err != nil || path.IsAbs(name) {
		message := "there is no directory " + name
		switch {
		case path.IsAbs(name) || errors.Is(err, tfconfig.ErrOutside):
			message = name + " leads out of the repository"
		case !errors.Is(err, fs.ErrNotExist):
			message = fmt.Sprintf("%s could not be read: %v", name, file.Cause(err))
		}
		f.Diags = append(f.Diags, problem.Problem{Code: problem.CodeNotRootModule, Message: message, Place: problem.Place{Path: name}})
		return nil
	}
	if !search {
		r := f.identify(at)
		r.Named = true
		if !r.Standalone() || f.made(r) {
			f.roots[at.Path] = r
		}
		if !r.Standalone() || f.made(r) && f.locked(at) {
			return nil
		}
	}
	return f.search(ctx, at)
}

// identify reads the facts about a root module that its configuration does not need.
func (f *finder) identify(at tfconfig.Directory) Root {
	r := Root{Dir: at.Path, Searched: at.Tree}
	if name := at.Join(lockfile.Name); at.Has(lockfile.Name) {
		var base func() []byte
		if f.opts.MergeBase != nil {
			base = func() []byte { return f.opts.MergeBase(name) }
		}
		src, err := at.Read(lockfile.Name)
		r.Lock, r.Problems = readLock(name, src, err, base)
	}
	if at.Has(modulelock.Name) {
		src, err := at.Read(modulelock.Name)
		locked, problems := readModuleLock(at.Join(modulelock.Name), src, err, f.opts.MergeBase)
		r.ModuleLock, r.Problems = locked, append(r.Problems, problems...)
	}
	var exact bool
	r.Tool.Name, r.Guessed = f.tools.tool(at, r.Lock)
	r.Tool, r.Pin, exact = f.tools.release(at, r.Tool.Name)
	r.Assumed = !exact
	configured := at.Configured(r.Tool)
	r.Kind = kindOf(at, configured, r.Lock)
	if !configured || r.Kind == TerragruntUnit {
		r.StandIn = StandInAll
	}
	switch r.Kind {
	case Stack:
		r.keep(at)
	case TerragruntUnit:
		r.Made.Terragrunt = f.tools.pins(at.Path).pins[""]
	}
	r.AnyChange, r.Files = f.linked(at), targets(at)
	return r
}

// readLock parses a lock file that was read with an error or without one.
func readLock(name string, src []byte, err error, base func() []byte) (*lockfile.File, []problem.Problem) {
	if err == nil && len(src) > lockfile.MaxSize {
		err = lockfile.ErrTooLarge
	}
	if err != nil {
		var unread tfconfig.Mistakes
		unread.Unreadable("file", problem.Place{Path: name}, err)
		return nil, unread.Diags
	}
	lock, problems := lockfile.Read(src, name, base)
	if lock != nil {
		problems = append(problems, lock.Warnings...)
		if d, conflicted := lock.Conflicted(); conflicted {
			problems = append(problems, d)
		}
	}
	return lock, problems
}

// search adds the locked root modules in a directory and below it. With Create it also adds
// those that should be locked.
func (f *finder) search(ctx context.Context, base tfconfig.Directory) error {
	dirs, err := f.walk(ctx, base)
	if err != nil {
		return err
	}
	var locked, unlocked []tfconfig.Directory
	for _, at := range dirs {
		switch {
		case !f.opts.Selects(at.Path):
		case f.locked(at):
			locked = append(locked, at)
		default:
			unlocked = append(unlocked, at)
		}
	}
	found := make([]Root, len(locked))
	if err := each(ctx, locked, func(i int, at tfconfig.Directory) { found[i] = f.identify(at) }); err != nil {
		return err
	}
	for _, r := range found {
		// Upgrades leave the lock files of other programs alone, but count them.
		if r.Standalone() && r.Kind != Stack && r.Kind != CDK && !f.opts.Orphans && !f.made(r) {
			f.Diags = append(f.Diags, r.NotRead())
		} else {
			f.roots[r.Dir] = r
		}
	}
	var fresh, others []tfconfig.Directory
	if f.opts.Create || f.opts.Unlocked {
		fresh, others, err = f.fresh(ctx, unlocked)
		if err != nil {
			return err
		}
	}
	for _, at := range fresh {
		if f.opts.Create {
			f.roots[at.Path] = f.identify(at)
		} else {
			f.warn(problem.CodeUnlocked, at.Path, "the root module has no lock file", f.hidden([]tfconfig.Directory{at}))
		}
	}
	made := f.addMade(unlocked)
	if len(locked) == 0 && len(fresh) == 0 && !made && f.roots[base.Path].Searched == nil {
		reason, hint := f.nothing(base, unlocked)
		f.warn(problem.CodeNotRootModule, base.Path, "no root module was found here or below"+reason, hint)
		return nil
	}
	for _, at := range others {
		f.warn(problem.CodePassedOver, at.Path, "nothing makes the directory a root module", "")
	}
	return nil
}

// made reports whether another program makes the configuration of a root module.
func (f *finder) made(r Root) bool { return slices.Contains(f.opts.Made, r.Kind) }

// generated reports whether a stack of Terragrunt generates a directory.
func (f *finder) generated(dir string) bool { return f.opts.Generated != nil && f.opts.Generated(dir) }

// addMade adds directories without a lock file whose configuration another program makes.
// It leaves out two kinds: a stack copies a lock file there, or they were made for an
// unknown stack.
func (f *finder) addMade(dirs []tfconfig.Directory) bool {
	if !slices.Contains(f.opts.Made, TerragruntUnit) {
		return false
	}
	unlocked := func(at tfconfig.Directory) bool {
		return (f.opts.Create || f.opts.Unlocked) && terragruntUnit(at) && !f.copied(at) && !strings.Contains("/"+at.Path+"/", "/"+terragruntStack+"/")
	}
	added := false
	for _, at := range dirs {
		if _, named := f.roots[at.Path]; !named && (f.generated(at.Path) || unlocked(at)) {
			f.roots[at.Path] = f.identify(at)
			added = true
		}
	}
	return added
}

// nothing returns why a search has found nothing, and what to do about it. It uses the
// directories without a lock file.
func (f *finder) nothing(base tfconfig.Directory, unlocked []tfconfig.Directory) (reason, hint string) {
	if terragruntUnit(base) && !f.locked(base) {
		return "", "let Terragrunt write the lock file of this unit; then run `relock lock`, which completes it"
	}
	configured := slices.DeleteFunc(slices.Clone(unlocked), func(at tfconfig.Directory) bool { return !f.lockable(at) })
	if len(configured) == 0 {
		return "", cmp.Or(f.skipped(base, unlocked), "name a directory that holds configuration of Terraform or OpenTofu")
	}
	var names []string // relative to base
	for _, at := range configured {
		for _, d := range at.Configuration(f.likelyTool(at)).Diagnostics {
			if d.Severity == problem.SeverityError && d.Place.Line > 0 {
				return fmt.Sprintf(": %s:%d has an error: %s", filetree.Relative(base.Path, d.Place.Path), d.Place.Line, d.Message),
					"correct the file: its content may make its directory a root module"
			}
		}
		names = append(names, filetree.Relative(base.Path, at.Path))
	}
	list := collect.First(names, 3)
	switch {
	case len(configured) > 1:
		reason = ": " + list + " have configuration without a lock file, and may be no root modules"
	case list == ".":
		reason = ": this directory has configuration without a lock file, and may be no root module"
	default:
		reason = ": " + list + " has configuration without a lock file, and may be no root module"
	}
	return reason, cmp.Or(f.hidden(configured), "if one is a root module, run `relock upgrade DIR`, which writes its lock file")
}

// hidden returns what hides the lock file of one of these directories from git; empty:
// nothing.
func (f *finder) hidden(dirs []tfconfig.Directory) string {
	if f.opts.HiddenBy == nil {
		return ""
	}
	for _, at := range dirs {
		if by := f.opts.HiddenBy(at.Join(lockfile.Name)); by != "" {
			return "remove the line " + by + ", by which git ignores lock files, and run `relock upgrade DIR`"
		}
	}
	return ""
}

// warn reports a problem of the tree that stops nothing.
func (f *finder) warn(code problem.Code, file, message, hint string) {
	f.Diags = append(f.Diags, problem.Problem{
		Severity: problem.SeverityWarning, Code: code, Message: message, Place: problem.Place{Path: file}, Hint: hint,
	})
}

// walk lists the directories at and below one that a search enters. It does not follow
// links, since they would lead to the same directories again.
func (f *finder) walk(ctx context.Context, base tfconfig.Directory) ([]tfconfig.Directory, error) {
	dirs := []tfconfig.Directory{base}
	for i := 0; i < len(dirs); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := dirs[i].Entries()
		if err != nil {
			if !f.excluded(dirs[i].Path) {
				f.Unreadable("directory", problem.Place{Path: dirs[i].Path}, err)
			}
			continue
		}
		for _, e := range entries {
			name := dirs[i].Join(e.Name())
			switch {
			case !e.IsDir() && e.Name() == terragruntStackFile && f.opts.TerragruntStack != nil:
				f.opts.TerragruntStack(dirs[i].Path)
			case !e.IsDir() || e.Name() == gitDir:
			case !utf8.ValidString(e.Name()): // package fs opens no such name
				if !f.excluded(name) {
					f.warn(problem.CodeUnreadable, name, "the directory was not searched: its name is not UTF-8",
						"rename it, or leave it out of runs: `exclude: [\""+strings.ToValidUTF8(name, "*")+"\"]`")
				}
			case f.opts.Enters(name) && f.ignored(name) == "":
				dirs = append(dirs, tfconfig.Directory{Tree: f.tree, Path: name})
			}
		}
	}
	return dirs, nil
}

// hiddenName reports whether a search skips directories with this name: hidden ones, and
// those of package managers.
func hiddenName(name string) bool {
	return strings.HasPrefix(name, ".") && name != terragruntStack || name == "node_modules"
}

// Enters reports whether a search enters a directory, by its name. It enters a hidden
// directory only if an Include has that name.
func (o Options) Enters(dir string) bool { return !hiddenName(path.Base(dir)) || o.spells(dir) }

// spells reports whether an Include has the name of a hidden directory.
func (o Options) spells(dir string) bool {
	return slices.ContainsFunc(o.Include, func(glob string) bool { return globs.LeadsTo(glob, dir, hiddenName) })
}

// ignored returns the line by which git ignores a directory that a search skips for this
// reason; empty if the search does not.
func (f *finder) ignored(dir string) string {
	if f.opts.IgnoredDir == nil {
		return ""
	}
	by := f.opts.IgnoredDir(dir)
	if by != "" && slices.ContainsFunc(f.opts.Dirs, func(named string) bool {
		name, _ := cutEverything(named)
		return strings.HasPrefix(name+"/", dir+"/") || strings.HasPrefix(dir, name+"/") && f.opts.IgnoredDir(name) != ""
	}) {
		return ""
	}
	return by
}

// skipped says which directory in others the search has skipped since git ignores it;
// empty: none.
func (f *finder) skipped(base tfconfig.Directory, dirs []tfconfig.Directory) string {
	for _, at := range dirs {
		entries, _ := at.Entries()
		for _, e := range entries {
			name := at.Join(e.Name())
			if !e.IsDir() || !f.opts.Enters(name) {
				continue
			}
			if by := f.ignored(name); by != "" {
				return fmt.Sprintf("git ignores %s by %s: name the directory, and relock reads it", filetree.Relative(base.Path, name), by)
			}
		}
	}
	return ""
}

// copied reports whether a stack copies the lock file of a directory.
func (f *finder) copied(at tfconfig.Directory) bool {
	return f.opts.CopiedLock != nil && f.opts.CopiedLock(at.Join(lockfile.Name))
}

// Selects reports whether Include and Exclude let a search find root modules in a
// directory.
func (o Options) Selects(dir string) bool {
	return !o.Excludes(dir) && (len(o.Include) == 0 || globs.InAny(o.Include, dir))
}

func (f *finder) excluded(dir string) bool { return f.opts.Excludes(dir) }

// Excludes reports whether Exclude matches a directory, or one above it.
func (o Options) Excludes(dir string) bool {
	for above := dir; ; above = path.Dir(above) {
		if globs.InAny(o.Exclude, above) {
			return true
		}
		if above == "." {
			return false
		}
	}
}

func (f *finder) locked(at tfconfig.Directory) bool {
	return at.Has(lockfile.Name) && !f.copied(at) || at.Has(modulelock.Name)
}

// fresh returns the directories without a lock file that by every sign hold a root module.
// No module or test calls them. They have content that only root modules have, or a glob
// includes them. They are not in the usual places of called modules and examples. No stack
// copies a lock file there. With PassedOver, fresh also returns others that nothing
// calls, and that are not in the usual places of called modules.
func (f *finder) fresh(ctx context.Context, dirs []tfconfig.Directory) (likely, others []tfconfig.Directory, err error) {
	// The glob of all directories is the setting's default, so it names none.
	wished := func(dir string) bool {
		return slices.ContainsFunc(f.opts.Include, func(glob string) bool { return glob != "**" && globs.Matches(glob, dir) })
	}
	// Some paths are usual for modules that others call or run. Elsewhere, only root
	// modules have certain content: values of variables, a backend, imports, configured
	// providers.
	byItself := func(at tfconfig.Directory) bool {
		if slices.ContainsFunc(strings.Split(at.Path, "/"), func(part string) bool {
			return part == "modules" || part == "examples" || strings.HasPrefix(part, "test")
		}) {
			return false
		}
		return at.HasFile(variableFile) || at.Configuration(f.likelyTool(at)).RootOnly
	}
	topOfStack := func(at tfconfig.Directory) bool {
		return len(at.Components()) > 0 && at.HasFile(func(name string) bool { return strings.HasSuffix(name, deployExtension) })
	}
	for _, at := range dirs {
		switch {
		case f.copied(at):
		case topOfStack(at):
			likely = append(likely, at)
		case !f.lockable(at):
		case wished(at.Path), byItself(at):
			likely = append(likely, at)
		case slices.Contains(strings.Split(at.Path, "/"), "modules"):
		case f.opts.Unproven:
			likely = append(likely, at)
		case f.opts.PassedOver:
			others = append(others, at)
		}
	}
	if len(likely)+len(others) == 0 {
		return nil, nil, nil
	}
	called, err := f.called(ctx)
	isCalled := func(at tfconfig.Directory) bool { return called[at] }
	return slices.DeleteFunc(likely, isCalled), slices.DeleteFunc(others, isCalled), err
}

func (f *finder) configured(at tfconfig.Directory) bool { return at.Configured(f.likelyTool(at)) }

// lockable reports whether a directory holds its whole configuration, so that a lock file
// can be written for it.
func (f *finder) lockable(at tfconfig.Directory) bool { return f.configured(at) && !terragruntUnit(at) }

// likelyTool is the tool of a directory, without the lock file's own evidence.
func (f *finder) likelyTool(at tfconfig.Directory) provider.Tool {
	if r, ok := f.roots[at.Path]; ok {
		return r.Tool
	}
	name, _ := f.tools.tool(at, nil)
	tool, _, _ := f.tools.release(at, name)
	return tool
}

// called returns the directories that any module of the tree calls, or any test runs. In a
// repository it reads the whole tree.
func (f *finder) called(ctx context.Context) (map[tfconfig.Directory]bool, error) {
	dirs, err := f.walk(ctx, tfconfig.Directory{Tree: f.tree, Path: f.top()})
	if err != nil {
		return nil, err
	}
	dirs = slices.DeleteFunc(dirs, func(at tfconfig.Directory) bool { return !f.configured(at) })
	targets := make([][]tfconfig.Directory, len(dirs))
	err = each(ctx, dirs, func(i int, at tfconfig.Directory) {
		c := at.Configuration(f.likelyTool(at))
		for g := newGiven(f.opts.Sets, at.Path); ; {
			targets[i] = append(targets[i], f.calledBy(c, &g)...)
			others := g.differing(at)
			if len(others) == 0 {
				return
			}
			g = givenValues{sets: others}
		}
	})
	called := map[tfconfig.Directory]bool{}
	for _, to := range slices.Concat(targets...) {
		called[to] = true
	}
	return called, err
}

// calledBy returns the directories that a module and its tests call, with values of
// variables.
func (f *finder) calledBy(c *tfconfig.Configuration, g *givenValues) (dirs []tfconfig.Directory) {
	root := rootVisit(c, &f.opts, g)
	for _, call := range slices.Concat(c.Calls, c.Tests().Runs) {
		source := call.Module
		if source.Kind == tfconfig.EarlySource {
			source, _ = call.Evaluate(c.Tool, root.value)
		}
		if source.Kind != tfconfig.LocalSource {
			continue
		}
		if to, err := c.Directory.Dir(source.Addr.Path); err == nil {
			dirs = append(dirs, to)
		}
	}
	return dirs
}

// top is the directory below which callers of modules are looked for. Outside of a
// repository, the named directories limit it.
func (f *finder) top() string {
	if f.opts.Around == nil {
		return "."
	}
	top := ""
	for _, dir := range f.opts.Dirs {
		name, _ := cutEverything(dir)
		if at, err := f.tree.Dir(name); err == nil && at.Tree == f.tree {
			for top != "" && top != "." && top != at.Path && !strings.HasPrefix(at.Path, top+"/") {
				top = path.Dir(top)
			}
			top = cmp.Or(top, at.Path)
		}
	}
	return cmp.Or(top, ".")
}
