package registry

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestSignerIsLearnedWithoutThePackage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "")
	got, err := c.Listing(t.Context(), terraform, want(privateHost, linux))
	if err != nil {
		t.Fatal(err)
	}
	if want := (signerOf(validKey, "self-signed")); got.Signer != want {
		t.Errorf("signer = %+v, want %+v", got.Signer, want)
	}
	if c.Packages() != 0 {
		t.Errorf("%d packages were downloaded", c.Packages())
	}
}

func TestSignerOfAListThatNobodySignedIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.signature = sign(secondKey, f.list)
	if got, err := f.client(t, Options{}, "").Listing(t.Context(), terraform, want(privateHost, linux)); !problem.Coded(err, problem.CodeBadSignature) {
		t.Errorf("Listing = %+v, %v, want %s", got, err, problem.CodeBadSignature)
	}
}

func TestSignerIsNotAskedOfTheRegistryBehindAMirror(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "provider_installation {\n  filesystem_mirror {\n    path = \"/nowhere\"\n  }\n}\n")
	asked := want(privateHost, linux)
	asked.Origin = true
	got, err := c.Listing(t.Context(), terraform, asked)
	if err != nil || got.Signer != (provider.Signer{}) || len(f.requests()) > 0 {
		t.Errorf("Listing = %+v, %v after %q, want nothing asked", got, err, f.requests())
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	github := provider.Repository{Host: "github.com", Owner: "acme", Name: "terraform-provider-alpha"}
	tagged, dated, both := github, provider.Repository{Published: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)}, github
	tagged.Tag = "v1.1.0"
	both.Tag, both.Published = "v1.1.0", dated.Published
	const download = "https://github.com/acme/terraform-provider-alpha/releases/download/v1.1.0/alpha.zip"
	for _, tt := range []struct {
		name, detail, download string
		want                   provider.Repository
	}{
		{"what the registry says", `{"source": "https://github.com/acme/terraform-provider-alpha", "tag": "v1.1.0", "published_at": "2024-05-01T12:00:00Z"}`, "", both},
		{"the package's address, where the registry is silent", "", download, tagged},
		{"the package's address beside the registry's date", `{"published_at": "2024-05-01T12:00:00Z"}`, download, both},
		{"a date that is none", `{"source": "https://github.com/acme/terraform-provider-alpha", "published_at": 7}`, "", github},
		{"a source that is no address of a repository", `{"source": "javascript:alert(1)"}`, "", provider.Repository{}},
		{"an answer of another kind", `<html>`, "", provider.Repository{}},
		{"neither", "", "", provider.Repository{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if tt.detail == "" || !strings.HasSuffix(r.URL.Path, "/alpha/1.1.0") {
					return false
				}
				io.WriteString(w, tt.detail)
				return true
			}
			f.edit = func(_ provider.Platform, answer map[string]any) {
				if tt.download != "" {
					answer["download_url"] = tt.download
				}
			}
			c := f.client(t, Options{}, "")
			for range 2 { // the second answer is remembered
				got, err := c.Repository(t.Context(), terraform, want(privateHost, linux))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("Repository (-want +got):\n%s", diff)
				}
			}
			if n := strings.Count(strings.Join(f.requests(), "\n")+"\n", "/alpha/1.1.0\n"); n != 1 {
				t.Errorf("the registry was asked %d times, want once", n)
			}
		})
	}
}
