package command

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// A run asks a host once which services it has, for modules and for providers.
func TestHostIsDiscoveredOnce(t *testing.T) {
	t.Parallel()
	trusted.Needed(t)
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
versions: [1.0.0]
-- modules/registry.terraform.io/acme/net/aws/1.0.0/main.tf --
`)
	s.Mount("/.well-known/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"modules.v1": "%s/modules/", "providers.v1": "%[1]s/providers/"}`, s.SecureURL()+"/registry.terraform.io/v1")
	}))
	dir, host := t.TempDir(), strings.TrimPrefix(s.SecureURL(), "https://")
	write(t, filepath.Join(dir, "main.tf"), fmt.Appendf(nil, `terraform {
  required_providers {
    alpha = {
      source = "%s/hashicorp/alpha"
    }
  }
}

module "net" {
  source = "%[1]s/acme/net/aws"
}
`, host))
	o := session{home: t.TempDir(), cli: fmt.Sprintf("credentials %q {\n  token = \"secret\"\n}\n", host)}
	if status, out := o.run(t, s, dir, "upgrade", "--create", "--platform", "linux_amd64", "."); status != 0 {
		t.Fatalf("upgrade ends with %d:\n%s", status, out)
	}
	asked := map[string]int{}
	for _, r := range s.Requests() {
		asked[r.Path]++
	}
	for _, path := range []string{"/.well-known/terraform.json", "/registry.terraform.io/v1/modules/acme/net/aws/versions", "/registry.terraform.io/v1/providers/hashicorp/alpha/versions"} {
		if asked[path] != 1 {
			t.Errorf("%s was asked for %d times, want 1", path, asked[path])
		}
	}
}
