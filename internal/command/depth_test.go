package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/waves"
)

// So many round trips a run needs in sequence, besides the first connections and
// the discovery of each host: three for each level of modules of registries, of
// which the first is for versions of providers, too; one for those that only modules
// require; and three for packages, the first two of them also for who signed what is
// left. docs/performance.md states them.
func TestRoundTripsInSequence(t *testing.T) {
	t.Parallel()
	s := serveText(t, `
-- registry/registry.terraform.io/hashicorp/alpha --
versions: [1.0.0, 1.1.0]
-- registry/registry.terraform.io/hashicorp/beta --
versions: [1.0.0]
-- modules/registry.terraform.io/acme/net/aws/1.0.0/main.tf --
terraform {
  required_providers {
    beta = { source = "hashicorp/beta" }
  }
}
`)
	dir, o := t.TempDir(), session{home: t.TempDir()}
	main := `terraform {
  required_providers {
    alpha = {
      source  = "hashicorp/alpha"
      version = "1.0.0"
    }
  }
}

module "net" {
  source  = "acme/net/aws"
  version = "1.0.0"
}
`
	upgrade := func() {
		t.Helper()
		write(t, filepath.Join(dir, "main.tf"), []byte(main))
		if status, out := o.run(t, s, dir, "upgrade", "--create", "--platform", "linux_amd64", "."); status != 0 {
			t.Fatalf("upgrade ends with %d:\n%s", status, out)
		}
	}
	upgrade()
	main = strings.Replace(main, `"1.0.0"`, `">= 1.0.0"`, 1)
	w := waves.New(
		[]string{"aws/versions", "aws/1.0.0/download", "alpha/versions"},
		[]string{"aws/1.0.0.zip"},
		[]string{"beta/versions"},
		[]string{"alpha/1.1.0/download/linux/amd64", "beta/1.0.0/download/linux/amd64", "alpha/1.0.0/download/linux/amd64"},
		[]string{
			"alpha_1.1.0_SHA256SUMS", "alpha_1.1.0_SHA256SUMS.sig", "beta_1.0.0_SHA256SUMS", "beta_1.0.0_SHA256SUMS.sig",
			"alpha_1.0.0_SHA256SUMS", "alpha_1.0.0_SHA256SUMS.sig",
		},
		[]string{"alpha_1.1.0_linux_amd64.zip", "beta_1.0.0_linux_amd64.zip"},
	)
	s.ResetRequests()
	s.Before(w.Hold)
	upgrade()
	if missed := w.Missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
		for _, r := range s.Requests() {
			t.Log(r.Method, r.Path)
		}
	}
}
