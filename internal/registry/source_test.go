package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// The places of these tests: the fixture's registry has 1.1.0 for three
// platforms, the network mirror has it for two, the directory for linux alone.
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
		want    map[provider.Platform]string // the mirror, "" the registry, or "none"
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
					wantError(t, err, provider.CodeNoPackage, "provider registry.terraform.io/hashicorp/alpha 1.1.0 is not available for "+p.String())
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
	got, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	if err != nil {
		t.Fatal(err)
	}
	archived := []string{"archived"}
	want := []provider.Release{
		{Version: provider.Version{Major: 1}},
		{Version: v110, Platforms: []provider.Platform{linux, windows}, Warnings: archived},
		{Version: provider.Version{Major: 1, Minor: 2}, Platforms: []provider.Platform{linux}},
		{Version: provider.Version{Major: 1, Minor: 3}, Warnings: archived},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
	// What is returned is the caller's: it must not change the next answer.
	got[1].Platforms[0] = darwin
	again, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("Versions once more: %v (-want +got):\n%s", err, diff)
	}
}

func TestUnknownProviderIsLookedForEverywhere(t *testing.T) {
	t.Parallel()
	f, m, dir := places(t)
	beta := alpha(terraformHost)
	beta.Type = "beta"
	methods := "provider_installation {\n" + m.block("") + "filesystem_mirror {\n path = \"" + dir + "\"\n}\ndirect {}\n}\n"
	_, err := f.client(t, Options{}, methods).Versions(t.Context(), terraform, beta)
	e := wantError(t, err, provider.CodeUnknownProvider, fmt.Sprintf(
		"provider registry.terraform.io/hashicorp/beta was not found in any of the search locations: network mirror %s/m/, filesystem mirror %s, registry registry.terraform.io",
		m.server.URL, dir))
	if !strings.Contains(e.Hint, "required_providers") || e.Addr != beta {
		t.Errorf("error = %+v, want it about the provider, with what to check", e)
	}
	_, err = f.client(t, Options{}, "provider_installation {\n direct {\n  include = [\"acme/*\"]\n }\n}\n").Versions(t.Context(), terraform, beta)
	e = wantError(t, err, provider.CodeUnknownProvider, "no installation method of the CLI configuration is for registry.terraform.io/hashicorp/beta")
	if !strings.Contains(e.Hint, "include and exclude") {
		t.Errorf("hint = %q, want what to check", e.Hint)
	}
	_, err = f.client(t, Options{}, "provider_installation {\n direct {\n  include = [\"acme/*\"]\n }\n}\n").Hashes(t.Context(), terraform, want(terraformHost, linux))
	wantError(t, err, provider.CodeNoPackage, "is not available for linux_amd64")
}

func TestTroubleWithOneMethodIsFinal(t *testing.T) {
	t.Parallel()
	f, m, _ := places(t)
	m.versions = "<html>"
	c := f.client(t, Options{}, "provider_installation {\n"+m.block("")+"direct {}\n}\n")
	_, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	wantError(t, err, provider.CodeBadAnswer, "network mirror")
	// So is a version that the mirror does not have: the tools do not go on.
	m.archives = nil
	v := want(terraformHost, linux)
	v.Version.Minor = 9
	_, err = c.Hashes(t.Context(), terraform, v)
	wantError(t, err, provider.CodeBadAnswer, "it has no archives of registry.terraform.io/hashicorp/alpha 1.9.0")
}

func TestOriginPassesTheMethodsOver(t *testing.T) {
	t.Parallel()
	f, m, _ := places(t)
	methods := "provider_installation {\n" + m.block("") + "}\n"
	all := f.client(t, Options{Origin: true}, methods)
	if got, err := all.Versions(t.Context(), terraform, alpha(terraformHost)); err != nil || len(got) != 1 {
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
	// The same package, however it is asked for, is one question.
	before := len(f.requests())
	w.Origin = false
	if _, err := all.Hashes(t.Context(), terraform, w); err != nil || len(f.requests()) != before {
		t.Errorf("the registry was asked again: %v, %v", err, f.requests()[before:])
	}
}

// TestErrorsSayWhatTheyAreAbout holds every field that a person needs.
func TestErrorsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.signature = sign(secondKey, f.list)
	_, err := f.client(t, Options{}, "").Hashes(t.Context(), terraform, want(privateHost, linux))
	e := wantError(t, err, provider.CodeBadSignature,
		"package of registry.example.com/hashicorp/alpha 1.1.0 for linux_amd64: the checksum list is not signed as the registry announces")
	if e.Host != privateHost || e.Addr != alpha(privateHost) || e.Version != v110 || e.Platform != linux || e.Hint == "" {
		t.Errorf("error = %+v, want host, provider, version, platform and what to do", e)
	}
}
