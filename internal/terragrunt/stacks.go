package terragrunt

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// The bounds of what stacks generate: each may have two stacks made of itself.
const (
	// maxStackDepth is how many stacks may be within each other. Terragrunt goes on to 1024
	// [terragrunt 1.1 internal/stacks/generate/generate.go]; no repository that is known
	// has more than four.
	maxStackDepth = 50
	// maxGenerated is how many directories all stacks of a file tree generate: each is read
	// by itself, in about 100 µs, and the largest known repository has 119 stack files.
	maxGenerated = 10_000
	// maxStackSpent is what reading one stack may cost with all that it generates, as a
	// staticeval.Bound counts: as much as eight files that do their worst.
	maxStackSpent = 512 << 20
)

// Stacks is what the stacks of a file tree generate, which is in memory alone.
type Stacks struct {
	base    *fileReader
	tree    *fileReader // with what is generated with any set of values: of several with one path the first
	fetcher *Assembler
	absent  func(dir string) bool

	files []string // the directories with a stack file, sorted
	// named are the directories that stack files name as a source: they are what stacks are
	// made of, and no root modules.
	named map[string]bool
	// wanting are the stacks that need values that nobody gives, sorted.
	wanting []string
	// live are those that somebody runs, once for each way to read them, and units what they
	// generate, by the directories, once for each way that generates one there.
	live  []*liveStack
	units map[string][]*stackUnit
	count int // of what is generated, in all ways
}

// liveStack is a stack that somebody runs, as it is with a set of values.
type liveStack struct {
	dir   string
	place problem.Place
	// set are the values from outside, and asked those that were asked for; nil: no set
	// reaches the directory. sets are all that have the same of these.
	set   *EnvironmentSet
	asked []askedNames
	sets  []EnvironmentSet
	// refused are why it is an error, with all that it generates, and failed why something of
	// it could not be fetched.
	refused []Hindrance
	failed  []problem.Problem
	// unknown are the blocks of which it is not known what they generate.
	unknown []unknownBlock
	assumed map[string]bool
	looked  map[string]bool // as in unitReading, by paths of the repository
	spent   atomic.Int64
}

// costlyStack is why it is not known what a stack generates that costs too much.
var costlyStack = staticeval.Unknown{Reason: "the stack is too large or too complex"}

// unknownBlock is a block of which it is not known what it generates.
type unknownBlock struct {
	Hindrance
	// catalogue is the directory of its source; empty if that is not known either, and
	// elsewhere says that it is not in the repository.
	catalogue string
	elsewhere bool
	reported  bool // an error says why
}

// stackUnit is a unit that a stack generates.
type stackUnit struct {
	*stackDir
	dir string
	// catalogue is the directory of the repository that it is copied from; empty if it comes
	// from elsewhere.
	catalogue string
	tree      *fileReader // that it is generated in
}

// ReadStacks returns what the stacks of a file tree generate, by the directories that have a
// stack file; nil if there is none. Sources that are not in the tree are fetched. A stack is read
// with each of the sets of values that reach its directory and make a difference to it.
func ReadStacks(ctx context.Context, fsys fs.FS, dirs []string, opts Options) *Stacks {
	s := &Stacks{base: newFileReader(fsys), absent: opts.Scan.Absent, named: map[string]bool{}, units: map[string][]*stackUnit{}}
	s.tree = s.base
	s.fetcher = NewAssembler(&Configs{s.base}, opts.Source, opts.Scan.Path)
	for _, dir := range dirs {
		if !hasElement(dir, generatedDir) && s.base.isFile(path.Join(dir, stackName)) {
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

// hasElement reports whether a path has an element of a name.
func hasElement(name, element string) bool {
	return slices.Contains(strings.Split(name, "/"), element)
}

// chooseLive returns the stacks that somebody runs: those whose directory no other stack file
// names as a source, but for those that need values that nobody gives. Of stacks that are
// made of each other, and of nothing else, it is the first.
func (s *Stacks) chooseLive(sets []EnvironmentSet) []string {
	sources := map[string][]string{} // by the directory of the stack
	wants := map[string]bool{}
	for _, dir := range s.files {
		eachWay(reaching(sets, dir), func(set *EnvironmentSet) func(other EnvironmentSet) bool {
			f := readStackFile(s.base, dir, nil, set)
			wants[dir] = wants[dir] || f.wants
			for _, b := range f.blocks {
				at := path.Join(b.source.Package, b.source.Subdir)
				if b.source.Local && at != dir && s.base.isDir(at) {
					sources[dir] = append(sources[dir], at)
					s.named[at] = true
				}
			}
			return func(other EnvironmentSet) bool { return f.asked.differs(*set, other) }
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

// inRepository is the directory of the repository that is copied; false if it comes from
// elsewhere.
func (o copiedFrom) inRepository() (string, bool) {
	if o.places != nil {
		return "", false
	}
	return o.tree.inRepository(o.dir)
}

func (l *liveStack) refuse(at problem.Place, format string, args ...any) {
	h := Hindrance{staticeval.Unknown{Refused: true, Reason: fmt.Sprintf(format, args...)}, at}
	if !slices.Contains(l.refused, h) {
		l.refused = append(l.refused, h)
	}
}

// take takes over what was met while one stack file was read.
func (l *liveStack) take(f *stackFile, tree *fileReader) {
	for _, p := range f.problems {
		if p.Refused {
			l.refused = append(l.refused, p)
		} else {
			l.unknown = append(l.unknown, unknownBlock{Hindrance: p})
		}
	}
	l.asked = append(l.asked, f.asked)
	for _, text := range f.assumed {
		l.assumed[text] = true
	}
	for name := range f.looked {
		for _, from := range tree.sources(name) {
			l.looked[from] = true
		}
	}
	if l.spent.Add(int64(f.spent)) > maxStackSpent {
		l.refuse(l.place, "%s", costlyStack.Reason)
	}
}

// generateAll reads the live stacks once for each way that the sets of values make. What no
// set reaches is read without, next to what the first one reaches.
func (s *Stacks) generateAll(ctx context.Context, live []string, sets []EnvironmentSet) {
	var all []*generation
	some := slices.DeleteFunc(slices.Clone(sets), func(set EnvironmentSet) bool {
		return !slices.ContainsFunc(live, func(dir string) bool { return scan.Reaches(set.Directories, dir) })
	})
	eachWay(some, func(set *EnvironmentSet) func(other EnvironmentSet) bool {
		g := &generation{of: s, tree: s.base}
		for _, dir := range live {
			own := set
			if len(reaching(some, dir)) == 0 {
				if len(all) > 0 {
					continue
				}
				own = nil
			} else if !scan.Reaches(set.Directories, dir) {
				continue
			}
			at := s.base.place(path.Join(dir, stackName))
			at.Line = 1
			g.live = append(g.live, &liveStack{dir: dir, place: at, set: own, assumed: map[string]bool{}, looked: map[string]bool{}})
		}
		g.generate(ctx)
		all = append(all, g)
		for _, l := range g.live {
			if l.set != nil {
				l.sets = slices.DeleteFunc(reaching(some, l.dir), l.differs)
			}
		}
		return func(other EnvironmentSet) bool { return g.differs(other, live) }
	}, func([]EnvironmentSet) {})
	s.settle(all)
}

// differs reports whether a stack may generate something else with another set.
func (l *liveStack) differs(other EnvironmentSet) bool {
	return slices.ContainsFunc(l.asked, func(asked askedNames) bool { return asked.differs(*l.set, other) })
}

// settle keeps the units of the stacks that are live after all: not of those that another
// one has turned out to be made of, nor of those that are an error. Of a stack that several
// sets make no difference to, the first counts.
func (s *Stacks) settle(all []*generation) {
	made, within := s.joined(all)
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
	switch {
	case len(all) == 1:
		s.tree = all[0].tree
	case len(made.made) > 0:
		s.tree = made.reader()
	}
}

// joined is the tree with what all of them generate: of several directories with one path
// the first, or the first that is a unit. within are the stacks that others are made of.
func (s *Stacks) joined(all []*generation) (made *stackTree, within map[string]bool) {
	made, within = newStackTree(s.base, nil), map[string]bool{}
	for _, g := range all {
		if g.tree.generates == nil {
			continue
		}
		for at, d := range g.tree.generates.made {
			if known := made.made[at]; known == nil || d.unit && !known.unit {
				made.add(at, d)
			}
			dir, ok := d.copied.inRepository()
			if !ok {
				continue
			}
			s.named[dir] = true
			if d.live.dir != dir && d.block.kind == stackKind {
				within[dir] = true
			}
		}
	}
	return made, within
}

// addUnits adds the units that one generation has.
func (s *Stacks) addUnits(g *generation) {
	if g.tree.generates == nil {
		return
	}
	for dir, d := range g.tree.generates.made {
		if d.unit && len(d.live.refused) == 0 && slices.Contains(s.live, d.live) {
			catalogue, _ := d.copied.inRepository()
			s.units[dir] = append(s.units[dir], &stackUnit{d, dir, catalogue, g.tree})
		}
	}
}

// repeats reports whether a stack is the same with a set that was read before.
func (l *liveStack) repeats(before *liveStack) bool {
	return before.dir == l.dir && l.set != nil && namesOf(before.sets).Has(l.set.Name) && (len(l.refused) == 0 || len(before.refused) > 0)
}

// names are the sets with which a stack is so, where it is otherwise with others.
func (s *Stacks) names(l *liveStack) scan.SetNames {
	if len(s.waysOf(l.dir)) == 1 {
		return ""
	}
	return namesOf(l.sets)
}

// waysOf are the ways to read the stack of a directory.
func (s *Stacks) waysOf(dir string) []*liveStack {
	var ways []*liveStack
	for _, l := range s.live {
		if l.dir == dir {
			ways = append(ways, l)
		}
	}
	return ways
}

// read reads the unit with each set that its stack is so with. One that no set
// reaches the stack of is read with those that reach the unit.
func (u *stackUnit) read(sets []EnvironmentSet) []Unit {
	configs := &Configs{u.tree}
	if u.live.set == nil {
		return configs.Units(u.dir, sets)
	}
	return configs.unitsWith(u.dir, u.live.sets)
}

// unreadWays are the ways to read the stacks of a unit in which it is not known whether they
// generate it, as units that are not known.
func (s *Stacks) unreadWays(ways []*stackUnit) []Unit {
	var units []Unit
	first := ways[0]
	for _, l := range s.waysOf(first.live.dir) {
		if slices.ContainsFunc(ways, func(u *stackUnit) bool { return u.live == l }) {
			continue
		}
		var why []Hindrance
		for _, h := range l.refused {
			h.Refused, h.Reason = false, refusesStack+h.Reason
			why = append(why, h)
		}
		for _, b := range l.unknown {
			why = append(why, b.Hindrance)
		}
		if len(why) > 0 {
			units = append(units, Unit{Dir: first.dir, Place: l.place, Problems: why, Sets: namesOf(l.sets), tree: first.tree})
		}
	}
	return units
}
