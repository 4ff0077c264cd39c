package scan

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Options says which root modules to find and by whose rules to read them. The
// zero value finds every locked root module and tells the tool from its files.
type Options struct {
	// Dirs are slash-separated and relative to the top of the file tree. DIR is
	// a root module if it holds configuration, locked or not, and is searched
	// if not; DIR/... is always searched. Empty stands for "./...".
	Dirs []string
	// Create lets a search also take root modules without a lock file: those
	// that are unlikely to be anything else.
	Create bool
	// Unlocked lets a search say which root modules it leaves out since they have
	// no lock file: a warning with CodeUnlocked for each directory. It reads the
	// whole file tree for that, if there are any.
	Unlocked bool
	// Tool is the tool of every root module; if it is empty, lock files, other
	// files and version files tell.
	Tool provider.ToolName
	// ToolVersion is the release whose rules apply; if it is zero, exact version
	// files tell, and else the newest one whose rules are known is assumed.
	ToolVersion provider.Version
	// Include and Exclude are globs of directories, in which ** stands for any
	// number of path elements. If there is an Include, a search takes only root
	// modules that match one. It takes none that match an Exclude or are below
	// a directory that does. A DIR that is named is taken in any case.
	Include, Exclude []string
	// Ignored reports whether git ignores a path; nil ignores none. A search
	// asks it about directories, which it skips if they are ignored, and about
	// lock files, which it then takes for missing.
	Ignored func(path string) bool
	// Orphans lets a search also take lock files without their configuration
	// beside them, as modules that are Standalone.
	Orphans bool

	// Around is a larger file tree that the scanned one is in, at the path
	// Within; nil if the scanned one is a whole repository. Local modules and
	// links that lead out of the scanned tree are followed there, one by one.
	// Nothing in it is searched, and who calls a module is looked for only
	// below the common top of Dirs.
	Around fs.FS
	Within string

	// Source fetches the modules that are not in the file tree. Without one they
	// are Unread, unless the tool has left them below the root module.
	Source Source
	// Jobs bounds how many modules are fetched at once; 0 means a default.
	Jobs int
	// Wanted reports whether a root module is looked at any further, by what the file
	// tree says of it: nothing is fetched for the others, and they are not returned.
	// Its Dirs are all that there will be. nil: all are wanted.
	Wanted func(Module) bool
	// Variables are values of root modules' variables, as on the tools' command
	// line, and Environment those of the variables TF_VAR_NAME, by NAME. They
	// are for tools that evaluate the sources of modules early.
	Variables, Environment map[string]string
	// Workspace is the selected workspace; if it is empty, the one that the tool
	// has noted below the root module, else "default".
	Workspace string
	// Path is where the file tree is on this machine, absolute and
	// slash-separated; empty if it is nowhere. The value of path.cwd depends on it.
	Path string
}

// Modules finds root modules in a file tree, which should be the whole
// repository since modules call each other across it, and reads what they
// require. The modules are sorted by Dir. Each module says in its Diagnostics
// what is wrong with its files; the diagnostics returned here are about none
// in particular: a DIR that is no directory of the tree, lock files without
// configuration, searches in vain.
//
// For links to be read, fsys must be an fs.ReadLinkFS. The error is not nil if
// ctx is done or a glob is malformed.
func Modules(ctx context.Context, fsys fs.FS, opts Options) ([]Module, []provider.Diagnostic, error) {
	for _, pattern := range slices.Concat(opts.Include, opts.Exclude) {
		if err := validGlob(pattern); err != nil {
			return nil, nil, fmt.Errorf("reading the glob %q: %w", pattern, err)
		}
	}
	if len(opts.Dirs) == 0 {
		opts.Dirs = []string{everything}
	}
	s := &scanner{tree: newTree(fsys), opts: opts, configs: &configs{}, packages: newPackages(&opts), roots: map[string]*root{}}
	s.tools = toolFiles{tree: s.tree, opts: &s.opts}
	if opts.Around != nil {
		s.tree.surround(opts.Around, opts.Within)
	}
	for _, dir := range opts.Dirs {
		if err := s.find(ctx, dir); err != nil {
			return nil, nil, err
		}
	}
	modules, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.warnNewer()
	s.diags = slices.DeleteFunc(s.diags, func(d provider.Diagnostic) bool {
		return d.Code == provider.CodeUnlocked && s.roots[d.File] != nil // another DIR is it
	})
	slices.SortFunc(s.diags, provider.Diagnostic.Compare)
	return modules, slices.Compact(s.diags), nil
}

// scanner is one run of Modules.
type scanner struct {
	problems
	tree     *tree
	opts     Options
	configs  *configs
	packages *packages
	tools    toolFiles
	roots    map[string]*root
}

// root is a root module that was found.
type root struct {
	at         location
	kind       Kind
	standalone bool // there is no configuration, or not the whole of it
	tool       provider.Tool
	pinned     bool // a person says which release of the tool it is
	exact      bool // the configuration does
	newer      bool // it must be one that is newer than all whose rules are known
	lock       *lockfile.File
	diags      []provider.Diagnostic // of the lock file
	// asked are the calls in its module tree that must be fetched, as far as
	// they have been met.
	asked map[remoteCall]bool
}

// identify reads what must be known of a root module before its configuration.
func (s *scanner) identify(at location) *root {
	r := &root{at: at, asked: map[remoteCall]bool{}}
	if at.has(lockfile.Name) {
		r.readLock()
	}
	r.tool, r.pinned = s.tools.tool(at, r.lock)
	entries, _ := at.tree.list(at.dir)
	configured := files(entries, r.tool).configured()
	r.kind = kindOf(at, configured)
	r.standalone = !configured || r.kind == TerragruntUnit
	return r
}

func (r *root) readLock() {
	name := r.at.path(lockfile.Name)
	src, err := r.at.tree.read(name)
	if err != nil {
		var p problems
		p.unreadable("file", name, err)
		r.diags = p.diags
		return
	}
	r.lock, r.diags = lockfile.Read(src, name)
	if r.lock == nil {
		return
	}
	r.diags = append(r.diags, r.lock.Warnings...)
	if d, conflicted := r.lock.Conflicted(); conflicted {
		r.diags = append(r.diags, d)
	}
}

// module reads the module tree of a root module. It also returns the calls of
// modules that must be fetched first for the tree to be whole.
func (s *scanner) module(r *root) (Module, []remoteCall) {
	m := Module{Assumed: !r.pinned, Kind: r.kind, Standalone: r.standalone, Dir: r.at.dir, Tool: r.tool, Lock: r.lock}
	if r.standalone {
		m.Tree = ModuleTree{Requirements: Recorded(r.lock), Diagnostics: sorted(r.diags)}
		return m, nil
	}
	w := r.read(s.configs, s.packages, &s.opts)
	m.Tool, m.Assumed = r.tool, !r.pinned && !r.exact
	m.Tree, m.Tests = w.result()
	m.Tree.Diagnostics = sorted(slices.Concat(r.diags, m.Tree.Diagnostics))
	return m, w.wanted
}

// warnNewer says once of each tool that a release is wanted whose rules are not
// known.
func (s *scanner) warnNewer() {
	for _, name := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		for _, r := range s.roots {
			if r.newer && r.tool.Name == name {
				s.warn(provider.CodeUnknownRelease, "", fmt.Sprintf(
					"a release of %s is wanted that is newer than those that relock knows: the rules of %s are used", name.Title(), provider.Newest(name),
				), "update relock, if there is a newer release of it")
				break
			}
		}
	}
}

func sorted(diags []provider.Diagnostic) []provider.Diagnostic {
	slices.SortFunc(diags, provider.Diagnostic.Compare)
	return slices.Compact(diags)
}

// load reads the module trees of all root modules that were found. What a tree
// misses is fetched, for all of them together, and then the tree is read again:
// what was fetched may call further modules.
func (s *scanner) load(ctx context.Context) ([]Module, error) {
	found := slices.SortedFunc(maps.Values(s.roots), func(a, b *root) int { return strings.Compare(a.at.dir, b.at.dir) })
	modules, wanted := make([]Module, len(found)), make([][]remoteCall, len(found))
	unfinished, left := make([]int, len(found)), map[int]bool{}
	for i := range found {
		unfinished[i] = i
	}
	for first := true; len(unfinished) > 0; first = false {
		err := each(ctx, unfinished, func(_, i int) { modules[i], wanted[i] = s.module(found[i]) })
		if err != nil {
			return nil, err
		}
		if first && s.opts.Wanted != nil {
			for i := range found {
				if !s.opts.Wanted(modules[i]) {
					left[i], wanted[i] = true, nil
					delete(s.roots, found[i].at.dir)
				}
			}
		}
		unfinished = slices.DeleteFunc(unfinished, func(i int) bool { return len(wanted[i]) == 0 })
		var calls []remoteCall
		for _, i := range unfinished {
			calls = append(calls, wanted[i]...)
		}
		if err := s.packages.fetch(ctx, calls); err != nil {
			return nil, err
		}
	}
	var kept []Module
	for i, m := range modules {
		if !left[i] {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// each calls do for every element, on all processors, until ctx is done.
func each[T any](ctx context.Context, elements []T, do func(i int, element T)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, element := range elements {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			do(i, element)
			return nil
		})
	}
	return group.Wait()
}
