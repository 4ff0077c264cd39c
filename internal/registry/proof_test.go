package registry

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// served is a list of versions with platforms.
const served = `{"versions": [{"version": "1.1.0", "protocols": ["5.0"], "platforms": [
	{"os": "darwin", "arch": "arm64"}, {"os": "linux", "arch": "amd64"}, {"os": "windows", "arch": "amd64"}]}]}`

var platformsServed = []provider.Platform{linux, darwin, windows}

// all asks for the package of every platform.
func all(t *testing.T, c *Client, tool provider.Tool) []provider.Hashes {
	t.Helper()
	var hashes []provider.Hashes
	for _, p := range platformsServed {
		h, err := c.Hashes(t.Context(), tool, want(opentofuHost, p))
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	return hashes
}

// since are the requests after the first n, sorted.
func (f *fixture) since(n int) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.asked[n:]))
}

func TestReleaseWhosePackagesAreKnownIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	for _, tool := range []provider.Tool{terraform, opentofu} {
		t.Run(string(tool.Name), func(t *testing.T) {
			t.Parallel()
			f, path := newFixture(t), filepath.Join(t.TempDir(), "hashes")
			f.versions = served
			f.states(t, nil)
			cold := all(t, f.client(t, Options{Cache: openCache(t, path)}, ""), tool)
			before := len(f.requests())
			c := f.client(t, Options{Cache: openCache(t, path)}, "")
			if diff := cmp.Diff(cold, all(t, c, tool)); diff != "" {
				t.Errorf("hashes of the first run and the second (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff([]string{
				"/files/SHA256SUMS", "/files/SHA256SUMS.sig",
				"/registry.opentofu.org/v1/providers/hashicorp/alpha/1.1.0/download/linux/amd64",
				"/registry.opentofu.org/v1/providers/hashicorp/alpha/versions",
			}, f.since(before)); diff != "" {
				t.Errorf("requests of the second run (-want +got):\n%s", diff)
			}
			if c.Cached() != 3 || c.Packages() != 0 {
				t.Errorf("the cache knew %d packages and %d were downloaded, want 3 and 0", c.Cached(), c.Packages())
			}
		})
	}
}

func TestPackageIsAskedAboutWhereTheReleaseDoesNotSayEnough(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(t *testing.T, f *fixture)
	}{
		{"platforms_are_not_listed", func(_ *testing.T, f *fixture) {
			f.versions = `{"versions": [{"version": "1.1.0", "platforms": [{"os": "linux", "arch": "amd64"}]}]}`
		}},
		{"another_version_is_listed", func(_ *testing.T, f *fixture) { f.versions = strings.ReplaceAll(served, "1.1.0", "1.2.0") }},
		{"last_entry_has_no_platforms", func(_ *testing.T, f *fixture) {
			f.versions = strings.Replace(served, "}]}]}", `}]}, {"version": "1.1.0"}]}`, 1)
		}},
		{"no_versions", func(_ *testing.T, f *fixture) { f.status["/versions"] = http.StatusNotFound }},
		{"unusual_names", func(_ *testing.T, f *fixture) {
			f.list += strings.ReplaceAll(f.list, "terraform-provider-", "")
			f.edit = func(p provider.Platform, answer map[string]any) {
				answer["filename"] = strings.TrimPrefix(filename(p), "terraform-provider-")
			}
		}},
		{"a_list_for_each_platform", func(_ *testing.T, f *fixture) {
			f.edit = func(p provider.Platform, answer map[string]any) {
				answer["shasums_url"] = f.server.URL + "/files/" + p.String() + ".SUMS"
				answer["shasums_signature_url"] = f.server.URL + "/files/" + p.String() + ".SUMS.sig"
			}
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				name, isList := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/files/"), ".SUMS")
				name, isSignature := strings.CutSuffix(name, ".SUMS.sig")
				p, err := provider.ParsePlatform(name)
				if err != nil || !isList && !isSignature {
					return false
				}
				own := sha256Hex(f.zips[p]) + "  " + filename(p) + "\n"
				if isList {
					w.Write([]byte(own))
				} else {
					w.Write(sign(validKey, own))
				}
				return true
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, path := newFixture(t), filepath.Join(t.TempDir(), "hashes")
			f.versions = served
			tt.edit(t, f)
			cold := all(t, f.client(t, Options{Cache: openCache(t, path)}, ""), terraform)
			before := len(f.requests())
			if diff := cmp.Diff(cold, all(t, f.client(t, Options{Cache: openCache(t, path)}, ""), terraform)); diff != "" {
				t.Errorf("hashes of the first run and the second (-first +second):\n%s", diff)
			}
			asked := slices.DeleteFunc(f.since(before), func(r string) bool { return !strings.Contains(r, "/download/") })
			if len(asked) != 3 {
				t.Errorf("the second run asked %v, want every package", asked)
			}
		})
	}
}

// TestReportsThatContradictTheListAreAskedFor has OpenTofu's registry contradict the
// publisher's list about windows.
func TestReportsThatContradictTheListAreAskedFor(t *testing.T) {
	t.Parallel()
	f, path := newFixture(t), filepath.Join(t.TempDir(), "hashes")
	f.versions = served
	all(t, f.client(t, Options{Cache: openCache(t, path)}, ""), opentofu)
	f.states(t, func(packages map[string]any) { delete(packages, windows.String()) })
	c := f.client(t, Options{Cache: openCache(t, path)}, "")
	if _, err := c.Hashes(t.Context(), opentofu, want(opentofuHost, linux)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Hashes(t.Context(), opentofu, want(opentofuHost, windows))
	wantError(t, err, problem.CodeBadAnswer, `is missing package with platform "windows_amd64"`)
}
