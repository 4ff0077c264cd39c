package scan

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// Load reads the module trees of root modules. What they lack is fetched from the
// source, for all of them together, and then those trees are read again: what was
// fetched may call further modules. Without a source such modules are Unread,
// unless the tool has left them below the root module. The result is in the order
// of roots, without those that are not Wanted. Each root module says in its
// Diagnostics what is wrong with its files.
//
// When ctx ends, what has been read and fetched is returned, and the rest is Unread:
// modules that would have to be fetched, and root modules whose turn had not come.
func Load(ctx context.Context, roots []Root, source Source, opts Options) []RootModule {
	packages := &packages{
		source: source, jobs: cmp.Or(opts.Jobs, defaultFetches),
		known: map[remoteCall]fetched{}, trees: map[treeKey]*tfconfig.Tree{},
	}
	all := make([]*serving, len(roots))
	for i, r := range roots {
		all[i] = newServing(r, opts.Sets)
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	_ = each(ctx, readAlone(all), func(_ int, s *serving) { s.load(packages, &opts) }) // those that it leaves out are not begun
	for _, s := range readAlone(all) {
		for _, l := range s.readings {
			if !l.begun {
				l.cutOff(ctx)
			}
		}
	}
	if opts.Wanted != nil {
		all = slices.DeleteFunc(all, func(s *serving) bool { return s.begun() && !opts.Wanted(s.module()) })
	}
	for {
		unfinished := slices.DeleteFunc(readAlone(all), func(s *serving) bool { return len(s.lacks()) == 0 })
		if len(unfinished) == 0 {
			return modulesOf(all)
		}
		var calls []remoteCall
		for _, s := range unfinished {
			calls = append(calls, s.lacks()...)
		}
		if opts.Met != nil {
			met := modulesOf(all)
			beside.Go(func() { opts.Met(met) })
		}
		packages.fetch(ctx, calls)
		// What has been fetched is read even if ctx has ended meanwhile.
		_ = each(context.WithoutCancel(ctx), unfinished, func(_ int, s *serving) { s.load(packages, &opts) })
	}
}

func modulesOf(all []*serving) []RootModule {
	modules := make([]RootModule, len(all))
	for i, s := range all {
		modules[i] = s.module()
	}
	return modules
}

// loading is a root module while its tree is read: once, and again when what it
// lacked is fetched.
type loading struct {
	Root
	given givenValues // the values of its variables
	exact bool        // the configuration names the release of the tool
	newer bool        // it must be one that is newer than all whose rules are known
	// asked are the calls in its module tree that must be fetched, as far as
	// they have been met, and lacks those of which it is not known what they lead to.
	asked map[remoteCall]bool
	lacks []remoteCall
	begun bool // its module tree has been read, as far as it is there
	read  RootModule
}

// cutOff is the root module whose turn does not come before the end.
func (l *loading) cutOff(ctx context.Context) {
	why := problem.Of(problem.Ended(ctx))
	l.read = RootModule{Root: l.Root}
	l.read.Searched, l.read.Made.Tree = nil, nil
	l.read.Tree.Diagnostics = sorted(l.Problems)
	l.read.Tree.Unread = append(slices.Clone(l.Made.Unread), Unread{Code: why.Code, Reason: why.Message, Hint: why.Hint, Place: problem.Place{Path: l.Dir}})
}

// load reads the module tree with what has been fetched so far.
func (l *loading) load(packages *packages, opts *Options) {
	l.begun = true
	l.read = RootModule{Root: l.Root}
	l.read.Searched, l.read.Made.Tree = nil, nil // what was read of it would be kept as long as the result
	if l.Standalone() {
		l.read.Tree = ModuleTree{Requirements: Recorded(l.Lock), Unread: l.Made.Unread, Diagnostics: sorted(l.lockProblems())}
		return
	}
	w := l.walk(packages, opts)
	l.read.Tool, l.read.Assumed, l.read.Newer, l.lacks = l.Tool, l.Assumed && !l.exact, l.newer, w.wanted
	unsaid := func(addr provider.Addr) bool { _, why := w.refused(addr, w.tree.terms[addr]); return why == "" } // what is wrong is said once
	l.read.Files = slices.Concat(l.Files, w.files)
	l.read.AnyChange = l.AnyChange || w.anyChange || l.at().Tree.ThroughLink()
	l.read.Tests = w.treeOf(&w.tests, unsaid)
	l.read.Tree = w.treeOf(&w.tree, func(provider.Addr) bool { return true })
	l.read.Unfamiliar = w.unfamiliar
	l.read.Tree.Diagnostics = sorted(slices.Concat(l.lockProblems(), l.read.Tree.Diagnostics))
	l.read.Tree.Unread = slices.Concat(l.Made.Unread, l.read.Tree.Unread)
	if l.Kind == Stack && len(l.read.Tree.Unread) > 0 {
		l.read.standIn()
	}
	if l.Made.Sources == nil {
		return
	}
	// The Tree is its own: what of the searched one it was made of, as far as it was read.
	dirs := slices.Clone(l.Made.Sources)
	for _, dir := range slices.Concat(l.read.Tree.Dirs, l.read.Tests.Dirs) {
		if from := l.at().Tree.Place(dir); from.Package == "" {
			dirs = append(dirs, from.Path)
		}
	}
	slices.Sort(dirs)
	l.read.Tree.Dirs, l.read.Tests.Dirs = slices.Compact(dirs), nil
}

// lockProblems are those of reading the lock file, and the entries that the release
// does not read: it refuses the file, whether or not the configuration needs them
// [terraform 1.11 internal/depsfile/locks_file.go].
func (l *loading) lockProblems() []problem.Problem {
	problems := slices.Clip(l.Problems)
	if l.Lock == nil {
		return problems
	}
	for _, entry := range l.Lock.Locks {
		if why := l.Tool.Refusal(entry.Addr); why != "" {
			problems = append(problems, problem.Problem{
				Code: problem.CodeInvalidLock, Place: problem.Place{Path: l.Lock.Path, Line: entry.Line()}, Subject: problem.Subject{Addr: entry.Addr},
				Message: "invalid provider source address: " + why,
				Hint:    "set --tool-version if another release is used",
			})
		}
	}
	return problems
}

func sorted(diags []problem.Problem) []problem.Problem {
	slices.SortFunc(diags, problem.Problem.Compare)
	return slices.Compact(diags)
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
