package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

func TestSearchTellsWhatItPassesOver(t *testing.T) {
	t.Parallel()
	files := map[string]string{".git/x/.terraform.lock.hcl": "", ".terragrunt-stack/u/.terraform.lock.hcl": ""}
	for _, dir := range []string{".infra/prod", "a/node_modules/b", "a/.terraform/c", "live", "left/out", "caf\xe9/x"} {
		files[dir+"/.terraform.lock.hcl"] = ""
	}
	var got []Passed
	_, _, err := Find(t.Context(), fileTree(files, nil), Options{Exclude: []string{"left"}, Passed: func(p Passed) { got = append(got, p) }})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(p, q Passed) int { return strings.Compare(p.Dir, q.Dir) })
	want := []Passed{
		{".infra", HiddenDir}, {"a/.terraform", HiddenDir}, {"a/node_modules", HiddenDir}, {"caf\xe9", NotUTF8}, {"left/out", NotSelected},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("passed over (-want +got):\n%s", diff)
	}
}
