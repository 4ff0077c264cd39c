package house

import (
	"go/ast"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const mapFile = "ARCHITECTURE.md"

// foreign are words in backticks that are no names of ours: those of the tools, of git, of
// GitHub, of Go and its libraries, and of files that people write.
var foreign = strings.Fields(`
	.terraform.lock.hcl .modules.lock.hcl .gitmodules .gitattributes terraform.d/plugins terragrunt.stack.hcl main.tf PATH
	terraform tofu init -lockfile=readonly required_version required_providers dev_overrides remote_state source generate for ~> fs.FS
	oauth2.TokenSource oauth2/google golang.org/x/sys html/template filepath.EvalSymlinks GIT_NO_LAZY_FETCH
`)

// codeSpan is a piece of a document in backticks.
var codeSpan = regexp.MustCompile("`([^`\n]+)`")

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
	if spans < 250 {
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
		"TestLaws": true, "--exact": true, "verify.signers": true,
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

// declaredIn are the package-level names of a file.
func declaredIn(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
