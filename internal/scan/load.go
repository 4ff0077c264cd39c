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

// Load reads the module trees of root modules. It fetches missing modules from the source,
// for all root modules together. Then it reads those trees again, since fetched modules may
// call further ones. Without a source such modules are Unread, unless the tool has
// installed them below the root module. The result has the order of roots, without those
// that are not Wanted. Each root module has the problems of its files in its Diagnostics.
//
// When ctx ends, Load returns what it has read and fetched. The rest is Unread: modules
// that are not fetched, and root modules that were not begun.
func Load(ctx context.Context, roots []Root, source Source, opts Options) []RootModule {
	packages := &packages{
		source: source, jobs: cmp.Or(opts.Jobs, defaultFetches),
		known: map[remoteCall]fetched{}, trees: map[treeKey]*tfconfig.Tree{},
	}
	all := make([]*serving, len(roots))
	for i, r := range roots {
		all[i] = newServing(r, newModuleLock(r, &opts), &opts)
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	_ = each(ctx, readAlone(all), func(_ int, s *serving) { s.load(packages, &opts) }) // if ctx ends, the rest is not begun
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
		unfinished := slices.DeleteFunc(readAlone(all), func(s *serving) bool { return !s.outdated() })
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
		// Fetched modules are read even if ctx has ended meanwhile.
		_ = each(context.WithoutCancel(ctx), unfinished, func(_ int, s *serving) { s.load(packages, &opts) })
	}
}

func modulesOf(all []*serving) []RootModule {
	for _, s := range readAlone(all) {
		for _, l := range s.readings {
			if l.Made.Quota.Exceeded() { // also those that were read before
				l.leaveOut()
			}
		}
	}
	modules := make([]RootModule, len(all))
	for i, s := range all {
		modules[i] = s.module()
	}
	return modules
}

// loading is a root module while its tree is read: once, and again after missing modules
// were fetched.
type loading struct {
	Root
	given givenValues // the values of its variables
	exact bool        // the configuration names the release of the tool
	newer bool        // its configuration requires a release newer than all known ones
	// asked are the calls in its module tree that must be fetched, as far as they were
	// found. lacks are those whose modules are unknown.
	asked map[remoteCall]bool
	lacks []remoteCall
	lock  *moduleLock // nil: there is none
	known int         // how often its entries had grown before this reading
	begun bool        // its module tree was read, as far as it exists
	read  RootModule
}

func (l *loading) outdated() bool {
	return len(l.lacks) > 0 || l.lock != nil && l.lock.grown > l.known
}

// cutOff is the result for a root module that was not begun before the end.
func (l *loading) cutOff(ctx context.Context) {
	why := problem.Of(problem.Ended(ctx))
	l.read = RootModule{Root: l.Root}
	l.read.Searched, l.read.Made.Tree = nil, nil
	l.read.Tree.Diagnostics = sorted(l.Problems)
	l.read.Tree.Unread = append(slices.Clone(l.Made.Unread), Unread{Code: why.Code, Reason: why.Message, Hint: why.Hint, Place: problem.Place{Path: l.Dir}})
}

// load reads the module tree with the packages fetched so far, within the quota.
func (l *loading) load(packages *packages, opts *Options) {
	l.Made.Quota.Spend(func() int { return l.loadNow(packages, opts) })
	if l.Made.Quota.Exceeded() {
		l.leaveOut()
	}
}

// loadNow is load without an quota. It returns its cost.
func (l *loading) loadNow(packages *packages, opts *Options) (cost int) {
	l.begun = true
	l.read = RootModule{Root: l.Root}
	l.read.Searched, l.read.Made.Tree = nil, nil // they would use memory as long as the result exists
	if l.Standalone() {
		l.read.Tree = ModuleTree{
			Requirements: Recorded(l.Lock), Unread: l.Made.Unread, Sources: l.Made.Fetched.Sources, Kept: l.Made.Fetched.Kept, Held: l.Made.Fetched.Held,
			Diagnostics: sorted(slices.Concat(l.lockProblems(), l.Made.Fetched.Diagnostics)),
		}
		return PerFact
	}
	if l.lock != nil {
		l.known = l.lock.grown
	}
	w := l.walk(packages, opts)
	l.read.Tool, l.read.Assumed, l.read.Newer, l.lacks = l.Tool, l.Assumed && !l.exact, l.newer, w.wanted
	unsaid := func(addr provider.Addr) bool { _, why := w.refused(addr, w.tree.terms[addr]); return why == "" } // an error is reported once
	l.read.Files = slices.Concat(l.Files, w.files)
	l.read.AnyChange = l.AnyChange || w.anyChange || l.at().Tree.ThroughLink()
	made := l.Made.Fetched
	w.tree.Sources, w.tree.Kept, w.tree.Diags = made.Sources, slices.Concat(made.Kept, w.tree.Kept), slices.Concat(made.Diagnostics, w.tree.Diags)
	w.tree.Held = slices.Concat(made.Held, w.tree.Held)
	l.read.Tests = w.treeOf(&w.tests, unsaid)
	l.read.Tree = w.treeOf(&w.tree, func(provider.Addr) bool { return true })
	l.read.Unfamiliar, l.read.Installed = w.unfamiliar, w.installed
	l.read.Tree.Diagnostics = sorted(slices.Concat(l.lockProblems(), l.read.Tree.Diagnostics))
	l.read.Tree.Unread = slices.Concat(l.Made.Unread, l.read.Tree.Unread)
	if l.Kind == Stack && len(l.read.Tree.Unread) > 0 {
		l.read.standIn()
	}
	if l.Made.Sources == nil {
		return costOf(w)
	}
	// The Tree was made for this root module, from directories of the searched tree.
	dirs := slices.Clone(l.Made.Sources)
	for _, dir := range slices.Concat(l.read.Tree.Dirs, l.read.Tests.Dirs) {
		if from := l.at().Tree.Place(dir); from.Package == "" {
			dirs = append(dirs, from.Path)
		}
	}
	slices.Sort(dirs)
	l.read.Tree.Dirs, l.read.Tests.Dirs = slices.Compact(dirs), nil
	return costOf(w)
}

// costOf is the cost of a walk and its results.
func costOf(w *walker) int {
	facts := w.modules
	for _, of := range []harvest{w.tree, w.tests} {
		for _, terms := range of.terms {
			facts += len(terms)
		}
	}
	return facts*PerFact + int(w.config.Directory.Tree.Held())
}

// leaveOut makes the result that of a root module whose configuration is not read, since
// the quota is exceeded.
func (l *loading) leaveOut() {
	l.begun, l.lacks = true, nil
	l.read = RootModule{Root: l.Root}
	l.read.Searched, l.read.Made.Tree, l.read.StandIn = nil, nil, StandInUnit
	why := l.Made.Quota.Problem
	l.read.Tree = ModuleTree{
		Requirements: Recorded(l.Lock),
		Unread:       append(slices.Clip(l.Made.Unread), Unread{Code: why.Code, Reason: why.Message, Place: why.Place}),
		Diagnostics:  sorted(append(l.lockProblems(), why)),
	}
}

// lockProblems are the errors of reading the lock file, and entries that the release cannot
// read. It then refuses the file, also for entries that the configuration does not need
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
