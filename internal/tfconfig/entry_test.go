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
		{"the host is known", OpenEntry{Begins: "app.terraform.io/"}, false, true},
		{"the type is known", OpenEntry{Ends: "/random"}, false, true},
		{"the namespace is open", OpenEntry{Begins: "app.terraform.io/", Ends: "/random"}, false, true},
		{"another namespace", OpenEntry{Begins: "app.terraform.io/b", Ends: "/random"}, false, false},
		{"both ends overlap", OpenEntry{Begins: "app.terraform.io/acme/", Ends: "/acme/random"}, false, false},
		{"written without host", OpenEntry{Begins: "hashicorp/"}, true, false},
		{"written as a type alone", OpenEntry{Begins: "aw"}, true, false},
		{"a slash before the type", OpenEntry{Ends: "/aws"}, true, false},
	}
	for _, tt := range tests {
		tt.entry.Tool = provider.Terraform
		if got := tt.entry.May(aws); got != tt.aws {
			t.Errorf("%s: May(%s) = %v", tt.name, aws, got)
		}
		if got := tt.entry.May(own); got != tt.own {
			t.Errorf("%s: May(%s) = %v", tt.name, own, got)
		}
	}
}
