package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// library gives packages to the type checker from their sources: those of the module as
// rooms, others without what is in their functions.
type library struct {
	fset   *token.FileSet
	sizes  types.Sizes
	listed map[string]*listed        // by import path
	house  []*room                   // in the order of their directories
	rooms  map[string]*room          // by import path; nil while one is read
	others map[string]*types.Package // by import path
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, IgnoredGoFiles            []string
	Imports, TestImports, XTestImports []string
	ImportMap                          map[string]string // of the standard library: what it calls others, to its own copies of them
}

// newLibrary asks the go command for the packages in directories, and for all that these
// need on this machine, without cgo as in a release. It fetches those modules alone.
func newLibrary(dirs []string) (*library, error) {
	l := &library{
		fset: token.NewFileSet(), sizes: types.SizesFor("gc", runtime.GOARCH),
		listed: map[string]*listed{}, rooms: map[string]*room{}, others: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports,ImportMap"}, dirs...)...)
	cmd.Dir, cmd.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &said)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := packages.Decode(p); errors.Is(err, io.EOF) {
			return l, nil
		} else if err != nil {
			return nil, err
		}
		l.listed[p.ImportPath] = p
	}
}

// importer is how one package imports others.
type importer struct {
	*library
	by *listed
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	path = cmp.Or(i.by.ImportMap[path], path)
	if isOurs(path) {
		s, err := i.room(path)
		if err != nil {
			return nil, err
		}
		return s.types, nil
	}
	if i.others[path] != nil {
		return i.others[path], nil
	}
	var files []*ast.File
	p := i.listed[path]
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(i.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer{i.library, p}, Sizes: i.sizes, IgnoreFuncBodies: true}
	var err error
	i.others[path], err = config.Check(path, i.fset, files, nil)
	return i.others[path], err
}

// isOurs reports whether a package is one of this module.
func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// inProgram are the packages that the program is made of: ours on any operating system,
// what these import, and what that imports in turn on this machine.
func inProgram(t *testing.T) []string {
	t.Helper()
	l := shared(t)
	paths := []string{module}
	for i := 0; i < len(paths); i++ {
		var imports []string
		if s := l.rooms[paths[i]]; s != nil {
			imports = s.imports
		} else if p := l.listed[paths[i]]; p != nil { // only another system may need it
			imports = p.Imports
		}
		for _, path := range imports {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
