package scan

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// recorded is a configuration and what the real tools made of it: Terraform
// 1.11.4 and OpenTofu 1.12.6, run with init -upgrade.
type recorded struct {
	ID           string
	Files        map[string]string
	Symlinks     map[string]string
	Root         string
	Expected     recordedResult
	ExpectedTofu recordedResult `json:"expected_tofu"`
}

// recordedResult is the constraints string of each provider, or an error.
type recordedResult struct {
	constraints map[string]string
	failed      bool
}

func (r *recordedResult) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if _, r.failed = fields["error"]; r.failed {
		return nil
	}
	return json.Unmarshal(data, &r.constraints)
}

func recordedCases(t testing.TB) []recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recorded
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// fileTree makes a file tree in memory of files and links.
func fileTree(files, links map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	for name, to := range links {
		tree[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	return tree
}

const (
	needsFetching = "it needs fetching"
	needsEarly    = "it needs early evaluation"
	both          = "terraform opentofu"
)

// notRead are the recorded cases with calls that this package does not follow,
// by the tools that do. Their requirements must be marked as incomplete.
var notRead = map[string]struct{ tools, why string }{
	"113-git-file":              {both, needsFetching},
	"115-registry-pinned-pre":   {both, needsFetching},
	"117-registry-tilde1":       {both, needsFetching},
	"119-registry-v":            {both, needsFetching},
	"120-registry-sub":          {both, needsFetching},
	"147-test-registry-module":  {both, needsFetching},
	"221-registry-pre-combined": {both, needsFetching},
	"224-registry-four-seg":     {both, needsFetching},
	"225-registry-two-space":    {both, needsFetching},
	"226-registry-nomatch":      {both, needsFetching},
	"227-registry-metadata":     {both, needsFetching},
	"229-two-git-refs":          {both, needsFetching},
	"230-git-bad-ref":           {both, needsFetching},
	"232-git-nested-local":      {both, needsFetching},
	"209-test-remote-source":    {"opentofu", needsFetching},
	"163-tofu-static-source":    {"opentofu", needsEarly},
	"164-tofu-static-tfvars":    {"opentofu", needsEarly},
	"165-tofu-static-version":   {"opentofu", needsEarly},
	"167-tofu-child-static":     {"opentofu", needsEarly},
	"168-tofu-static-unset":     {"opentofu", needsEarly},
	"211-static-function":       {"opentofu", needsEarly},
	"213-static-auto-tfvars":    {"opentofu", needsEarly},
	"220-const-variable":        {"opentofu", needsEarly},
	"265-json-source-template":  {"opentofu", needsEarly},
}

func TestModules_recorded_cases(t *testing.T) {
	t.Parallel()
	tools := map[string]provider.Tool{
		"terraform": {Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 11, Patch: 4}},
		"opentofu":  {Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}},
	}
	unused := map[string]bool{}
	for id := range notRead {
		unused[id] = true
	}
	for _, c := range recordedCases(t) {
		delete(unused, c.ID)
		for name, tool := range tools {
			want := c.Expected
			if tool.Name == provider.OpenTofu {
				want = c.ExpectedTofu
			}
			skip := notRead[c.ID]
			t.Run(c.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				modules, diags, err := Modules(t.Context(), fileTree(c.Files, c.Symlinks), Options{
					Dirs: []string{c.Root}, Tool: tool.Name, ToolVersion: tool.Version,
				})
				if err != nil || hasErrors(diags) {
					t.Fatalf("Modules: %v, %v", diags, err)
				}
				got := resultOf(t, modules)
				switch {
				case strings.Contains(skip.tools, name):
					if len(got.unread) == 0 || got.failed != nil {
						t.Errorf("got unread %v, errors %v, want an unread module call because %s", got.unread, got.failed, skip.why)
					}
				case want.failed:
					if got.failed == nil {
						t.Errorf("got %v, want an error", got.constraints)
					}
				case len(got.unread) > 0 || got.failed != nil:
					t.Errorf("got unread %v, errors %v, want %v", got.unread, got.failed, want.constraints)
				default:
					if diff := cmp.Diff(want.constraints, got.constraints); diff != "" {
						t.Errorf("requirements (-recorded +got):\n%s", diff)
					}
				}
			})
		}
	}
	for id := range unused {
		t.Errorf("the list of unread cases has %s, which is no recorded case", id)
	}
}

type result struct {
	constraints map[string]string
	unread      []Unread
	failed      []provider.Diagnostic
}

// resultOf sums up at most one root module.
func resultOf(t *testing.T, modules []Module) result {
	t.Helper()
	r := result{constraints: map[string]string{}}
	if len(modules) > 1 {
		t.Fatalf("got %d root modules, want one", len(modules))
	}
	for _, m := range modules {
		for _, req := range m.Requirements {
			r.constraints[req.Addr.String()] = req.Constraints().String()
		}
		r.unread = m.Unread
		for _, d := range m.Diagnostics {
			if d.Severity == provider.SeverityError {
				r.failed = append(r.failed, d)
			}
			if d.File == "" || path.IsAbs(d.File) || d.Message == "" {
				t.Errorf("incomplete diagnostic %+v", d)
			}
		}
	}
	return r
}

func hasErrors(diags []provider.Diagnostic) bool {
	for _, d := range diags {
		if d.Severity == provider.SeverityError {
			return true
		}
	}
	return false
}
