package module

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/scan"
)

// world is the registry of the recorded cases. Its faults give the git repository of each
// module; see cases.
const world = `
-- hosts --
private.example: {token: s3cret}
-- modules/mods.example/acme/net/aws/1.0.0/main.tf --
-- modules/mods.example/acme/net/aws/1.1.0/main.tf --
-- modules/mods.example/acme/net/aws/1.2.0-beta1/main.tf --
-- modules/mods.example/acme/net/aws/2.0.0-rc1/main.tf --
-- modules/mods.example/acme/net/aws/2.0.0/main.tf --
-- modules/mods.example/acme/net/aws/2.1.0-alpha/main.tf --
-- modules/mods.example/acme/pre/aws/1.0.0-beta1/main.tf --
-- modules/mods.example/acme/pre/aws/1.0.0-beta2/main.tf --
-- modules/mods.example/acme/plus/aws/1.0.0/main.tf --
-- modules/mods.example/acme/plus/aws/1.0.0+build2/main.tf --
-- modules/mods.example/acme/plus/aws/1.0.0+build1/main.tf --
-- modules/registry.terraform.io/acme/zip/aws/v1.2/main.tf --
# zip
-- modules/registry.terraform.io/acme/zip/aws/v1.2/modules/sub/main.tf --
# sub
-- modules/registry.opentofu.org/acme/zip/aws/2.0.0/main.tf --
# tofu
-- modules/private.example/acme/own/aws/1.0.0/main.tf --
# private
`

func startWorld(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	w, err := sandbox.ParseWorld(txtar.Parse([]byte(world)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connect makes a client with the host blocks of the sandbox, and more of a CLI
// configuration.
func connect(t *testing.T, s *sandbox.Sandbox, opts Options, more string) *Client {
	t.Helper()
	return configured(t, opts, s.CLIConfig()+more)
}

// configured makes a client with a CLI configuration.
func configured(t *testing.T, opts Options, text string) *Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cli.tfrc")
	writeFile(t, file, text, 0o600)
	env := cliconfig.Env{Home: t.TempDir(), GOOS: "linux", Getenv: func(name string) string {
		if name == "TF_CLI_CONFIG_FILE" {
			return file
		}
		return ""
	}}
	transport := newTransport()
	configs := map[provider.ToolName]*cliconfig.Config{}
	for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
		config, diags := cliconfig.Load(env, tool)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		configs[tool] = config
		for _, endpoint := range config.Endpoints() {
			transport.Admit(endpoint)
		}
	}
	opts.Env = testEnv(t, opts.Env)
	return New(transport, configs, opts)
}

// TestRegistryCases resolves the source addresses of the recorded cases. The constraint in
// the result shows the selected tag.
func TestRegistryCases(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	fixtures := moduletest.Repositories(t)
	for module, versions := range map[string]string{
		"net":  "1.0.0 1.1.0 1.2.0-beta1 2.0.0-rc1 2.0.0 2.1.0-alpha",
		"pre":  "1.0.0-beta1 1.0.0-beta2",
		"plus": "1.0.0 1.0.0+build2 1.0.0+build1",
	} {
		for _, version := range strings.Fields(versions) {
			s.Inject(sandbox.Fault{
				Method: "GET", Path: "/mods.example/v1/modules/acme/" + module + "/aws/" + version + "/download", Status: http.StatusNoContent,
				Header: http.Header{"X-Terraform-Get": {"git::file://" + fixtures + "/modrepo.git?ref=v" + strings.ReplaceAll(version, "+", "-")}},
			})
		}
	}
	c := connect(t, s, Options{AllowLocal: true}, "")
	const none = "none"
	tests := []struct {
		id, source, version string
		terraform, tofu     string // the number of the tag
	}{
		{"113", "git::file://" + fixtures + "/modrepo.git//modules/sub?ref=v1.1.0", "", "2", "2"},
		{"115", "mods.example/acme/net/aws", "2.0.0-rc1", "4", "4"},
		{"117", "mods.example/acme/net/aws", "~> 1", "5", "5"},
		{"119", "mods.example/acme/net/aws", "v1.0.0", "1", "1"},
		{"120", "mods.example/acme/net/aws//modules/sub", "1.1.0", "2", "2"},
		{"123", "git::file://" + fixtures + "/modrepo.git", "1.0.0", none, none},
		{"124", "a", "", none, none},
		{"147", "mods.example/acme/net/aws", "1.0.0", "1", "1"},
		{"209", "git::file://" + fixtures + "/modrepo.git", "", "10", "10"},
		{"221", "mods.example/acme/net/aws", "2.0.0-rc1, >= 1.0", none, none},
		{"224", "mods.example/acme/net/aws", ">= 1.0.0.0", "5", "5"},
		{"225", "mods.example/acme/net/aws", "~>  1.0", "2", "2"},
		{"226", "mods.example/acme/net/aws", ">= 9", none, none},
		{"227", "mods.example/acme/plus/aws", "", "1", "1"},
		{"229_first", "git::file://" + fixtures + "/modrepo.git?ref=v1.0.0", "", "1", "1"},
		{"229_second", "git::file://" + fixtures + "/modrepo.git?ref=v1.1.0", "", "2", "2"},
		{"230", "git::file://" + fixtures + "/modrepo.git?ref=nope", "", none, none},
		// No recorded case, but the same rules.
		{"prefixed_prerelease", "mods.example/acme/net/aws", "v2.0.0-rc1", none, "4"},
		{"prereleases_only", "mods.example/acme/pre/aws", "", none, none},
		{"prerelease_of_prereleases", "mods.example/acme/pre/aws", "1.0.0-beta2", "8", "8"},
		{"metadata", "mods.example/acme/plus/aws", "1.0.0+build1", "1", "1"},
	}
	for _, tt := range tests {
		for tool, want := range map[provider.Tool]string{terraform: tt.terraform, tofu: tt.tofu} {
			p, err := c.Fetch(t.Context(), tool, scan.Call{Source: tt.source, Version: tt.version, Versioned: tt.version != ""})
			switch {
			case err != nil && want != none:
				t.Errorf("case %s for %s: %v", tt.id, tool, err)
			case err == nil && !strings.Contains(mainOf(t, p), `"!= 0.0.`+want+`"`):
				t.Errorf("case %s for %s takes %q, want number %s", tt.id, tool, mainOf(t, p), want)
			}
		}
	}
}

func TestRegistryArchive(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	c := connect(t, s, Options{}, "")
	for _, tt := range []struct {
		tool                          provider.Tool
		source, dir, version, content string
	}{
		{terraform, "acme/zip/aws", ".", "1.2.0", "# zip\n"},
		{terraform, "acme/zip/aws//modules/sub", "modules/sub", "1.2.0", "# sub\n"},
		{terraform, "acme/zip/aws//mod*/sub", "modules/sub", "1.2.0", "# sub\n"},
		{tofu, "acme/zip/aws", ".", "2.0.0", "# tofu\n"},
		{tofu, "registry.terraform.io/acme/zip/aws", ".", "1.2.0", "# zip\n"},
	} {
		// The registry spells the version v1.2, and the question is for 1.2.0.
		s.Inject(sandbox.Fault{Method: "GET", Path: "/registry.terraform.io/v1/modules/acme/zip/aws/1.2.0/download", Status: http.StatusNoContent,
			Header: http.Header{"X-Terraform-Get": {s.URL() + "/registry.terraform.io/archives/acme/zip/aws/v1.2.zip"}}})
		p, err := c.Fetch(t.Context(), tt.tool, scan.Call{Source: tt.source})
		if err != nil {
			t.Errorf("Fetch(%q) for %s = %v", tt.source, tt.tool, err)
			continue
		}
		if got := mainOf(t, p); got != tt.content || p.Dir != tt.dir || p.Version != tt.version || !strings.HasPrefix(p.ID, "zip+sha256:") {
			t.Errorf("Fetch(%q) for %s = %q in %q, version %q, ID %q", tt.source, tt.tool, got, p.Dir, p.Version, p.ID)
		}
	}
	if c.Packages() != 2 {
		t.Errorf("%d packages were downloaded, want 2", c.Packages())
	}
	asked := map[string]int{}
	for _, r := range s.Requests() {
		asked[r.Path]++
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

func TestRegistryErrors(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	download := "/mods.example/v1/modules/acme/net/aws/2.0.0/download"
	versions := "/mods.example/v1/modules/acme/net/aws/versions"
	answer := func(path string, status int, location string) sandbox.Fault {
		f := sandbox.Fault{Method: "GET", Path: path, Status: status, Header: http.Header{}}
		if location != "" {
			f.Header.Set("X-Terraform-Get", location)
		}
		return f
	}
	tests := []struct {
		name, source string
		fault        sandbox.Fault
		code         problem.Code
		says         string
	}{
		{"unknown_module", "mods.example/acme/none/aws", sandbox.Fault{}, problem.CodeUnreadModule, "does not have it"},
		{"no_registry", "nothing.invalid/acme/net/aws", sandbox.Fault{}, problem.CodeUnreachable, "nothing.invalid"},
		{"refused_token", "private.example/acme/own/aws", sandbox.Fault{}, problem.CodeUnauthorized, "private.example"},
		{"server_error", "mods.example/acme/net/aws", answer(versions, 500, ""), problem.CodeUnreachable, "500"},
		{"no_list", "mods.example/acme/net/aws", answer(versions, 200, ""), problem.CodeBadAnswer, "names no module"},
		{"unknown_version", "mods.example/acme/net/aws", answer(download, 404, ""), problem.CodeUnreadModule, "2.0.0"},
		{"no_location", "mods.example/acme/net/aws", answer(download, 204, ""), problem.CodeBadAnswer, "does not say where"},
		{"local_location", "mods.example/acme/net/aws", answer(download, 204, `.\x`), problem.CodeBadAnswer, "no remote address"},
		{"registry_location", "mods.example/acme/net/aws", answer(download, 204, "acme/net/aws"), problem.CodeBadAnswer, "no remote address"},
		{"nonsense_location", "mods.example/acme/net/aws", answer(download, 204, "nonsense"), problem.CodeBadAnswer, "not valid"},
		{"climbing_location", "mods.example/acme/net/aws", answer(download, 204, "https://example.com/a.zip//../x"), problem.CodeBadAnswer, "not valid"},
		{"location_on_this_disk", "mods.example/acme/net/aws", answer(download, 204, "git::file:///srv/r.git"), problem.CodeUnreadModule, "disk of this machine"},
		{"location_at_metadata", "mods.example/acme/net/aws", answer(download, 204, "http://169.254.169.254/a.zip"), problem.CodeUnreachable, "a metadata service"},
		{"secret_location", "mods.example/acme/net/aws", answer(download, 204, "http://me:s3cret@169.254.169.254/a.zip?sig=s3cret"), problem.CodeUnreachable, "a metadata service"},
		{"command_location", "mods.example/acme/net/aws", answer(download, 204, "git::ext::sh"), problem.CodeUnreadModule, "scheme"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Mend()
			if tt.fault.Path != "" {
				s.Inject(tt.fault)
			}
			c := connect(t, s, Options{}, "credentials \"private.example\" {\n  token = \"wrong\"\n}\n")
			e := failing(t, c, tt.source, tt.code)
			if !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), "s3cret") || !strings.HasPrefix(e.Error(), "fetching the module ") {
				t.Errorf("error = %v, want it to say %q", e, tt.says)
			}
			if e.Problem.Host == "" {
				t.Errorf("error %v names no host", e)
			}
		})
	}
}

func TestRegistryToken(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	c := connect(t, s, Options{}, "credentials \"private.example\" {\n  token = \"s3cret\"\n}\n")
	if got := mainOf(t, fetch(t, c, "private.example/acme/own/aws")); got != "# private\n" {
		t.Errorf("main.tf = %q", got)
	}
	for _, r := range s.Requests() {
		if want := strings.Contains(r.Path, "/v1/modules/"); r.Authorized != want {
			t.Errorf("%s was sent a token: %v, want %v", r.Path, r.Authorized, want)
		}
	}
}

// TestRegistryLocations serves answers with a body, which the sandbox does not have.
func TestRegistryLocations(t *testing.T) {
	t.Parallel()
	archive := zipOf(t, member{name: "top/main.tf", data: "# archive"})
	var location, header string
	var tokens []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/acme/net/aws/versions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"modules": [{"versions": [{"version": "1.0.0"}]}, {"versions": [{"version": "9.0.0"}]}]} trailing`)
	})
	mux.HandleFunc("GET /v1/acme/net/aws/1.0.0/download", func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set("X-Terraform-Get", header)
		}
		fmt.Fprint(w, location)
	})
	mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		w.Write(archive)
	})
	s := serve(t, mux.ServeHTTP)
	elsewhere := serve(t, mux.ServeHTTP)
	file := filepath.Join(t.TempDir(), "cli.tfrc")
	writeFile(t, file, fmt.Sprintf("host \"mods.example\" {\n  services = { \"modules.v1\" = %q }\n}\ncredentials \"mods.example\" {\n  token = \"s3cret\"\n}\n", s.URL+"/v1"), 0o600)
	config, diags := cliconfig.Load(cliconfig.Env{Getenv: func(name string) string {
		return map[string]string{"TF_CLI_CONFIG_FILE": file}[name]
	}, Home: t.TempDir(), GOOS: "linux"}, provider.OpenTofu)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	old := provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 11}}
	tests := []struct {
		name, body, header string
		tool               provider.Tool
		want               bool
		token              string
	}{
		{"terraform_reads_the_header", `{"location": "https://127.0.0.1:1/x.zip"}`, s.URL + "/files/a.zip//top", terraform, true, ""},
		{"terraform_reads_no_body", `{"location": "` + s.URL + `/files/a.zip//top"}`, "", terraform, false, ""},
		{"tofu_prefers_the_body", `{"location": "` + s.URL + `/files/a.zip//top"}`, "https://127.0.0.1:1/x.zip", tofu, true, ""},
		{"tofu_falls_back_to_the_header", `{}`, s.URL + "/files/a.zip//top", tofu, true, ""},
		{"tofu_wants_json", `nothing`, s.URL + "/files/a.zip//top", tofu, false, ""},
		{"relative_to_the_question", `{"location": "../../../../../files/a.zip//top"}`, "", tofu, true, ""},
		{"rooted", `{"location": "/files/a.zip//top"}`, "", tofu, true, ""},
		{"glob", `{"location": "/files/a.zip//*"}`, "", tofu, true, ""},
		{"registry_package", `{"location": "/files/anything", "use_registry_credentials": true}`, "", tofu, true, "Bearer s3cret"},
		{"registry_package_without_token", `{"location": "/files/anything", "use_registry_credentials": false}`, "", tofu, true, ""},
		{"registry_package_elsewhere", `{"location": "` + elsewhere.URL + `/files/anything", "use_registry_credentials": true}`, "", tofu, true, ""},
		{"registry_package_before_1.12", `{"location": "/files/anything", "use_registry_credentials": true}`, "", old, false, ""},
		{"registry_package_of_another_kind", `{"location": "git::https://127.0.0.1/r", "use_registry_credentials": false}`, "", tofu, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			location, header, tokens = tt.body, tt.header, nil
			client := newTransport(s)
			c := New(client, map[provider.ToolName]*cliconfig.Config{provider.Terraform: config, provider.OpenTofu: config}, Options{Env: testEnv(t, cliconfig.Env{})})
			source := "mods.example/acme/net/aws"
			if strings.HasPrefix(tt.name, "registry_package") {
				source += "//top"
			}
			p, err := c.Fetch(t.Context(), tt.tool, scan.Call{Source: source})
			if (err == nil) != tt.want {
				t.Fatalf("Fetch = %v, want success %v", err, tt.want)
			}
			if err == nil && mainOf(t, p) != "# archive" {
				t.Errorf("main.tf = %q", mainOf(t, p))
			}
			if tt.want && (len(tokens) != 1 || tokens[0] != tt.token) {
				t.Errorf("the file's server was sent %q, want %q once", tokens, tt.token)
			}
		})
	}
}

func TestVersionNeedsRegistry(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	for source, version := range map[string]string{"git::https://example.com/r": "1.0.0", "https://example.com/a.zip": "", "acme/net/aws": "nonsense"} {
		_, err := c.Fetch(t.Context(), terraform, scan.Call{Source: source, Version: version, Versioned: true})
		wantCode(t, source, err, problem.CodeInvalidConfig)
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Contact: func(host string) bool { return host == "base.example" }})
	for _, source := range []string{"other.example/acme/net/aws", "acme/net/aws", "git::https://other.example/r", "https://other.example/a.zip", "git@other.example:o/r"} {
		if e := failing(t, c, source, problem.CodeUnreadModule); e.Problem.Hint == "" {
			t.Errorf("error %v has no hint", e)
		}
	}
	if c.transport.Stats().Requests != 0 {
		t.Error("a host was asked")
	}
}

func TestContactOfWhatPackagesName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Files:   map[string]string{"main.tf": "# top", ".gitmodules": gitmodules("m", "https://other.example/r.git")},
		Modules: map[string]string{"m": strings.Repeat("1", 40)},
	})
	git := moduletest.Handler(t, dir)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/get" {
			w.Header().Set("X-Terraform-Get", "https://other.example/a.zip")
			return
		}
		git.ServeHTTP(w, r)
	})
	c := newClient(t, Options{Contact: func(host string) bool { return host == "127.0.0.1" }}, s)
	for _, source := range []string{s.URL + "/get", "git::" + s.URL + "/r.git//m"} {
		if e := failing(t, c, source, problem.CodeUnreadModule); !strings.Contains(e.Error(), "other.example") {
			t.Errorf("error = %v, want one about the host", e)
		}
	}
}

// If a call names one version, its location is asked for while the list is read: here each
// answer waits for both questions. A version that the list lacks is not used.
func TestLocationIsAskedBesideTheList(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.2.0": "1.2.0", "= 1.2.0": "1.2.0", "1.3.0": ""} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			list, location := newGate(), newGate()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mine, other := list, location
				if strings.HasSuffix(r.URL.Path, "/download") {
					mine, other = location, list
				}
				mine.open()
				select {
				case <-other.opened:
				case <-r.Context().Done():
				}
				w.Header().Set("X-Terraform-Get", "https://modules.example/net.zip")
				fmt.Fprint(w, `{"modules": [{"versions": [{"version": "1.2.0"}]}]}`)
			}))
			t.Cleanup(server.Close)
			c := configured(t, Options{}, fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = \"%s/\"\n  }\n}\n", "mods.example", server.URL))
			addr, err := moduleaddr.Parse("mods.example/acme/net/aws", provider.Terraform)
			if err != nil {
				t.Fatal(err)
			}
			at, err := c.registries.find(t.Context(), terraform, addr, scan.Call{Version: version, Versioned: true})
			if at.version != want || (err == nil) != (want != "") {
				t.Errorf("version %q is found as %q, error %v, want %q", version, at.version, err, want)
			}
		})
	}
}

// gate can be opened more than once.
type gate struct {
	opened chan struct{}
	once   sync.Once
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }
