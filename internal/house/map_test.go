package house

import (
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/uudashr/gocognit"
)

// maxMap is how many words the map has, those of its tables among them.
const maxMap = 2500

// foreign are words in backticks that are no names of ours: those of the tools, of git, of
// GitHub, of Go and its libraries, and of files that people write.
var foreign = strings.Fields(`
	.terraform.lock.hcl .gitmodules .gitattributes terraform.d/plugins terragrunt.stack.hcl main.tf PATH
	terraform tofu init -lockfile=readonly required_version required_providers dev_overrides remote_state source generate for ~> fs.FS
	oauth2.TokenSource oauth2/google golang.org/x/sys html/template filepath.EvalSymlinks GIT_NO_LAZY_FETCH
`)

// codeSpan is a piece of a document in backticks.
var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// TestArchitectureIsShort keeps for the decisions and for doc comments what does not lead a reader to the place of a change.
func TestArchitectureIsShort(t *testing.T) {
	t.Parallel()
	words := 0
	for word := range strings.FieldsSeq(string(read(t, mapFile))) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words++
		}
	}
	if words > maxMap {
		t.Errorf("%s has %d words, want %d at most", mapFile, words, maxMap)
	}
}

// roomRow is a row of the table of packages: a level, or – beside the levels, and a package.
var roomRow = regexp.MustCompile("(?m)^\\| (\\d+|–) \\| `(\\w+)` \\| \\S.* \\|$")

// TestArchitectureHasTheHouse holds that the table of packages has each of them at its level, in order, and no other.
func TestArchitectureHasTheHouse(t *testing.T) {
	t.Parallel()
	listed, last := map[string]bool{}, 0
	for _, m := range roomRow.FindAllStringSubmatch(section(t, "The house"), -1) {
		name := m[2]
		listed[name] = true
		level, inside := levels[name]
		_, beside := outside[name]
		switch {
		case m[1] == "–" && !beside, m[1] != "–" && (!inside || m[1] != strconv.Itoa(level)):
			t.Errorf("%s has %s at level %s, which it is not", mapFile, name, m[1])
		case inside && level < last:
			t.Errorf("%s has %s below a package of a higher level", mapFile, name)
		}
		last = max(last, level)
	}
	for name := range levels {
		if !listed[name] {
			t.Errorf("%s has no row for the package %s", mapFile, name)
		}
	}
	for name := range outside {
		if !listed[name] && !strings.ContainsAny(name, "/.") {
			t.Errorf("%s has no row for the package %s", mapFile, name)
		}
	}
}

// TestArchitectureSaysHowLarge holds what the map says of the shape of the code: what breaks each law, and lines.
func TestArchitectureSaysHowLarge(t *testing.T) {
	t.Parallel()
	shape := section(t, "Shape")
	house := rooms(t)
	for _, l := range laws {
		found := len(l.find(house))
		row := regexp.MustCompile(`(?m)^\| ` + l.name + `: .+ \| (\d+) \| \d+ \| .TestLaws. \|$`).FindStringSubmatch(shape)
		if row == nil || row[1] != strconv.Itoa(found) {
			t.Errorf("%s has %q of the law %q, which %d names break", mapFile, row, l.name, found)
		}
	}
	lines, tangled := 0, 0
	for _, s := range house {
		lines += s.figures().lines
		if s.name == "upgrade" || s.name == "coverage" {
			s.functions(func(_ string, f *ast.FuncDecl) {
				if gocognit.Complexity(f) > 15 {
					tangled++
				}
			})
		}
	}
	if row := fmt.Sprintf("| functions with a cognitive complexity above 15 in `upgrade` and `coverage` | %d | 5 |", tangled); !strings.Contains(shape, row) || tangled > 5 {
		t.Errorf("%s has not the row %q", mapFile, row)
	}
	row := regexp.MustCompile(`(?m)^\| thousand lines without tests, all packages \| (\d+) \|`).FindStringSubmatch(shape)
	if row == nil {
		t.Fatalf("%s does not say how many lines all packages have", mapFile)
	}
	if said, err := strconv.Atoi(row[1]); err != nil || max(said*1000-lines, lines-said*1000) > lines/20 {
		t.Errorf("%s says that all packages have %s thousand lines, and they have %d", mapFile, row[1], lines)
	}
}

// moduleRow is a row of the table of modules: a path, the packages that import it, what it saves.
var moduleRow = regexp.MustCompile(`(?m)^\| ([\w./-]+\.[\w./-]+) \| (.+) \| (\S+ \S.*) \|$`)

// TestArchitectureNamesModules holds that the table of modules has each one that go.mod requires directly, with the packages
// that import it: three of them at most, or many, or tests alone.
func TestArchitectureNamesModules(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	for _, m := range moduleRow.FindAllStringSubmatch(section(t, "Modules"), -1) {
		listed[m[1]] = m[2]
	}
	users := map[string][]string{} // by the path of a module
	for _, r := range goMod(t).Require {
		if !r.Indirect {
			users[r.Mod.Path] = nil
		}
	}
	for _, s := range rooms(t) {
		for _, imported := range s.imports {
			of := ""
			for module := range users {
				if forbids(module, imported) && len(module) > len(of) {
					of = module
				}
			}
			if of != "" && !slices.Contains(users[of], s.name) {
				users[of] = append(users[of], s.name)
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(users)) {
		packages := slices.Sorted(slices.Values(users[module]))
		want := "`" + strings.Join(packages, "`, `") + "`"
		switch {
		case len(packages) == 0:
			want = "tests"
		case len(packages) > 3:
			want = "many"
		}
		if listed[module] != want {
			t.Errorf("%s says that %s is imported by %q, want %q", mapFile, module, listed[module], want)
		}
		delete(listed, module)
	}
	for module := range listed {
		t.Errorf("%s has a row for %s, which go.mod does not require directly", mapFile, module)
	}
}

// TestArchitectureNamesWhatExists holds that what the map and the decisions put in backticks is there: a
// file, a package, a name that is declared, a test, or a setting. What has a space is a command,
// which other tests judge.
func TestArchitectureNamesWhatExists(t *testing.T) {
	t.Parallel()
	known := namesOfTheHouse(t)
	spans := 0
	for _, name := range slices.Concat([]string{mapFile}, glob(t, decisionPages)) {
		for _, m := range codeSpan.FindAllStringSubmatch(string(read(t, name)), -1) {
			spans++
			if span := m[1]; !strings.Contains(span, " ") && !known.has(span) {
				t.Errorf("%s names `%s`, which is no file, package, name, test or setting here", name, span)
			}
		}
	}
	if spans < 500 {
		t.Errorf("found %d pieces in backticks, which cannot be all", spans)
	}
}

// TestNamesOfTheHouseAreKnown shows what counts as being there.
func TestNamesOfTheHouseAreKnown(t *testing.T) {
	t.Parallel()
	known := namesOfTheHouse(t)
	for span, want := range map[string]bool{
		"upgrade": true, "sandbox/schema": true, "internal/run": true, "run/head.go": true, "action.yml": true, "testdata/script/*.txtar": true,
		"Ask": true, "run.Ask": true, "run.Session.Plan": true, "Session.Plan": true, "scan.Options.Wanted": true, "upgrade.Source": true,
		"TestMainLine": true, "--exact": true, "verify.signers": true,
		"run/header.go": false, "head.go": false, "run.Plans": false, "Session.Plans": false, "TestNothing": false, "--exacter": false, "verify.signer": false,
	} {
		if got := known.has(span); got != want {
			t.Errorf("has(%q) = %v, want %v", span, got, want)
		}
	}
}

// names are what a document may name.
type names map[string]bool

func (n names) has(span string) bool {
	if n[span] || slices.Contains(foreign, span) {
		return true
	}
	for _, dir := range []string{"", "internal"} {
		if found, err := fs.Glob(repository, path.Join(dir, span)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// namesOfTheHouse are the packages of the module with what they declare (NAME, TYPE.MEMBER,
// PACKAGE.NAME and PACKAGE.TYPE.MEMBER), its tests, and the settings and flags that the
// documents list.
func namesOfTheHouse(t *testing.T) names {
	t.Helper()
	known := names{}
	add := func(short, name string) { known[name], known[short+"."+name] = true, true }
	for _, s := range rooms(t) {
		short := path.Base(s.path)
		known[s.name] = true
		for _, f := range s.files {
			for _, name := range declaredIn(f) {
				add(short, name)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if of := receiver(n); of != "" {
						known[n.Name.Name] = true
						add(short, of+"."+n.Name.Name)
					}
				case *ast.TypeSpec:
					for _, member := range membersOf(n.Type) {
						known[member] = true
						add(short, n.Name.Name+"."+member)
					}
				}
				return true
			})
		}
	}
	for name := range testsOfTheHouse(t) {
		known[name] = true
	}
	for _, page := range []string{"docs/configuration.md", "docs/command-line.md"} {
		for _, m := range codeSpan.FindAllStringSubmatch(string(read(t, page)), -1) {
			flag, _, _ := strings.Cut(m[1], " ")
			known[flag] = true
		}
	}
	return known
}

// membersOf are the fields of a struct, or the methods of an interface.
func membersOf(typ ast.Expr) []string {
	var list *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	var members []string
	for _, f := range list.List {
		for _, name := range f.Names {
			members = append(members, name.Name)
		}
	}
	return members
}

// TestDocumentNamesEachQuestion holds that the decision about the questions to registries names each of them: the
// methods of registry.Client that wait for an answer.
func TestDocumentNamesEachQuestion(t *testing.T) {
	t.Parallel()
	const page = "docs/decisions/ten-questions.md"
	text, questions := string(read(t, page)), 0
	roomAt(t, "internal/registry").functions(func(name string, f *ast.FuncDecl) {
		waits := len(f.Type.Params.List) > 0 && types.ExprString(f.Type.Params.List[0].Type) == "context.Context"
		if receiver(f) != "Client" || !f.Name.IsExported() || !waits {
			return
		}
		questions++
		if !strings.Contains(text, "`"+f.Name.Name+"`") {
			t.Errorf("%s does not name the question %s", page, name)
		}
	})
	if questions != 10 {
		t.Errorf("registry.Client has %d questions, and %s says ten", questions, page)
	}
}
