package provider_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

func TestParseRepository(t *testing.T) {
	t.Parallel()
	aws := provider.Repository{Host: "github.com", Owner: "hashicorp", Name: "terraform-provider-aws"}
	for address, want := range map[string]provider.Repository{
		"https://github.com/hashicorp/terraform-provider-aws":           aws,
		"https://GitHub.com/hashicorp/terraform-provider-aws.git":       aws,
		"https://github.com/hashicorp/terraform-provider-aws/tree/main": aws,
		"http://github.com/hashicorp/terraform-provider-aws":            {},
		"https://me:pw@github.com/hashicorp/terraform-provider-aws":     {},
		"https://github.com/hashicorp":                                  {},
		"https://github.com/a b/c":                                      {},
		"https://github.com/a/..":                                       {},
		"https://github.com/a/b%22){x":                                  {},
		"https://localhost/a/b":                                         {},
		"git@github.com:hashicorp/terraform-provider-aws.git":           {},
		"": {},
	} {
		if got, ok := provider.ParseRepository(address); got != want || ok != want.Known() {
			t.Errorf("ParseRepository(%q) = %+v, %v, want %+v", address, got, ok, want)
		}
	}
}

func TestParseDownload(t *testing.T) {
	t.Parallel()
	tagged := provider.Repository{Host: "github.com", Owner: "acme", Name: "terraform-provider-tool", Tag: "v1.2.0+x"}
	for address, want := range map[string]provider.Repository{
		"https://github.com/acme/terraform-provider-tool/releases/download/v1.2.0%2Bx/tool.zip": tagged,
		"https://github.com/acme/terraform-provider-tool/releases/download/v1.2.0":              {},
		"https://github.com/acme/terraform-provider-tool/archive/v1.2.0.zip":                    {},
		"https://releases.hashicorp.com/terraform-provider-aws/5.0.0/x.zip":                     {},
	} {
		if got, ok := provider.ParseDownload(address); got != want || ok != want.Known() {
			t.Errorf("ParseDownload(%q) = %+v, %v, want %+v", address, got, ok, want)
		}
	}
}
