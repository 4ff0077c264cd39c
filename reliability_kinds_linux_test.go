package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/bubble"
)

// kind is a kind of request, and the scene in which relock makes it.
type kind struct {
	name     string
	requests []pattern
	staged
	all     bool    // no URL of the kind is spoilt alone, but all of them
	spoilt  pattern // unless all are
	was, is locks   // before and after a faultless run
}

// locks are the lock files of a root module and of its neighbour, with ADDRESS for that
// of the sandbox's server with TLS.
type locks struct{ root, beside string }

func (l locks) at(address string) locks {
	return locks{strings.ReplaceAll(l.root, "ADDRESS", address), strings.ReplaceAll(l.beside, "ADDRESS", address)}
}

// patterns are what is spoilt of a kind.
func (k *kind) patterns() []pattern {
	if k.all {
		return k.requests
	}
	return []pattern{k.spoilt}
}

// pattern names requests: a method and a path as a fault has them, and what the
// body holds.
type pattern struct{ fault, asking string }

func (p pattern) covers(r sandbox.Request) bool {
	method, name, _ := strings.Cut(p.fault, " ")
	if method != "*" && method != r.Method || p.asking == asksQuery && !r.Query || p.asking == asksMutation && r.Query {
		return false
	}
	if prefix, ok := strings.CutSuffix(name, "..."); ok {
		return strings.HasPrefix(r.Path, prefix)
	}
	ok, _ := path.Match(name, r.Path)
	return ok
}

// What GraphQL is asked, as it stands in the body of a request.
const (
	asksQuery    = `"query":"query`
	asksMutation = `"query":"mutation`
)

// staged is a root module and a world.
type staged struct {
	required string // the configuration of the root module; ADDRESS and PLAIN stand for the sandbox's servers
	beside   string // that of a neighbour, which needs nothing that is spoilt; empty: there is none
	process  bool   // it takes another program, which knows no virtual time
	provider string // of the registry that is asked; ADDRESS may stand in it
	cli      string // more of the CLI configuration, or all of it where hosts is false
	hosts    bool
	args     []string
	github   bool // the root module is in a repository on GitHub
	mount    func(t *testing.T, r *running)
}

const (
	plainProvider = "registry.terraform.io/hashicorp/null"
	tofuProvider  = "registry.opentofu.org/hashicorp/null"
	requiresNull  = "terraform {\n  required_providers {\n    null = { source = \"SOURCE\", version = \"VERSION\" }\n  }\n}\n"
)

// requiresBeside is the configuration of a neighbour that asks the same host.
func requiresBeside(host string) string {
	return "terraform {\n  required_providers {\n" +
		"    random = { source = \"" + host + "/hashicorp/random\", version = \"VERSION\" }\n" +
		"    tls    = { source = \"" + host + "/hashicorp/tls\", version = \"VERSION\" }\n  }\n}\n"
}

// The scenes of the matrix. In those with modules it is the module that keeps
// the newest version away: without it the entry would be wrong.
var (
	besidePlain    = requiresBeside("registry.terraform.io")
	registryScene  = staged{required: requiresNull, beside: besidePlain, provider: plainProvider, hosts: true}
	discoveryScene = staged{
		required: requiresNull, beside: besidePlain, provider: "ADDRESS/hashicorp/null", hosts: true, cli: "credentials \"ADDRESS\" {\n  token = \"secret\"\n}\n",
		mount: func(_ *testing.T, r *running) {
			s := r.sandbox
			s.Mount("/.well-known/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"providers.v1": "%s/registry.terraform.io/v1/providers/"}`, s.SecureURL())
			}))
		},
	}
	mirrorScene = staged{required: requiresNull, beside: besidePlain, provider: plainProvider, cli: "provider_installation {\n  network_mirror {\n    url = \"https://ADDRESS/mirror/\"\n  }\n}\n"}
	ociScene    = staged{
		required: requiresNull, beside: requiresBeside("registry.opentofu.org"), provider: tofuProvider, args: []string{"--tool", "opentofu"}, mount: serveOCI,
		cli: "provider_installation {\n  oci_mirror {\n    repository_template = \"ADDRESS/providers/${type}\"\n    include = [\"registry.opentofu.org/hashicorp/*\"]\n  }\n}\n",
	}
	moduleScene = staged{
		required: requiresNull + "module \"pin\" {\n  source  = \"acme/pin/null\"\n  version = \"1.0.0\"\n}\n", provider: plainProvider, hosts: true,
		beside: besidePlain + "module \"other\" {\n  source  = \"acme/other/null\"\n  version = \"1.0.0\"\n}\n",
	}
	gitScene = staged{
		required: requiresNull + "module \"pin\" {\n  source = \"git::PLAIN/git/pin.git?ref=v1.0.0\"\n}\n", provider: plainProvider, hosts: true,
		beside: besidePlain + "module \"other\" {\n  source = \"git::PLAIN/git/other.git?ref=v1.0.0\"\n}\n", process: true,
		mount: func(t *testing.T, r *running) {
			dir := t.TempDir()
			moduletest.Repository(t, filepath.Join(dir, "pin.git"), moduletest.Commit{Tag: "v1.0.0", Files: map[string]string{"main.tf": pin}})
			moduletest.Repository(t, filepath.Join(dir, "other.git"), moduletest.Commit{Tag: "v1.0.0", Files: map[string]string{"main.tf": other}})
			r.sandbox.Mount("/git/", http.StripPrefix("/git", moduletest.Handler(t, dir)))
		},
	}
	githubScene = staged{required: requiresNull, provider: plainProvider, hosts: true, github: true}
)

// pin is a module.
const pin = "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\", version = \"< 1.2.0\" }\n  }\n}\n"

// other is that of the neighbour.
const other = "terraform {\n  required_providers {\n    random = { source = \"hashicorp/random\", version = \"< 1.2.0\" }\n  }\n}\n"

const matrixWorld = `
-- registry/registry.terraform.io/hashicorp/null --
versions: [1.0.0, 1.1.0, 1.2.0]
platforms: [linux_amd64, darwin_arm64]
also: [registry.opentofu.org]
-- registry/registry.terraform.io/hashicorp/random --
versions: [1.0.0, 1.1.0, 1.2.0]
platforms: [linux_amd64, darwin_arm64]
also: [registry.opentofu.org]
-- registry/registry.terraform.io/hashicorp/tls --
versions: [1.0.0, 1.1.0, 1.2.0]
platforms: [linux_amd64, darwin_arm64]
also: [registry.opentofu.org]
-- modules/registry.terraform.io/acme/other/null/1.0.0/main.tf --
` + other + `-- modules/registry.terraform.io/acme/pin/null/1.0.0/main.tf --
` + pin

// The columns of the matrix.
var matrixKinds = []*kind{
	{name: "discovery", staged: discoveryScene, requests: []pattern{{fault: "GET /.well-known/terraform.json"}}},
	{name: "versions", staged: registryScene, requests: []pattern{{fault: "GET /registry.terraform.io/v1/providers/hashicorp/null/versions"}}},
	{name: "metadata", staged: registryScene, requests: []pattern{{fault: "GET /registry.terraform.io/v1/providers/hashicorp/null/*/download/*/*"}}},
	{name: "list", staged: registryScene, requests: []pattern{{fault: "GET /registry.terraform.io/files/hashicorp/null/*/*SUMS"}}},
	{name: "signature", staged: registryScene, requests: []pattern{{fault: "GET /registry.terraform.io/files/hashicorp/null/*/*.sig"}}},
	{name: "zip", staged: registryScene, requests: []pattern{{fault: "GET /registry.terraform.io/files/hashicorp/null/*/*.zip"}}},
	{name: "mirror index", staged: mirrorScene, requests: []pattern{{fault: "GET /mirror/registry.terraform.io/hashicorp/null/index.json"}}},
	{name: "mirror version", staged: mirrorScene, requests: []pattern{{fault: "GET /mirror/registry.terraform.io/hashicorp/null/1.*.json"}}},
	{name: "OCI tags", staged: ociScene, requests: []pattern{{fault: "* /v2/providers/null/tags/list"}}},
	{name: "OCI manifest", staged: ociScene, requests: []pattern{{fault: "* /v2/providers/null/manifests/*"}}},
	{name: "OCI blob", staged: ociScene, requests: []pattern{{fault: "* /v2/providers/null/blobs/*"}}},
	{name: "module versions", staged: moduleScene, requests: []pattern{{fault: "GET /registry.terraform.io/v1/modules/acme/pin/null/versions"}}},
	{name: "module location", staged: moduleScene, requests: []pattern{{fault: "GET /registry.terraform.io/v1/modules/acme/pin/null/*/download"}}},
	{name: "module archive", staged: moduleScene, requests: []pattern{{fault: "GET /registry.terraform.io/archives/acme/pin/null/*"}}},
	{name: "git", staged: gitScene, all: true, requests: []pattern{{fault: "* /git/pin.git/..."}}},
	{name: "GitHub reads", all: true, staged: githubScene, requests: []pattern{{fault: "GET /github/..."}, {"POST /github/api/graphql", asksQuery}}},
	{name: "GitHub writes", all: true, staged: githubScene, requests: []pattern{
		{"POST /github/api/graphql", asksMutation}, {fault: "POST /github/api/v3/..."}, {fault: "PATCH /github/..."}, {fault: "PUT /github/..."}, {fault: "DELETE /github/..."},
	}},
}

// running is a world and relock in it.
type running struct {
	sandbox *sandbox.Sandbox
	dir     string // of the root module
	home    string
	args    []string
	environ []string
	is, was locks
	dial    func(ctx context.Context, network, hostport string) (net.Conn, error) // nil: the system's
}

const matrixRepository = "acme/infra"

// prepare makes the lock files of before and after by faultless runs, and chooses the
// URL that is spoilt: the last of those that the way from the one to the other takes.
func (k *kind) prepare(t *testing.T) {
	t.Helper()
	r := k.start(t, matrixWorld)
	defer r.sandbox.Close()
	for version, made := range map[string]*locks{"1.0.0": &k.was, "~> 1.0, < 1.2.0": &k.is} {
		os.Remove(r.lock())
		os.Remove(r.lock(besideDir))
		r.write(t, k, version)
		r.args = append([]string{"upgrade", "--create", "--platform", "linux_amd64", "--platform", "darwin_arm64"}, r.named(k)...)
		if c := r.here(t); c.Status != 0 {
			t.Fatalf("in a faultless world the status is %d:\n%s", c.Status, c.Output)
		}
		*made = r.locks(t)
		made.root = strings.ReplaceAll(made.root, r.address(), "ADDRESS")
	}
	if k.all {
		return
	}
	faultless := k.begin(t)
	defer faultless.sandbox.Close()
	faultless.sandbox.ResetRequests()
	if c := faultless.here(t); c.Status != 0 {
		t.Fatalf("in a faultless world the status is %d:\n%s", c.Status, c.Output)
	}
	var asked []string
	for _, r := range faultless.sandbox.Requests() {
		if slices.ContainsFunc(k.requests, func(p pattern) bool { return p.covers(r) }) {
			asked = append(asked, r.Path)
		}
	}
	if len(asked) == 0 {
		t.Fatalf("a faultless run asks for no %s", k.name)
	}
	k.spoilt = pattern{fault: "* " + slices.Max(asked)}
}

// besideDir is the directory of the neighbour in that of the root module.
const besideDir = "beside"

// named are the arguments that name the root modules.
func (r *running) named(k *kind) []string {
	if k.beside == "" {
		return append([]string{"."}, k.args...)
	}
	return append([]string{".", besideDir}, k.args...)
}

// lock is the name of the lock file in a directory of the root module.
func (r *running) lock(dir ...string) string {
	return filepath.Join(r.dir, filepath.Join(dir...), ".terraform.lock.hcl")
}

// write writes the configurations.
func (r *running) write(t *testing.T, k *kind, version string) {
	t.Helper()
	mustWrite(t, filepath.Join(r.dir, "main.tf"), r.config(k.staged, k.required, version))
	if k.beside != "" {
		mustWrite(t, filepath.Join(r.dir, besideDir, "main.tf"), r.config(k.staged, k.beside, version))
	}
}

// locks are the lock files that are there.
func (r *running) locks(t *testing.T) locks {
	t.Helper()
	root, err := os.ReadFile(r.lock())
	if err != nil {
		t.Fatal(err)
	}
	neighbour, err := os.ReadFile(r.lock(besideDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return locks{string(root), string(neighbour)}
}

// alone is the scene without a neighbour.
func (s staged) alone() staged {
	s.beside = ""
	return s
}

// modular reports whether a module keeps the newest version away.
func (s staged) modular() bool { return strings.Contains(s.required, "module ") }

// begin starts a world of its own, with the lock files of before.
func (k *kind) begin(t *testing.T) *running { return k.beginIn(t, nil) }

// beginIn does so in memory, where there is a network for that.
func (k *kind) beginIn(t *testing.T, network *bubble.Net) *running {
	t.Helper()
	world, version := matrixWorld, "~> 1.0, < 1.2.0"
	if k.modular() {
		version = "~> 1.0"
	}
	if k.github {
		root := "-- github/" + matrixRepository + "/main/live/"
		world += root + "main.tf --\n" + strings.NewReplacer("SOURCE", k.provider, "VERSION", version).Replace(k.required) +
			root + ".terraform.lock.hcl --\n" + k.was.root
	}
	r := k.startIn(t, world, network)
	r.was, r.is = k.was.at(r.address()), k.is.at(r.address())
	if k.github {
		r.args = []string{"pr", "--repo", matrixRepository, "--jobs", "1"}
		return r
	}
	r.write(t, k, version)
	if k.modular() && k.beside != "" { // whose other provider no module keeps back
		text := strings.Replace(k.beside, "tls\", version = \"VERSION\"", "tls\", version = \"~> 1.0, < 1.2.0\"", 1)
		mustWrite(t, filepath.Join(r.dir, besideDir, "main.tf"), r.config(k.staged, text, version))
	}
	mustWrite(t, r.lock(), []byte(r.was.root))
	if k.beside != "" {
		mustWrite(t, r.lock(besideDir), []byte(r.was.beside))
	}
	r.args = append([]string{"upgrade", "--jobs", "1"}, r.named(k)...)
	return r
}

// start starts the world of a scene, and prepares an operator's machine.
func (k *kind) start(t *testing.T, text string) *running { return k.startIn(t, text, nil) }

func (k *kind) startIn(t *testing.T, text string, network *bubble.Net) *running {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	r := &running{home: t.TempDir()}
	start := sandbox.Start
	if network != nil {
		// Keys are not valid in the year in which the time of a bubble begins.
		time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		start = func(w *sandbox.World) (*sandbox.Sandbox, error) { return sandbox.StartOn(w, network.Listen) }
		r.dial = network.Dial
	}
	s, err := start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r.sandbox = s
	r.dir = filepath.Join(r.home, "root")
	mustWrite(t, filepath.Join(r.dir, ".git", "HEAD"), nil)
	if k.mount != nil {
		k.mount(t, r)
	}
	cli := strings.ReplaceAll(k.cli, "ADDRESS", r.address())
	if k.hosts {
		cli += s.CLIConfig()
	}
	rc, ca := filepath.Join(r.home, "rc"), filepath.Join(r.home, "ca.pem")
	mustWrite(t, rc, []byte(cli))
	mustWrite(t, ca, s.Certificate())
	r.environ = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "XDG_CACHE_HOME=" + filepath.Join(r.home, "cache"), "XDG_DATA_DIRS=" + r.home,
		"TF_CLI_CONFIG_FILE=" + rc, "SSL_CERT_FILE=" + ca, "TMPDIR=" + r.home,
		"GITHUB_API_URL=" + strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL=" + s.GraphQL(), "GITHUB_TOKEN=" + sandbox.ActionsToken,
	}
	return r
}

// address is the host and port of the server with TLS.
func (r *running) address() string { return strings.TrimPrefix(r.sandbox.SecureURL(), "https://") }

func (r *running) config(s staged, text, version string) []byte {
	text = strings.NewReplacer("SOURCE", s.provider, "VERSION", version).Replace(text)
	return []byte(strings.NewReplacer("ADDRESS", r.address(), "PLAIN", r.sandbox.URL()).Replace(text))
}

// state says what a run has left of the entry, and of its neighbours.
func (k *kind) state(t *testing.T, r *running) (entry, neighbours string) {
	t.Helper()
	if k.github {
		return r.proposed(), stateNone
	}
	got := r.locks(t)
	if k.beside == "" {
		return stateOf(got.root, r.was.root, r.is.root), stateNone
	}
	return stateOf(got.root, r.was.root, r.is.root), stateOf(got.beside, r.was.beside, r.is.beside)
}

func stateOf(got, was, is string) string {
	switch got {
	case is:
		return stateNew
	case was:
		return stateOld
	}
	return got
}

// proposed says what is on GitHub: new is one open pull request for what a
// faultless world gives.
func (r *running) proposed() string {
	hub := r.sandbox.GitHub()
	pulls, err := hub.Pulls(matrixRepository)
	if err != nil {
		return err.Error()
	}
	refs, err := hub.Refs(matrixRepository)
	if err != nil {
		return err.Error()
	}
	for ref := range refs {
		files, err := hub.Files(matrixRepository, ref)
		if err != nil {
			return err.Error()
		}
		if got := string(files["live/.terraform.lock.hcl"].Content); got != r.is.root && got != r.was.root {
			return "in " + ref + " " + got
		}
	}
	open := slices.DeleteFunc(pulls, func(p sandbox.PullRequest) bool { return p.State != "open" })
	switch {
	case len(pulls) == 0:
		return stateOld
	case len(pulls) == 1 && len(open) == 1 && slices.Equal(open[0].ChangedFiles, []string{"live/.terraform.lock.hcl"}):
		return stateNew
	}
	return fmt.Sprintf("%d pull requests, of which %d are open", len(pulls), len(open))
}

// serveOCI serves the providers of the world as OpenTofu reads them from an OCI
// registry: a tag is an index of manifests, and each of these has one zip.
func serveOCI(t *testing.T, r *running) {
	t.Helper()
	mirror := sandbox.NewOCI()
	for _, name := range []string{"null", "random", "tls"} {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			zips := map[string][]byte{}
			for _, platform := range []string{"linux_amd64", "darwin_arm64"} {
				zips[platform] = r.zip(t, name, version, platform)
			}
			mirror.AddProvider("providers/"+name, version, zips)
		}
	}
	r.sandbox.Mount("/v2/", mirror)
}

// zip is a package of a provider of the world.
func (r *running) zip(t *testing.T, name, version, platform string) []byte {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: r.dial, DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("%s/registry.terraform.io/files/hashicorp/%s/%s/terraform-provider-%[2]s_%[3]s_%s.zip", r.sandbox.URL(), name, version, platform))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("downloading a package: %s, %v", resp.Status, err)
	}
	return data
}
