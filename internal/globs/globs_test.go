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

func TestIsGlob(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"envs": true, "envs/**": true, "**": true, ".": true, "team-[ab]/*": true, ".infra/*": true,
		"": false, "/prod": false, "prod/": false, "a//b": false, "../x": false, "a/../b": false, "[": false, "a/[b": false, `a\b`: false,
	} {
		if err := IsGlob(text); (err == nil) != want {
			t.Errorf("IsGlob(%q) = %v, want a glob: %t", text, err, want)
		}
	}
}

// In a path each element is matched by itself; a name is matched whole.
func TestNamesAreMatchedInCapitalsOrNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		is, want      bool
	}{
		{"infra-*", "Infra-Live", true, true},
		{"INFRA-?", "infra-1", true, true},
		{"infra", "infra-live", true, false},
		{"[a/b]x", "ax", true, true},
		{"[", "[", false, false},
	} {
		if is, got := IsName(tt.pattern), MatchesName(tt.pattern, tt.name); is != tt.is || got != tt.want {
			t.Errorf("IsName(%q) = %t, want %t; MatchesName of %s = %t, want %t", tt.pattern, is, tt.is, tt.name, got, tt.want)
		}
	}
}
