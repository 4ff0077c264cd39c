package provider

import "testing"

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          ToolName
		version, want string
	}{
		{Terraform, "1.2.9", "0.0.0"},
		{Terraform, "1.4.7", "1.3.0"},
		{Terraform, "1.5.0", "1.5.0"},
		{Terraform, "1.8.5", "1.6.0"},
		{Terraform, "1.9.0", "1.9.0"}, // where a rule ends
		{Terraform, "1.11.4", "1.10.0"},
		{Terraform, "1.12.0-rc1", "1.10.0"},
		{OpenTofu, "1.6.3", "1.6.0"},
		{OpenTofu, "1.12.6", "1.12.0"},
	}
	for _, tt := range tests {
		release := Tool{Name: tt.name, Version: version(t, tt.version)}
		if got := release.Rules(); got.Name != tt.name || got.Version.String() != tt.want {
			t.Errorf("%v.Rules() = %v, want %s", release, got, tt.want)
		}
		for f := range features {
			if release.Has(f) != release.Rules().Has(f) {
				t.Errorf("%v and its Rules differ in feature %d", release, f)
			}
		}
	}
}
