package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// mirror is a network mirror of hashicorp/alpha 1.1.0 under every host. Tests change its
// answers before they ask.
type mirror struct {
	server   *httptest.Server
	versions string
	archives map[string]any // platform -> answer
	zips     map[provider.Platform][]byte
	hook     func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	trusted.Needed(t)
	m := &mirror{
		versions: `{"versions": {"1.1.0": {}, "1.0.0": {}, "latest": {}}}`,
		archives: map[string]any{}, zips: map[provider.Platform][]byte{},
	}
	for _, p := range []provider.Platform{linux, darwin} {
		m.zips[p] = pack(program("mirrored for " + p.String()))
		m.archives[p.String()] = map[string]any{"url": "packages/" + p.String() + ".zip"}
	}
	m.server = httptest.NewTLSServer(m)
	t.Cleanup(m.server.Close)
	return m
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=300")
	m.mu.Lock()
	m.asked = append(m.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Authorization")))
	m.mu.Unlock()
	if m.hook != nil && m.hook(w, r) {
		return
	}
	dir, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/m/"), "/hashicorp/alpha/")
	switch {
	case dir == "" || name == "":
		http.NotFound(w, r)
	case name == "index.json":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, m.versions)
	case name == "1.1.0.json":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"archives": m.archives})
	default:
		for p, data := range m.zips {
			if name == "packages/"+p.String()+".zip" {
				w.Write(data)
				return
			}
		}
		http.NotFound(w, r)
	}
}

func (m *mirror) sum(t *testing.T, p provider.Platform) hash.Hashed {
	t.Helper()
	s, err := hash.Package(strings.NewReader(string(m.zips[p])))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// name makes the mirror name hashes of a package.
func (m *mirror) name(p provider.Platform, hashes ...provider.Hash) {
	m.archives[p.String()].(map[string]any)["hashes"] = hashes
}

// block is the installation method, with more arguments.
func (m *mirror) block(arguments string) string {
	return "network_mirror {\n url = \"" + m.server.URL + "/m/\"\n" + arguments + "\n}\n"
}

func (m *mirror) client(t *testing.T, opts Options, arguments, more string) *Client {
	t.Helper()
	return clientOf(t, opts, "provider_installation {\n"+m.block(arguments)+"}\n"+more)
}

func (m *mirror) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(slices.Values(m.asked))
}

func TestNetworkMirrorVersions(t *testing.T) {
	t.Parallel()
	c := newMirror(t).client(t, Options{}, "", "")
	for _, tool := range []provider.Tool{terraform, opentofu} {
		offer, err := c.Versions(t.Context(), tool, alpha(terraformHost))
		got := offer.Releases
		if err != nil {
			t.Fatal(err)
		}
		want := []provider.Release{{Version: provider.Version{Major: 1}}, {Version: v110}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Versions by %s (-want +got):\n%s", tool, diff)
		}
	}
}

func TestNetworkMirrorHashes(t *testing.T) {
	t.Parallel()
	const (
		other = provider.Hash("zh:0000000000000000000000000000000000000000000000000000000000000000")
		odd   = provider.Hash("h2:x")
	)
	old := provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 9}}
	tests := []struct {
		name      string
		names     func(hashed, others hash.Hashed) (own, of []provider.Hash) // the hashes that the mirror names for linux and darwin
		arguments string
		tool      provider.Tool
		addr      provider.Addr
		verified  func(hashed, others hash.Hashed) []provider.Hash
		reported  bool
		warning   bool
	}{
		{name: "nothing_named", tool: terraform},
		{
			name: "terraform_records_nothing_named", tool: terraform,
			names: func(s, _ hash.Hashed) (a, b []provider.Hash) { return []provider.Hash{s.Sum.ZH, s.Sum.H1}, nil },
		},
		{
			name: "opentofu_records_what_fits", tool: opentofu,
			names:    func(s, _ hash.Hashed) (a, b []provider.Hash) { return []provider.Hash{s.Sum.ZH, odd, s.Sum.H1}, nil },
			verified: func(s, _ hash.Hashed) []provider.Hash { return []provider.Hash{s.Sum.H1, s.Sum.ZH} },
		},
		{
			name: "opentofu_before_it_did", tool: old,
			names: func(s, _ hash.Hashed) (a, b []provider.Hash) { return []provider.Hash{s.Sum.ZH}, nil },
		},
		{
			name: "one_of_several_is_enough_and_the_others_are_told", tool: opentofu, warning: true,
			names:    func(s, _ hash.Hashed) (a, b []provider.Hash) { return []provider.Hash{other, s.Sum.H1}, nil },
			verified: func(s, _ hash.Hashed) []provider.Hash { return []provider.Hash{s.Sum.H1} },
		},
		{
			name: "other_platforms_do_not_count", tool: opentofu,
			names: func(_, o hash.Hashed) (a, b []provider.Hash) { return nil, []provider.Hash{o.Sum.ZH} },
		},
		{
			name: "trusted", tool: opentofu, arguments: "trust_all_hashes = true", addr: alpha(opentofuHost), reported: true,
			names: func(s, o hash.Hashed) (a, b []provider.Hash) {
				return []provider.Hash{s.Sum.ZH}, []provider.Hash{o.Sum.ZH, o.Sum.H1}
			},
			verified: func(s, _ hash.Hashed) []provider.Hash { return []provider.Hash{s.Sum.ZH} },
		},
		{
			name: "trusted_for_another_host", tool: opentofu, arguments: "trust_all_hashes = true", addr: alpha(privateHost),
			names: func(s, o hash.Hashed) (a, b []provider.Hash) {
				return []provider.Hash{s.Sum.ZH}, []provider.Hash{o.Sum.ZH, o.Sum.H1}
			},
			verified: func(s, _ hash.Hashed) []provider.Hash { return []provider.Hash{s.Sum.ZH} },
		},
		{
			name: "trusted_by_a_tool_that_does_not_know_it", tool: old, arguments: "trust_all_hashes = true", addr: alpha(opentofuHost),
			names: func(s, o hash.Hashed) (a, b []provider.Hash) {
				return []provider.Hash{s.Sum.ZH}, []provider.Hash{o.Sum.ZH}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t)
			hashed, others := m.sum(t, linux), m.sum(t, darwin)
			var own, of []provider.Hash
			if tt.names != nil {
				own, of = tt.names(hashed, others)
				m.name(linux, own...)
				m.name(darwin, of...)
			}
			if tt.addr == (provider.Addr{}) {
				tt.addr = alpha(terraformHost)
			}
			var log strings.Builder
			c := m.client(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, tt.arguments, "")
			got, err := c.Hashes(t.Context(), tt.tool, provider.Want{Addr: tt.addr, Version: v110, Platform: linux})
			if err != nil {
				t.Fatal(err)
			}
			want := provider.Hashes{
				Sum: hashed.Sum, Platform: linux, Mirror: "network mirror " + m.server.URL + "/m/",
			}
			if tt.verified != nil {
				want.Verified = tt.verified(hashed, others)
			}
			if tt.reported {
				want.Reported = map[provider.Platform][]provider.Hash{linux: own, darwin: of}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Hashes (-want +got):\n%s", diff)
			}
			if warned := strings.Contains(log.String(), "names a hash that its package does not have"); warned != tt.warning {
				t.Errorf("log = %q, want a warning: %v", log.String(), tt.warning)
			}
		})
	}
}

func TestNetworkMirrorFailures(t *testing.T) {
	t.Parallel()
	status := func(suffix string, status int) func(*mirror) {
		return func(m *mirror) {
			m.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, suffix) {
					w.WriteHeader(status)
					return true
				}
				return false
			}
		}
	}
	body := func(suffix, contentType, text string) func(*mirror) {
		return func(m *mirror) {
			m.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, suffix) {
					w.Header().Set("Content-Type", contentType)
					io.WriteString(w, text)
					return true
				}
				return false
			}
		}
	}
	name := func(hashes ...provider.Hash) func(*mirror) { return func(m *mirror) { m.name(linux, hashes...) } }
	const zero = "zh:0000000000000000000000000000000000000000000000000000000000000000"
	tests := []struct {
		name  string
		spoil func(*mirror)
		code  problem.Code
		want  string
		hint  string
	}{
		{"no_provider", status("index.json", 404), problem.CodeUnknownProvider, "provider registry.terraform.io/hashicorp/alpha was not found in the network mirror https://", "add it to the mirror"},
		{"unauthorized", status("index.json", 401), problem.CodeUnauthorized, "requires authentication credentials", `set a token in a credentials "127.0.0.1:`},
		{"server_error", status("index.json", 500), problem.CodeUnreachable, "could not query network mirror https://", "try again"},
		{"other_status", status("index.json", 410), problem.CodeBadAnswer, "410 Gone", "operator"},
		{"content_type", body("index.json", "text/html", "{}"), problem.CodeBadAnswer, "its content type is not application/json", "operator"},
		{"no_json", body("index.json", "application/json", "<html>"), problem.CodeBadAnswer, "the versions of registry.terraform.io/hashicorp/alpha are not valid", "operator"},
		{"no_archives", status("1.1.0.json", 404), problem.CodeBadAnswer, "it has no archives of registry.terraform.io/hashicorp/alpha 1.1.0", "exclude the provider from the mirror"},
		{"archives_of_another_form", body("1.1.0.json", "application/json", `{"archives": []}`), problem.CodeBadAnswer, "the archives of registry.terraform.io/hashicorp/alpha 1.1.0 are not valid", "operator"},
		{"forbidden", status("1.1.0.json", 403), problem.CodeUnauthorized, "requires authentication credentials", "set a token"},
		{"no_platform", func(m *mirror) { delete(m.archives, "linux_amd64") }, problem.CodeNoPackage, "is not available for linux_amd64", "platform"},
		{"null_platform", func(m *mirror) { m.archives["linux_amd64"] = nil }, problem.CodeBadAnswer, "the archive for linux_amd64 has no URL", "operator"},
		{"url", func(m *mirror) { m.archives["linux_amd64"] = map[string]any{"url": "file:///etc/passwd"} }, problem.CodeBadAnswer, "the archive for linux_amd64 has no valid URL", "operator"},
		{"hash", name("nonsense"), problem.CodeBadAnswer, `an archive has the hash "nonsense", which is none`, "operator"},
		{"hashes_of_unknown_schemes", name("h2:x"), problem.CodeBadChecksum, "names no hash of a scheme that is known", "do not use"},
		{"wrong_hash", name(zero), problem.CodeBadChecksum, `provider package doesn't match the expected checksum "` + zero + `"`, "do not use"},
		{"wrong_hashes", name(zero, "h1:x"), problem.CodeBadChecksum, "provider package doesn't match any of the expected checksums", "do not use"},
		{"archive_not_found", status("linux_amd64.zip", 404), problem.CodeBadAnswer, "404 Not Found", "operator"},
		{"no_archive", func(m *mirror) { m.zips[linux] = []byte("<html>") }, problem.CodeBadPackage, "archive linux_amd64.zip: the package cannot be unpacked", "author"},
		{"no_program", func(m *mirror) { m.zips[linux] = pack(map[string]string{"README": ""}) }, problem.CodeBadPackage, "provider binary not found", "author"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t)
			tt.spoil(m)
			c := m.client(t, Options{}, "", "")
			_, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
			if err == nil {
				_, err = c.Hashes(t.Context(), terraform, want(terraformHost, linux))
			}
			e := wantError(t, err, tt.code, tt.want)
			host := strings.TrimPrefix(m.server.URL, "https://")
			if tt.code == problem.CodeNoPackage {
				host = "registry.terraform.io" // no source has it
			}
			if e.Problem.Host.String() != host || e.Problem.Subject.Addr != alpha(terraformHost) || !strings.Contains(e.Problem.Hint, tt.hint) {
				t.Errorf("error = %+v, want it about the mirror and the provider, with a hint of %q", e, tt.hint)
			}
		})
	}
}

func TestMirrorTokenIsThatOfItsHostAndPort(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	host := strings.TrimPrefix(m.server.URL, "https://")
	c := m.client(t, Options{}, "", fmt.Sprintf("credentials %q {\n  token = \"p0rt\"\n}\n", host))
	if _, err := c.Versions(t.Context(), terraform, alpha(terraformHost)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/m/registry.terraform.io/hashicorp/alpha/1.1.0.json Bearer p0rt",
		"/m/registry.terraform.io/hashicorp/alpha/index.json Bearer p0rt",
		"/m/registry.terraform.io/hashicorp/alpha/packages/linux_amd64.zip",
	}
	if diff := cmp.Diff(want, m.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestMirrorIsAskedOnceForBothTools(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	c := m.client(t, Options{}, "", "")
	for _, tool := range []provider.Tool{terraform, opentofu} {
		for _, p := range []provider.Platform{linux, darwin} {
			if _, err := c.Hashes(t.Context(), tool, want(terraformHost, p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := m.requests(); len(got) != 3 || c.Packages() != 2 {
		t.Errorf("%d packages after %v, want one question and two archives", c.Packages(), got)
	}
}

func TestArchiveOfAMirrorIsNotDownloadedAgain(t *testing.T) {
	t.Parallel()
	f, m := newFixture(t), newMirror(t)
	m.zips[linux] = f.zips[linux]
	c := f.client(t, Options{}, "provider_installation {\n"+m.block("")+"}\n")
	if _, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux)); err != nil {
		t.Fatal(err)
	}
	w := want(terraformHost, linux)
	w.Origin = true
	h, err := c.Hashes(t.Context(), terraform, w)
	if err != nil || h.Mirror != "" || c.Packages() != 1 || slices.Contains(f.requests(), "/files/linux_amd64") {
		t.Errorf("Hashes = %+v, %v after %d downloads; want the registry's own, of the archive that is known", h, err, c.Packages())
	}
}

// TestMirrorIsAskedForWhatMayBeDownloaded holds that the size of a mirror's package is
// known before its download, and that the download does not exceed it.
func TestMirrorIsAskedForWhatMayBeDownloaded(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	c := m.client(t, Options{}, "", "")
	want := want(terraformHost, linux)
	want.Origin = true
	size := int64(len(m.zips[linux]))
	if got, err := c.Size(t.Context(), terraform, want); err != nil || got != size {
		t.Errorf("Size = %d, error %v, want %d as the server says", got, err, size)
	}
	if _, err := m.client(t, Options{}, "", "").Package(t.Context(), terraform, want, size-1); err == nil {
		t.Errorf("Package downloads more than the limit")
	}
	if l, err := c.Package(t.Context(), terraform, want, 0); err != nil || l.Mirrored != nil {
		t.Errorf("Package = %+v, error %v, want nothing where nothing may be downloaded", l.Mirrored, err)
	}
	l, err := c.Package(t.Context(), terraform, want, size)
	if err != nil || l.Mirrored == nil || l.Mirrored.Sum.H1 != m.sum(t, linux).Sum.H1 || l.Size(linux) != size {
		t.Fatalf("Package = %+v, error %v, want what the package hashes to", l.Mirrored, err)
	}
	if got, err := c.Size(t.Context(), terraform, want); err != nil || got != provider.AtHand {
		t.Errorf("Size = %d, error %v once the package was hashed, want that it costs nothing", got, err)
	}
	want.Platform = provider.Platform{OS: "plan9", Arch: "386"}
	if _, err := c.Size(t.Context(), terraform, want); !problem.Coded(err, problem.CodeNoPackage) {
		t.Errorf("Size of what the mirror does not have: error %v, want %s", err, problem.CodeNoPackage)
	}
}
