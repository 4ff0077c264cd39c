package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// spread are the types of the house whose methods may stand in three files or more,
// and why.
var spread = map[string]string{
	"github.Repository": "it is what GitHub answers about a repository, one method a request, and each file is a part of its interface",
}

// mostCalledOnce is how many in a hundred functions of a package of the core may have
// one caller: so many have the libraries that we learn from.
const mostCalledOnce = 28

// core are the packages by which a lock file is made of requirements and offers.
var core = []string{"lockfile", "hash", "registry", "module", "scan", "tfconfig", "upgrade"}

// shape is how a package without its tests is cut.
type shape struct {
	files      map[string][]string // with methods of a type
	functions  int
	calledOnce []string // functions that are not exported and used in one place
}

func shapeOf(t *testing.T, room string) shape {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("internal", room, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	s := shape{files: map[string][]string{}}
	declared, used := map[string]int{}, map[string]int{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				s.functions++
				declared[n.Name.Name]++
				if typ := receiver(n); typ != "" && !slices.Contains(s.files[typ], name) {
					s.files[typ] = append(s.files[typ], name)
				}
			case *ast.SelectorExpr:
				used[n.Sel.Name]++
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.Ident); ok {
					used[called.Name]++
				}
			}
			return true
		})
	}
	for name, n := range declared {
		if n == 1 && used[name] == 1 && !ast.IsExported(name) {
			s.calledOnce = append(s.calledOnce, name)
		}
	}
	slices.Sort(s.calledOnce)
	return s
}

// receiver is the type that a method belongs to; empty if it is a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	var name string
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if word, ok := n.(*ast.Ident); ok && name == "" { // behind it are the parameters of a type
			name = word.Name
		}
		return true
	})
	return name
}

// TestHouseKeepsATypeTogether holds that a reader finds a type in one file, or in two.
func TestHouseKeepsATypeTogether(t *testing.T) {
	found := map[string]bool{}
	for _, room := range slices.Sorted(maps.Keys(levels)) {
		for typ, files := range shapeOf(t, room).files {
			if len(files) < 3 {
				continue
			}
			found[room+"."+typ] = true
			if spread[room+"."+typ] == "" {
				t.Errorf("the methods of %s.%s stand in %d files (%s): two are enough", room, typ, len(files), strings.Join(files, ", "))
			}
		}
	}
	for name := range spread {
		if !found[name] {
			t.Errorf("the methods of %s stand in less than three files: take it from the list", name)
		}
	}
}

// TestCoreHidesLittleBehindOneCaller holds that the main line of a package is not cut
// into functions of one use each, through which a reader has to hop.
func TestCoreHidesLittleBehindOneCaller(t *testing.T) {
	for _, room := range core {
		if s := shapeOf(t, room); len(s.calledOnce)*100 > mostCalledOnce*s.functions {
			t.Errorf("%s has %d functions, %d of them with one caller, more than %d in a hundred: merge some of %s",
				room, s.functions, len(s.calledOnce), mostCalledOnce, strings.Join(s.calledOnce, ", "))
		}
	}
}

// TestMutantsFit holds that each mistake that .ci/mutate makes can still be made: a
// change of the lines that one is about brings its table up to date.
func TestMutantsFit(t *testing.T) {
	const table = ".ci/mutate/mutants.txt"
	mutants, err := txtar.ParseFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants.Files {
		lines := strings.SplitAfter(string(m.Data), "\n")
		name, old := strings.TrimSpace(lines[0]), ""
		for _, line := range lines[2:] {
			if rest, ok := strings.CutPrefix(line, "-"); ok {
				old += rest
			}
		}
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), old); err != nil || n != 1 || old == "" {
			t.Errorf("%s: the old lines of %q stand in %s %d times (%v), want once", table, m.Name, name, n, err)
		}
	}
}
