package terragrunt

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// stackTree is a file tree with the directories that stacks generate in it, which are in
// memory alone. It is the filetree.Source of a fileReader, so that what is generated is
// read by the same reader as what is there.
type stackTree struct {
	base *fileReader
	made map[string]*stackDir // by their directories
	// leads are the names in directories that lead to generated ones, by the directory.
	leads map[string]map[string]bool
}

// stackDir is a directory that a stack generates: a copy of its source over what is
// there already, and what the stack file says of it.
type stackDir struct {
	block  stackBlock
	stack  *stackFile // that has the block
	copied copiedFrom
	copy   *workingCopy
	live   *liveStack
	unit   bool // it is what its block says, and that is a unit
}

// copiedFrom is where a generated directory is copied from.
type copiedFrom struct {
	tree   *fileReader
	places func(name string) problem.Place // as in layer
	// dir is the directory, and top how far sources in it lead that are relative to it
	// and not to where it is generated.
	dir, top string
}

// newStackTree begins a tree with what another one has generated.
func newStackTree(base *fileReader, before *stackTree) *stackTree {
	o := &stackTree{base: base, made: map[string]*stackDir{}, leads: map[string]map[string]bool{}}
	if before != nil {
		for dir, g := range before.made {
			o.add(dir, g)
		}
	}
	return o
}

// reader reads the tree, to which nothing is added any more.
func (o *stackTree) reader() *fileReader {
	return &fileReader{Lazy: filetree.Lazy{Source: o, KeepsContents: true}, generates: o}
}

// add adds a generated directory.
func (o *stackTree) add(dir string, g *stackDir) {
	o.made[dir] = g
	for dir != "." {
		above := path.Dir(dir)
		if o.leads[above] == nil {
			o.leads[above] = map[string]bool{}
		}
		o.leads[above][path.Base(dir)] = true
		dir = above
	}
}

// in returns the generated directory that a path is in, and the path from there; nil if it
// is in none.
func (o *stackTree) in(name string) (g *stackDir, rel string) {
	for dir := name; ; dir = path.Dir(dir) {
		if g := o.made[dir]; g != nil {
			rel, _ := relTo(dir, name)
			return g, rel
		}
		if dir == "." || dir == "/" {
			return nil, ""
		}
	}
}

// Lstat describes a file or directory.
func (o *stackTree) Lstat(name string) (fs.FileInfo, error) {
	if o.leads[name] != nil {
		return filetree.InfoOf(path.Base(name), fs.ModeDir|0o755, 0), nil
	}
	if g, rel := o.in(name); g != nil {
		info, err := g.copy.Lstat(rel)
		if err != nil || rel != "." {
			return info, err
		}
		return filetree.InfoOf(path.Base(name), info.Mode(), info.Size()), nil
	}
	return o.base.Lstat(name)
}

// ReadLink returns where a link leads: there is none in what is generated.
func (o *stackTree) ReadLink(name string) (string, error) {
	if g, rel := o.in(name); g != nil {
		return g.copy.ReadLink(rel)
	}
	return o.base.ReadLink(name)
}

// ReadDir lists a directory.
func (o *stackTree) ReadDir(name string) ([]fs.DirEntry, error) {
	list := o.base.ReadDir
	at := name
	if g, rel := o.in(name); g != nil {
		list, at = g.copy.ReadDir, rel
	}
	entries, err := list(at)
	leads := o.leads[name]
	if len(leads) == 0 {
		return entries, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return leads[e.Name()] })
	for _, lead := range slices.Sorted(maps.Keys(leads)) {
		entries = append(entries, fs.FileInfoToDirEntry(filetree.InfoOf(lead, fs.ModeDir|0o755, 0)))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// ReadFile returns what is in a file.
func (o *stackTree) ReadFile(name string) ([]byte, error) {
	if g, rel := o.in(name); g != nil {
		return g.copy.ReadFile(rel)
	}
	return o.base.read(name)
}

// place is what people call a path: what is copied has its name in its source, and what
// a stack file says has its place there.
func (o *stackTree) place(name string) problem.Place {
	g, rel := o.in(name)
	if g == nil {
		return o.base.place(name)
	}
	n, err := g.copy.find(rel)
	if err == nil && n.layer != nil {
		return n.layer.shown(n.real)
	}
	if err == nil && n.written != nil {
		return g.block.place
	}
	return problem.Place{Path: name}
}

// inRepository is the path of the repository that a path is a copy of; false if what is there
// comes from elsewhere.
func (r *fileReader) inRepository(name string) (string, bool) {
	if r.generates == nil {
		return name, true
	}
	g, rel := r.generates.in(name)
	if g == nil {
		return name, true
	}
	n, err := g.copy.find(rel)
	if err != nil || n.layer == nil || n.layer.places != nil {
		return "", false
	}
	return n.layer.tree.inRepository(n.real)
}

// sources are the paths of the repository that a path is made of, or would be.
func (r *fileReader) sources(name string) []string {
	if r.generates == nil {
		return []string{name}
	}
	g, rel := r.generates.in(name)
	if g == nil {
		return r.generates.base.sources(name)
	}
	var names []string
	for i := range g.copy.layers {
		if l := &g.copy.layers[i]; l.places == nil {
			names = append(names, l.tree.sources(path.Join(l.dir, rel))...)
		}
	}
	return names
}

// allSources are the sources of several paths, sorted.
func (r *fileReader) allSources(names []string) []string {
	if r.generates == nil {
		return names
	}
	var all []string
	for _, name := range names {
		all = append(all, r.sources(name)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// anyLinked reports whether one of these paths of the repository leads through a link.
func (r *fileReader) anyLinked(names []string) bool {
	if r.generates != nil {
		return r.generates.base.anyLinked(names)
	}
	return slices.ContainsFunc(names, r.Linked)
}

// generatedAt is the generated directory with this path; nil if there is none.
func (r *fileReader) generatedAt(dir string) *stackDir {
	if r.generates == nil {
		return nil
	}
	return r.generates.made[dir]
}

// notHeld is why it is not known whether there is a file that was looked for in vain: of
// other repositories only configuration is fetched.
func (r *fileReader) notHeld(name string) *staticeval.Unknown {
	if r.generates == nil {
		return nil
	}
	g, rel := r.generates.in(name)
	if g == nil || scan.Reads(name) {
		return nil
	}
	if g.copied.places == nil {
		return g.copied.tree.notHeld(path.Join(g.copied.dir, rel))
	}
	return &staticeval.Unknown{Reason: "it depends on a file of another repository that is no configuration"}
}

// valuesAt are the values that a stack gives to a directory; false if it gives none.
func (r *fileReader) valuesAt(dir string) (cty.Value, bool) {
	g := r.generatedAt(dir)
	if g == nil || g.block.values == cty.NilVal {
		return cty.NilVal, false
	}
	return g.block.values, true
}
