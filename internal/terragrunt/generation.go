package terragrunt

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/units"
)

// generation is everything that the stacks generate with one way to read them: with the
// first of some sets of values.
type generation struct {
	of   *allStacks
	tree *units.Files
	made map[string]*stackDir // everything in tree that is generated, by directory
	live []*liveStack         // sorted by their directories
}

// stackDir is a generated directory with the block that generates it.
type stackDir struct {
	*units.GeneratedDir
	block stackBlock
	stack string // the directory of the stack file with the block
	live  *liveStack
	unit  bool // the block is for a unit, and the directory is one
}

// treeWith is a file tree with generated directories.
func treeWith(base *units.Files, made map[string]*stackDir) *units.Files {
	dirs := map[string]*units.GeneratedDir{}
	for dir, d := range made {
		dirs[dir] = d.GeneratedDir
	}
	return units.WithGenerated(base, dirs)
}

// differs reports whether another set reaches other stacks, or changes one of them.
func (g *generation) differs(other EnvironmentSet, live []string) bool {
	var reached []string
	for _, l := range g.live {
		if l.set == nil {
			continue
		}
		if !scan.Reaches(other.Directories, l.dir) || l.differs(other) {
			return true
		}
		reached = append(reached, l.dir)
	}
	return slices.ContainsFunc(live, func(dir string) bool {
		return scan.Reaches(other.Directories, dir) && !slices.Contains(reached, dir)
	})
}

// pendingStack is a stack file that is not read yet.
type pendingStack struct {
	dir   string
	added *units.Declared // the argument of readStackFile
	live  *liveStack
}

// generate reads the live stacks, and those that they generate, level by level. Each level
// sees the directories of the earlier ones.
func (g *generation) generate(ctx context.Context) {
	pending := collect.Mapped(g.live, func(l *liveStack) pendingStack { return pendingStack{dir: l.dir, live: l} })
	for depth := 1; len(pending) > 0; depth++ {
		if depth > maxStackDepth {
			for _, p := range pending {
				p.live.exceed(staticeval.Unknown{Reason: fmt.Sprintf("%smore than %d stacks are within each other", notReadStack, maxStackDepth)})
			}
			break
		}
		pending = g.level(ctx, pending)
	}
}

// level reads stack files, adds their directories, and returns the stacks among these.
func (g *generation) level(ctx context.Context, pending []pendingStack) []pendingStack {
	files := make([]*stackFile, len(pending))
	for i, p := range pending {
		files[i] = &stackFile{}
		if len(p.live.refused) > 0 {
			continue // the stack is refused
		}
		f := readStackFile(g.tree, p.dir, p.added, p.live.set)
		p.live.take(f, g.tree)
		if len(p.live.refused) == 0 {
			files[i] = f
		}
	}
	packages := g.fetch(ctx, files)
	var fresh []*stackDir
	w := weights{}
	for i, p := range pending {
		made, cost := map[int]*stackDir{}, 0
		for n, b := range files[i].blocks {
			made[n] = g.begin(p, files[i], b, packages)
			if made[n] != nil && cost <= maxStackCost {
				cost += perDirectory + w.of(made[n].From)
			}
		}
		if !g.affords(p.live, cost) {
			continue // nothing of it is generated
		}
		for n := range files[i].blocks {
			if made[n] != nil && g.lay(made[n]) {
				fresh = append(fresh, made[n])
			}
		}
	}
	g.tree = treeWith(g.of.base, g.made)
	var stacks []pendingStack
	for _, made := range fresh {
		if g.check(made) {
			stacks = append(stacks, pendingStack{dir: made.block.dir, added: made.Auto, live: made.live})
		}
	}
	return stacks
}

// affords takes the cost of copies from the quotas. It returns false if the copies are too
// many or too large.
func (g *generation) affords(live *liveStack, cost int) bool {
	live.spend(cost)
	if live.quota.Exceeded() {
		return false
	}
	if g.of.copied+cost > maxAllCopies {
		live.exceed(staticeval.Unknown{Reason: notReadStack + "what all stacks of the repository generate is too large", Hint: "take large files out of the sources of units"})
		return false
	}
	g.of.copied += cost
	return true
}

// weights are the costs of copying directories.
type weights map[weighed]int

type weighed struct {
	tree *units.Files
	dir  string
}

// of is the cost of a copy. It is more than maxStackCost if a link leads back to a
// directory around it.
func (w weights) of(from units.Origin) int {
	at := weighed{from.Tree, from.Dir}
	if _, known := w[at]; !known {
		w[at] = costOfCopy(from.Tree, from.Dir, maxStackCost)
	}
	return w[at]
}

// mostPath is longer than the paths that a file system has [docs:
// man7.org/linux/man-pages/man0/limits.h.0p.html].
const mostPath = 4 << 10

// costOfCopy is the cost of all files and directories in a directory. It stops when that is
// more than most.
func costOfCopy(r *units.Files, dir string, most int) (sum int) {
	real, info, err := r.Follow(dir)
	switch {
	case err != nil:
		return 0
	case len(dir) > mostPath:
		return most + 1
	case info.IsDir():
	case tfconfig.ConfigurationFile(real):
		return scan.PerFact + perByte*sizeOf(r, real, info)
	case scan.Reads(real):
		return scan.PerFact + sizeOf(r, real, info)
	default:
		return scan.PerFact
	}
	entries, _ := r.List(real)
	sum = scan.PerFact // first, since links and stacks may lead deeper and deeper
	for _, e := range entries {
		if sum <= most && e.Name() != ".git" {
			sum += costOfCopy(r, path.Join(dir, e.Name()), most-sum)
		}
	}
	return sum
}

// sizeOf is the size of a file. The tree of a commit does not have the sizes of its files,
// so there it is that of the content.
func sizeOf(r *units.Files, real string, info fs.FileInfo) int {
	if info.Size() > 0 {
		return int(info.Size())
	}
	src, _ := r.Content(real)
	return len(src)
}

// lay adds a generated directory. It returns false if its path is refused.
func (g *generation) lay(made *stackDir) bool {
	dir := made.block.dir
	switch {
	case g.made[dir] != nil:
		made.live.refuse(made.block.place, "the path of the %s %q is that of another stack's", made.block.kind, made.block.name)
	case g.of.base.IsFile(path.Join(dir, units.StackName)) && slices.Contains(g.of.files, dir) && made.block.kind == unitKind, dir == made.stack: // [case stack-beside-unit]
		made.live.refuse(made.block.place, "the path of the %s %q is that of a stack", made.block.kind, made.block.name)
	case blocks(g.of.base, dir):
		made.live.refuse(made.block.place, "the path of the %s %q leads through a file or a link", made.block.kind, made.block.name)
	default:
		g.made[dir] = made
		return true
	}
	return false
}

// blocks reports whether a file or a link is at a path, or at one above it.
func blocks(r *units.Files, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := r.Lstat(name); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// check compares a generated directory with the kind of its block. It reports whether the
// directory is a stack.
func (g *generation) check(made *stackDir) bool {
	isUnit, isStack := g.tree.IsFile(path.Join(made.block.dir, units.ConfigName)), g.tree.IsFile(path.Join(made.block.dir, units.StackName))
	about := fmt.Sprintf("the source of the %s %q", made.block.kind, made.block.name)
	switch {
	case isUnit && isStack: // [case stack-unit-holds-stack-file]
		made.live.refuse(made.block.place, "%s has both terragrunt.hcl and terragrunt.stack.hcl", about)
	case made.block.kind == unitKind && isUnit:
		made.unit = true
	case made.block.kind == stackKind && isStack:
		return true
	case made.block.unchecked: // [case stack-no-validation]
	case made.block.kind == unitKind: // [case stack-invalid-no-unit-file]
		made.live.refuse(made.block.place, "%s has no terragrunt.hcl", about)
	default:
		made.live.refuse(made.block.place, "%s has no terragrunt.stack.hcl", about)
	}
	return false
}

// fetchedSource is the result of fetching a source: its origin, or why there is none.
type fetchedSource struct {
	units.Origin
	why  *staticeval.Unknown
	fail error
}

// fetch fetches the sources that the file tree does not have, each once.
func (g *generation) fetch(ctx context.Context, files []*stackFile) map[string]*fetchedSource {
	packages := map[string]*fetchedSource{}
	group := errgroup.Group{}
	group.SetLimit(defaultJobs)
	for _, f := range files {
		for _, b := range f.blocks {
			if b.why != nil || packages[b.source.Full] != nil || b.source.From != nil || b.source.Local && !g.archive(b.source) {
				continue
			}
			got := &fetchedSource{}
			packages[b.source.Full] = got
			group.Go(func() error {
				got.Origin, got.why, got.fail = g.of.fetcher.Origin(ctx, b.source)
				return nil
			})
		}
	}
	_ = group.Wait()
	return packages
}

// archive reports whether a source in the repository is a file, which must be unpacked.
func (g *generation) archive(source units.Source) bool {
	return !g.tree.IsDir(source.Package) && g.tree.IsFile(source.Package)
}

// begin makes the copy of one block; nil if the source is not known.
func (g *generation) begin(p pendingStack, f *stackFile, b stackBlock, packages map[string]*fetchedSource) *stackDir {
	from, why, fail := units.Origin{}, (*staticeval.Unknown)(nil), error(nil)
	got := packages[b.source.Full]
	switch {
	case b.why != nil:
		why = &b.why.Unknown
	case got != nil:
		from, why, fail = got.Origin, got.why, got.fail
	default:
		from, why = g.localOrigin(b.source)
	}
	if why == nil && !from.Tree.IsDir(from.Dir) { // [case stack-invalid-source]
		why = &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf("the source of the %s %q does not exist", b.kind, b.name)}
	}
	if why != nil {
		g.unknown(p, b, *why, fail)
		return nil
	}
	return g.copyOf(p, f, b, from)
}

// unknown notes a block that generates something unknown.
func (g *generation) unknown(p pendingStack, b stackBlock, why staticeval.Unknown, fail error) {
	at := b.place
	if b.source.Place.Path != "" && b.why == nil {
		at = b.source.Place
	}
	if decisive(fail) {
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
	u := unknownBlock{Hindrance: units.Hindrance{Unknown: why, Place: at}, elsewhere: b.source.Fetched(), reported: decisive(fail)}
	if b.source.Local {
		u.catalogue = path.Join(b.source.Package, b.source.Subdir)
		from, _ := g.localOrigin(b.source)
		if from.Tree != nil {
			dir, ok := from.InRepository()
			u.catalogue, u.elsewhere = dir, !ok
		}
	}
	p.live.unknown = append(p.live.unknown, u)
}

// localOrigin is the origin of a source in the file tree.
func (g *generation) localOrigin(source units.Source) (units.Origin, *staticeval.Unknown) {
	from := source.Origin(g.tree)
	if source.From == nil && g.of.absent != nil && !g.tree.IsDir(from.Dir) && g.of.absent(from.Dir) {
		return units.Origin{}, &staticeval.Unknown{Reason: "its source is not in the sparse checkout", Hint: scan.CheckOut(from.Dir)}
	}
	return from, nil
}

// copyOf makes the directory that a block generates.
func (g *generation) copyOf(p pendingStack, f *stackFile, b stackBlock, from units.Origin) *stackDir {
	d := units.GeneratedDir{Place: b.place, From: from, Values: b.values, Auto: b.auto, OfUnit: b.kind == unitKind}
	d.CopyOver(g.of.base, b.dir)
	return &stackDir{GeneratedDir: &d, block: b, stack: f.dir, live: p.live}
}
