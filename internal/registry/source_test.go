package registry

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// places makes the sources of these tests. The fixture's registry has 1.1.0 for three
// platforms, the network mirror for two, the directory for linux alone.
func places(t *testing.T) (f *fixture, m *mirror, dir string) {
	t.Helper()
	return newFixture(t), newMirror(t), lay(t, map[string]string{
		alphaDir + "terraform-provider-alpha_1.1.0_linux_amd64.zip": string(pack(program("in the directory"))),
		alphaDir + "1.2.0/linux_amd64/terraform-provider-alpha":     "newer",
	})
}

func TestPackageIsOfTheFirstMethodThatHasIt(t *testing.T) {
	t.Parallel()
	f, m, dir := places(t)
	files := "filesystem_mirror {\n path = \"" + dir + "\"\n}\n"
	const direct = "direct {}\n"
	network, registry := "network mirror "+m.server.URL+"/m/", ""
	directory := "filesystem mirror " + dir
	tests := []struct {
		name    string
		methods string
		want    map[provider.Platform]string // the mirror's name, "" for the registry, or "none"
	}{
		{"directory_first", files + m.block("") + direct, map[provider.Platform]string{linux: directory, darwin: network, windows: registry}},
		{"registry_first", direct + files, map[provider.Platform]string{linux: registry, windows: registry}},
		{"network_first", m.block("") + files, map[provider.Platform]string{linux: network, darwin: network, windows: "none"}},
		{"excluded", m.block(`exclude = ["hashicorp/*"]`) + files, map[provider.Platform]string{linux: directory, darwin: "none"}},
		{"not_included", m.block(`include = ["example.com/*/*"]`) + direct, map[provider.Platform]string{linux: registry}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := f.client(t, Options{}, "provider_installation {\n"+tt.methods+"}\n")
			for p, want1 := range tt.want {
				h, err := c.Hashes(t.Context(), terraform, want(terraformHost, p))
				switch {
				case want1 == "none":
					wantError(t, err, problem.CodeNoPackage, "provider registry.terraform.io/hashicorp/alpha 1.1.0 is not available for "+p.String())
				case err != nil || h.Mirror != want1:
					t.Errorf("the package for %s is of %q, %v; want %q", p, h.Mirror, err, want1)
				}
			}
		})
	}
}

func TestVersionsAreThoseOfAllMethods(t *testing.T) {
	t.Parallel()
	f, m, dir := places(t)
	f.versions = `{"versions": [{"version": "1.1.0", "protocols": ["5.0"], "platforms": [{"os": "windows", "arch": "amd64"}]}, {"version": "1.3.0"}], "warnings": ["archived"]}`
	c := f.client(t, Options{}, "provider_installation {\n"+m.block("")+"filesystem_mirror {\n path = \""+dir+"\"\n}\ndirect {}\n}\n")
	offer, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil {
		t.Fatal(err)
	}
	archived := []string{"archived"}
	want := []provider.Release{
		{Version: provider.Version{Major: 1}},
		{Version: v110, Platforms: []provider.Platform{linux, windows}, Open: true, Warnings: archived},    // the mirror has more
		{Version: provider.Version{Major: 1, Minor: 2}, Platforms: []provider.Platform{linux}, Open: true}, // the directory may not know all
		{Version: provider.Version{Major: 1, Minor: 3}, Warnings: archived},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
	// The caller owns the result: changing it must not change the next answer.
	got[1].Platforms[0] = darwin
	offer, err = c.Versions(t.Context(), terraform, alpha(terraformHost))
	again := offer.Releases
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("Versions once more: %v (-want +got):\n%s", err, diff)
	}
}

// Methods say whether they have listed anything. Only then does a missing release mean that
// they do not offer it.
func TestMethodsSayWhoHasListed(t *testing.T) {
	t.Parallel()
	const index, versions = "/hashicorp/alpha/index.json", "/hashicorp/alpha/versions"
	answer := func(suffix string, status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, suffix) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	dropped := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, index) {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	tests := []struct {
		name     string
		mirror   func(http.ResponseWriter, *http.Request) bool
		registry func(http.ResponseWriter, *http.Request) bool
		empty    bool         // whether the directory is empty
		gone     bool         // whether the repository is gone
		listed   string       // the kinds of methods with a list
		code     problem.Code // of Versions
	}{
		{name: "all", listed: "OCI network filesystem registry"},
		{name: "a mirror without the provider", mirror: answer(index, 404, ""), listed: "OCI filesystem registry"},
		{name: "a registry without it", registry: answer(versions, 404, ""), listed: "OCI network filesystem"},
		{name: "a directory without it", empty: true, listed: "OCI network registry"},
		{name: "an OCI registry without it", gone: true, listed: "network filesystem registry"},
		{name: "a mirror that lists nothing", mirror: answer(index, 200, `{"versions": {}}`), listed: "OCI network filesystem registry"},
		{name: "a mirror that breaks off", mirror: dropped, code: problem.CodeUnreachable},
		{name: "a mirror with half a list", mirror: answer(index, 200, `{"versions": {"1.1`), code: problem.CodeBadAnswer},
		{name: "a registry out of order", registry: answer(versions, 503, ""), code: problem.CodeUnreachable},
		{name: "a registry that wants credentials", registry: answer(versions, 401, ""), code: problem.CodeUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, m := newFixture(t), newMirror(t)
			dir := lay(t, map[string]string{string(opentofuHost) + "/hashicorp/alpha/" + filename(linux): string(f.zips[linux])})
			o := newOCIRegistry(t)
			o.tag("1.1.0", o.target(linux, f.zips[linux]))
			o.hook = func(w http.ResponseWriter, _ *http.Request) bool {
				if tt.gone {
					w.WriteHeader(http.StatusNotFound)
					io.WriteString(w, `{"errors": [{"code": "NAME_UNKNOWN"}]}`)
				}
				return tt.gone
			}
			m.hook, f.hook = tt.mirror, tt.registry
			if tt.empty {
				dir = t.TempDir()
			}
			c := o.client(t, f.config(""), m.block(""), "filesystem_mirror {\n path = \""+dir+"\"\n}\n", "direct {}\n")
			offer, err := c.Versions(t.Context(), opentofu, alpha(opentofuHost))
			if tt.code == "" && err != nil || tt.code != "" && !problem.Coded(err, tt.code) {
				t.Errorf("Versions: %v, want the code %q", err, tt.code)
			}
			var listed []string
			for _, asked := range offer.Methods {
				kind, _, _ := strings.Cut(asked.Name, " ")
				if asked.Listed {
					listed = append(listed, kind)
				}
				if asked.Mirror != (kind != "registry") || asked.Host == "" && kind != "filesystem" {
					t.Errorf("method %+v", asked)
				}
			}
			if got := strings.Join(listed, " "); got != tt.listed {
				t.Errorf("listed by %q, want %q", got, tt.listed)
			}
		})
	}
}

// No person has named the plugin directories, so a provider that they lack says nothing.
func TestMethodsWithoutInstallationBlock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	offer, err := f.client(t, Options{}, "").Versions(t.Context(), terraform, alpha(terraformHost))
	want := []provider.Method{{Name: "registry registry.terraform.io", Host: terraformHost, Listed: true}}
	if diff := cmp.Diff(want, offer.Methods); err != nil || diff != "" {
		t.Errorf("methods (-want +got), %v:\n%s", err, diff)
	}
}

func TestUnknownProviderIsLookedForEverywhere(t *testing.T) {
	t.Parallel()
	f, m, dir := places(t)
	beta := alpha(terraformHost)
	beta.Type = "beta"
	methods := "provider_installation {\n" + m.block("") + "filesystem_mirror {\n path = \"" + dir + "\"\n}\ndirect {}\n}\n"
	_, err := f.client(t, Options{}, methods).Versions(t.Context(), terraform, beta)
	e := wantError(t, err, problem.CodeUnknownProvider, fmt.Sprintf(
		"provider registry.terraform.io/hashicorp/beta was not found in any of the search locations: network mirror %s/m/, filesystem mirror %s, registry registry.terraform.io",
		m.server.URL, dir))
	if !strings.Contains(e.Problem.Hint, "required_providers") || e.Problem.Subject.Addr != beta {
		t.Errorf("error = %+v, want it about the provider, with what to check", e)
	}
	_, err = f.client(t, Options{}, "provider_installation {\n direct {\n  include = [\"acme/*\"]\n }\n}\n").Versions(t.Context(), terraform, beta)
	e = wantError(t, err, problem.CodeUnknownProvider, "no installation method of the CLI configuration is for registry.terraform.io/hashicorp/beta")
	if !strings.Contains(e.Problem.Hint, "include and exclude") {
		t.Errorf("hint = %q, want what to check", e.Problem.Hint)
	}
	_, err = f.client(t, Options{}, "provider_installation {\n direct {\n  include = [\"acme/*\"]\n }\n}\n").Hashes(t.Context(), terraform, want(terraformHost, linux))
	wantError(t, err, problem.CodeNoPackage, "is not available for linux_amd64")
}

func TestTroubleWithOneMethodIsFinal(t *testing.T) {
	t.Parallel()
	f, m, _ := places(t)
	m.versions = "<html>"
	c := f.client(t, Options{}, "provider_installation {\n"+m.block("")+"direct {}\n}\n")
	_, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	wantError(t, err, problem.CodeBadAnswer, "network mirror")
	// The same for a version that the mirror lacks: the next source is not asked.
	m.archives = nil
	v := want(terraformHost, linux)
	v.Version.Minor = 9
	_, err = c.Hashes(t.Context(), terraform, v)
	wantError(t, err, problem.CodeBadAnswer, "it has no archives of registry.terraform.io/hashicorp/alpha 1.9.0")
}

func TestOriginPassesTheMethodsOver(t *testing.T) {
	t.Parallel()
	f, m, _ := places(t)
	methods := "provider_installation {\n" + m.block("") + "}\n"
	all := f.client(t, Options{Origin: true}, methods)
	if got, err := all.Versions(t.Context(), terraform, alpha(terraformHost)); err != nil || len(got.Releases) != 1 {
		t.Errorf("Versions = %v, %v; want the registry's", got, err)
	}
	one := f.client(t, Options{}, methods)
	w := want(terraformHost, windows)
	w.Origin = true
	for _, c := range []*Client{all, one} {
		if h, err := c.Hashes(t.Context(), terraform, w); err != nil || h.Mirror != "" || len(h.Listed) == 0 {
			t.Errorf("Hashes = %+v, %v; want the registry's", h, err)
		}
	}
	if asked := m.requests(); len(asked) > 0 {
		t.Errorf("the mirror was asked: %v", asked)
	}
	// One package is one question, for every way of asking.
	before := len(f.requests())
	w.Origin = false
	if _, err := all.Hashes(t.Context(), terraform, w); err != nil || len(f.requests()) != before {
		t.Errorf("the registry was asked again: %v, %v", err, f.requests()[before:])
	}
}

// TestErrorsSayWhatTheyAreAbout holds that an error has every field that a person needs.
func TestErrorsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.signature = sign(secondKey, f.list)
	_, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux))
	e := wantError(t, err, problem.CodeBadSignature,
		"package of registry.example.com/hashicorp/alpha 1.1.0 for linux_amd64: the checksum list is not signed as the registry announces")
	if e.Problem.Host != privateHost || e.Problem.Subject.Addr != alpha(privateHost) || e.Problem.Subject.Version != v110 || e.Problem.Subject.Platform != linux || e.Problem.Hint == "" {
		t.Errorf("error = %+v, want host, provider, version, platform and what to do", e)
	}
}

// TestErrorsNameWhatTheyAreAboutOnce has messages that name the provider, the version and
// the platform, or some of them.
func TestErrorsNameWhatTheyAreAboutOnce(t *testing.T) {
	t.Parallel()
	const whole = "package of registry.example.com/hashicorp/alpha 1.1.0 for linux_amd64: "
	for name, tt := range map[string]struct {
		status map[string]int
		edit   func(provider.Platform, map[string]any)
		want   string
	}{
		"nothing":      {edit: func(_ provider.Platform, a map[string]any) { a["shasum"] = "x" }, want: whole + `registry response includes invalid SHA256 hash "x"`},
		"the provider": {status: map[string]int{"linux/amd64": 500}, want: whole + "could not query provider registry for registry.example.com/hashicorp/alpha: 500 Internal Server Error"},
		"the version": {
			edit: func(_ provider.Platform, a map[string]any) { a["protocols"] = []string{"4.0"} },
			want: whole + "provider registry.example.com/hashicorp/alpha 1.1.0 speaks plugin protocol 4.0, and Terraform 1.11.4 speaks 5 and 6",
		},
		"all": {
			edit: func(_ provider.Platform, a map[string]any) {
				a["filename"] = "terraform-provider-alpha_1.0.0_linux_amd64.zip"
			},
			want: `registry response for registry.example.com/hashicorp/alpha 1.1.0 on linux_amd64 names the file of another package, "terraform-provider-alpha_1.0.0_linux_amd64.zip"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.status, f.edit = tt.status, tt.edit
			_, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error:\n%v\nwant:\n%s", err, tt.want)
			}
		})
	}
}
