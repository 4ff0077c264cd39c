package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
	ImportMap                          map[string]string // where the standard library has its own copies of what it imports
}

// newLibrary asks the go command for the packages in directories, and for all that these
// need on this machine, without cgo as in a release. The command fetches no other modules.
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
	packages := json.NewDecoder(bytes.NewReader(out))
	for packages.More() {
		p := &listed{}
		if err := packages.Decode(p); err != nil {
			return nil, err
		}
		l.listed[p.ImportPath] = p
	}
	return l, nil
}

// importer is how one package imports others.
type importer struct {
	from *library
	by   *listed
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	return i.from.load(cmp.Or(i.by.ImportMap[path], path))
}

// load type-checks a package once.
func (l *library) load(path string) (*types.Package, error) {
	if isOurs(path) {
		s, err := l.room(path)
		if err != nil {
			return nil, err
		}
		return s.types, nil
	}
	if l.others[path] != nil {
		return l.others[path], nil
	}
	p := l.listed[path]
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer{l, p}, Sizes: l.sizes, IgnoreFuncBodies: true}
	var err error
	l.others[path], err = config.Check(path, l.fset, files, nil)
	return l.others[path], err
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
