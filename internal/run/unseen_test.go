package run

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

func TestWhatWasNotSeenHasACause(t *testing.T) {
	pattern, err := provider.ParsePattern("hashicorp/null")
	if err != nil {
		t.Fatal(err)
	}
	u := unseenLocks{dirs: []string{"live/...", "named"}, only: []provider.Pattern{pattern}}
	u.add(notInCheckout, strings.ToUpper, "live/a/.terraform.lock.hcl")
	u.add(notWanted, strings.ToUpper, "live/b/.terraform.lock.hcl")
	u.add(notReadable, strings.ToUpper, "live/c/")
	for _, tt := range []struct {
		dir     string
		why     unseenCause
		missing bool
	}{
		{"live", 0, false},
		{"live/seen", 0, false},
		{"live/a", notInCheckout, true},
		{"live/a/below", 0, false},
		{"live/b", notWanted, true},
		{"live/c", notReadable, true},
		{"live/c/below", notReadable, true},
		{"live/cc", 0, false},
		{"named", 0, false},
		{"named/below", notAsked, true},
		{"other", notAsked, true},
		{".", notAsked, true},
	} {
		if why, missing := u.causeOf(tt.dir); why != tt.why || missing != tt.missing {
			t.Errorf("causeOf(%q) = %v, %v, want %v, %v", tt.dir, why, missing, tt.why, tt.missing)
		}
	}
	if !u.isAbout(provider.Addr{Host: provider.Terraform.DefaultHost(), Namespace: "hashicorp", Type: "null"}) {
		t.Error("a provider that the run is about is not asked about")
	}
	if u.isAbout(provider.Addr{Host: provider.Terraform.DefaultHost(), Namespace: "hashicorp", Type: "aws"}) {
		t.Error("a provider that the run is not about is asked about")
	}
}

func TestWhatWasNotSeenIsCountedByCause(t *testing.T) {
	var u unseenLocks
	same := func(name string) string { return name }
	for _, name := range []string{".infra/b/.terraform.lock.hcl", ".infra/a/.terraform.lock.hcl", ".infra/a/.terraform.lock.hcl"} {
		u.add(inHiddenDir, same, name)
	}
	u.add(notInCheckout, same, "live/.terraform.lock.hcl")
	u.add(notReadable, same, "closed/")
	var got []string
	for _, d := range u.notices(verbs.Lock) {
		if d.Code != problem.CodeUnseen || d.Severity != problem.SeverityWarning {
			t.Errorf("notices() has %+v, want warnings of the code %s", d, problem.CodeUnseen)
		}
		got = append(got, d.Message)
	}
	want := []string{
		"1 lock file missing in the sparse checkout was not looked at: live/.terraform.lock.hcl",
		"2 lock files below hidden directories were not looked at: .infra/a/.terraform.lock.hcl, .infra/b/.terraform.lock.hcl",
		"an unknown number of lock files in places that cannot be read was not looked at: closed/",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices() (-want +got):\n%s", diff)
	}
}

func TestRunIsNarrowedByWhatItDidNotSee(t *testing.T) {
	same := func(name string) string { return name }
	whole := unseenLocks{dirs: []string{everything}}
	if whole.narrowed() {
		t.Error("a search of the whole repository is narrowed")
	}
	whole.add(notWanted, same, "left/out/.terraform.lock.hcl")
	if whole.narrowed() {
		t.Error("what the base's own configuration leaves out narrows a run")
	}
	for c := range lastCause + 1 {
		u := unseenLocks{dirs: []string{everything}}
		u.add(c, same, "a/.terraform.lock.hcl")
		if u.narrowed() == c.wantedByBase() {
			t.Errorf("narrowed() with a lock file of the cause %d = %v", c, u.narrowed())
		}
	}
	if some := (unseenLocks{dirs: []string{"live/..."}}); !some.narrowed() {
		t.Error("a search of a directory is not narrowed")
	}
}

func TestNamedDirectoriesLeaveWhatASearchWouldEnter(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"east", "west", ".infra/own", ".deploy/asked", ".other/hidden", ".terragrunt-stack/unit", "node_modules/none"} {
		at := filepath.Join(root, filepath.FromSlash(dir))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, lockfile.Name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := unseenLocks{dirs: []string{"east"}, own: scan.Options{Include: []string{".infra/**"}}, selection: scan.Options{Include: []string{".deploy/**"}}}
	u.addLeftOut(tree{root: root}, path.Dir)
	var got []string
	for _, m := range u.missed {
		got = append(got, m.shown)
	}
	if diff := cmp.Diff([]string{".deploy/asked", ".infra/own", ".terragrunt-stack/unit", "west"}, got); diff != "" {
		t.Errorf("beside the named directory there are (-want +got):\n%s", diff)
	}
}
