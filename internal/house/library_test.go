package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
	xmodule "golang.org/x/mod/module"
)

// library gives packages to the type checker from their sources: those of the module as
// rooms, others without what is in their functions. It finds them where go build does,
// as long as go.mod replaces no module.
type library struct {
	fset     *token.FileSet
	platform build.Context
	sizes    types.Sizes
	standard string                    // the directory of the standard library
	cache    string                    // that of modules that were fetched
	modules  []*modfile.Require        // by go.mod, those with long paths first
	rooms    map[string]*room          // by import path; nil while one is read
	others   map[string]*types.Package // by directory
}

func newLibrary() (*library, error) {
	text, err := fs.ReadFile(repository, "go.mod")
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("go") // go test puts the one that it is first [https://pkg.go.dev/cmd/go: go help test]
	if err != nil {
		return nil, err
	}
	l := &library{
		fset: token.NewFileSet(), platform: platform(runtime.GOOS), sizes: types.SizesFor("gc", runtime.GOARCH),
		standard: filepath.Join(filepath.Dir(filepath.Dir(program)), "src"),
		cache:    cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(filepath.SplitList(build.Default.GOPATH)[0], "pkg", "mod")),
		modules:  slices.Clone(file.Require),
		rooms:    map[string]*room{}, others: map[string]*types.Package{},
	}
	slices.SortStableFunc(l.modules, func(a, b *modfile.Require) int { return len(b.Mod.Path) - len(a.Mod.Path) })
	return l, nil
}

// platform is how go build reads packages for an operating system, without cgo as in a
// release.
func platform(system string) build.Context {
	c := build.Default
	c.GOOS, c.CgoEnabled = system, false
	return c
}

// Import implements types.Importer.
func (l *library) Import(path string) (*types.Package, error) { return l.ImportFrom(path, "", 0) }

// ImportFrom implements types.ImporterFrom.
func (l *library) ImportFrom(path, from string, _ types.ImportMode) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if isOurs(path) {
		s, err := l.room(path)
		if err != nil {
			return nil, err
		}
		return s.types, nil
	}
	dir, err := l.find(path, from)
	if err != nil || l.others[dir] != nil {
		return l.others[dir], err
	}
	found, err := l.platform.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(l.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: l, Sizes: l.sizes, IgnoreFuncBodies: true}
	l.others[dir], err = config.Check(path, l.fset, files, nil)
	return l.others[dir], err
}

// isOurs reports whether a package is one of this module.
func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// find is the directory of a package that another one imports, by the directory of that
// one.
func (l *library) find(path, from string) (string, error) {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case !strings.Contains(first, "."):
		return filepath.Join(l.standard, path), nil
	case strings.HasPrefix(from, l.standard+string(filepath.Separator)):
		return filepath.Join(l.standard, "vendor", path), nil
	case isOurs(path):
		return filepath.Join(top, strings.TrimPrefix(path, module)), nil
	}
	for _, m := range l.modules {
		rest, ok := strings.CutPrefix(path+"/", m.Mod.Path+"/")
		if !ok {
			continue
		}
		escaped, err := xmodule.EscapePath(m.Mod.Path)
		if err != nil {
			return "", err
		}
		dir := filepath.Join(l.cache, escaped+"@"+m.Mod.Version, rest)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s: run go mod download, or set GOMODCACHE", path, l.cache)
}

// inProgram are the packages that the program is made of, on any operating system that
// releases are for.
func inProgram(t *testing.T) []string {
	t.Helper()
	paths, err := reached()
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

var reached = sync.OnceValues(func() ([]string, error) {
	l, err := newLibrary()
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		if err := l.reach(platform(system), module, "", map[string]bool{}, paths); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(paths)), nil
})

// reach adds a package, and those that it imports, to paths. It leaves out what is in a
// directory of seen.
func (l *library) reach(on build.Context, path, from string, seen, paths map[string]bool) error {
	if path == "unsafe" {
		return nil
	}
	dir, err := l.find(path, from)
	if err != nil || seen[dir] {
		return err
	}
	seen[dir], paths[path] = true, true
	found, err := on.ImportDir(dir, 0)
	if err != nil {
		return err
	}
	for _, next := range found.Imports {
		if err := l.reach(on, next, dir, seen, paths); err != nil {
			return err
		}
	}
	return nil
}
