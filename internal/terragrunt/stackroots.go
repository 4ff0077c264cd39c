package terragrunt

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/units"
)

// copies reports whether a lock file of the tree is a copy that a stack generates. Such a
// file is not in the repository.
func (s *allStacks) copies(name string) bool {
	return s.tree.IsGenerated(path.Dir(name)) && !s.base.IsFile(name)
}

// options are the options for a search of the tree with generated directories.
func (s *allStacks) options(opts scan.Options) scan.Options {
	if ignored := opts.IgnoredDir; ignored != nil {
		opts.IgnoredDir = func(dir string) string {
			if s.tree.LeadsToGenerated(dir) {
				return ""
			}
			return ignored(dir)
		}
	}
	opts.CopiedLock = s.copies
	opts.Generated = func(dir string) bool { return s.units[dir] != nil }
	return opts
}

// mayHaveStacks reports whether stacks may generate directories that matter to a search. It
// decides by the search's results: stack files, units, lock files or directories without
// configuration, or a root module below a directory with a stack file.
func mayHaveStacks(fsys fs.FS, roots []scan.Root, diagnostics []problem.Problem, stacks []string) bool {
	below := map[string]bool{}
	var stackAbove func(dir string) bool
	stackAbove = func(dir string) bool {
		known, ok := below[dir]
		if !ok {
			_, err := fs.Stat(fsys, path.Join(dir, units.StackName))
			known = err == nil || dir != "." && stackAbove(path.Dir(dir))
			below[dir] = known
		}
		return known
	}
	return len(stacks) > 0 ||
		slices.ContainsFunc(roots, func(r scan.Root) bool {
			return r.Kind == scan.TerragruntUnit || r.Kind == scan.Orphan || stackAbove(r.Dir)
		}) ||
		slices.ContainsFunc(diagnostics, func(d problem.Problem) bool {
			return d.Code == problem.CodeNotRootModule || d.Code == problem.CodeOrphanLock
		})
}

// generates reports whether a stack generates a unit in this directory.
func (s *allStacks) generates(dir string) bool { return s != nil && s.units[dir] != nil }

// stackRoots are the root modules of a file tree, with the stacks that generate some of them.
type stackRoots struct {
	stacks *allStacks // nil: there are none
	roots  []scan.Root
	// units are the units that stacks generate, by the index of their root module. parts
	// are the indexes of the units that start with the lock file of a root module, by its
	// index.
	units map[int][]*stackUnit
	parts map[int][]int
	// listed are the indexes of units that are root modules of their own, sorted.
	listed   []int
	problems []problem.Problem
	taken    map[int]waysToRead
}

// waysToRead are a root module and its unit's Assembly for each way to read the unit.
type waysToRead struct {
	roots []scan.Root
	made  []units.Assembly
}

// takes reports whether a root module is a unit of a stack, or one whose lock file such
// units start with. finish then returns the result.
func (s *stackRoots) takes(i int, roots []scan.Root, made []units.Assembly) bool {
	if s.units[i] == nil && s.parts[i] == nil {
		return false
	}
	s.taken[i] = waysToRead{roots, made}
	return true
}

// read reads the unit of a root module. A unit that a stack generates also depends on that
// stack's files, and shares a bound with the stack's other units.
func (s *stackRoots) read(tree *units.Files, i int, sets []EnvironmentSet) []units.Unit {
	ways := s.units[i]
	if ways == nil {
		return units.Read(tree, s.roots[i].Dir, units.Reaching(sets, s.roots[i].Dir))
	}
	var all []units.Unit
	for _, u := range ways {
		all = append(all, s.readWay(u, sets)...)
	}
	if _, listed := slices.BinarySearch(s.listed, i); listed { // for the others, unreadFor has the unknown blocks of all stacks
		all = append(all, s.stacks.unreadWays(ways)...)
	}
	return all
}

// readWay reads the unit for one way to read its stack.
func (s *stackRoots) readWay(g *stackUnit, sets []EnvironmentSet) []units.Unit {
	all := []units.Unit{g.costly()}
	g.live.quota.Spend(func() (cost int) {
		all = g.read(sets)
		for _, u := range all {
			cost += perEvaluated * u.Spent
		}
		return cost
	})
	from := g.tree.Sources(g.block.dir)
	for i := range from {
		from[i] += "/" // all of it is copied
	}
	for _, l := range s.stacks.waysOf(g.live.dir) {
		from = append(from, slices.Sorted(maps.Keys(l.looked))...)
	}
	for i, u := range all {
		u.Quota = g.live.quota
		u.Template = false
		u.Files = slices.Concat(u.Files, from)
		u.AnyChange = u.AnyChange || slices.ContainsFunc(g.tree.Sources(g.block.dir), s.stacks.base.LinkedBelow)
		u.Assumed = slices.Concat(u.Assumed, slices.Sorted(maps.Keys(g.live.assumed)))
		slices.Sort(u.Assumed)
		u.Assumed = slices.Compact(u.Assumed)
		if g.block.experiment != "" { // [case stack-expansion]
			u.Unproven = append(u.Unproven, units.Hindrance{Unknown: staticeval.Unknown{Reason: "the expansion block needs the experiment " + g.block.experiment}, Place: g.block.place})
		}
		all[i] = u
	}
	return all
}

// costly is a unit of a stack whose reading costs too much.
func (u *stackUnit) costly() units.Unit {
	return units.Unit{Dir: u.block.dir, Place: u.block.place, Problems: []units.Hindrance{{Unknown: costly, Place: u.live.place}}, Sets: units.NamesOf(u.live.sets), Tree: u.tree, Quota: u.live.quota}
}

// bound replaces the units of a stack that has cost too much by unknown ones.
func (s *stackRoots) bound(read [][]units.Unit) {
	for i, ways := range s.units {
		for _, way := range ways {
			if !way.live.quota.Exceeded() {
				continue
			}
			read[i] = slices.DeleteFunc(read[i], func(u units.Unit) bool { return u.Tree == way.tree })
			read[i] = append(read[i], way.costly())
		}
	}
}

// sort sorts the root modules that were found in a file tree with stacks. It leaves out the
// directories that stacks are made from, and generated units without a lock file that git
// keeps.
func (s *allStacks) sort(roots []scan.Root, opts Options) stackRoots {
	of := stackRoots{stacks: s, units: map[int][]*stackUnit{}, parts: map[int][]int{}, taken: map[int]waysToRead{}}
	var locks stackLocks
	var served []int
	for _, r := range roots {
		ways := s.units[r.Dir]
		switch {
		case s.addsTo(r.Dir):
			if opts.Scan.StackAddsTo != nil {
				opts.Scan.StackAddsTo(r.Dir)
			}
			continue
		case ways != nil:
			if s.ownLock(&r, ways, opts, &locks) {
				of.units[len(of.roots)] = ways
				of.listed = append(of.listed, len(of.roots))
				of.roots = append(of.roots, r)
			}
			continue
		case s.inMemory(r.Dir):
			continue
		case s.named[r.Dir] && r.Kind == scan.TerragruntUnit:
			if r.Lock == nil && len(r.Problems) == 0 && !r.Named {
				continue
			}
			r.Made.Unread = s.unreadFor(r.Dir)
			served = append(served, len(of.roots))
		}
		of.roots = append(of.roots, r)
	}
	for _, i := range served {
		of.addParts(i, opts)
	}
	of.problems = s.problems(opts)
	if opts.Scan.Wanted == nil && (opts.Scan.Unlocked || opts.Scan.Create) {
		of.problems = append(of.problems, locks.missing()...)
	}
	of.problems = append(of.problems, locks.covered()...)
	return of
}

// addsTo reports whether stacks generate files beside a committed lock file and committed
// configuration. Whether its entries belong to the stack is then unknown. Below StackDirName
// all files belong to the stack.
func (s *allStacks) addsTo(dir string) bool {
	if units.HasElement(dir, units.StackDirName) || !s.base.IsFile(path.Join(dir, lockfile.Name)) {
		return false
	}
	if units.UnitConfig(dir, s.base.IsFile) == "" && !tfconfig.ConfiguredIn(s.base, dir) {
		return false
	}
	if g := s.tree.GeneratedAt(dir); g != nil && g.Auto != nil {
		return true
	}
	entries, _ := s.tree.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		_, err := s.base.Lstat(path.Join(dir, e.Name()))
		return err != nil && !e.IsDir()
	})
}

// inMemory reports whether a stack generates a directory in which git keeps no lock file.
func (s *allStacks) inMemory(dir string) bool {
	return s.tree.IsGenerated(dir) && !s.base.IsFile(path.Join(dir, lockfile.Name))
}

// ownLock gives the root module of a generated unit the lock files that git keeps there. It
// reports whether the unit is a root module of its own.
func (s *allStacks) ownLock(r *scan.Root, ways []*stackUnit, opts Options, locks *stackLocks) bool {
	name, modules := path.Join(r.Dir, lockfile.Name), path.Join(r.Dir, modulelock.Name)
	keeps := !units.HasElement(r.Dir, units.StackDirName) || opts.Scan.HiddenBy == nil || opts.Scan.HiddenBy(name) == ""
	copied := func(u *stackUnit) bool { return u.From.Tree.IsFile(path.Join(u.From.Dir, lockfile.Name)) }
	lacking := slices.IndexFunc(ways, func(u *stackUnit) bool { return u.catalogue == "" || !copied(u) })
	begin := r.Lock
	r.Guessed = r.Guessed && !lockedBy(begin, provider.Terraform)
	r.Lock, r.ModuleLock, r.Problems = nil, nil, nil
	if keeps && s.base.IsFile(modules) {
		r.ModuleLock = readKept(s.base, r, modules, func(src []byte) (*modulelock.File, []problem.Problem) { return modulelock.Read(src, modules, nil) })
	}
	switch {
	case keeps && s.base.IsFile(name):
		if i := slices.IndexFunc(ways, copied); i >= 0 { // [case stack-lock-both]
			locks.overwritten = append(locks.overwritten, ways[i])
		}
		r.Lock = readKept(s.base, r, name, func(src []byte) (*lockfile.File, []problem.Problem) { return lockfile.Read(src, name, nil) })
		return true
	case keeps && (r.Named || s.base.IsFile(modules)): // a named unit is always a root module
		r.Made.Start = begin
		return true
	case lacking >= 0:
		locks.lacking = append(locks.lacking, ways[lacking])
	}
	if opts.List {
		r.Made.Start = begin
	}
	return opts.List
}

// readKept reads a lock file that git keeps beside a generated unit. The root module gets the
// problems.
func readKept[F any](base *units.Files, r *scan.Root, name string, read func([]byte) (*F, []problem.Problem)) *F {
	src, err := base.Read(name)
	if err != nil {
		r.Problems = append(r.Problems, problem.Problem{Code: problem.CodeUnreadable, Message: "the lock file could not be read: " + err.Error(), Place: problem.Place{Path: name}})
		return nil
	}
	f, problems := read(src)
	r.Problems = append(r.Problems, problems...)
	return f
}

// addParts adds the units that start with the lock file of a root module.
func (s *stackRoots) addParts(i int, opts Options) {
	parts := map[string][]*stackUnit{}
	for dir, ways := range s.stacks.units {
		for _, u := range ways {
			if u.catalogue == s.roots[i].Dir {
				parts[dir] = append(parts[dir], u)
			}
		}
	}
	dirs := slices.Sorted(maps.Keys(parts))
	for _, r := range scan.Identify(s.stacks.tree, dirs, opts.Scan) {
		r.Guessed = r.Guessed && !lockedBy(r.Lock, provider.Terraform)
		r.Lock, r.Problems = nil, nil
		s.parts[i] = append(s.parts[i], len(s.roots))
		s.units[len(s.roots)] = parts[r.Dir]
		s.roots = append(s.roots, r)
	}
}

// unreadFor returns the blocks that may generate units that start with the lock file of the
// directory, as far as that is not known.
func (s *allStacks) unreadFor(dir string) []scan.Unread {
	var unread []scan.Unread
	for _, l := range s.live {
		add := func(h units.Hindrance) {
			unread = append(unread, scan.Unread{Code: problem.CodeTerragruntUnit, Reason: h.Reason, Hint: h.Hint, Place: h.Place, Sets: s.names(l)})
		}
		for _, h := range l.refused {
			add(h)
		}
		for _, u := range l.unknown {
			if !u.elsewhere && (u.catalogue == "" || u.catalogue == dir) {
				add(u.Hindrance)
			}
		}
	}
	return unread
}

// finish returns the root modules of generated units, and those whose lock file such units
// start with. It leaves out units that leave their lock file alone, and units in which init
// does not run [case stack-lock-copy-false].
func (s *stackRoots) finish(told *toldCauses, opts Options) []scan.Root {
	opts.Scan.Create = true // each of them has a reason to exist
	of := func(i int) (scan.Root, bool) { return rootWith(s.taken[i].roots, s.taken[i].made, told, opts) }
	var kept []scan.Root
	for _, i := range s.listed {
		if r, ok := of(i); ok {
			kept = append(kept, r)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(s.parts)) {
		r := s.taken[i].roots[0]
		r.Sets = ""
		for _, part := range s.parts[i] {
			if unit, ok := of(part); ok {
				r.Made.Serves = append(r.Made.Serves, unit)
			}
		}
		if len(r.Made.Serves) == 0 {
			continue
		}
		r.StandIn, r.Made.Origin = scan.StandInParts, r.Made.Serves[0].Made.Origin
		if r.Lock == nil {
			r.Made.Start = r.Made.Serves[0].Made.Start
		}
		kept = append(kept, r)
	}
	return kept
}

// The beginnings of messages about stacks; the reason follows.
const (
	refusesStack = "Terragrunt refuses the stack: "
	notReadStack = "the stack is not read: "
	knownInPart  = "what the stack generates is known in part: "
)

// problems are the problems of the stacks that a run is about.
func (s *allStacks) problems(opts Options) []problem.Problem {
	var all []problem.Problem
	said := map[problem.Problem]bool{}
	add := func(p problem.Problem) {
		if !said[p] {
			all, said[p] = append(all, p), true
		}
	}
	for _, l := range s.live {
		if !isAbout(l.dir, opts.Scan) {
			continue
		}
		with := ""
		if names := s.names(l); !names.IsZero() {
			with = "with the " + names.String() + ", "
		}
		everywhere := !slices.ContainsFunc(s.waysOf(l.dir), func(l *liveStack) bool { return len(l.refused) == 0 })
		for _, h := range l.refused {
			p := problem.Problem{Code: problem.CodeInvalidConfig, Message: h.Reason, Hint: h.Hint, Place: h.Place}
			if !everywhere {
				p.Severity, p.Code, p.Message = problem.SeverityWarning, problem.CodeTerragruntUnit, knownInPart+with+p.Message
			}
			add(p)
		}
		for _, p := range l.failed {
			add(p)
		}
		for _, u := range l.unknown {
			if !u.reported {
				add(problem.Problem{Severity: problem.SeverityWarning, Code: problem.CodeTerragruntUnit, Message: knownInPart + with + u.Reason, Hint: u.Hint, Place: u.Place})
			}
		}
	}
	wanting := slices.DeleteFunc(slices.Clone(s.wanting), func(dir string) bool { return !isAbout(dir, opts.Scan) })
	if opts.List && len(wanting) > 0 {
		what := collect.Count(len(wanting), "stack needs values that nobody gives, and is", "stacks need values that nobody gives, and are") +
			" taken for what other stacks are made of: "
		all = append(all, problem.Problem{Severity: problem.SeverityWarning, Code: problem.CodeTerragruntUnit, Message: what + collect.First(wanting, mostUnits), Place: problem.Place{Path: path.Join(wanting[0], units.StackName)}})
	}
	return all
}

// isAbout reports whether a run is about a directory, or about one in it or around it.
func isAbout(dir string, opts scan.Options) bool {
	if opts.Excludes(dir) {
		return false
	}
	return len(opts.Dirs) == 0 || slices.ContainsFunc(opts.Dirs, func(named string) bool {
		named = strings.TrimSuffix(path.Clean(named), "/...")
		_, in := units.RelTo(named, dir)
		_, around := units.RelTo(dir, named)
		return in || around || named == "..." || named == "."
	})
}

// stackLocks has the units of stacks whose lock files a message is about.
type stackLocks struct{ lacking, overwritten []*stackUnit }

// missing says for each stack how many of its units have no lock file that git keeps, and
// where one would serve them.
func (l stackLocks) missing() []problem.Problem {
	byStack := map[string][]*stackUnit{}
	var order []*liveStack
	for _, u := range l.lacking {
		if byStack[u.live.dir] == nil {
			order = append(order, u.live)
		}
		byStack[u.live.dir] = append(byStack[u.live.dir], u)
	}
	var told []problem.Problem
	for _, live := range order {
		lacking := byStack[live.dir]
		var catalogues []string
		served := 0
		for _, u := range lacking {
			if u.catalogue != "" {
				catalogues, served = append(catalogues, u.catalogue), served+1
			}
		}
		slices.Sort(catalogues)
		catalogues = slices.Compact(catalogues)
		file, them := live.place.File(), agreed(len(lacking), "it", "them")
		what := collect.Count(len(lacking), "unit of "+file+" has", "units of "+file+" have")
		what += " no lock file that git keeps; "
		if served < len(lacking) && served > 0 {
			them = fmt.Sprintf("%d of them", served)
		}
		switch len(catalogues) {
		case 0:
			what += "what " + agreed(len(lacking), "it is", "they are") + " made of is in another repository"
		case 1:
			what += fmt.Sprintf("one beside %s would serve %s", catalogues[0], them)
		default:
			what += fmt.Sprintf("one beside each of %s would serve %s", collect.First(catalogues, mostUnits), them)
		}
		told = append(told, problem.Problem{Severity: problem.SeverityWarning, Code: problem.CodeTerragruntUnit, Message: what, Place: live.place, Hint: lackingHint(catalogues)})
	}
	return told
}

// lackingHint says how one of these lock files is written.
func lackingHint(catalogues []string) string {
	if len(catalogues) == 0 {
		return ""
	}
	return "relock upgrade " + catalogues[0] + " writes it, since the directory is named; a search does not"
}

// covered reports the lock files of units that Terragrunt overwrites.
func (l stackLocks) covered() []problem.Problem {
	if len(l.overwritten) == 0 {
		return nil
	}
	dirs := collect.Mapped(l.overwritten, func(u *stackUnit) string { return u.block.dir })
	what := collect.Count(len(dirs), "lock file is", "lock files are") + " overwritten each time that Terragrunt generates their stack, by those beside the sources of the units: " + collect.First(dirs, mostUnits)
	if len(dirs) == 1 {
		what = "a lock file is overwritten each time that Terragrunt generates its stack, by the one beside the source of the unit: " + dirs[0]
	}
	return []problem.Problem{{Severity: problem.SeverityWarning, Code: problem.CodeTerragruntUnit, Message: what, Place: problem.Place{Path: path.Join(dirs[0], lockfile.Name)}}}
}
