package scan

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
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

var terraform1_11 = provider.Tool{Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 11, Patch: 4}}

// notHad are the recorded cases in which the tools fail over something that is
// not in the files, and could be different elsewhere: a module that cannot be
// had, or a variable without a value. Here these calls are unread.
var notHad = []string{"168-tofu-static-unset", "221-registry-pre-combined", "226-registry-nomatch", "230-git-bad-ref"}

// inUnit are the recorded cases of a tool that somebody runs by hand in a
// Terragrunt unit. Here such a directory is no root module of its own.
var inUnit = []string{"179-terragrunt-generated"}

func TestModules_recorded_cases(t *testing.T) {
	t.Parallel()
	tools := map[string]provider.Tool{
		"terraform": terraform1_11,
		"opentofu":  {Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}},
	}
	for _, c := range recordedCases(t) {
		for name, tool := range tools {
			want := c.Expected
			if tool.Name == provider.OpenTofu {
				want = c.ExpectedTofu
			}
			t.Run(c.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				modules, diags, err := scanned(t.Context(), fileTree(c.Files, c.Symlinks), recordedSource(), Options{
					Dirs: []string{c.Root}, Tool: tool.Name, ToolVersion: tool.Version,
				})
				if err != nil || hasErrors(diags) {
					t.Fatalf("scanned: %v, %v", diags, err)
				}
				if slices.Contains(inUnit, c.ID) {
					if len(modules) > 0 {
						t.Errorf("got %v, want no root module", modules)
					}
					return
				}
				got := resultOf(t, modules)
				failed := got.failed != nil || len(got.unread) > 0 && (slices.Contains(notHad, c.ID) || !want.failed)
				switch {
				case want.failed && !failed:
					t.Errorf("got %v, want an error", got.constraints)
				case !want.failed && failed:
					t.Errorf("got unread %v, errors %v, want %v", got.unread, got.failed, want.constraints)
				case !want.failed:
					if diff := cmp.Diff(want.constraints, got.constraints); diff != "" {
						t.Errorf("requirements (-recorded +got):\n%s", diff)
					}
				}
			})
		}
	}
}

type result struct {
	constraints map[string]string
	unread      []Unread
	failed      []problem.Problem
}

// resultOf sums up at most one root module.
func resultOf(t *testing.T, modules []RootModule) result {
	t.Helper()
	r := result{constraints: map[string]string{}}
	if len(modules) > 1 {
		t.Fatalf("got %d root modules, want one", len(modules))
	}
	for _, m := range modules {
		for _, req := range m.All().Requirements {
			r.constraints[req.Addr.String()] = req.Constraints().String()
		}
		r.unread = m.All().Unread
		for _, d := range m.All().Diagnostics {
			if d.Severity == problem.SeverityError {
				r.failed = append(r.failed, d)
			}
			if d.Place.Path == "" || path.IsAbs(d.Place.Path) || d.Message == "" {
				t.Errorf("incomplete diagnostic %+v", d)
			}
		}
	}
	return r
}

func hasErrors(diags []problem.Problem) bool {
	for _, d := range diags {
		if d.Severity == problem.SeverityError {
			return true
		}
	}
	return false
}
