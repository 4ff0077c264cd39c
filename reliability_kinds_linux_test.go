package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/sandbox"
)

// kind is a kind of request, and the scene in which relock makes it.
type kind struct {
	name     string
	requests []pattern
	staged
	patient bool   // what became of a request is read, or asked again, with pauses
	was, is string // the lock file before and after a faultless run, with ADDRESS for that of the sandbox's server with TLS
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
	provider string // of the registry that is asked; ADDRESS may stand in it
	cli      string // more of the CLI configuration, or all of it where hosts is false
	hosts    bool
	args     []string
	github   bool // the root module is in a repository on GitHub
	mount    func(t *testing.T, s *sandbox.Sandbox)
}

const (
	plainProvider = "registry.terraform.io/hashicorp/null"
	tofuProvider  = "registry.opentofu.org/hashicorp/null"
	requiresNull  = "terraform {\n  required_providers {\n    null = { source = \"SOURCE\", version = \"VERSION\" }\n  }\n}\n"
)

// The scenes of the matrix. In those with modules it is the module that keeps
// the newest version away: without it the entry would be wrong.
var (
	registryScene  = staged{required: requiresNull, provider: plainProvider, hosts: true}
	discoveryScene = staged{
		required: requiresNull, provider: "ADDRESS/hashicorp/null", hosts: true, cli: "credentials \"ADDRESS\" {\n  token = \"secret\"\n}\n",
		mount: func(_ *testing.T, s *sandbox.Sandbox) {
			s.Mount("/.well-known/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"providers.v1": "%s/registry.terraform.io/v1/providers/"}`, s.SecureURL())
			}))
		},
	}
	mirrorScene = staged{required: requiresNull, provider: plainProvider, cli: "provider_installation {\n  network_mirror {\n    url = \"https://ADDRESS/mirror/\"\n  }\n}\n"}
	ociScene    = staged{
		required: requiresNull, provider: tofuProvider, args: []string{"--tool", "opentofu"}, mount: serveOCI,
		cli: "provider_installation {\n  oci_mirror {\n    repository_template = \"ADDRESS/providers/${type}\"\n    include = [\"registry.opentofu.org/hashicorp/*\"]\n  }\n}\n",
	}
	moduleScene = staged{
		required: requiresNull + "module \"pin\" {\n  source  = \"acme/pin/null\"\n  version = \"1.0.0\"\n}\n", provider: plainProvider, hosts: true,
	}
	gitScene = staged{
		required: requiresNull + "module \"pin\" {\n  source = \"git::PLAIN/git/pin.git?ref=v1.0.0\"\n}\n", provider: plainProvider, hosts: true,
		mount: func(t *testing.T, s *sandbox.Sandbox) {
			dir := t.TempDir()
			moduletest.Repository(t, filepath.Join(dir, "pin.git"), moduletest.Commit{Tag: "v1.0.0", Files: map[string]string{"main.tf": pin}})
			s.Mount("/git/", http.StripPrefix("/git", moduletest.Handler(t, dir)))
		},
	}
	githubScene = staged{required: requiresNull, provider: plainProvider, hosts: true, github: true}
)

// pin is a module.
const pin = "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\", version = \"< 1.2.0\" }\n  }\n}\n"

const matrixWorld = `
-- registry/registry.terraform.io/hashicorp/null --
versions: [1.0.0, 1.1.0, 1.2.0]
platforms: [linux_amd64, darwin_arm64]
also: [registry.opentofu.org]
-- modules/registry.terraform.io/acme/pin/null/1.0.0/main.tf --
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
	{name: "git", staged: gitScene, requests: []pattern{{fault: "* /git/..."}}},
	{name: "GitHub reads", patient: true, staged: githubScene, requests: []pattern{{fault: "GET /github/..."}, {"POST /github/api/graphql", asksQuery}}},
	{name: "GitHub writes", patient: true, staged: githubScene, requests: []pattern{
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
	is, was string
}

const matrixRepository = "acme/infra"

// prepare makes the lock files of before and after by faultless runs.
func (k *kind) prepare(t *testing.T) {
	t.Helper()
	r := k.start(t, matrixWorld)
	defer r.sandbox.Close()
	lock := filepath.Join(r.dir, ".terraform.lock.hcl")
	for version, text := range map[string]*string{"1.0.0": &k.was, "~> 1.0, < 1.2.0": &k.is} {
		os.Remove(lock)
		mustWrite(t, filepath.Join(r.dir, "main.tf"), r.config(k.staged, version))
		r.args = append([]string{"upgrade", "--create", "--platform", "linux_amd64", "--platform", "darwin_arm64", "."}, k.args...)
		if c := r.here(t); c.Status != 0 {
			t.Fatalf("in a faultless world the status is %d:\n%s", c.Status, c.Output)
		}
		written, err := os.ReadFile(lock)
		if err != nil {
			t.Fatal(err)
		}
		*text = strings.ReplaceAll(string(written), r.address(), "ADDRESS")
	}
}

// modular reports whether a module keeps the newest version away.
func (s staged) modular() bool { return strings.Contains(s.required, "module ") }

// begin starts a world of its own, with the lock file of before.
func (k *kind) begin(t *testing.T) *running {
	t.Helper()
	world, version := matrixWorld, "~> 1.0, < 1.2.0"
	if k.modular() {
		version = "~> 1.0"
	}
	if k.github {
		root := "-- github/" + matrixRepository + "/main/live/"
		world += root + "main.tf --\n" + strings.NewReplacer("SOURCE", k.provider, "VERSION", version).Replace(k.required) +
			root + ".terraform.lock.hcl --\n" + k.was
	}
	r := k.start(t, world)
	r.was, r.is = strings.ReplaceAll(k.was, "ADDRESS", r.address()), strings.ReplaceAll(k.is, "ADDRESS", r.address())
	if k.github {
		r.args = []string{"pr", "--repo", matrixRepository, "--jobs", "1"}
		return r
	}
	mustWrite(t, filepath.Join(r.dir, "main.tf"), r.config(k.staged, version))
	mustWrite(t, filepath.Join(r.dir, ".terraform.lock.hcl"), []byte(r.was))
	r.args = append([]string{"upgrade", "--jobs", "1", "."}, k.args...)
	return r
}

// start starts the world of a scene, and prepares an operator's machine.
func (k *kind) start(t *testing.T, text string) *running {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := &running{sandbox: s, home: t.TempDir()}
	r.dir = filepath.Join(r.home, "root")
	mustWrite(t, filepath.Join(r.dir, ".git", "HEAD"), nil)
	if k.mount != nil {
		k.mount(t, s)
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

func (r *running) config(s staged, version string) []byte {
	text := strings.NewReplacer("SOURCE", s.provider, "VERSION", version).Replace(s.required)
	return []byte(strings.NewReplacer("ADDRESS", r.address(), "PLAIN", r.sandbox.URL()).Replace(text))
}

// state says what a run has left.
func (k *kind) state(t *testing.T, r *running) string {
	t.Helper()
	if k.github {
		return r.proposed()
	}
	written, err := os.ReadFile(filepath.Join(r.dir, ".terraform.lock.hcl"))
	switch {
	case err != nil:
		return err.Error()
	case string(written) == r.is:
		return stateNew
	case string(written) == r.was:
		return stateOld
	}
	return string(written)
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
		if got := string(files["live/.terraform.lock.hcl"].Content); got != r.is && got != r.was {
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

// serveOCI serves the provider of the world as OpenTofu reads it from an OCI
// registry: a tag is an index of manifests, and each of these has one zip.
func serveOCI(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	blobs, types := map[string][]byte{}, map[string]string{}
	put := func(mediaType string, data []byte) ocispec.Descriptor {
		d := digest.FromBytes(data)
		blobs[d.String()], types[d.String()] = data, mediaType
		return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
	}
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	tags := []string{"1.0.0", "1.1.0"}
	for _, tag := range tags {
		index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "application/vnd.opentofu.provider"}
		for _, p := range []ocispec.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "darwin", Architecture: "arm64"}} {
			layer := put("archive/zip", nullZip(t, s, tag, p.OS+"_"+p.Architecture))
			d := put(ocispec.MediaTypeImageManifest, encode(ocispec.Manifest{
				MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/vnd.opentofu.provider-target", Layers: []ocispec.Descriptor{layer},
			}))
			d.ArtifactType, d.Platform = "application/vnd.opentofu.provider-target", &p
			index.Manifests = append(index.Manifests, d)
		}
		d := put(ocispec.MediaTypeImageIndex, encode(index))
		blobs[tag], types[tag] = blobs[d.Digest.String()], ocispec.MediaTypeImageIndex
	}
	s.Mount("/v2/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if name == "list" {
			_, _ = w.Write(encode(map[string]any{"name": "providers/null", "tags": tags}))
			return
		}
		data, ok := blobs[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", types[name])
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(data).String())
		_, _ = w.Write(data)
	}))
}

// nullZip is a package of the provider of the world.
func nullZip(t *testing.T, s *sandbox.Sandbox, version, platform string) []byte {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("%s/registry.terraform.io/files/hashicorp/null/%s/terraform-provider-null_%[2]s_%s.zip", s.URL(), version, platform))
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
