package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
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

func TestTouches(t *testing.T) {
	t.Parallel()
	c := newChanged(changedPathsIn(fstest.MapFS{}, []string{"modules/vpc/main.tf", "live/.terraform-version", "prod/README.md", "eu/.config/mise.toml", "us/.terragrunt-version"}))
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
		if c := newChanged(changedPathsIn(files, []string{"store"})); !c.touches(scan.RootModule{Root: scan.Root{Dir: "prod"}}) {
			t.Errorf("%s that is changed touches nothing", name)
		}
	}
	for _, name := range []string{".tool-versions", "mise.toml", ".config/mise.toml"} {
		if top := newChanged(changedPathsIn(fstest.MapFS{}, []string{name})); !top.touches(scan.RootModule{Root: scan.Root{Dir: "prod"}}) {
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
			here := Checkout{Repository: "acme/infra"}
			s, lock := openedSession(t, ToCheck(forLinux, here, nil, JudgedBy{}, upgrade.Upgrade, nil))
			root := filepath.Dir(filepath.Dir(lock))
			worktreetest.Replace(t, root, map[string]string{".git/HEAD": "", "other/main.tf": "# a\n", "other/.terraform.lock.hcl": lockOf("null", "3.2.2")})
			if err := os.Remove(filepath.Join(root, ".git")); err != nil {
				t.Fatal(err)
			}
			base := worktreetest.Commit(t, root)
			worktreetest.Replace(t, root, map[string]string{"other/main.tf": "resource \"null_resource\" \"x\" {}\n"})
			r, err := Run(t.Context(), s, ToCheck(forLinux, here, nil, JudgedBy{}, upgrade.Upgrade, tt.change(base)))
			if err != nil || len(r.Modules) != tt.want {
				t.Fatalf("Run() = %d root modules, %v, want %d", len(r.Modules), err, tt.want)
			}
			if told := len(r.Diagnostics) > 0 && strings.HasPrefix(r.Diagnostics[0].Message, tt.told); tt.told != "" && !told {
				t.Errorf("told %v, want %q", r.Diagnostics, tt.told)
			}
		})
	}
}
