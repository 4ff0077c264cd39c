package house

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign are words in backticks that are no names of ours: those of the tools, of git, of
// GitHub, of Go and its libraries, and of files that people write.
var foreign = strings.Fields(`
	.terraform.lock.hcl .gitmodules .gitattributes terraform.d/plugins terragrunt.stack.hcl main.tf PATH
	terraform tofu init -lockfile=readonly required_version dev_overrides remote_state source generate for ~> fs.FS
	oauth2.TokenSource oauth2/google golang.org/x/sys html/template filepath.EvalSymlinks GIT_NO_LAZY_FETCH
`)

// codeSpan is a piece of a document in backticks.
var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// TestMapNamesWhatExists holds that what the decisions put in backticks is there: a
// file, a package, a name that is declared, a test, or a setting. What has a space is a command,
// which other tests judge.
func TestMapNamesWhatExists(t *testing.T) {
	t.Parallel()
	known := namesOfTheHouse(t)
	spans := 0
	for _, name := range glob(t, decisionPages) {
		for _, m := range codeSpan.FindAllStringSubmatch(string(read(t, name)), -1) {
			spans++
			if span := m[1]; !strings.Contains(span, " ") && !known.has(span) {
				t.Errorf("%s names `%s`, which is no file, package, name, test or setting here", name, span)
			}
		}
	}
	if spans < 100 {
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
