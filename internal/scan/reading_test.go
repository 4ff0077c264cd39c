package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// chosenModule is a root module that calls one of two modules by a variable, and has a
// second variable that nothing reads.
var chosenModule = map[string]string{
	".opentofu-version": "1.12.6",
	"app/main.tf":       "variable \"dir\" {}\nvariable \"size\" {}\nmodule \"m\" {\n  source = \"../${var.dir}\"\n}\nresource \"tls_key\" \"a\" {}\n",
	"app/" + lockName:   "",
	"a/main.tf":         "terraform {\n  required_providers {\n    random = {\n      version = \"~> 3.1\"\n    }\n  }\n}\n",
	"b/main.tf":         "terraform {\n  required_providers {\n    random = {\n      version = \"~> 3.5\"\n    }\n  }\n}\nresource \"null_resource\" \"a\" {}\n",
	"a.tfvars":          "dir = \"a\"\n", "b.tfvars": "dir = \"b\"\nsize = 1\n",
}

const lockName = ".terraform.lock.hcl"

// readWith reads the only root module of a tree with sets of values.
func readWith(t *testing.T, files map[string]string, links map[string]string, sets ...VariableSet) RootModule {
	t.Helper()
	modules, _, err := scanned(t.Context(), fileTree(files, links), nil, Options{Sets: sets})
	if err != nil || len(modules) != 1 {
		t.Fatalf("scanned = %v, %v, want one module", modules, err)
	}
	return modules[0]
}

// said is what a root module requires, and with which sets.
func said(m RootModule) []string {
	var all []string
	for _, q := range m.All().Requirements {
		for _, term := range q.Terms {
			all = append(all, strings.Join(strings.Fields(fmt.Sprint(q.Addr.Type, " ", Requirement{Terms: []Term{term}}.Constraints(), " ", term.Sets)), " "))
		}
	}
	for _, d := range m.Tree.Diagnostics {
		all = append(all, "error: "+d.Message)
	}
	for _, u := range m.Tree.Unread {
		all = append(all, strings.TrimSpace("unread: "+u.Reason+" "+u.Sets.String()))
	}
	for _, n := range m.Tree.Notes {
		all = append(all, "note: "+n.Message)
	}
	return all
}

func dirIn(name, dir string, directories ...string) VariableSet {
	return VariableSet{Name: name, Values: map[string]string{"dir": dir}, Directories: directories}
}

func TestSetsOfValues(t *testing.T) {
	t.Parallel()
	const removes = "note: init removes entries that other sets require, and fails with -lockfile=readonly: with the set x it removes registry.opentofu.org/hashicorp/null"
	for name, tt := range map[string]struct {
		sets []VariableSet
		want []string
	}{
		"each_term_has_its_set":      {[]VariableSet{dirIn("x", "a"), dirIn("y", "b")}, []string{"null set y", "random ~> 3.1 set x", "random ~> 3.5 set y", "tls", removes}},
		"sets_that_agree_are_one":    {[]VariableSet{dirIn("x", "a"), dirIn("y", "b"), dirIn("z", "b")}, []string{"null sets y and z", "random ~> 3.1 set x", "random ~> 3.5 sets y and z", "tls", removes}},
		"alike_in_all_that_is_asked": {[]VariableSet{{Name: "x", Values: map[string]string{"dir": "a", "size": "1"}}, {Name: "y", Values: map[string]string{"dir": "a", "size": "2"}}}, []string{"random ~> 3.1", "tls"}},
		"one_that_does_not_reach":    {[]VariableSet{dirIn("x", "a"), dirIn("y", "b", "other/**")}, []string{"random ~> 3.1", "tls"}},
		"none_reaches":               {[]VariableSet{dirIn("y", "b", "other/**")}, []string{"tls", "unread: its source is not statically known: var.dir has no value"}},
		"files":                      {[]VariableSet{{Name: "x", Files: []string{"../a.tfvars"}}, {Name: "y", Files: []string{"../a.tfvars", "../b.tfvars"}}}, []string{"null set y", "random ~> 3.1 set x", "random ~> 3.5 set y", "tls", removes}},
		"values_win_over_files":      {[]VariableSet{{Name: "x", Files: []string{"../b.tfvars"}, Values: map[string]string{"dir": "a"}}}, []string{"random ~> 3.1", "tls"}},
		"a_file_that_is_not_there": {[]VariableSet{dirIn("x", "a"), {Name: "y", Files: []string{"y.tfvars"}}},
			[]string{"random ~> 3.1 set x", "tls", "error: invalid module source: the variable file app/y.tfvars of the set y could not be read (with the set y)"}},
		"a_file_outside": {[]VariableSet{{Name: "y", Files: []string{"../../etc/y.tfvars"}}},
			[]string{"tls", "error: invalid module source: the variable file ../etc/y.tfvars of the set y could not be read"}},
		"a_link_that_leads_out": {[]VariableSet{{Name: "y", Files: []string{"out.tfvars"}}},
			[]string{"tls", "error: invalid module source: the variable file app/out.tfvars of the set y could not be read"}},
		"unread_with_one": {[]VariableSet{dirIn("x", "a"), {Name: "y", Values: map[string]string{"size": "1"}}},
			[]string{"random ~> 3.1 set x", "tls", "unread: its source is not statically known: var.dir has no value set y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := readWith(t, chosenModule, map[string]string{"app/out.tfvars": "../../secret.tfvars"}, tt.sets...)
			if diff := cmp.Diff(tt.want, said(m)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

// countingSource counts what is fetched.
type countingSource struct{ asked []string }

func (s *countingSource) Fetch(_ context.Context, _ provider.Tool, c Call) (Package, error) {
	s.asked = append(s.asked, c.Source)
	return Package{FS: fstest.MapFS{"main.tf": {Data: []byte("variable \"deep\" {}\nmodule \"n\" {\n  source = \"./${var.deep}\"\n}\n")}, "a/main.tf": {Data: []byte("resource \"a_x\" \"x\" {}\n")}, "b/main.tf": {Data: []byte("resource \"b_x\" \"x\" {}\n")}}, Dir: ".", ID: c.Source}, nil
}

// A fetched module may ask for a value that makes a difference: then what it needs is
// fetched once all the same, and a set is a reading of its own from there on.
func TestSetsDifferBelowAFetchedModule(t *testing.T) {
	t.Parallel()
	source := &countingSource{}
	tree := fileTree(map[string]string{
		".opentofu-version": "1.12.6", "app/" + lockName: "",
		"app/main.tf": "variable \"deep\" {}\nmodule \"m\" {\n  source = \"https://example.com/m.zip\"\n  deep = var.deep\n}\n",
	}, nil)
	deep := func(name, dir string) VariableSet {
		return VariableSet{Name: name, Values: map[string]string{"deep": dir}}
	}
	modules, _, err := scanned(t.Context(), tree, source, Options{Jobs: 1, Sets: []VariableSet{deep("x", "a"), deep("y", "b")}})
	if err != nil || len(modules) != 1 {
		t.Fatalf("scanned = %v, %v, want one module", modules, err)
	}
	want := []string{"a set x", "b set y"}
	if got := said(modules[0])[:2]; !slices.Equal(got, want) || len(source.asked) != 1 {
		t.Errorf("required is %q after %d fetches, want %q after 1", got, len(source.asked), want)
	}
}

// A directory that is called with any of the sets is no root module.
func TestSetsCall(t *testing.T) {
	t.Parallel()
	files := map[string]string{".git/HEAD": "", ".opentofu-version": "1.12.6"}
	for _, dir := range []string{"app", "a", "b", "c"} {
		files[dir+"/main.tf"] = "terraform {\n  backend \"local\" {}\n}\n"
	}
	files["app/main.tf"] += "variable \"dir\" {}\nmodule \"m\" {\n  source = \"../${var.dir}\"\n}\n"
	roots, _, err := Find(t.Context(), fileTree(files, nil), Options{Create: true, Sets: []VariableSet{dirIn("x", "a"), dirIn("y", "b")}})
	var dirs []string
	for _, r := range roots {
		dirs = append(dirs, r.Dir)
	}
	if want := []string{"app", "c"}; err != nil || !slices.Equal(dirs, want) {
		t.Errorf("the root modules are %v, %v, want %v", dirs, err, want)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	constraint := func(text string) provider.Constraints {
		c, err := provider.ParseConstraints(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	term := func(text string, sets ...string) Term {
		return Term{Constraint: constraint(text).Terms()[0], Sets: NamesOfSets(sets...)}
	}
	two := []Term{term("~> 3.0", "x", "y"), term("~> 3.1", "x"), term(">= 3.2", "y")}
	for _, tt := range []struct {
		terms []Term
		now   string
		want  bool
	}{
		{two, "~> 3.0, ~> 3.1", true},
		{two, "~> 3.0, >= 3.2", true},
		{two, "~> 3.0, ~> 3.1, >= 3.2", true},
		{two, "~> 3.1", false},
		{two, "~> 3.0", false},
		{[]Term{term("~> 3.0"), term("~> 3.1", "x")}, "~> 3.0, ~> 3.1", true},
		{[]Term{term("~> 3.0")}, "~> 3.0", true},
		{[]Term{term("~> 3.0")}, "~> 3.1", false},
	} {
		r := Requirement{Terms: tt.terms}
		if got := r.States(constraint(tt.now)); got != tt.want {
			t.Errorf("an entry may state %s of %v: %t, want %t", tt.now, tt.terms, got, tt.want)
		}
	}
	units := Requirement{
		Terms:   []Term{term("~> 3.0", "x"), term("~> 3.1"), term("< 4.0"), term(">= 3.2", "x")},
		OfUnits: map[string][]Term{"a": {term("~> 3.0", "x"), term("~> 3.1")}, "b": {term("< 4.0"), term(">= 3.2", "x")}},
	}
	for now, want := range map[string]bool{
		"~> 3.0, ~> 3.1, < 4.0, >= 3.2": true, "~> 3.0, ~> 3.1": true, "< 4.0, >= 3.2": true, "~> 3.0": false, "~> 3.1, < 4.0": false,
	} {
		if got := units.States(constraint(now)); got != want {
			t.Errorf("an entry that serves two units may state %s: %t, want %t", now, got, want)
		}
	}
}
