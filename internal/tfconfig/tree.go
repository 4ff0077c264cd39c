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

// Errors of following a path, in addition to fs.ErrNotExist.
var (
	ErrOutside = errors.New("it leads out of the repository")
	errPackage = errors.New("it leads out of the module package")
	errCostly  = fmt.Errorf("the modules of this package have more than %d words, lines and signs together", maxPackage)
)

// Tree is a file tree with modules. No path leads out of it, even if the file system below
// would follow the path: files outside a repository are not the repository's.
type Tree struct {
	filetree.Lazy
	// places turns a path of the tree into a place for messages. In the tree around the
	// searched one, that is the path from the searched tree's top.
	places func(string) problem.Place
	// outside is the error of a path that leads out of the tree.
	outside error
	configs memo.Once[configKey, *Configuration]
	// decoded has decoded files, by name and content, for trees that share files; nil if
	// they share none. shared says which paths are shared.
	decoded *Decoded
	shared  func(name string) bool
	// submodules are the directories of Git submodules; see Submodule.
	submodules func() []string
	// around is the tree that this one is in, at the path within; nil if paths that lead
	// out are not followed. inner is the opposite direction.
	around, inner *Tree
	within        string
	// pieces counts the pieces that were read of a package. They are bounded, because a
	// server chooses the content.
	pieces atomic.Int64
	held   atomic.Int64 // the result of Held
}

// Searched is the file tree to search: a repository, or a directory that is used as one. If
// it is in another tree, at the path within, paths that lead out of it are followed there.
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

// NewTree is a file tree by itself, such as a module package or the files of one Terragrunt
// unit. Paths that lead out of it lead nowhere. It has no submodules that are not checked
// out. places turns a path into a place for messages.
func NewTree(files filetree.Source, places func(string) problem.Place) *Tree {
	return &Tree{Lazy: filetree.Lazy{Source: files}, places: places, outside: errPackage, submodules: func() []string { return nil }}
}

// Decoded has decoded files, by name and content, for trees that share files. The zero
// value is ready for use.
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

// Sharing makes the tree share the decoded files of some paths, and returns the tree.
func (t *Tree) Sharing(d *Decoded, shared func(name string) bool) *Tree {
	t.decoded, t.shared = d, shared
	return t
}

// decode decodes a file, once for all trees that share it.
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

// Below is the tree below a directory. Its files keep their places for messages.
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

// PackageTree is the file tree of a module package. source is its source without
// credentials and query.
func PackageTree(fsys fs.FS, source string) *Tree {
	return NewTree(filetree.SourceOf(fsys), func(name string) problem.Place {
		if name == "." {
			return problem.Place{Package: source}
		}
		return problem.Place{Path: name, Package: source}
	})
}

// Place is a path of the tree for messages.
func (t *Tree) Place(path string) problem.Place { return t.places(path) }

// ThroughLink reports whether a path led through a link of the file tree from which this
// one was made. It is false for a tree that was not made so, or that shows its links.
func (t *Tree) ThroughLink() bool {
	made, ok := t.Source.(interface{ ThroughLink() bool })
	return ok && made.ThroughLink()
}

// Held is how many bytes of files were read.
func (t *Tree) Held() int64 { return t.held.Load() }

// LeadsOut reports whether the error of a path is that it leads out of the tree.
func (t *Tree) LeadsOut(err error) bool { return errors.Is(err, t.outside) }

// IsPackage reports whether the tree is a module package of its own.
func (t *Tree) IsPackage() bool { return t.outside == errPackage }

// Directory is a directory in a file tree, with a module. Path has no links in it, so that
// equal locations are equal values.
type Directory struct {
	Tree *Tree
	Path string
}

// resolve returns the path without links, its description, and its tree: this one or the
// one around it. Its errors are the outside of that tree, filetree.ErrLoop, and those of
// the file system.
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

// Dir resolves a path that must be a directory. It may be in the tree around this one.
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

// Read returns the content of a file, through links. It may be in the tree around this one.
func (t *Tree) Read(name string) ([]byte, error) {
	t, real, info, err := t.resolve(name)
	if err == nil {
		err = Readable(info)
	}
	if err != nil {
		return nil, err
	}
	src, err := t.Content(real)
	t.held.Add(int64(len(src)))
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

// Place is a file in the directory, for messages.
func (d Directory) Place(file string) problem.Place { return d.Tree.Place(d.Join(file)) }

// String is the directory, for messages.
func (d Directory) String() string { return d.Tree.Place(d.Path).File() }

// whole is the path of the directory from the top of the largest tree around it.
func (d Directory) whole() string { return path.Join(d.Tree.within, d.Path) }

// Entries are the entries of the directory, sorted by name.
func (d Directory) Entries() ([]fs.DirEntry, error) { return d.Tree.List(d.Path) }

// Read returns the content of a file. The path is relative to the directory.
func (d Directory) Read(name string) ([]byte, error) { return d.Tree.Read(d.Join(name)) }

// Dir resolves a path that must be a directory. The path is relative to this directory.
func (d Directory) Dir(name string) (Directory, error) { return d.Tree.Dir(d.Join(name)) }

// From is the path from another directory to this one. It is false if this one is neither
// in the other one's tree nor in the tree around it.
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

// HasFile reports whether the directory has a file whose name fits such.
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

// Empty reports whether a directory has no entries.
func (d Directory) Empty() bool {
	entries, err := d.Entries()
	return err == nil && len(entries) == 0
}

// Submodule reports whether a path is in a Git submodule, according to .gitmodules at the
// top of the tree.
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
