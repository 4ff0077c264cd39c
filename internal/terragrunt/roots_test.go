package terragrunt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// modulePackages is a source of modules, by call.
type modulePackages map[string]scan.Package

// Fetch implements scan.Source.
func (s modulePackages) Fetch(_ context.Context, _ provider.Tool, call scan.Call) (scan.Package, error) {
	p, ok := s[strings.TrimSpace(call.Source+" "+call.Version)]
	if !ok {
		return p, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "nobody answers for " + call.Source}}
	}
	return p, nil
}

// shownRoot lists what is known about a unit.
func shownRoot(r scan.Root) []string {
	recorded := map[scan.StandIn]string{scan.StandInNone: "nothing", scan.StandInParts: "parts", scan.StandInUnit: "the unit", scan.StandInAll: "all"}
	said := []string{fmt.Sprintf("%s with %s: recorded for %s", r.Dir, r.Tool.Name, recorded[r.StandIn])}
	for _, p := range r.Problems {
		said = append(said, "error: "+p.Message)
	}
	for _, u := range r.Made.Unread {
		said = append(said, "unread: "+u.Reason)
	}
	for _, h := range r.Made.Holes {
		said = append(said, fmt.Sprintf("holes: %d in %s", h.Parts, h.Generated))
	}
	for _, a := range r.Made.Assumptions {
		said = append(said, "assumed: "+a)
	}
	if r.Made.Start != nil {
		said = append(said, fmt.Sprintf("begins with %d entries", len(r.Made.Start.Locks)))
	}
	return said
}

func TestRoots(t *testing.T) {
	t.Parallel()
	const unit = "-- live/app/terragrunt.hcl --\n"
	const source = "terraform {\n  source = \"../../modules/a\"\n}\n"
	modules := module("modules/a", "random", "~> 3.0")
	const entry = "provider \"registry.terraform.io/hashicorp/random\" {\n  version = \"3.0.0\"\n}\n"
	remote := scan.Package{FS: tree(module("sub", "null", "~> 2.0")), Dir: "sub", ID: "x"}
	tests := map[string]struct {
		files string
		root  scan.Root
		opts  Options
		want  []string
	}{
		"a_unit_with_a_lock_file": {files: unit + source, root: scan.Root{Lock: &lockfile.File{}}, want: []string{"live/app with terraform: recorded for parts"}},
		"one_without_is_left_out": {files: unit + source},
		"and_said":                {files: unit + source, opts: Options{Scan: scan.Options{Unlocked: true}}, want: []string{"warning: the Terragrunt unit has no lock file"}},
		"or_created":              {files: unit + source, opts: Options{Scan: scan.Options{Create: true}}, want: []string{"live/app with terraform: recorded for parts"}},
		"or_named":                {files: unit + source, root: scan.Root{Named: true}, want: []string{"live/app with terraform: recorded for parts"}},
		"it_begins_with_the_lock_file_of_the_module": {files: unit + source + "-- modules/a/.terraform.lock.hcl --\n" + entry, opts: Options{Scan: scan.Options{Create: true}},
			want: []string{"live/app with terraform: recorded for parts", "begins with 1 entries"}},
		"but_not_if_it_has_one": {files: unit + source + "-- modules/a/.terraform.lock.hcl --\n" + entry, root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for parts"}},
		"what_stacks_make_units_of": {files: unit + "terraform {\n  source = values.m\n}\n", opts: Options{Scan: scan.Options{Create: true}}},
		"a_lock_file_that_is_left_alone": {files: unit + strings.Replace(source, "}", "  copy_terraform_lock_file = false\n}", 1), root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"warning: 1 Terragrunt unit is left alone, since copy_terraform_lock_file is false: live/app"}},
		"an_excluded_unit_is_not_created": {files: unit + source + "exclude {\n  if = true\n  actions = [\"init\"]\n}\n", opts: Options{Scan: scan.Options{Create: true}},
			want: []string{"warning: 1 Terragrunt unit gets no lock file, since the exclude block keeps Terragrunt from running init: live/app"}},
		"but_served": {files: unit + source + "exclude {\n  if = true\n  actions = [\"init\"]\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for parts"}},
		"a_unit_that_is_refused": {files: unit + "terraform {\n  source = \"../../modules/none\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for all", "error: Terragrunt refuses the unit: the directory of the module does not exist"}},
		"a_unit_that_is_not_known": {files: unit + "terraform {\n  source = run_cmd(\"x\")\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for the unit", "unread: the source is not statically known: run_cmd depends on a command",
				"warning: the requirements of 1 Terragrunt unit are known in part: the source is not statically known: run_cmd depends on a command. The recorded constraints are used for the rest in live/app"}},
		"a_hook": {files: unit + strings.Replace(source, "}", "  before_hook \"h\" {\n    commands = [\"init\"]\n    execute = [\"x\"]\n  }\n}", 1), root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for parts", `unread: the hook "h" runs before init and may change what it requires`,
				`warning: the requirements of 1 Terragrunt unit are known in part: the hook "h" runs before init and may change what it requires. The recorded constraints are used for the rest in live/app`}},
		"holes_and_assumptions": {files: unit + source + generated("g", "g.tf", "overwrite", "provider \"tls\" {\n  a = \"${get_env(\"X\")}\"\n  b = \"${get_env(\"Y\", \"z\")}\"\n}"), root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for parts", "holes: 1 in g.tf", "assumed: the environment variable Y is not set",
				"warning: for 1 Terragrunt unit it is assumed that the environment variable Y is not set: live/app"}},
		"a_guessed_tool": {files: unit + source, root: scan.Root{Lock: &lockfile.File{}, Guessed: true},
			want: []string{"live/app with terraform: recorded for parts", "assumed: the tool is Terraform", "warning: for 1 Terragrunt unit it is assumed that the tool is Terraform: live/app"}},
		"the_lock_file_says_the_tool": {files: unit + source, root: scan.Root{Lock: locked(provider.Terraform), Guessed: true},
			want: []string{"live/app with terraform: recorded for parts"}},
		"the_unit_names_the_tool": {files: unit + "terraform_binary = \"/usr/bin/tofu\"\n" + source, root: scan.Root{Lock: &lockfile.File{}, Guessed: true},
			want: []string{"live/app with opentofu: recorded for parts"}},
		"unless_one_is_set": {files: unit + "terraform_binary = \"tofu\"\n" + source, root: scan.Root{Lock: &lockfile.File{}}, opts: Options{Scan: scan.Options{Tool: provider.Terraform}},
			want: []string{"live/app with terraform: recorded for parts"}},
		"nor_against_the_lock_file": {files: unit + "terraform_binary = \"terraform\"\n" + source, root: scan.Root{Lock: locked(provider.OpenTofu), Tool: provider.Newest(provider.OpenTofu)},
			want: []string{"live/app with opentofu: recorded for parts"}},
		"a_release_that_is_not_allowed": {files: unit + "terraform_version_constraint = \"< 1.0\"\n" + source, root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for all", "error: Terragrunt refuses the unit: terraform_version_constraint does not allow " + provider.Newest(provider.Terraform).String()}},
		"unless_it_is_assumed": {files: unit + "terraform_version_constraint = \"< 1.0\"\n" + source, root: scan.Root{Lock: &lockfile.File{}, Assumed: true},
			want: []string{"live/app with terraform: recorded for parts"}},
		"a_module_that_is_fetched": {files: unit + "terraform {\n  source = \"git::https://git.example.com/x.git//sub?ref=v1\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{"git::https://git.example.com/x.git//sub?ref=v1": remote}}, want: []string{"live/app with terraform: recorded for parts"}},
		"a_module_of_a_registry": {files: unit + "terraform {\n  source = \"tfr:///a/b/c//sub?version=1.2.3\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{"registry.terraform.io/a/b/c//sub 1.2.3": remote}}, want: []string{"live/app with terraform: recorded for parts"}},
		"by_the_attribute_version": {files: unit + "terraform {\n  source = \"tfr://r.example.com/a/b/c\"\n  version = \"1.2.3\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{"r.example.com/a/b/c 1.2.3": remote}},
			want: []string{"live/app with terraform: recorded for parts", "assumed: the experiment version-attribute is on", "warning: for 1 Terragrunt unit it is assumed that the experiment version-attribute is on: live/app"}},
		"without_a_version": {files: unit + "terraform {\n  source = \"tfr:///a/b/c\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for all", "error: Terragrunt refuses the unit: the source is not statically known: the module of a registry has no version"}},
		"no_address_of_a_registry": {files: unit + "terraform {\n  source = \"tfr:///a/b\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for all", "error: Terragrunt refuses the unit: the source is not statically known: it is no address of a module registry"}},
		"a_module_that_cannot_be_fetched": {files: unit + "terraform {\n  source = \"git::https://git.example.com/x.git\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{}}, want: []string{"live/app with terraform: recorded for all", "error: nobody answers for git::https://git.example.com/x.git"}},
		"nothing_is_fetched_without_a_source": {files: unit + "terraform {\n  source = \"git::https://git.example.com/x.git\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			want: []string{"live/app with terraform: recorded for the unit", "unread: the module comes from outside of the repository",
				"warning: the requirements of 1 Terragrunt unit are known in part: the module comes from outside of the repository. The recorded constraints are used for the rest in live/app"}},
		"an_archive_in_the_repository": {files: unit + "terraform {\n  source = \"../../a.zip//sub\"\n}\n-- a.zip --\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{"/home/a/repo/a.zip//sub": remote}, Scan: scan.Options{Path: "/home/a/repo"}}, want: []string{"live/app with terraform: recorded for parts"}},
		"where_that_is_nowhere": {files: unit + "terraform {\n  source = \"../../a.zip//sub\"\n}\n-- a.zip --\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{}},
			want: []string{"live/app with terraform: recorded for the unit", "unread: it is an archive or a repository on this machine, which is read only where relock is run by hand",
				"warning: the requirements of 1 Terragrunt unit are known in part: it is an archive or a repository on this machine, which is read only where relock is run by hand. The recorded constraints are used for the rest in live/app"}},
		"a_directory_that_is_not_checked_out": {files: unit + "terraform {\n  source = \"../../modules/none\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Scan: scan.Options{Absent: func(dir string) bool { return dir == "modules/none" }}},
			want: []string{"live/app with terraform: recorded for all", "error: Terragrunt refuses the unit: the directory of the module is not in the sparse checkout"}},
		"nothing_is_fetched_for_what_is_not_wanted": {files: unit + "terraform {\n  source = \"git::https://git.example.com/x.git\"\n}\n", root: scan.Root{Lock: &lockfile.File{}},
			opts: Options{Source: modulePackages{}, Scan: scan.Options{Wanted: func(m scan.RootModule) bool { return !slices.Contains(m.Files, "live/app/") }}},
			want: []string{"live/app with terraform: recorded for the unit"}},
		"a_root_module_of_another_kind": {root: scan.Root{Dir: "live/app", Kind: scan.CDK, StandIn: scan.StandInAll}, want: []string{"live/app with terraform: recorded for all"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tt.root
			if r.Dir == "" {
				r.Dir = "live/app"
			}
			if r.Kind == scan.Ordinary {
				r.Kind, r.StandIn = scan.TerragruntUnit, scan.StandInAll
			}
			if r.Tool.Name == "" {
				r.Tool = provider.Newest(provider.Terraform)
			}
			roots, warnings, err := unitRoots(t.Context(), tree(modules+tt.files), []scan.Root{r}, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range roots {
				got = append(got, shownRoot(r)...)
			}
			for _, w := range warnings {
				got = append(got, "warning: "+w.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Roots (-want +got):\n%s", diff)
			}
		})
	}
}

// locked is a lock file with an entry of the registry of a tool.
func locked(tool provider.ToolName) *lockfile.File {
	return &lockfile.File{Locks: []lockfile.Lock{{Addr: provider.Addr{Host: tool.DefaultHost(), Namespace: "hashicorp", Type: "random"}}}}
}

// TestRoots_causes holds that a cause is reported once, with its units.
func TestRoots_causes(t *testing.T) {
	t.Parallel()
	files, roots := "", []scan.Root{}
	for i := range 12 {
		dir := fmt.Sprintf("live/u%02d", i)
		files += "-- " + dir + "/terragrunt.hcl --\nterraform {\n  copy_terraform_lock_file = false\n}\n"
		roots = append(roots, scan.Root{Dir: dir, Kind: scan.TerragruntUnit, Lock: &lockfile.File{}})
	}
	kept, warnings, err := unitRoots(t.Context(), tree(files), roots, Options{})
	const want = "12 Terragrunt units are left alone, since copy_terraform_lock_file is false: live/u00, live/u01, live/u02, live/u03, live/u04, live/u05, live/u06, live/u07, live/u08, live/u09 and 2 more"
	if err != nil || len(kept) > 0 || len(warnings) != 1 || warnings[0].Message != want {
		t.Errorf("Roots = %v, %v, %v, want the warning %q", kept, warnings, err, want)
	}
	// Causes that differ only in their place are one, too. Programs get all units.
	files = strings.ReplaceAll(files, "copy_terraform_lock_file = false", "source = get_env(\"M\")")
	_, warnings, err = unitRoots(t.Context(), tree(files), roots, Options{})
	const known = "the requirements of 12 Terragrunt units are known in part: the source is not statically known: it depends on the environment variable M. The recorded constraints are used for the rest in live/u00, live/u01"
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0].Message, known) || len(warnings[0].Dirs.List()) != 12 || warnings[0].Place.String() != "live/u00/terragrunt.hcl:2" {
		t.Errorf("Roots = %+v, %v, want the warning %q with 12 directories", warnings, err, known)
	}
	parent := scan.Root{Dir: "live", Kind: scan.TerragruntUnit}
	child := scan.Root{Dir: "live/app", Kind: scan.TerragruntUnit}
	files = "-- live/terragrunt.hcl --\nterraform {\n  source = \"../../modules/a\"\n}\n-- live/app/terragrunt.hcl --\ninclude {\n  path = find_in_parent_folders()\n}\n"
	kept, _, err = unitRoots(t.Context(), tree(files+module("modules/a", "random", "")), []scan.Root{parent, child}, Options{Scan: scan.Options{Create: true}})
	if err != nil || len(kept) != 1 || kept[0].Dir != child.Dir {
		t.Errorf("Roots = %v, %v, want the unit %s without the file that it includes", kept, err, child.Dir)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := unitRoots(ended, tree(files), roots, Options{}); err == nil {
		t.Error("Roots returns no error though its context has ended")
	}
}

// TestLacks names the files that units read and whose content a tree does not have.
func TestLacks(t *testing.T) {
	t.Parallel()
	var b filetree.Builder
	if err := b.AddFile("u/terragrunt.hcl", 0o644, []byte("locals {\n  x = file(\"held\")\n}\nterraform {\n  source = \"${local.x}${file(\"there\")}\"\n}\n")); err != nil {
		t.Fatal(err)
	}
	if err := b.AddFile("u/held", 0o644, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := b.AddMissing("u/there", 0o644, 5, errors.New("it is elsewhere")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"u/there"}, Lacks(t.Context(), b.Tree(), nil)); diff != "" {
		t.Errorf("Lacks (-want +got):\n%s", diff)
	}
}
