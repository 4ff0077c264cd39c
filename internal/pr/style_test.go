package pr

import (
	"testing"
)

func TestConventional(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		subjects []string
		want     string
	}{
		{"no commits", nil, ""},
		{"plain subjects", []string{"Add a module", "Fix it", "feat: one"}, ""},
		{"as many as not", []string{"Add a module", "feat: one"}, ""},
		{"conventional subjects", []string{"feat(vpc): add", "fix!: mend", "Release"}, "chore(deps): "},
		{"as commits about dependencies are", []string{"feat: a", "build(deps): bump x", "build(deps): bump y", "chore(deps): z"}, "build(deps): "},
		{"something like it", []string{"Note: this", "wip: that", "feat a: b"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := conventional(tt.subjects); got != tt.want {
				t.Errorf("conventional(%q) = %q, want %q", tt.subjects, got, tt.want)
			}
		})
	}
}
