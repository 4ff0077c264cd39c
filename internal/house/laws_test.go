package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// debtFile names what breaks a law today, in a section for each law. An entry is a
// name, how often or how much if that can be more than once, and after # a reason to
// keep it.
const debtFile = "internal/house/testdata/debt.txt"

var payDebt = flag.Bool("paid", false, "TestLaws: take out of "+debtFile+" what is no debt any more")

// law is a rule for the shape of the code. It holds for every package of the module,
// but not for tests.
type law struct {
	name string // its section in debtFile
	rule string
	// find returns what breaks the law, by name, and how often or how much.
	find func([]*room) map[string]int
}

var laws = []law{
	{"complexity", "a function has a cognitive complexity of 25 at most, by the rules of gocognit", complexFunctions},
	{"assignments", "the head of an if or a switch assigns to nothing that exists, except to errors: give the assignment a line of its own", hiddenAssignments},
	{"depths", "a name of a struct has one depth: embedding satisfies interfaces, it does not share fields", namesAtTwoDepths},
	{"comments", "the doc comment of a function, a method or a type begins with its name; A, An or The may come first", commentsOfAnotherName},
	{"texts", "a sentence is written next to its case: other packages get it from there if two of them need it", textsOfOnePackage},
	{"loops", "what goes over all root modules of a report is in outline", loopsOverModules},
	{"counts", "a number and the plural of its noun come from collect.Count or safe.Count", countedByHand},
	{"files", "the methods of a type are in two files at most", spreadTypes},
}

// TestLaws holds the laws: what breaks one is in its list of debt, which gets no
// longer, and shorter with each debt that is paid.
func TestLaws(t *testing.T) {
	house := rooms(t)
	debt := archive(t, debtFile)
	if len(debt.Files) != len(laws) {
		t.Fatalf("%s has %d sections, want one for each of the %d laws", debtFile, len(debt.Files), len(laws))
	}
	for i, l := range laws {
		section := &debt.Files[i]
		if section.Name != l.name {
			t.Fatalf("section %d of %s is %s, want %s", i+1, debtFile, section.Name, l.name)
		}
		t.Run(l.name, func(t *testing.T) {
			found := l.find(house)
			if *payDebt {
				section.Data = paid(section.Data, found)
			}
			listed, err := debts(section.Data)
			if err != nil {
				t.Fatalf("%s, %s: %v", debtFile, l.name, err)
			}
			for _, breach := range breaches(listed, found) {
				t.Errorf("%s: %s", l.rule, breach)
			}
			t.Logf("%d debts", len(listed))
		})
	}
	if *payDebt {
		if err := os.WriteFile(filepath.Join(top, debtFile), txtar.Format(debt), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// breaches compares what a law found with its list of debt.
func breaches(listed, found map[string]int) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch {
		case listed[name] == 0:
			all = append(all, fmt.Sprintf("%s breaks the law (%d)", name, found[name]))
		case found[name] > listed[name]:
			all = append(all, fmt.Sprintf("%s breaks the law more than before: %d, not %d", name, found[name], listed[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		switch {
		case found[name] == 0:
			all = append(all, fmt.Sprintf("%s is no debt any more: run the tests of internal/house with -paid", name))
		case found[name] < listed[name]:
			all = append(all, fmt.Sprintf("%s is less debt than before, %d, not %d: run the tests of internal/house with -paid", name, found[name], listed[name]))
		}
	}
	return all
}

// debts reads a section of debtFile.
func debts(section []byte) (map[string]int, error) {
	listed := map[string]int{}
	for line := range strings.Lines(string(section)) {
		entry, _, _ := strings.Cut(line, "#")
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		amount := 1
		if len(words) == 2 {
			var err error
			if amount, err = strconv.Atoi(words[1]); err != nil {
				return nil, err
			}
		}
		if len(words) > 2 || amount < 1 || listed[words[0]] != 0 {
			return nil, fmt.Errorf("%q is not NAME [AMOUNT] [# REASON], or is there twice", line)
		}
		listed[words[0]] = amount
	}
	return listed, nil
}

// paid returns a section of debtFile without what is no debt any more, without what is
// there twice, and without the marks of a conflict. It adds nothing: who makes a debt
// writes it down.
func paid(section []byte, found map[string]int) []byte {
	var left []byte
	seen := map[string]bool{}
	for line := range strings.Lines(string(section)) {
		entry, reason, explained := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		words := strings.Fields(entry)
		if len(words) == 0 {
			left = append(left, line...)
			continue
		}
		name := words[0]
		if found[name] == 0 || seen[name] {
			continue
		}
		seen[name] = true
		if len(words) == 2 {
			listed, err := strconv.Atoi(words[1])
			if err == nil && found[name] < listed {
				line = name + " " + strconv.Itoa(found[name]) + "\n"
				if explained {
					line = strings.TrimSuffix(line, "\n") + " #" + reason + "\n"
				}
			}
		}
		left = append(left, line...)
	}
	return left
}

func TestLawsListTheirDebt(t *testing.T) {
	t.Parallel()
	const section = "# by name\nrun.all 3\nrun.gone\nscan.wide 40 # one step a line\nscan.worse 2\n"
	found := map[string]int{"run.all": 3, "run.new": 1, "scan.wide": 30, "scan.worse": 3}
	listed, err := debts([]byte(section))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run.new breaks the law (1)",
		"scan.worse breaks the law more than before: 3, not 2",
		"run.gone is no debt any more: run the tests of internal/house with -paid",
		"scan.wide is less debt than before, 30, not 40: run the tests of internal/house with -paid",
	}
	if got := breaches(listed, found); !slices.Equal(got, want) {
		t.Errorf("breaches = %q, want %q", got, want)
	}
	const less = "# by name\nrun.all 3\nscan.wide 30 # one step a line\nscan.worse 2\n"
	if got := string(paid([]byte(section), found)); got != less {
		t.Errorf("paid = %q, want %q", got, less)
	}
	const conflict = "<<<<<<< HEAD\nrun.all 3\n=======\nrun.all 3\nscan.worse 2\n>>>>>>> 1234567 (scan: say less)\n"
	if got, want := string(paid([]byte(conflict), found)), "run.all 3\nscan.worse 2\n"; got != want {
		t.Errorf("paid = %q, want %q", got, want)
	}
	for _, wrong := range []string{"run.all\nrun.all\n", "run.all three\n", "run.all 0\n", "run.all 1 2\n"} {
		if got, err := debts([]byte(wrong)); err == nil {
			t.Errorf("debts(%q) = %v, want an error", wrong, got)
		}
	}
}

// samples are packages made of small source texts, by path. A text may import those
// before it, and nothing else.
func samples(t *testing.T, texts ...[2]string) []*room {
	t.Helper()
	known := importable{}
	var house []*room
	for _, text := range texts {
		fset := token.NewFileSet()
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		var files []*ast.File
		for i, part := range strings.SplitAfter(text[1], "// next file\n") {
			f, err := parser.ParseFile(fset, fmt.Sprintf("%d.go", i), "package "+text[0]+"\n"+part, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		path := module + "/internal/" + text[0]
		p, err := (&types.Config{Importer: known}).Check(path, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		known[path] = p
		house = append(house, &room{name: text[0], path: path, fset: fset, files: files, types: p, info: info})
	}
	return house
}

type importable map[string]*types.Package

func (i importable) Import(path string) (*types.Package, error) {
	if i[path] == nil {
		return nil, fmt.Errorf("no sample has the path %s", path)
	}
	return i[path], nil
}

// finds fails if a law finds something else in a sample.
func finds(t *testing.T, find func([]*room) map[string]int, house []*room, want map[string]int) {
	t.Helper()
	if got := find(house); !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// functions calls see with each function that has a body, and its name.
func (s *room) functions(see func(name string, f *ast.FuncDecl)) {
	for _, file := range s.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				see(s.named(f), f)
			}
		}
	}
}

// named is the name of a function or a method in the lists of debt.
func (s *room) named(f *ast.FuncDecl) string {
	if typ := receiver(f); typ != "" {
		return s.name + "." + typ + "." + f.Name.Name
	}
	return s.name + "." + f.Name.Name
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
