package tfconfig

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Why a path of a file tree could not be followed, in addition to fs.ErrNotExist.
var (
	ErrOutside = errors.New("it leads out of the repository")
	errPackage = errors.New("it leads out of the module package")
	errCostly  = fmt.Errorf("the modules of this package have more than %d words, lines and signs together", maxPackage)
)

// Tree is a file tree that modules are read from. It never leaves that tree,
// whatever the file system below it would do: what is beside a repository is none
// of its files.
type Tree struct {
	filetree.Lazy
	// places turns a path of the tree into the place that people know it by. Of the
	// tree around the searched one that is the path that leads there from its top.
	places func(string) problem.Place
	// outside is the error of a path that leads out of the tree.
	outside error
	configs memo.Once[configKey, *Configuration]
	// decoded are files by name and content, of trees that share some, and shared says
	// which; nil for others.
	decoded *Decoded
	shared  func(name string) bool
	// submodules are the directories of Git submodules; see Submodule.
	submodules func() []string
	// around is the tree that this one is in, at the path within; nil if what
	// leads out is not followed. Of that tree this one is the inner.
	around, inner *Tree
	within        string
	// pieces counts what was read of a package, for which there is a bound: a
	// server chooses what it holds.
	pieces atomic.Int64
}

// Searched is the file tree that is searched: a repository, or what stands for one. If
// that is within another tree, at a path of it, what leads out is followed there;
// around may be nil.
func Searched(fsys, around fs.FS, within string) *Tree {
	t := localTree(fsys)
	if around != nil {
		t.within, t.around = path.Clean(within), localTree(around)
		t.around.inner = t
		t.around.places = func(name string) problem.Place { return problem.Place{Path: filetree.Relative(t.within, name)} }
	}
	return t
}

func localTree(fsys fs.FS) *Tree {
	t := &Tree{Lazy: filetree.Lazy{Source: filetree.SourceOf(fsys)}, places: func(name string) problem.Place { return problem.Place{Path: name} }, outside: ErrOutside}
	t.submodules = sync.OnceValue(t.readSubmodules)
	return t
}

// NewTree is a file tree that stands for itself, such as a module package or what
// was made for one root module: what leads out of it leads nowhere, and there are no
// submodules in it that are not checked out. places gives the place that people know
// a path of it by.
func NewTree(files filetree.Source, places func(string) problem.Place) *Tree {
	return &Tree{Lazy: filetree.Lazy{Source: files}, places: places, outside: errPackage, submodules: func() []string { return nil }}
}

// Decoded keeps what files say, by their name and content, for trees that have files
// in common. Its zero value is ready for use.
type Decoded struct {
	files memo.Once[decodedKey, decodedFile]
}

type decodedKey struct {
	file     problem.Place
	content  [sha256.Size]byte
	rules    provider.Tool
	override bool
}

type decodedFile struct {
	file  file
	diags []problem.Problem
}

// Sharing makes the tree one of those that share what is kept of some paths, and
// returns it.
func (t *Tree) Sharing(d *Decoded, shared func(name string) bool) *Tree {
	t.decoded, t.shared = d, shared
	return t
}

// decode reads the file of a path by the rules of a decoder, once for all that share it.
func (t *Tree) decode(name string, src []byte, d *decoder) file {
	if t.decoded == nil || !t.shared(name) {
		return decodeFile(src, d)
	}
	known := t.decoded.files.Get(decodedKey{d.file, sha256.Sum256(src), d.tool, d.override}, func() decodedFile {
		f := decodeFile(src, d)
		return decodedFile{f, d.Diags}
	})
	d.Diags = known.diags
	return known.file
}

// Below is what is below a directory as a tree of its own, in which its files have
// the places that people know them by.
func (d Directory) Below() *Tree {
	sub, err := fs.Sub(&d.Tree.Lazy, d.Path)
	if err != nil {
		panic("tfconfig: a directory of the tree is no path: " + err.Error())
	}
	top := d.Tree.Place(d.Path)
	return NewTree(filetree.SourceOf(sub), func(name string) problem.Place {
		return problem.Place{Path: path.Join(top.Path, name), Package: top.Package}
	})
}

// PackageTree is the file tree of a module package, by its source without credentials
// and query.
func PackageTree(fsys fs.FS, source string) *Tree {
	return NewTree(filetree.SourceOf(fsys), func(name string) problem.Place {
		if name == "." {
			return problem.Place{Package: source}
		}
		return problem.Place{Path: name, Package: source}
	})
}

// Place is how people know a path of the tree.
func (t *Tree) Place(path string) problem.Place { return t.places(path) }

// ThroughLink reports whether something was asked for that is behind a link of the file
// tree that the tree was made of, if it was made of one and shows no links itself.
func (t *Tree) ThroughLink() bool {
	made, ok := t.Source.(interface{ ThroughLink() bool })
	return ok && made.ThroughLink()
}

// LeadsOut reports whether a path could not be followed since it leads out of the tree.
func (t *Tree) LeadsOut(err error) bool { return errors.Is(err, t.outside) }

// IsPackage reports whether the tree is a module package of its own.
func (t *Tree) IsPackage() bool { return t.outside == errPackage }

// Directory is a directory in a file tree, where a module is. Its dir has no
// links in it, so that equal locations are the same directory.
type Directory struct {
	Tree *Tree
	Path string
}

// resolve returns the path without links, what is there, and the tree that it is in: this
// one or the one around it. It fails with the outside of that tree, filetree.ErrLoop,
// or an error of the file system.
func (t *Tree) resolve(name string) (*Tree, string, fs.FileInfo, error) {
	real, info, err := t.Follow(name)
	switch {
	case errors.Is(err, filetree.ErrLeadsOut) && t.around != nil:
		return t.around.resolve(path.Join(t.within, name))
	case errors.Is(err, filetree.ErrLeadsOut):
		err = t.outside
	}
	return t, real, info, err
}

// Dir resolves a path that must be a directory, which may be in the tree around this
// one.
func (t *Tree) Dir(name string) (Directory, error) {
	t, dir, info, err := t.resolve(name)
	if err != nil || !info.IsDir() {
		return Directory{}, cmp.Or(err, fs.ErrNotExist)
	}
	if t.inner != nil && (dir == t.inner.within || strings.HasPrefix(dir, t.inner.within+"/")) {
		return Directory{Tree: t.inner, Path: filetree.Relative(t.inner.within, dir)}, nil
	}
	return Directory{Tree: t, Path: dir}, nil
}

// Read returns the content of a file, through links, also of one in the tree
// around this one.
func (t *Tree) Read(name string) ([]byte, error) {
	t, real, info, err := t.resolve(name)
	if err == nil {
		err = Readable(info)
	}
	if err != nil {
		return nil, err
	}
	src, err := t.Content(real)
	if err == nil {
		err = Unheld(src)
	}
	if err == nil && t.IsPackage() && t.pieces.Add(int64(pieceFile+hclfile.Pieces(src, name))) > maxPackage {
		return nil, errCostly
	}
	return src, err
}

// Join returns the path in the tree of a file in the directory.
func (d Directory) Join(name string) string { return path.Join(d.Path, name) }

// Place is how people know a file in the directory.
func (d Directory) Place(file string) problem.Place { return d.Tree.Place(d.Join(file)) }

// String is the name that people know the directory by.
func (d Directory) String() string { return d.Tree.Place(d.Path).File() }

// whole is the path of the directory from the top of the largest tree around it.
func (d Directory) whole() string { return path.Join(d.Tree.within, d.Path) }

// Entries are those of the directory, sorted by name.
func (d Directory) Entries() ([]fs.DirEntry, error) { return d.Tree.List(d.Path) }

// Read returns the content of a file by its path from the directory.
func (d Directory) Read(name string) ([]byte, error) { return d.Tree.Read(d.Join(name)) }

// Dir resolves a path from the directory, which must lead to another directory.
func (d Directory) Dir(name string) (Directory, error) { return d.Tree.Dir(d.Join(name)) }

// From is the path that leads here from another directory; false if this one is
// neither in the tree of that one nor in the tree around it.
func (d Directory) From(other Directory) (string, bool) {
	if d.Tree != other.Tree && d.Tree.inner != other.Tree {
		return "", false
	}
	return filetree.Relative(other.whole(), d.whole()), true
}

// Configured reports whether there is configuration for a tool in the directory.
func (d Directory) Configured(tool provider.Tool) bool {
	entries, _ := d.Entries()
	return files(entries, tool).configured()
}

// ForOpenTofu reports whether the directory has a file for OpenTofu alone.
func (d Directory) ForOpenTofu() bool {
	return d.HasFile(func(name string) bool { return !editorFile(name) && forOpenTofu(name) })
}

// HasFile reports whether one of the names of files in the directory is such a name.
func (d Directory) HasFile(such func(name string) bool) bool {
	entries, _ := d.Entries()
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && such(e.Name()) })
}

// Has reports whether the directory has an entry of this name.
func (d Directory) Has(name string) bool {
	entries, _ := d.Entries()
	_, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int {
		return strings.Compare(e.Name(), name)
	})
	return found
}

// Empty reports whether there is nothing at all in a directory.
func (d Directory) Empty() bool {
	entries, err := d.Entries()
	return err == nil && len(entries) == 0
}

// Submodule reports whether a path is in a Git submodule, by what .gitmodules at
// the top of the tree says.
func (t *Tree) Submodule(name string) bool {
	return slices.ContainsFunc(t.submodules(), func(dir string) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}

func (t *Tree) readSubmodules() []string {
	src, err := t.Read(".gitmodules")
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(src)) {
		key, value, _ := strings.Cut(line, "=")
		if strings.EqualFold(strings.TrimSpace(key), "path") {
			dirs = append(dirs, path.Clean(strings.Trim(strings.TrimSpace(value), `"`)))
		}
	}
	return dirs
}
