package registry

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestUnknownProviderIsAdvisedOnByTheRegistry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		host      svchost.Hostname
		namespace string
		answer    string // of /-/datadog/versions; empty: 404
		want      string // words of the hint; empty: the usual one
	}{
		{"the name's provider", terraformHost, "hashicorp", `{"id": "DataDog/datadog"}`, "did you mean datadog/datadog?"},
		{"its new home first", terraformHost, "hashicorp", `{"id": "old/datadog", "moved_to": "new/datadog"}`, "did you mean new/datadog?"},
		{"no advice", terraformHost, "hashicorp", "", ""},
		{"advice that is no address", terraformHost, "hashicorp", `{"id": "a/b/c/d; rm"}`, ""},
		{"advice of the same address", terraformHost, "hashicorp", `{"id": "hashicorp/datadog"}`, ""},
		{"advice that is not JSON", terraformHost, "hashicorp", `<html>`, ""},
		{"a namespace that was written", terraformHost, "acme", `{"id": "DataDog/datadog"}`, "check the source in required_providers; for a private provider, check the credentials for registry.terraform.io"},
		{"another namespace", terraformHost, "datadog", "", "check the source in required_providers; for a private provider"},
		{"a private registry", privateHost, "hashicorp", `{"id": "DataDog/datadog"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if tt.answer == "" || !strings.HasSuffix(r.URL.Path, "/-/datadog/versions") {
					return false
				}
				io.WriteString(w, tt.answer)
				return true
			}
			_, err := f.client(t, Options{}, "").Versions(t.Context(), terraform, provider.Addr{Host: tt.host, Namespace: tt.namespace, Type: "datadog"})
			var e *problem.Error
			if !errors.As(err, &e) || e.Problem.Code != problem.CodeUnknownProvider {
				t.Fatalf("Versions = %v, want an unknown provider", err)
			}
			want := tt.want
			if want == "" {
				want = "check the source in required_providers; a provider without one is taken to be in the namespace hashicorp"
			}
			if !strings.HasPrefix(e.Problem.Hint, want) {
				t.Errorf("hint = %q, want %q", e.Problem.Hint, want)
			}
		})
	}
}
