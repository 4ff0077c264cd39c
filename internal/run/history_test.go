package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

func lockOf(typ, version string) string {
	return "provider \"registry.terraform.io/hashicorp/" + typ + "\" {\n  version = \"" + version + "\"\n}\n"
}

func TestHistoryComparesWithARevision(t *testing.T) {
	t.Parallel()
	root := lay(t)
	worktreetest.Write(t, root, map[string]string{
		"prod/.terraform.lock.hcl":   lockOf("null", "3.2.2"),
		"stage/.terraform.lock.hcl":  lockOf("null", "3.2.2"),
		"same/.terraform.lock.hcl":   lockOf("null", "3.2.2"),
		"broken/.terraform.lock.hcl": lockOf("null", "3.2.2"),
	})
	worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{
		"prod/.terraform.lock.hcl":    lockOf("null", "3.2.4"),
		"stage/.terraform.lock.hcl":   "",
		"dev/.terraform.lock.hcl":     lockOf("aws", "5.0.0"),
		"broken/.terraform.lock.hcl":  "provider {",
		".hidden/.terraform.lock.hcl": lockOf("aws", "5.0.0"),
	})
	for name, tt := range map[string]struct {
		dirs []string
		want []string
	}{
		"all":            {nil, []string{".hidden: added", "broken: 1 problem", "dev: added", "prod: upgraded", "stage: removed"}},
		"one":            {[]string{"prod"}, []string{"prod: upgraded"}},
		"what is gone":   {[]string{"."}, []string{".hidden: added", "broken: 1 problem", "dev: added", "prod: upgraded", "stage: removed"}},
		"nothing to say": {[]string{"same"}, nil},
	} {
		r, err := History(Env{WorkDir: root}, "HEAD", tt.dirs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, m := range r.Modules {
			said := m.Dir + ": 1 problem"
			if len(m.Diagnostics) != 1 {
				said = m.Dir + ": " + string(m.Changes[0].Kind)
			}
			got = append(got, said)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := History(Env{WorkDir: root}, "gone", nil)
	if d := problem.Of(err); d.Code != problem.CodeUnreadable || !strings.Contains(d.Message, `"gone"`) || d.Hint == "" {
		t.Errorf("History(of no revision) = %v with the hint %q", err, d.Hint)
	}
}

// Files count by their contents on disk, committed or not, what a search hides included.
// Of what the scan does not read only somebody who asks learns that, unless a link
// leads to it.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	root := lay(t)
	worktreetest.Write(t, root, map[string]string{
		"README.md": "a", "prod/main.tf": "# a\n", "stage/main.tf": "# a\n", "modules/vpc/main.tf": "# a\n", ".ci/main.tf": "# a\n", "notes.txt": "a",
		"target": "a", "linked": "a", "run.tf": "# a\n",
	})
	if err := os.Chmod(filepath.Join(root, "run.tf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"prod/link.tf": "../target", "prod/was": "a"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"modules/vpc/main.tf": "# b\n", "README.md": "b"})
	worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"prod/main.tf": "# b\n", "stage/main.tf": "", "dev/main.tf": "# b\n", ".ci/main.tf": "", "notes.txt": "b", "target": "b", "stage/plan": "new", "empty/README.md": "new"})
	for name, target := range map[string]string{"prod/was": "b", "linked": "a"} {
		if err := errors.Join(os.Remove(filepath.Join(root, name)), os.Symlink(target, filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}

	paths, differs, err := changedSince(tree{root: root}, base)
	var got []string
	for _, p := range paths {
		kind := ""
		if !p.File {
			kind = " (link)"
		}
		got = append(got, p.Path+kind)
	}
	slices.Sort(got)
	want := []string{
		".ci/main.tf", "README.md", "dev/main.tf", "empty/README.md", "linked (link)", "modules/vpc/main.tf", "prod/main.tf", "prod/was (link)",
		"stage/main.tf", "target",
	}
	got = slices.Compact(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("changedSince(the base) = %q, %v, want %q", got, err, want)
	}
	for name, want := range map[string]bool{"notes.txt": true, "run.tf": false, "README.md": false, "none": false} {
		if differs(name) != want {
			t.Errorf("differs(%s) = %t, want %t", name, !want, want)
		}
	}
	_, _, err = changedSince(tree{root: root}, "gone")
	if d := problem.Of(err); d.Code != problem.CodeSettings || !strings.Contains(d.Hint, "fetch-depth: 0") {
		t.Errorf("changedSince(no revision) = %v with the hint %q", err, d.Hint)
	}
}

// What a revision has is read without a checkout of it: what the scan reads, and what
// somebody names.
func TestFilesOfARevision(t *testing.T) {
	t.Parallel()
	root := lay(t)
	worktreetest.Write(t, root, map[string]string{"prod/main.tf": "# a\n", "notes.txt": "a", "target": "a", ".github/relock.yml": "version: 1\n"})
	for name, target := range map[string]string{"link.tf": "main.tf", "far.tf": "../target"} {
		if err := os.Symlink(target, filepath.Join(root, "prod", name)); err != nil {
			t.Fatal(err)
		}
	}
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"prod/main.tf": "# b\n", ".github/relock.yml": ""})
	worktreetest.Commit(t, root)

	files, err := filesAt(tree{root: root}, base)
	if err != nil || files.Commit != base {
		t.Fatalf("filesAt() = %+v, %v, want commit %s", files, err, base)
	}
	for name, want := range map[string]string{"prod/main.tf": "# a\n", ".github/relock.yml": "version: 1\n", "notes.txt": "", "prod/link.tf": "# a\n", "prod/far.tf": "a"} {
		if got, _ := fs.ReadFile(files.FS, name); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	named, known := Committed(root, base, []string{".github/relock.yml", "missing.yml"})
	if got, _ := fs.ReadFile(named, ".github/relock.yml"); !known || string(got) != "version: 1\n" {
		t.Errorf("Committed() = %q, %t, want the file of the base", got, known)
	}
	if _, known := Committed(root, base, []string{"prod/link.tf"}); known {
		t.Error("Committed(a link) is known, and what it leads to need not be of the commit")
	}
	if _, known := Committed(root, strings.Repeat("0", 40), nil); known {
		t.Error("Committed(no commit) is known")
	}
}

func TestTouches(t *testing.T) {
	t.Parallel()
	c := newChanged(pathsIn(fstest.MapFS{}, []string{"modules/vpc/main.tf", "live/.terraform-version", "prod/README.md", "eu/.config/mise.toml", "us/.terragrunt-version"}))
	for name, tt := range map[string]struct {
		dir, calls string
		want       bool
	}{
		"a file beside":          {"prod", "", true},
		"a module that it calls": {"stage", "modules/vpc", true},
		"a release above":        {"live/a", "", true},
		"a release of mise's":    {"eu/a", "", true},
		"Terragrunt's release":   {"us/a", "", false},
		"another one":            {"stage", "modules/net", false},
		"a name that begins so":  {"liver", "", false},
	} {
		m := scan.RootModule{Root: scan.Root{Dir: tt.dir}}
		if tt.calls != "" {
			m.Tree.Dirs = []string{tt.calls}
		}
		if got := c.touches(m); got != tt.want {
			t.Errorf("%s: touches(%s) = %t, want %t", name, tt.dir, got, tt.want)
		}
	}
	for name, files := range map[string]fstest.MapFS{
		"a link": {"store": {Mode: fs.ModeSymlink, Data: []byte("elsewhere")}}, "a submodule": {"store": {Mode: fs.ModeDir}},
	} {
		if c := newChanged(pathsIn(files, []string{"store"})); !c.touches(scan.RootModule{Root: scan.Root{Dir: "prod"}}) {
			t.Errorf("%s that is changed touches nothing", name)
		}
	}
	for _, name := range []string{".tool-versions", "mise.toml", ".config/mise.toml"} {
		if top := newChanged(pathsIn(fstest.MapFS{}, []string{name})); !top.touches(scan.RootModule{Root: scan.Root{Dir: "prod"}}) {
			t.Errorf("%s at the top touches nothing", name)
		}
	}
}

// A check of a change looks at what it touches, and at all where nobody knows what
// that is: it says so where that is a surprise.
func TestCheckIsNarrowed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(base string) *Change
		want   int
		told   string
	}{
		"all":                        {func(string) *Change { return nil }, 2, ""},
		"since a revision":           {func(base string) *Change { return &Change{Revision: base} }, 1, ""},
		"an event that does not say": {func(string) *Change { return &Change{Unknown: "the branch is new"} }, 2, ""},
		"commits that nobody can ask about": {func(base string) *Change { return &Change{Base: base, Head: "HEAD"} }, 2,
			"all root modules are checked, since it is not known what changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := upgrading(Target{Files: Checkout{}, Repository: "acme/infra"})
			req.Verb = verbs.Check
			s, lock := opened(t, req)
			root := filepath.Dir(filepath.Dir(lock))
			worktreetest.Replace(t, root, map[string]string{".git/HEAD": "", "other/main.tf": "# a\n", "other/.terraform.lock.hcl": lockOf("null", "3.2.2")})
			if err := os.Remove(filepath.Join(root, ".git")); err != nil {
				t.Fatal(err)
			}
			base := worktreetest.Commit(t, root)
			worktreetest.Replace(t, root, map[string]string{"other/main.tf": "resource \"null_resource\" \"x\" {}\n"})
			req.Change = tt.change(base)
			r, err := s.Do(t.Context(), req)
			if err != nil || len(r.Modules) != tt.want {
				t.Fatalf("Do() = %d root modules, %v, want %d", len(r.Modules), err, tt.want)
			}
			if told := len(r.Diagnostics) > 0 && strings.HasPrefix(r.Diagnostics[0].Message, tt.told); tt.told != "" && !told {
				t.Errorf("told %v, want %q", r.Diagnostics, tt.told)
			}
		})
	}
}
