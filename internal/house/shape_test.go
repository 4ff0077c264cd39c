package house

import (
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"strings"
	"testing"
)

// figures are what readers of a package feel, too, and no law judges.
type figures struct {
	lines      int
	types      int
	switches   int // without a tag
	wideHelper int // functions that are not exported, with one caller and four parameters or more
	wideStruct int // with ten fields or more
}

func (s *room) figures() figures {
	var f figures
	uses := map[types.Object]int{}
	for _, o := range s.info.Uses {
		uses[o]++
	}
	for _, file := range s.files {
		f.lines += s.fset.File(file.Pos()).LineCount()
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				f.types++
			case *ast.SwitchStmt:
				if n.Tag == nil {
					f.switches++
				}
			case *ast.FuncDecl:
				if !n.Name.IsExported() && n.Type.Params.NumFields() >= 4 && uses[s.info.Defs[n.Name]] == 1 {
					f.wideHelper++
				}
			case *ast.StructType:
				if n.Fields.NumFields() >= 10 {
					f.wideStruct++
				}
			}
			return true
		})
	}
	return f
}

// figuresOf is a table of the figures of all packages.
func figuresOf(house []*room) string {
	var table strings.Builder
	row := func(name string, f figures) {
		fmt.Fprintf(&table, "%-20s %6d lines %4d types %4d switches without a tag %3d wide functions with one caller %3d structs of ten fields\n",
			name, f.lines, f.types, f.switches, f.wideHelper, f.wideStruct)
	}
	var sum figures
	for _, s := range house {
		f := s.figures()
		row(s.name, f)
		sum = figures{sum.lines + f.lines, sum.types + f.types, sum.switches + f.switches, sum.wideHelper + f.wideHelper, sum.wideStruct + f.wideStruct}
	}
	row("all", sum)
	return table.String()
}

func TestShapeIsCounted(t *testing.T) {
	t.Parallel()
	house := samples(t, [2]string{"p", `
		type T struct { a, b, c, d, e, f, g, h, i int; j struct { k int } }
		type U int
		func wide(a, b int, c, d string) { wider(a, b, c, d, true); wider(a, b, c, d, false) }
		func wider(a, b int, c, d string, e bool) {
			switch { case e: }
			switch e { case true: }
		}
		func (t T) narrow(a, b, c int) { wide(a, b, "", "") }
		func Wide(a, b, c, d int) { T{}.narrow(a, b, c) }
		func calls() { Wide(1, 2, 3, 4) }`})
	if got, want := house[0].figures(), (figures{lines: 12, types: 2, switches: 1, wideHelper: 1, wideStruct: 1}); got != want {
		t.Errorf("figures = %+v, want %+v", got, want)
	}
}

// TestMutantsFit holds that each mistake that .ci/mutate makes can still be made: a
// change of the lines that one is about brings its table up to date.
func TestMutantsFit(t *testing.T) {
	const table = ".ci/mutate/mutants.txt"
	for _, m := range archive(t, table).Files {
		lines := strings.SplitAfter(string(m.Data), "\n")
		name, old := strings.TrimSpace(lines[0]), ""
		for _, line := range lines[2:] {
			if rest, ok := strings.CutPrefix(line, "-"); ok {
				old += rest
			}
		}
		text, err := fs.ReadFile(repository, name)
		if n := strings.Count(string(text), old); err != nil || n != 1 || old == "" {
			t.Errorf("%s: the old lines of %q stand in %s %d times (%v), want once", table, m.Name, name, n, err)
		}
	}
}
