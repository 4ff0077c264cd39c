package terragrunt

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sync/errgroup"

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
	base, tree *fileReader
	fetcher    *Assembler
	absent     func(dir string) bool

	files []string // the directories with a stack file, sorted
	// named are the directories that stack files name as a source: they are what stacks are
	// made of, and no root modules.
	named map[string]bool
	// wanting are the stacks that need values that nobody gives, sorted.
	wanting []string
	live    []*liveStack          // that somebody runs, sorted by their directories
	units   map[string]*stackUnit // that they generate, by their directories
	count   int                   // of what is generated
}

// liveStack is a stack that somebody runs.
type liveStack struct {
	dir   string
	place problem.Place
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
}

// ReadStacks returns what the stacks of a file tree generate, by the directories that have a
// stack file; nil if there is none. Sources that are not in the tree are fetched.
func ReadStacks(ctx context.Context, fsys fs.FS, dirs []string, opts Options) *Stacks {
	s := &Stacks{base: newFileReader(fsys), absent: opts.Scan.Absent, named: map[string]bool{}, units: map[string]*stackUnit{}}
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
	for _, dir := range s.chooseLive() {
		at := s.base.place(path.Join(dir, stackName))
		at.Line = 1
		s.live = append(s.live, &liveStack{dir: dir, place: at, assumed: map[string]bool{}, looked: map[string]bool{}})
	}
	s.generate(ctx)
	return s
}

// hasElement reports whether a path has an element of a name.
func hasElement(name, element string) bool {
	return slices.Contains(strings.Split(name, "/"), element)
}

// chooseLive returns the stacks that somebody runs: those whose directory no other stack file
// names as a source, but for those that need values that nobody gives. Of stacks that are
// made of each other, and of nothing else, it is the first.
func (s *Stacks) chooseLive() []string {
	sources := map[string][]string{} // by the directory of the stack
	wants := map[string]bool{}
	for _, dir := range s.files {
		f := readStackFile(s.base, dir, nil)
		wants[dir] = f.wants
		for _, b := range f.blocks {
			at := path.Join(b.source.Package, b.source.Subdir)
			if b.source.Local && at != dir && s.base.isDir(at) {
				sources[dir] = append(sources[dir], at)
				s.named[at] = true
			}
		}
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

// pendingStack is a stack file that is to be read.
type pendingStack struct {
	dir   string
	added *declared // as in readStackFile
	live  *liveStack
}

// generate reads the live stacks, and those that they generate, level by level: what is
// generated on one is there when the next one is read.
func (s *Stacks) generate(ctx context.Context) {
	var pending []pendingStack
	for _, live := range s.live {
		pending = append(pending, pendingStack{dir: live.dir, live: live})
	}
	for depth := 1; len(pending) > 0; depth++ {
		if depth > maxStackDepth {
			for _, p := range pending {
				p.live.refuse(p.live.place, "more than %d stacks are within each other", maxStackDepth)
			}
			break
		}
		pending = s.level(ctx, pending)
	}
	s.settle()
}

// settle keeps the units of the stacks that are live after all: not of those that another
// one has turned out to be made of, nor of those that are an error.
func (s *Stacks) settle() {
	if s.tree.generates == nil {
		return
	}
	made := map[string]bool{}
	for _, g := range s.tree.generates.made {
		dir, ok := g.copied.inRepository()
		if !ok {
			continue
		}
		s.named[dir] = true
		if g.live.dir != dir && g.block.kind == stackKind {
			made[dir] = true
		}
	}
	s.live = slices.DeleteFunc(s.live, func(l *liveStack) bool { return made[l.dir] })
	for dir, g := range s.tree.generates.made {
		if g.unit && len(g.live.refused) == 0 && slices.Contains(s.live, g.live) {
			catalogue, _ := g.copied.inRepository()
			s.units[dir] = &stackUnit{g, dir, catalogue}
		}
	}
	for _, l := range s.live {
		delete(s.named, l.dir)
	}
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

// level reads stack files, adds what they generate, and returns the stacks among that.
func (s *Stacks) level(ctx context.Context, pending []pendingStack) []pendingStack {
	next := newStackTree(s.base, s.tree.generates)
	files := make([]*stackFile, len(pending))
	for i, p := range pending {
		files[i] = &stackFile{}
		if len(p.live.refused) > 0 {
			continue // Terragrunt has stopped
		}
		f := readStackFile(s.tree, p.dir, p.added)
		p.live.take(f, s.tree)
		if len(p.live.refused) == 0 {
			files[i] = f
		}
	}
	packages := s.fetch(ctx, files)
	var fresh []*stackUnit
	for i, p := range pending {
		for _, b := range files[i].blocks {
			if g := s.begin(p, files[i], b, packages); g != nil && s.lay(next, b.dir, g) {
				fresh = append(fresh, &stackUnit{stackDir: g, dir: b.dir})
			}
		}
	}
	s.tree = next.reader()
	var stacks []pendingStack
	for _, g := range fresh {
		if s.check(g) {
			stacks = append(stacks, pendingStack{dir: g.dir, added: g.block.auto, live: g.live})
		}
	}
	return stacks
}

// lay adds a generated directory.
func (s *Stacks) lay(next *stackTree, dir string, g *stackDir) bool {
	s.count++
	switch {
	case next.made[dir] != nil:
		g.live.refuse(g.block.place, "the path of the %s %q is that of another stack's", g.block.kind, g.block.name)
	case s.base.isFile(path.Join(dir, stackName)) && slices.Contains(s.files, dir) && g.block.kind == unitKind, dir == g.stack.dir: // [case stack-beside-unit]
		g.live.refuse(g.block.place, "the path of the %s %q is that of a stack", g.block.kind, g.block.name)
	case s.count > maxGenerated:
		g.live.refuse(g.live.place, "the stacks of the repository generate more than %d directories", maxGenerated)
	default:
		next.add(dir, g)
		return true
	}
	return false
}

// check looks at what is generated. It returns whether that is a stack.
func (s *Stacks) check(g *stackUnit) bool {
	isUnit, isStack := s.tree.isFile(path.Join(g.dir, configName)), s.tree.isFile(path.Join(g.dir, stackName))
	about := fmt.Sprintf("the source of the %s %q", g.block.kind, g.block.name)
	switch {
	case isUnit && isStack: // [case stack-unit-holds-stack-file]
		g.live.refuse(g.block.place, "%s has both terragrunt.hcl and terragrunt.stack.hcl", about)
	case g.block.kind == unitKind && isUnit:
		g.unit = true
	case g.block.kind == stackKind && isStack:
		return true
	case g.block.unchecked: // [case stack-no-validation]
	case g.block.kind == unitKind: // [case stack-invalid-no-unit-file]
		g.live.refuse(g.block.place, "%s has no terragrunt.hcl", about)
	default:
		g.live.refuse(g.block.place, "%s has no terragrunt.stack.hcl", about)
	}
	return false
}

// fetchedSource is what a source led to: an origin, or why there is none.
type fetchedSource struct {
	copiedFrom
	why  *staticeval.Unknown
	fail error
}

// fetch fetches the sources that are not in the file tree, each once.
func (s *Stacks) fetch(ctx context.Context, files []*stackFile) map[string]*fetchedSource {
	packages := map[string]*fetchedSource{}
	group := errgroup.Group{}
	group.SetLimit(defaultJobs)
	for _, f := range files {
		for _, b := range f.blocks {
			if b.why != nil || packages[b.source.text] != nil || b.source.from != nil || b.source.Local && !s.archive(b.source) {
				continue
			}
			got := &fetchedSource{}
			packages[b.source.text] = got
			group.Go(func() error {
				*got = s.fetcher.origin(ctx, b.source)
				return nil
			})
		}
	}
	_ = group.Wait()
	return packages
}

// archive reports whether a source is a file of the repository.
func (s *Stacks) archive(source Source) bool {
	return !s.tree.isDir(source.Package) && s.tree.isFile(source.Package)
}

// begin makes the copy of one block; nil if it is not known what that is.
func (s *Stacks) begin(p pendingStack, f *stackFile, b stackBlock, packages map[string]*fetchedSource) *stackDir {
	from, why, fail := copiedFrom{}, (*staticeval.Unknown)(nil), error(nil)
	got := packages[b.source.text]
	switch {
	case b.why != nil:
		why = &b.why.Unknown
	case got != nil:
		from, why, fail = got.copiedFrom, got.why, got.fail
	default:
		from, why = s.localOrigin(b.source)
	}
	if why == nil && !from.tree.isDir(from.dir) { // [case stack-invalid-source]
		why = &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf("the source of the %s %q does not exist", b.kind, b.name)}
	}
	if why != nil {
		s.unknown(p, b, *why, fail)
		return nil
	}
	return s.copyOf(p, f, b, from)
}

// unknown notes that it is not known what a block generates.
func (s *Stacks) unknown(p pendingStack, b stackBlock, why staticeval.Unknown, fail error) {
	at := b.place
	if b.source.place.Path != "" && b.why == nil {
		at = b.source.place
	}
	if passing(fail) {
		d := problem.Of(fail)
		d.Place = at
		p.live.failed = append(p.live.failed, d)
	}
	if b.why == nil && !why.Refused {
		why.Reason = fmt.Sprintf("the %s %q is not statically known: %s", b.kind, b.name, why.Reason)
	}
	if why.Refused {
		p.live.refuse(at, "%s", why.Reason)
		return
	}
	u := unknownBlock{Hindrance: Hindrance{why, at}, elsewhere: b.source.text != "" && !b.source.Local, reported: passing(fail)}
	if b.source.Local {
		u.catalogue = path.Join(b.source.Package, b.source.Subdir)
		from, _ := s.localOrigin(b.source)
		if from.tree != nil {
			dir, ok := from.inRepository()
			u.catalogue, u.elsewhere = dir, !ok
		}
	}
	p.live.unknown = append(p.live.unknown, u)
}

// localOrigin is the origin of a source in the file tree.
func (s *Stacks) localOrigin(source Source) (copiedFrom, *staticeval.Unknown) {
	dir := path.Join(source.Package, source.Subdir)
	if o := source.from; o != nil {
		return copiedFrom{tree: o.tree, places: o.places, dir: dir, top: o.top}, nil
	}
	if s.absent != nil && !s.tree.isDir(dir) && s.absent(dir) {
		return copiedFrom{}, &staticeval.Unknown{Reason: "its source is not in the sparse checkout", Hint: scan.CheckOut(dir)}
	}
	return copiedFrom{tree: s.tree, dir: dir, top: source.Package}, nil
}

// copyOf is what a block generates: the whole of its source, hidden files and its lock file
// with them, over what is there [cases stack-unit-own-files, stack-unit-hidden-files,
// stack-generated-tf-beside, stack-lock-catalogue].
func (s *Stacks) copyOf(p pendingStack, f *stackFile, b stackBlock, from copiedFrom) *stackDir {
	w := &workingCopy{written: map[string][]byte{}, removed: map[string]bool{}}
	if s.base.isDir(b.dir) {
		w.layers = append(w.layers, layer{tree: s.base, dir: b.dir, at: "."})
	}
	w.layers = append(w.layers, layer{tree: from.tree, dir: from.dir, at: ".", places: from.places})
	if b.values != cty.NilVal { // [cases stack-stale-values, stack-values-file-replaced]
		w.written[valuesName] = valuesText(b.values)
	}
	if b.auto != nil {
		w.removed[autoName] = true
	}
	return &stackDir{block: b, stack: f, copied: from, copy: w, live: p.live}
}

// valuesText is the file for values [case stack-values-object], without those that are not
// known.
func valuesText(values cty.Value) []byte {
	text := []byte("# Auto-generated by the terragrunt.stack.hcl file by Terragrunt. Do not edit manually\n")
	fields, _ := fieldsOf(values)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if v, _ := fields[name].UnmarkDeep(); v.IsWhollyKnown() {
			text = fmt.Appendf(text, "%s = %s\n", name, hclwrite.TokensForValue(v).Bytes())
		}
	}
	return text
}
