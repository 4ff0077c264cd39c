package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = `{
		"id": 7,
		"versions": [
			{"version": "1.10.0"},
			{"version": "1.2.0", "protocols": ["4.0"]},
			{"version": "1.2.0", "protocols": ["5.0", "6.0"], "platforms": [
				{"os": "linux", "arch": "amd64"}, {"os": "darwin", "arch": "arm64"}, {"os": "", "arch": "x"}]},
			{"version": "2.0.0-beta1", "platforms": "none of your business"},
			{"version": "01.4"}
		],
		"warnings": ["archived"]
	} {"more": "ignored"}`
	offer, err := f.client(t, Options{}, "").Versions(t.Context(), terraform, alpha(terraformHost))
	got := offer.Releases
	if err != nil {
		t.Fatal(err)
	}
	warnings := []string{"archived"}
	want := []provider.Release{
		{
			Version: provider.Version{Major: 1, Minor: 2}, Protocols: []string{"5.0", "6.0"},
			Platforms: []provider.Platform{darwin, linux}, Warnings: warnings,
		},
		{Version: provider.Version{Major: 1, Minor: 4}, Warnings: warnings},
		{Version: provider.Version{Major: 1, Minor: 10}, Warnings: warnings},
		{Version: provider.Version{Major: 2, Prerelease: "beta1"}, Warnings: warnings},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
}

func TestVersionStringsThatAreNone(t *testing.T) {
	t.Parallel()
	newer := provider.Tool{Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 13}}
	for _, text := range []string{"v1.2.0", "1.2.3.4", "latest", "", "1.x"} {
		f := newFixture(t)
		f.versions = `{"versions": [{"version": "1.0.0"}, {"version": "` + text + `"}]}`
		c := f.client(t, Options{}, "")
		for _, tool := range []provider.Tool{terraform, opentofu} {
			_, err := c.Versions(t.Context(), tool, alpha(privateHost))
			if !problem.Coded(err, problem.CodeBadAnswer) || !strings.Contains(err.Error(), "invalid version string") {
				t.Errorf("Versions with %q for %s: %v, want that the string is invalid", text, tool, err)
			}
		}
		offer, err := c.Versions(t.Context(), newer, alpha(privateHost))
		got := offer.Releases
		if err != nil || len(got) != 1 {
			t.Errorf("Versions with %q for %s = %v, %v; want the other version", text, newer, got, err)
		}
	}
}

func TestVersionsFailures(t *testing.T) {
	t.Parallel()
	const token = "credentials \"registry.example.com\" {\n  token = \"t0ken\"\n}\n"
	tests := []struct {
		name   string
		status int
		config string
		body   string
		code   problem.Code
		want   string
		hint   string
	}{
		{
			name: "not_found", status: 404, code: problem.CodeUnknownProvider,
			want: "provider registry registry.example.com does not have a provider named registry.example.com/hashicorp/alpha",
			hint: "required_providers",
		},
		{
			name: "unauthorized", status: 401, code: problem.CodeUnauthorized,
			want: "host registry.example.com requires authentication credentials",
			hint: "TF_TOKEN_registry_example_com",
		},
		{
			name: "forbidden", status: 403, config: token, code: problem.CodeUnauthorized,
			want: "host registry.example.com rejected the given authentication credentials",
			hint: `credentials "registry.example.com" block`,
		},
		{
			name: "server_error", status: 503, code: problem.CodeUnreachable,
			want: "could not query provider registry for registry.example.com/hashicorp/alpha: 503 Service Unavailable",
			hint: "later",
		},
		{name: "other_status", status: 410, code: problem.CodeBadAnswer, want: "410 Gone"},
		{name: "not_json", body: "<html>", code: problem.CodeBadAnswer, want: "is not valid"},
		{name: "wrong_form", body: `{"versions": {}}`, code: problem.CodeBadAnswer, want: "is not valid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.versions = tt.body
			if tt.status != 0 {
				f.status["/versions"] = tt.status
			}
			_, err := f.client(t, Options{}, tt.config).Versions(t.Context(), terraform, alpha(privateHost))
			e := wantError(t, err, tt.code, tt.want)
			if !strings.Contains(e.Problem.Hint, tt.hint) || e.Problem.Host != privateHost || e.Problem.Subject.Addr != alpha(privateHost) {
				t.Errorf("error = %+v, want it about the provider, with a hint of %q", e, tt.hint)
			}
		})
	}
}

func wantError(t *testing.T, err error, code problem.Code, text string) *problem.Error {
	t.Helper()
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		t.Fatalf("error = %v (%T), want a *problem.Error", err, err)
	}
	if e.Problem.Code != code || !strings.Contains(e.Error(), text) {
		t.Fatalf("error = %q, code %q; want %q, code %q", e, e.Problem.Code, text, code)
	}
	return e
}

func TestNoVersionsIsAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = `{"versions": null}`
	offer, err := f.client(t, Options{}, "").Versions(t.Context(), opentofu, alpha(opentofuHost))
	got := offer.Releases
	if err != nil || len(got) != 0 {
		t.Errorf("Versions = %v, %v; want none", got, err)
	}
}

func TestRegistryThatIsDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "")
	f.server.Close()
	_, err := c.Versions(t.Context(), terraform, alpha(terraformHost))
	wantError(t, err, problem.CodeUnreachable, "could not query provider registry for registry.terraform.io/hashicorp/alpha: requesting http://127.0.0.1")
}

func TestHostWithoutProviders(t *testing.T) {
	t.Parallel()
	c := clientOf(t, Options{}, "host \"registry.example.com\" {\n  services = {\n  }\n}\n")
	_, err := c.Versions(t.Context(), terraform, alpha(privateHost))
	e := wantError(t, err, problem.CodeNoService, "host registry.example.com does not offer a Terraform provider registry")
	if e.Problem.Subject.Addr != alpha(privateHost) {
		t.Errorf("error = %+v, want the provider's address in it", e)
	}
}

func TestServiceURLWithoutSlashLosesItsLastSegment(t *testing.T) {
	t.Parallel()
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("X-Terraform-Version")
	}))
	t.Cleanup(s.Close)
	c := clientOf(t, Options{}, "host \"registry.example.com\" {\n  services = {\n    \"providers.v1\" = \""+s.URL+"/v1/providers\"\n  }\n}\n")
	c.Versions(t.Context(), terraform, alpha(privateHost))
	if want := "/v1/hashicorp/alpha/versions 1.11.4"; asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
