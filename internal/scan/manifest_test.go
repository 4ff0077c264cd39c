package scan

import (
	"testing"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// The tools note an address in another form than it is written in.
func TestManifestRecordServes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		noted, text string
		serves      bool
	}{
		{"git::https://bitbucket.org/o/r.git//m?ref=v1", "bitbucket.org/o/r//m?ref=v1", true},
		{"git::https://github.com/o/r.git//m", "github.com/o/r//m", true},
		{"git::ssh://git@example.com/o/r.git", "git@example.com:o/r.git", true},
		{"registry.terraform.io/acme/net/aws", "acme/net/aws", true},
		{"registry.terraform.io/acme/net/aws//m", "acme/net/aws", false},
		{"git::https://bitbucket.org/o/r.git//m?ref=v2", "bitbucket.org/o/r//m?ref=v1", false},
		{"no address", "acme/net/aws", false},
	} {
		addr, _ := moduleaddr.Parse(tt.text, provider.Terraform)
		got := Record{Source: tt.noted}.serves(tfconfig.ModuleSource{Text: tt.text, Addr: addr}, provider.Terraform)
		if got != tt.serves {
			t.Errorf("a record of %q serves %q: %v, want %v", tt.noted, tt.text, got, tt.serves)
		}
	}
}
