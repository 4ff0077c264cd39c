package globs

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, dir string
		want         bool
	}{
		{".", ".", true},
		{"./envs/", "envs", true},
		{"envs", "envs/prod", false},
		{"envs/*", "envs/prod", true},
		{"envs/*", "envs/prod/eu", false},
		{"envs/*", "envs", false},
		{"envs/**", "envs", true},
		{"envs/**", "envs/prod/eu", true},
		{"**", ".", true},
		{"**", "a/b/c", true},
		{"**/prod", "prod", true},
		{"**/prod", "a/b/prod", true},
		{"**/prod", "a/prod/b", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/**/b", "a/b", true},
		{"team-[ab]/*", "team-b/x", true},
		{"team-[ab]/*", "team-c/x", false},
		{strings.Repeat("**/a/", 50) + "b", strings.Repeat("a/", 200) + "c", false},
	}
	for _, tt := range tests {
		if got := Matches(tt.pattern, tt.dir); got != tt.want {
			t.Errorf("Matches(%q, %q) = %v, want %v", tt.pattern, tt.dir, got, tt.want)
		}
	}
}
