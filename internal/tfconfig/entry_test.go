package tfconfig

import (
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

func TestOpenEntryMay(t *testing.T) {
	t.Parallel()
	aws, _ := provider.ParseAddr("aws", provider.Terraform)
	own, _ := provider.ParseAddr("app.terraform.io/acme/random", provider.Terraform)
	tests := []struct {
		name     string
		entry    OpenEntry
		aws, own bool
	}{
		{"nothing is known", OpenEntry{}, true, true},
		{"the provider is known", OpenEntry{Addr: own}, false, true},
		{"the host is known", OpenEntry{begins: "app.terraform.io/"}, false, true},
		{"the type is known", OpenEntry{ends: "/random"}, false, true},
		{"the namespace is open", OpenEntry{begins: "app.terraform.io/", ends: "/random"}, false, true},
		{"another namespace", OpenEntry{begins: "app.terraform.io/b", ends: "/random"}, false, false},
		{"both ends overlap", OpenEntry{begins: "app.terraform.io/acme/", ends: "/acme/random"}, false, false},
		{"written without host", OpenEntry{begins: "hashicorp/"}, true, false},
		{"written as a type alone", OpenEntry{begins: "aw"}, true, false},
		{"a slash before the type", OpenEntry{ends: "/aws"}, true, false},
	}
	for _, tt := range tests {
		tt.entry.tool = provider.Terraform
		if got := tt.entry.May(aws); got != tt.aws {
			t.Errorf("%s: May(%s) = %v", tt.name, aws, got)
		}
		if got := tt.entry.May(own); got != tt.own {
			t.Errorf("%s: May(%s) = %v", tt.name, own, got)
		}
	}
}
