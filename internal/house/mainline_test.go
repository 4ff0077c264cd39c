package house

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const mapFile = "ARCHITECTURE.md"

// step is a row of a table of the map: | 1 | `Type.name` | `file` | … |.
var step = regexp.MustCompile("(?m)^\\| \\d+ \\| `([\\w.]+)` \\| `(internal/[\\w/]+\\.go)` \\|")

// maxDepth is how many calls lead from what a package exports to a row of the table,
// both counted.
const maxDepth = 6

// TestMainLine holds that the functions by which ARCHITECTURE.md leads from main.tf
// to the bytes of a lock file are in the files that it names, are no more than 25,
// and that none is deep in its package.
func TestMainLine(t *testing.T) {
	t.Parallel()
	steps := step.FindAllStringSubmatch(section(t, "From main.tf to the bytes"), -1)
	if len(steps) < 20 || len(steps) > 25 {
		t.Errorf("ARCHITECTURE.md leads from main.tf to the bytes in %d steps, want 20 to 25", len(steps))
	}
	packages := functionsOf(t, steps)
	for _, s := range steps {
		all := packages[path.Dir(s[2])]
		i := named(all, s)
		if i < 0 {
			t.Errorf("ARCHITECTURE.md names %s in %s, which does not declare it", s[1], s[2])
			continue
		}
		if n := depth(all, i); n == 0 || n > maxDepth {
			t.Errorf("%s in %s is %d calls deep in its package, want %d at most", s[1], s[2], n, maxDepth)
		}
	}
}

// section is the text of the map below a heading, up to the next one of its kind.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(string(read(t, mapFile)), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", mapFile, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// functionsOf are the functions of the packages in which steps are, by directory.
func functionsOf(t *testing.T, steps [][]string) map[string][]function {
	t.Helper()
	packages := map[string][]function{}
	for _, s := range steps {
		if dir := path.Dir(s[2]); packages[dir] == nil {
			packages[dir] = functionsIn(roomAt(t, dir))
		}
	}
	return packages
}

// named is the index of the function that a step is about; -1 if there is none.
func named(all []function, step []string) int {
	return slices.IndexFunc(all, func(f function) bool { return f.name == step[1] && f.file == step[2] })
}

// function is a function of a package, or a method as TYPE.NAME, and what it calls by
// name: a method is not told from another of that name.
type function struct {
	name, file string
	exported   bool
	calls      map[string]bool
}

// short is the name by which a function is called.
func (f function) short() string { return f.name[strings.LastIndex(f.name, ".")+1:] }

func functionsIn(s *room) []function {
	var found []function
	for _, file := range s.files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			one := function{name: fn.Name.Name, file: s.fileOf(file), exported: fn.Name.IsExported(), calls: map[string]bool{}}
			if fn.Recv != nil {
				typ := fn.Recv.List[0].Type
				if pointer, ok := typ.(*ast.StarExpr); ok {
					typ = pointer.X
				}
				if named, ok := typ.(*ast.Ident); ok {
					one.name = named.Name + "." + one.name
				}
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch called := call.Fun.(type) {
				case *ast.Ident:
					one.calls[called.Name] = true
				case *ast.SelectorExpr:
					one.calls[called.Sel.Name] = true
				}
				return true
			})
			found = append(found, one)
		}
	}
	return found
}

// depth is how many functions of a package stand on the shortest way from one that is
// exported to a function, both counted.
func depth(all []function, target int) int {
	level := map[int]int{}
	var queue []int
	for i, f := range all {
		if f.exported {
			level[i] = 1
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0 && level[target] == 0; queue = queue[1:] {
		for i, f := range all {
			if level[i] == 0 && all[queue[0]].calls[f.short()] {
				level[i] = level[queue[0]] + 1
				queue = append(queue, i)
			}
		}
	}
	return level[target]
}
