package terragrunt

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/units"
)

// The bounds of what stacks generate. Each stack may contain two stacks like itself.
const (
	// maxStackDepth is how deep stacks may be nested. Terragrunt's own limit is 1024
	// [terragrunt 1.1 internal/stacks/generate/generate.go]. No known repository has more
	// than four levels.
	maxStackDepth = 50
	// maxStackCost is the most that reading one stack and everything it generates may cost, as
	// a scan.Quota counts. It allows for 1,700 small units, or for 700 with ten files and
	// twenty requirements and module calls each.
	maxStackCost = 96 << 20
	// maxAllCopies is the cost of all copies that the stacks of a file tree generate. The
	// largest known repository has 119 stack files.
	maxAllCopies = 4 * maxStackCost
	perDirectory = 40 << 10
	// perByte is the cost of a byte of Terraform's or OpenTofu's configuration, which is
	// parsed again in each copy.
	perByte = 32
	// perEvaluated is the cost of what a staticeval.Bound counts.
	perEvaluated = 2
	// mostRefusals is how many reasons are listed why one stack is refused.
	mostRefusals = 100
)

// allStacks has everything that the stacks of a file tree generate, in memory only.
type allStacks struct {
	base    *units.Files
	tree    *units.Files // with the directories of all ways; if several have one path, the first one counts
	fetcher *units.Assembler
	absent  func(dir string) bool

	files []string // the directories with a stack file, sorted
	// named are the directories that stack files name as sources. They are no root modules:
	// stacks are made from them.
	named map[string]bool
	// wanting are the stacks that need values that nothing gives them, sorted.
	wanting []string
	// live are the stacks that people run, one for each way to read them. units are the
	// units that these generate, by directory, one for each way that generates a unit
	// there.
	live   []*liveStack
	units  map[string][]*stackUnit
	copied int // the cost of all copies, in all ways
}

// liveStack is a stack that people run, with one set of values.
type liveStack struct {
	dir   string
	place problem.Place
	// set has the values from outside; nil: no set reaches the directory. asked are the
	// names that were asked for. sets are all sets with the same values for these.
	set   *EnvironmentSet
	asked []units.AskedNames
	sets  []EnvironmentSet
	// refused are the reasons why the stack, or something that it generates, is an error or
	// is not read. failed says what could not be fetched.
	refused []units.Hindrance
	failed  []problem.Problem
	// unknown are the blocks that generate something unknown.
	unknown []unknownBlock
	assumed map[string]bool
	looked  map[string]bool // as in Reading, by paths of the repository
	quota   *scan.Quota     // for the stack and everything that it generates
}

func newLiveStack(dir string, at problem.Place, set *EnvironmentSet) *liveStack {
	at.Line = 1
	return &liveStack{
		dir: dir, place: at, set: set, assumed: map[string]bool{}, looked: map[string]bool{},
		quota: &scan.Quota{Most: maxStackCost, Problem: problem.Problem{Code: problem.CodeInvalidConfig, Message: costly.Reason, Hint: costly.Hint, Place: at}},
	}
}

// costly is why a stack is not read whose reading costs too much.
var costly = staticeval.Unknown{
	Reason: notReadStack + "it, or what it generates, is too large or too complex",
	Hint:   "divide it into several stack files, or take large files out of the sources of its units",
}

// unknownBlock is a block that generates something unknown.
type unknownBlock struct {
	units.Hindrance
	// catalogue is the directory of its source; empty if that is not known either.
	// elsewhere says that it is not in the repository.
	catalogue string
	elsewhere bool
	reported  bool // an error says why
}

// stackUnit is a unit that a stack generates.
type stackUnit struct {
	*stackDir
	// catalogue is the directory in the repository from which it is copied; empty if it
	// comes from elsewhere.
	catalogue string
	tree      *units.Files // the tree with the generated unit
}

// readStacks returns everything that the stacks of a file tree generate; nil if there is
// none. dirs are the directories with a stack file. Sources that the tree does not have are
// fetched. A stack is read with each set of values that reaches its directory, once for
// sets that do not differ.
func readStacks(ctx context.Context, fsys fs.FS, dirs []string, opts Options) *allStacks {
	s := &allStacks{base: units.NewFiles(fsys), absent: opts.Scan.Absent, named: map[string]bool{}, units: map[string][]*stackUnit{}}
	s.tree = s.base
	s.fetcher = units.NewAssembler(s.base, opts.Source, opts.Scan)
	for _, dir := range dirs {
		if !units.HasElement(dir, units.StackDirName) && s.base.IsFile(path.Join(dir, units.StackName)) {
			s.files = append(s.files, dir)
		}
	}
	slices.Sort(s.files)
	s.files = slices.Compact(s.files)
	if len(s.files) == 0 {
		return nil
	}
	s.generateAll(ctx, s.chooseLive(opts.Environments), opts.Environments)
	return s
}

// chooseLive returns the stacks that people run. These are the stacks that no other stack
// file names as a source and that need no missing values. If stacks are made only from each
// other, it is the first of them.
func (s *allStacks) chooseLive(sets []EnvironmentSet) []string {
	sources := map[string][]string{} // sources of each stack, by directory
	wants := map[string]bool{}
	for _, dir := range s.files {
		units.EachWay(units.Reaching(sets, dir), func(set *EnvironmentSet) func(other EnvironmentSet) bool {
			f := readStackFile(s.base, dir, nil, set)
			wants[dir] = wants[dir] || f.reading.Wants
			for _, b := range f.blocks {
				at := path.Join(b.source.Package, b.source.Subdir)
				if b.source.Local && at != dir && s.base.IsDir(at) {
					sources[dir] = append(sources[dir], at)
					s.named[at] = true
				}
			}
			return func(other EnvironmentSet) bool { return f.reading.Asked.Differs(*set, other) }
		}, func([]EnvironmentSet) {})
	}
	reached := map[string]bool{}
	var reach func(dir string)
	reach = func(dir string) {
		if reached[dir] {
			return
		}
		reached[dir] = true
		for _, at := range sources[dir] {
			reach(at)
		}
	}
	var live []string
	add := func(dir string) {
		reach(dir)
		if wants[dir] {
			s.wanting = append(s.wanting, dir)
		} else {
			live = append(live, dir)
		}
	}
	for _, dir := range s.files {
		if !s.named[dir] {
			add(dir)
		}
	}
	for _, dir := range s.files {
		if !reached[dir] {
			delete(s.named, dir)
			add(dir)
		}
	}
	slices.Sort(live)
	return live
}

// refuse notes a reason why the stack is an error.
func (l *liveStack) refuse(at problem.Place, format string, args ...any) {
	l.drop(units.Hindrance{Unknown: staticeval.Unknown{Reason: refusesStack + fmt.Sprintf(format, args...)}, Place: at})
}

// exceed notes why the stack is not read although it may be valid.
func (l *liveStack) exceed(why staticeval.Unknown) {
	l.drop(units.Hindrance{Unknown: why, Place: l.place})
}

func (l *liveStack) drop(h units.Hindrance) {
	h.Refused = true
	if len(l.refused) < mostRefusals && !slices.Contains(l.refused, h) {
		l.refused = append(l.refused, h)
	}
}

// take adds the results of reading one stack file.
func (l *liveStack) take(f *stackFile, tree *units.Files) {
	for _, p := range f.problems {
		if p.Refused {
			p.Reason = refusesStack + p.Reason
			l.drop(p)
		} else {
			l.unknown = append(l.unknown, unknownBlock{Hindrance: p})
		}
	}
	l.asked = append(l.asked, f.reading.Asked)
	for text := range f.reading.Assumed {
		l.assumed[text] = true
	}
	for name := range f.reading.Looked {
		for _, from := range tree.Sources(name) {
			l.looked[from] = true
		}
	}
	l.spend(perEvaluated * f.reading.Bound.Spent())
}

// spend takes a cost from the quota.
func (l *liveStack) spend(cost int) {
	l.quota.Spend(func() int { return cost })
	if l.quota.Exceeded() {
		l.exceed(costly)
	}
}

// generateAll reads the live stacks once for each way that the sets of values make. Stacks
// that no set reaches are read without a set, in the first generation.
func (s *allStacks) generateAll(ctx context.Context, live []string, sets []EnvironmentSet) {
	var all []*generation
	some := slices.DeleteFunc(slices.Clone(sets), func(set EnvironmentSet) bool {
		return !slices.ContainsFunc(live, func(dir string) bool { return scan.Reaches(set.Directories, dir) })
	})
	units.EachWay(some, func(set *EnvironmentSet) func(other EnvironmentSet) bool {
		g := &generation{of: s, tree: s.base, made: map[string]*stackDir{}}
		for _, dir := range live {
			own := set
			if len(units.Reaching(some, dir)) == 0 {
				if len(all) > 0 {
					continue
				}
				own = nil
			} else if !scan.Reaches(set.Directories, dir) {
				continue
			}
			g.live = append(g.live, newLiveStack(dir, s.base.Place(path.Join(dir, units.StackName)), own))
		}
		g.generate(ctx)
		all = append(all, g)
		for _, l := range g.live {
			if l.set != nil {
				l.sets = slices.DeleteFunc(units.Reaching(some, l.dir), l.differs)
			}
		}
		return func(other EnvironmentSet) bool { return g.differs(other, live) }
	}, func([]EnvironmentSet) {})
	s.settle(all)
}

// differs reports whether a stack may generate something else with another set.
func (l *liveStack) differs(other EnvironmentSet) bool {
	return slices.ContainsFunc(l.asked, func(asked units.AskedNames) bool { return asked.Differs(*l.set, other) })
}

// settle keeps the units of the stacks that people run. It drops stacks that are errors, and
// those that turned out to be sources of other stacks. If several sets do not change a stack,
// the first one counts.
func (s *allStacks) settle(all []*generation) {
	joined, within := s.joined(all)
	for _, g := range all {
		for _, l := range g.live {
			if !within[l.dir] && !slices.ContainsFunc(s.live, l.repeats) {
				s.live = append(s.live, l)
			}
		}
		s.addUnits(g)
	}
	slices.SortStableFunc(s.live, func(a, b *liveStack) int { return cmp.Compare(a.dir, b.dir) })
	for _, l := range s.live {
		delete(s.named, l.dir)
	}
	s.tree = joined
	if len(all) == 1 {
		s.tree = all[0].tree // it has read files already
	}
}

// joined is the tree with the directories of all generations. If several have one path, the
// first one counts, or the first that is a unit. within are the stacks that other stacks
// are made from.
func (s *allStacks) joined(all []*generation) (tree *units.Files, within map[string]bool) {
	made := map[string]*stackDir{}
	within = map[string]bool{}
	for _, g := range all {
		for at, d := range g.made {
			if known := made[at]; known == nil || d.unit && !known.unit {
				made[at] = d
			}
			dir, ok := d.From.InRepository()
			if !ok {
				continue
			}
			s.named[dir] = true
			if d.live.dir != dir && d.block.kind == stackKind {
				within[dir] = true
			}
		}
	}
	return treeWith(s.base, made), within
}

// addUnits adds the units of one generation.
func (s *allStacks) addUnits(g *generation) {
	for dir, d := range g.made {
		if d.unit && len(d.live.refused) == 0 && slices.Contains(s.live, d.live) {
			catalogue, _ := d.From.InRepository()
			s.units[dir] = append(s.units[dir], &stackUnit{d, catalogue, g.tree})
		}
	}
}

// repeats reports whether an earlier set has given the same stack.
func (l *liveStack) repeats(before *liveStack) bool {
	return before.dir == l.dir && l.set != nil && units.NamesOf(before.sets).Has(l.set.Name) && (len(l.refused) == 0 || len(before.refused) > 0)
}

// names are the sets of this way to read the stack. It is empty if there is only one way.
func (s *allStacks) names(l *liveStack) scan.SetNames {
	if len(s.waysOf(l.dir)) == 1 {
		return ""
	}
	return units.NamesOf(l.sets)
}

// waysOf are the ways to read the stack of a directory.
func (s *allStacks) waysOf(dir string) []*liveStack {
	return collect.Those(s.live, func(l *liveStack) bool { return l.dir == dir })
}

// read reads the unit with each set of its stack. If no set reaches the stack, the unit is
// read with the sets that reach the unit.
func (u *stackUnit) read(sets []EnvironmentSet) []units.Unit {
	if u.live.set == nil {
		return units.Read(u.tree, u.block.dir, units.Reaching(sets, u.block.dir))
	}
	return units.Read(u.tree, u.block.dir, u.live.sets)
}

// unreadWays are the ways to read the stack of a unit that do not show whether the stack
// generates it. Each one is returned as an unknown unit.
func (s *allStacks) unreadWays(ways []*stackUnit) []units.Unit {
	var all []units.Unit
	first := ways[0]
	for _, l := range s.waysOf(first.live.dir) {
		if slices.ContainsFunc(ways, func(u *stackUnit) bool { return u.live == l }) {
			continue
		}
		var why []units.Hindrance
		for _, h := range l.refused {
			h.Refused = false
			why = append(why, h)
		}
		for _, b := range l.unknown {
			why = append(why, b.Hindrance)
		}
		if len(why) > 0 {
			all = append(all, units.Unit{Dir: first.block.dir, Place: l.place, Problems: why, Sets: units.NamesOf(l.sets), Tree: first.tree})
		}
	}
	return all
}
