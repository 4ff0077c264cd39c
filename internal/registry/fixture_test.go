package registry

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

var (
	linux   = provider.Platform{OS: "linux", Arch: "amd64"}
	darwin  = provider.Platform{OS: "darwin", Arch: "arm64"}
	windows = provider.Platform{OS: "windows", Arch: "amd64"}

	terraform = provider.Tool{Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 11, Patch: 4}}
	opentofu  = provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}}

	v110 = provider.Version{Major: 1, Minor: 1}
)

const (
	terraformHost = svchost.Hostname("registry.terraform.io")
	opentofuHost  = svchost.Hostname("registry.opentofu.org")
	privateHost   = svchost.Hostname("registry.example.com")
)

func alpha(host svchost.Hostname) provider.Addr {
	return provider.Addr{Host: host, Namespace: "hashicorp", Type: "alpha"}
}

func want(host svchost.Hostname, p provider.Platform) provider.Want {
	return provider.Want{Addr: alpha(host), Version: v110, Platform: p}
}

// fixture is a registry with one release of one provider, hashicorp/alpha 1.1.0. Every host
// serves the same. Tests change its answers before they ask.
type fixture struct {
	server   *httptest.Server
	versions string // body
	// edit changes the answer about a package. The answer has no "packages" unless edit
	// adds it.
	edit      func(p provider.Platform, answer map[string]any)
	keys      []*openpgp.Entity // announced; the first one signs
	list      string
	signature []byte // of list by the first key, if nil
	zips      map[provider.Platform][]byte
	status    map[string]int // path suffix -> status
	hook      func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string // path and credentials, in order
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		versions: `{"versions": [{"version": "1.1.0", "protocols": ["5.0"]}]}`,
		keys:     []*openpgp.Entity{validKey},
		zips:     map[provider.Platform][]byte{},
		status:   map[string]int{},
	}
	for _, p := range []provider.Platform{darwin, linux, windows} {
		f.zips[p] = pack(map[string]string{"terraform-provider-alpha_v1.1.0": "binary for " + p.String()})
		f.list += fmt.Sprintf("%s  %s\n", sha256Hex(f.zips[p]), filename(p))
	}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func filename(p provider.Platform) string {
	return "terraform-provider-alpha_1.1.0_" + p.String() + ".zip"
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func pack(files map[string]string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, content := range files {
		f, err := w.Create(name)
		if err != nil {
			panic(err)
		}
		io.WriteString(f, content)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// sum computes the hashes of a package of the fixture.
func (f *fixture) sum(t *testing.T, p provider.Platform) hash.Hashed {
	t.Helper()
	s, err := hash.Package(bytes.NewReader(f.zips[p]))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// report is the true packages property.
func (f *fixture) report(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for p := range f.zips {
		s := f.sum(t, p)
		all[p.String()] = map[string]any{"hashes": []string{string(s.Sum.ZH), string(s.Sum.H1)}, "package_size": s.Sum.Size}
	}
	return all
}

// ServeHTTP serves HOST/v1/providers/… and files/….
func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Authorization")))
	f.mu.Unlock()
	if f.hook != nil && f.hook(w, r) {
		return
	}
	for suffix, status := range f.status {
		if strings.HasSuffix(r.URL.Path, suffix) {
			w.WriteHeader(status)
			return
		}
	}
	switch dir, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); {
	case strings.HasSuffix(name, "v1/providers/hashicorp/alpha/versions"):
		io.WriteString(w, f.versions)
	case strings.Contains(name, "v1/providers/hashicorp/alpha/1.1.0/download/"):
		parts := strings.Split(name, "/")
		f.servePackage(w, provider.Platform{OS: parts[len(parts)-2], Arch: parts[len(parts)-1]})
	case dir == "files" && name == "SHA256SUMS":
		io.WriteString(w, f.list)
	case dir == "files" && name == "SHA256SUMS.sig":
		w.Write(f.sign())
	case dir == "files":
		for p, data := range f.zips {
			if name == p.String() {
				w.Write(data)
			}
		}
	default:
		http.NotFound(w, r)
	}
}

func (f *fixture) servePackage(w http.ResponseWriter, p provider.Platform) {
	if f.zips[p] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	keys := []any{}
	for _, k := range f.keys {
		keys = append(keys, map[string]any{"ascii_armor": public(k)})
	}
	answer := map[string]any{
		"protocols": []string{"5.0"}, "os": p.OS, "arch": p.Arch, "filename": filename(p),
		"download_url": f.server.URL + "/files/" + p.String(), "shasum": sha256Hex(f.zips[p]),
		"shasums_url":           f.server.URL + "/files/SHA256SUMS",
		"shasums_signature_url": f.server.URL + "/files/SHA256SUMS.sig",
		"signing_keys":          map[string]any{"gpg_public_keys": keys},
	}
	if f.edit != nil {
		f.edit(p, answer)
	}
	json.NewEncoder(w).Encode(answer)
}

func (f *fixture) sign() []byte {
	if f.signature != nil || len(f.keys) == 0 {
		return f.signature
	}
	return sign(f.keys[0], f.list)
}

// requests are the requests so far, sorted.
func (f *fixture) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.asked))
}

// client returns a client whose CLI configuration has the fixture as the service of all
// three hosts, and more.
func (f *fixture) client(t *testing.T, opts Options, more string, environ ...string) *Client {
	t.Helper()
	return f.clientIn(t, t.TempDir(), opts, more, environ...)
}

func (f *fixture) clientIn(t *testing.T, home string, opts Options, more string, environ ...string) *Client {
	t.Helper()
	return clientIn(t, home, opts, f.config(more), environ...)
}

// config is the CLI configuration of client.
func (f *fixture) config(more string) string {
	for _, host := range []svchost.Hostname{terraformHost, opentofuHost, privateHost} {
		more += fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = \"%s/%s/v1/providers/\"\n  }\n}\n", host, f.server.URL, host)
	}
	return more
}

func clientOf(t *testing.T, opts Options, config string, environ ...string) *Client {
	t.Helper()
	return clientIn(t, t.TempDir(), opts, config, environ...)
}

// clientIn makes the client of a user whose home is the directory.
func clientIn(t *testing.T, home string, opts Options, config string, environ ...string) *Client {
	t.Helper()
	return clientOver(t, transport.New(transport.Options{Retries: -1}), home, opts, config, environ...)
}

func clientOver(t testing.TB, conn *transport.Client, home string, opts Options, config string, environ ...string) *Client {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, ".terraformrc"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := cliconfig.Env{Home: home, GOOS: "linux", Environ: environ, Getenv: func(name string) string {
		if name == "XDG_DATA_DIRS" {
			return filepath.Join(home, "none") // the machine's own file must not matter
		}
		return ""
	}}
	configs := map[provider.ToolName]*cliconfig.Config{}
	for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		c, diags := cliconfig.Load(env, tool)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		for _, e := range c.Endpoints() {
			conn.Admit(e)
		}
		configs[tool] = c
	}
	return New(conn, configs, opts)
}

// The keys of the tests: two valid ones, and two that signed in 2019 and expired on the
// first day of 2020.
var (
	validKey        = newKey("valid", packet.Config{})
	secondKey       = newKey("second", packet.Config{})
	expiredKey      = newKey("expired", packet.Config{Time: at(2019, 1), KeyLifetimeSecs: 365 * 24 * 3600})
	otherExpiredKey = newKey("expired, too", packet.Config{Time: at(2019, 1), KeyLifetimeSecs: 365 * 24 * 3600})
)

func at(year int, month time.Month) func() time.Time {
	return func() time.Time { return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC) }
}

func newKey(name string, config packet.Config) *openpgp.Entity {
	config.Algorithm = packet.PubKeyAlgoEdDSA
	e, err := openpgp.NewEntity(name, "", name+"@example.com", &config)
	if err != nil {
		panic(err)
	}
	return e
}

func public(e *openpgp.Entity) string {
	return armored(openpgp.PublicKeyType, func(w io.Writer) error { return e.Serialize(w) })
}

func armored(kind string, write func(io.Writer) error) string {
	var buf bytes.Buffer
	w, err := armor.Encode(&buf, kind, nil)
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return buf.String()
}

// sign signs as of mid-2019 with an expired key, otherwise as of now.
func sign(key *openpgp.Entity, document string) []byte {
	config := &packet.Config{}
	if key == expiredKey || key == otherExpiredKey {
		config.Time = at(2019, 6)
	}
	return signWith(key, document, config)
}

func signWith(key *openpgp.Entity, document string, config *packet.Config) []byte {
	var buf bytes.Buffer
	if err := openpgp.DetachSign(&buf, key, strings.NewReader(document), config); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// signerOf is the signer with a key that has not expired.
func signerOf(key *openpgp.Entity, label string) provider.Signer {
	return provider.Signer{
		KeyID: key.PrimaryKey.KeyIdString(), Label: label, Fingerprint: fmt.Sprintf("%X", key.PrimaryKey.Fingerprint),
	}
}
