package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/relock-dev/relock"

// room is one package of the module without its tests.
type room struct {
	name    string // the path below internal/, "main" for the program
	path    string // by which others import it
	fset    *token.FileSet
	files   []*ast.File // those of all platforms
	imports []string    // what these import
	tests   []string    // what its tests import
	types   *types.Package
	info    *types.Info // of the files for this platform
}

// ours are the names of the packages of this module that a package imports.
func (s *room) ours() []string {
	var names []string
	for _, imported := range s.imports {
		if name, ok := strings.CutPrefix(imported, module+"/internal/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// fileOf is the name of a file, from the root of the repository.
func (s *room) fileOf(file *ast.File) string { return s.fset.Position(file.Package).Filename }

// nameOf is how the house calls a package.
func nameOf(path string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "internal/"), "main")
}

// rooms are all packages of the module, also those below directories that begin
// with a dot, which ./... leaves out. The tests share them.
func rooms(t *testing.T) []*room {
	t.Helper()
	return shared(t).house
}

// shared is the library that the tests share.
func shared(t *testing.T) *library {
	t.Helper()
	l, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var loaded = sync.OnceValues(func() (*library, error) {
	dirs, err := directories()
	if err != nil {
		return nil, err
	}
	l, err := newLibrary(dirs)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		s, err := l.room(path.Join(module, dir))
		if err != nil {
			return nil, err
		}
		l.house = append(l.house, s)
	}
	return l, nil
})

// directories are those of the packages of the module. They are read here, and not by the
// go command alone, so that go test keeps no result when one is added.
func directories() ([]string, error) {
	var dirs []string
	err := fs.WalkDir(repository, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" || d.Name() == ".git" {
			return fs.SkipDir
		}
		files, err := fs.Glob(repository, path.Join(dir, "*.go"))
		if slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") }) {
			dirs = append(dirs, "./"+dir)
		}
		return err
	})
	return dirs, err
}

// room is a package of the module, which is read once.
func (l *library) room(importPath string) (*room, error) {
	if s, begun := l.rooms[importPath]; begun {
		if s == nil {
			return nil, fmt.Errorf("%s imports itself", importPath)
		}
		return s, nil
	}
	l.rooms[importPath] = nil
	s, err := l.read(importPath)
	l.rooms[importPath] = s
	return s, err
}

// read reads a package of the module, and those that it imports.
func (l *library) read(importPath string) (*room, error) {
	p, dir := l.listed[importPath], path.Join(".", strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"))
	s := &room{
		name: nameOf(importPath), path: importPath, fset: l.fset, tests: slices.Concat(p.TestImports, p.XTestImports),
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
	}
	for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) { // the latter are those of another platform
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parse(l.fset, path.Join(dir, name), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return nil, err
			}
			s.imports = append(s.imports, imported)
		}
	}
	slices.Sort(s.imports)
	s.imports = slices.Compact(s.imports)
	config := types.Config{Importer: importer{l, p}, Sizes: l.sizes}
	var err error
	s.types, err = config.Check(importPath, l.fset, s.files[:len(p.GoFiles)], s.info)
	return s, err
}
