package scan

import "testing"

func TestHiddenDirectoriesAreSpelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, dir string
		want      bool
	}{
		{"**", ".infra", false},
		{".infra", ".infra", true},
		{".infra/**", ".infra", true},
		{".infra/*/x", ".infra", true},
		{".i*/**", ".infra", false},
		{"?infra", ".infra", false},
		{"*", "node_modules", false},
		{"**/node_modules/**", "a/b/node_modules", true},
		{"**/.infra/**", "a/.infra", true},
		{"*/.infra/**", "a/.infra", true},
		{"b/.infra", "a/.infra", false},
		{".infra/**", ".infra/.old", false},
		{".infra/**/.old", ".infra/x/.old", true},
		{"**/.old", ".infra/.old", false},
		{"live/**", ".infra", false},
		{"[", ".infra", false},
	} {
		if got := (Options{Include: []string{tt.glob}}).spells(tt.dir); got != tt.want {
			t.Errorf("include %s spells %s = %t, want %t", tt.glob, tt.dir, got, tt.want)
		}
	}
}
