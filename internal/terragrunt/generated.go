package terragrunt

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/staticeval"
)

// stackTree is a file tree together with the directories that stacks generate in it, in
// memory only. It is the filetree.Source of a fileReader, so one reader reads all files. A
// generated file never replaces a lock file of the file tree, and below generatedDir alone
// it replaces another file.
type stackTree struct {
	base *fileReader
	made map[string]*stackDir // by directory
	// leads are the names in each directory that lead to generated directories.
	leads map[string]map[string]bool
}

// stackDir is a directory that a stack generates: a copy of the block's source over the
// files that are there.
type stackDir struct {
	block  stackBlock
	stack  *stackFile // the stack file with the block
	copied copiedFrom
	copy   *workingCopy
	live   *liveStack
	unit   bool // the block is for a unit, and the directory is one
}

// copiedFrom is the origin of a generated directory.
type copiedFrom struct {
	tree   *fileReader
	places func(name string) problem.Place // as in layer
	// dir is the directory of the origin. Relative sources in it stay below top. They are
	// relative to the origin, not to the generated directory.
	dir, top string
}

// newStackTree makes a tree with the generated directories of another one.
func newStackTree(base *fileReader, before *stackTree) *stackTree {
	o := &stackTree{base: base, made: map[string]*stackDir{}, leads: map[string]map[string]bool{}}
	if before != nil {
		for dir, g := range before.made {
			o.add(dir, g)
		}
	}
	return o
}

// reader reads the tree. Add nothing after this call.
func (o *stackTree) reader() *fileReader {
	return &fileReader{Lazy: filetree.Lazy{Source: o, KeepsContents: true}, generates: o}
}

// blocks reports whether a file or a link is at a path, or at one above it.
func (r *fileReader) blocks(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := r.Lstat(name); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// add adds a generated directory.
func (o *stackTree) add(dir string, g *stackDir) {
	o.made[dir] = g
	for dir != "." {
		from := above(dir)
		if o.leads[from] == nil {
			o.leads[from] = map[string]bool{}
		}
		o.leads[from][path.Base(dir)] = true
		dir = from
	}
}

// in returns the generated directory that has a path, and the path relative to it; nil if
// there is none, or if no generated file may replace what the file tree has there.
func (o *stackTree) in(name string) (g *stackDir, rel string) {
	for dir := name; ; dir = above(dir) {
		if g := o.made[dir]; g != nil {
			rel, _ := relTo(dir, name)
			if o.keeps(g, name, rel) {
				return nil, ""
			}
			return g, rel
		}
		if dir == "." {
			return nil, ""
		}
	}
}

// above is path.Dir of a clean relative path. It copies nothing: a stack of itself has paths
// of thousands of directories.
func above(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return "."
}

// reaches reports whether a directory is generated, or leads to one that is.
func (o *stackTree) reaches(dir string) bool {
	if o == nil {
		return false
	}
	g, _ := o.in(dir)
	return g != nil || o.leads[dir] != nil
}

// keeps reports whether a path is what the file tree has there, and not the copy of a
// generated directory.
func (o *stackTree) keeps(g *stackDir, name, rel string) bool {
	info, err := o.base.Lstat(name)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		n, err := g.copy.find(rel)
		return err == nil && !n.IsDir()
	}
	return lockfile.Is(name) || !hasElement(name, generatedDir)
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

// ReadLink returns where a link leads. Generated directories have no links.
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
	if at != name && o.base.isDir(name) {
		for i, e := range entries { // some are the file tree's
			if info, err := o.Lstat(path.Join(name, e.Name())); err == nil {
				entries[i] = fs.FileInfoToDirEntry(info)
			}
		}
	}
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

// ReadFile returns the content of a file.
func (o *stackTree) ReadFile(name string) ([]byte, error) {
	if g, rel := o.in(name); g != nil {
		return g.copy.ReadFile(rel)
	}
	return o.base.read(name)
}

// place is a path for messages. A copied file has the name that it has in its source. A
// file that a stack file writes has its block's place.
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

// inRepository is the path in the repository from which a path is copied; false if the file
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

// sources are the paths in the repository from which a path is copied, or would be if they
// existed.
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

// notHeld says why a file that was not found may exist all the same: only configuration is
// fetched from other repositories.
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

// valuesAt are the values that a stack gives a directory; false if it gives none, or if the
// file tree has them.
func (r *fileReader) valuesAt(dir string) (cty.Value, bool) {
	g := r.generatedAt(dir)
	if g == nil || g.block.values == cty.NilVal || r.generates.keeps(g, path.Join(dir, valuesName), valuesName) {
		return cty.NilVal, false
	}
	return g.block.values, true
}
