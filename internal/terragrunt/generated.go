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
// generated file never replaces a lock file of the file tree, and below stackDirName alone
// it replaces another file.
type stackTree struct {
	base *fileReader
	made map[string]*generatedDir // by directory
	// leads are the names in each directory that lead to generated directories.
	leads map[string]map[string]bool
}

// generatedDir is a directory that a block of a stack file generates: a copy of its source
// over the files that are there.
type generatedDir struct {
	place  problem.Place // of the block
	copied copiedFrom
	copy   *workingCopy
	values cty.Value // that the stack gives; NilVal: none
	auto   *declared // the block autoinclude, or nil
	ofUnit bool      // the block is for a unit: Terragrunt writes auto next to it
}

// copiedFrom is the origin of a generated directory.
type copiedFrom struct {
	tree   *fileReader
	places func(name string) problem.Place // as in layer
	// dir is the directory of the origin. Relative sources in it stay below top. They are
	// relative to the origin, not to the generated directory.
	dir, top string
}

// inRepository is the directory in the repository that is copied; false if it comes from
// elsewhere.
func (o copiedFrom) inRepository() (string, bool) {
	if o.places != nil {
		return "", false
	}
	return o.tree.inRepository(o.dir)
}

// newStackTree makes a tree without generated directories.
func newStackTree(base *fileReader) *stackTree {
	return &stackTree{base: base, made: map[string]*generatedDir{}, leads: map[string]map[string]bool{}}
}

// reader reads the tree. Add nothing after this call.
func (o *stackTree) reader() *fileReader {
	return &fileReader{Lazy: filetree.Lazy{Source: o, KeepsContents: true}, generates: o}
}

// add adds a generated directory.
func (o *stackTree) add(dir string, g *generatedDir) {
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
func (o *stackTree) in(name string) (g *generatedDir, rel string) {
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

// hasElement reports whether a path has an element with this name.
func hasElement(name, element string) bool {
	return slices.Contains(strings.Split(name, "/"), element)
}

// keeps reports whether a path is what the file tree has there, and not the copy of a
// generated directory.
func (o *stackTree) keeps(g *generatedDir, name, rel string) bool {
	info, err := o.base.Lstat(name)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		n, err := g.copy.find(rel)
		return err == nil && !n.IsDir()
	}
	return lockfile.Is(name) || !hasElement(name, stackDirName)
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
		return g.place
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
func (r *fileReader) generatedAt(dir string) *generatedDir {
	if r.generates == nil {
		return nil
	}
	return r.generates.made[dir]
}

// isGenerated reports whether a path is in a generated directory.
func (r *fileReader) isGenerated(name string) bool {
	if r.generates == nil {
		return false
	}
	g, _ := r.generates.in(name)
	return g != nil
}

// leadsToGenerated reports whether a directory is generated, or leads to one that is.
func (r *fileReader) leadsToGenerated(dir string) bool {
	return r.isGenerated(dir) || r.generates != nil && r.generates.leads[dir] != nil
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
	if g == nil || g.values == cty.NilVal || r.generates.keeps(g, path.Join(dir, valuesName), valuesName) {
		return cty.NilVal, false
	}
	return g.values, true
}
