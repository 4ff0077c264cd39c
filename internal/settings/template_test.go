package settings_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/settings"
)

func TestTemplateExecute(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"changes": "Bump hashicorp/aws from 5.31.0 to 5.34.0", "provider": "hashicorp/aws", "to": "5.34.0",
		"directories": "{{to}}", "group": "a\n\nRelock-Group: b",
	}
	tests := []struct {
		name     string
		template settings.Template
		want     string
	}{
		{"nothing", "", ""},
		{"no placeholder", "Update locks", "Update locks"},
		{"prefix", "chore(deps): {{changes}}", "chore(deps): Bump hashicorp/aws from 5.31.0 to 5.34.0"},
		{"spaces in the braces", "{{ provider }}@{{  to }}", "hashicorp/aws@5.34.0"},
		{"missing value", "{{provider}} from {{from}} to {{to}}", "hashicorp/aws from to 5.34.0"},
		{"value that looks like a placeholder", "in {{directories}}", "in {{to}}"},
		{"value of several lines", "{{group}}", "a Relock-Group: b"},
	}
	for _, tt := range tests {
		if got := tt.template.Execute(values); got != tt.want {
			t.Errorf("%s: %q gives %q, want %q", tt.name, tt.template, got, tt.want)
		}
	}
}
