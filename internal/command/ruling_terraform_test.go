package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// TestWhatTerraformLocksIsJudged lets the real terraform upgrade a lock file, as a person does,
// and holds that against one rule after the other. Without rules it is green, and no request more.
func TestWhatTerraformLocksIsJudged(t *testing.T) {
	t.Parallel()
	program, as := realTool(t, "terraform")
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
platforms: [linux_amd64]
versions: {1.0.0: {published: 2020-01-01}, 2.0.0: {published: 2999-01-01}}
`)
	repository := filepath.Join(t.TempDir(), "repository")
	root := filepath.Join(repository, "live")
	// lock is what terraform locks of the versions, over the lock file that is there.
	lock := func(versions string) map[string]string {
		t.Helper()
		files := map[string]string{"live/main.tf": fmt.Sprintf("terraform {\n  required_providers {\n    alpha = { source = \"hashicorp/alpha\", version = %q }\n  }\n}\n", versions)}
		worktreetest.Replace(t, repository, files)
		if ok, said := runTools(t, program, s, root, t.TempDir(), "", []string{"init", "-upgrade", "-input=false", "-no-color"}, []string{"providers", "lock", "-platform=linux_amd64"}); !ok {
			t.Fatal(said)
		}
		if err := os.RemoveAll(filepath.Join(root, ".terraform")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(root, lockfile.Name))
		if err != nil {
			t.Fatal(err)
		}
		files["live/"+lockfile.Name] = string(text)
		return files
	}
	before, after := lock("1.0.0"), lock(">= 1.0.0")
	requests := map[string][]string{}
	for name, tt := range map[string]struct {
		config string
		want   problem.Code // empty: nothing
		at     string       // the rule, if there is one
	}{
		"no rule":           {"", "", ""},
		"a rule for others": {"rules:\n  - {providers: [\"acme/*\"], permitted: false}\n", "", ""},
		"minimum-age":       {"rules:\n  - minimum-age: 3d\n", problem.CodeTooYoung, "relock.yml:4"},
		"allow-versions":    {"rules:\n  - allow-versions: \"< 2\"\n", problem.CodeVersionRefused, "relock.yml:4"},
		"ignore-versions":   {"rules:\n  - ignore-versions: \">= 2\"\n", problem.CodeVersionRefused, "relock.yml:4"},
		"a kind of update":  {"rules:\n  - {update-types: [major], ignore-versions: \">= 2\"}\n", problem.CodeVersionRefused, "relock.yml:4"},
		"permitted":         {"rules:\n  - {providers: [\"*/*\"], permitted: false}\n", problem.CodeProviderRefused, "relock.yml:4"},
		"an allow list":     {"rules:\n  - {providers: [\"*/*\"], permitted: false}\n  - {providers: [\"registry.terraform.io/hashicorp/*\"], permitted: true}\n", "", ""},
		"signers":           {"verify:\n  signers: {\"hashicorp/*\": [C874011F0AB405110D02105534365D9472D7468F]}\n", problem.CodeSignerRefused, ""},
		"ignore":            {"rules:\n  - ignore: true\n", "", ""},
		"hold-until":        {"rules:\n  - hold-until: 2999-01-01\n", "", ""},
		"judge: off":        {"judge: off\nrules:\n  - allow-versions: \"< 2\"\n", "", ""},
	} {
		worktreetest.Replace(t, repository, before)
		worktreetest.Replace(t, repository, map[string]string{".github/relock.yml": "version: 1\nplatforms: [linux_amd64]\n" + tt.config})
		worktreetest.Commit(t, repository)
		worktreetest.Replace(t, repository, after)
		s.ResetRequests()
		status, said := runIn(t, s, repository, slices.Concat([]string{"check", "--touched", "HEAD", "--format", "json", "live"}, as)...)
		for _, r := range s.Requests() {
			requests[name] = append(requests[name], r.Method+" "+r.Path)
		}
		found := ruleErrors(t, said)
		switch {
		case tt.want == "" && (status != ExitOK || len(found) > 0):
			t.Errorf("%s: check ends with %d:\n%s", name, status, said)
		// A signer that is not admitted fails the plan, too.
		case tt.want == problem.CodeSignerRefused && status == ExitOK, tt.want != "" && tt.want != problem.CodeSignerRefused && status != ExitFinding,
			tt.want != "" && (len(found) != 1 || !strings.Contains(said, `"code": "`+string(tt.want)+`"`) || !strings.Contains(said, `"column": 10`) || !strings.Contains(found[0], tt.at)):
			t.Errorf("%s: check ends with %d, want %s:\n%s", name, status, tt.want, said)
		}
	}
	if got, want := len(requests["minimum-age"]), len(requests["no rule"])+1; got != want {
		t.Errorf("with a minimum age of one changed release, check asks %d times, want %d: %q", got, want, requests["minimum-age"])
	}
	for _, same := range []string{"a rule for others", "an allow list", "judge: off"} {
		if !slices.Equal(slices.Sorted(slices.Values(requests[same])), slices.Sorted(slices.Values(requests["no rule"]))) {
			t.Errorf("with %s, check asks %q; without rules %q", same, requests[same], requests["no rule"])
		}
	}
}
