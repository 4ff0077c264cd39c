package outline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// TestModuleRows has root modules with the same changes of modules, and with others.
func TestModuleRows(t *testing.T) {
	t.Parallel()
	const commit, other = "git:51d462976d84fdea54b47d80dcabbf680badcdb8", "git:25322b6b6be69db6cca7f167d7b0e5327156a595"
	const old, renamed = "git::https://example.com/old.git?token=secret", "git::https://example.com/new.git//x"
	updated := modulelock.Change{Address: "mods.example/a/b/c", Kind: modulelock.Updated, From: "1.0.0", To: "1.1.0", HashFrom: commit, Hash: other}
	modules := []report.Module{
		{Dir: "one", LockedModules: []modulelock.Change{updated, {Address: "https://example.com/a.zip?token=secret", Kind: modulelock.Added, Hash: "h1:47DEQpj8HBSa"}}},
		{Dir: "two", LockedModules: []modulelock.Change{
			{Address: "mods.example/a/b/d", Kind: modulelock.Moved, From: "1.0.0", To: "1.0.0", Package: renamed, HashFrom: "h1:47DEQpj8HBSa", Hash: commit},
			updated,
			{Address: "mods.example/a/b/e", Kind: modulelock.Repackaged, From: "1.0.0", To: "1.0.0", PackageFrom: old, Package: renamed, HashFrom: commit, Hash: commit},
			{Address: "oci://example.com/i", Kind: modulelock.Removed, HashFrom: "oci:sha256:0123456789"},
			{Address: "mods.example/a/b/f", Kind: modulelock.Updated, From: "1.0.0", To: "2.0.0", PackageFrom: old, HashFrom: commit, Hash: "h1:47DEQpj8HBSa"},
		}},
	}
	var got [][]string
	for _, row := range ModuleRows(report.Report{Verb: verbs.Upgrade}, modules...) {
		got = append(got, append([]string{row.Name.Plain(), row.Move.Plain(), row.Kind.Plain(), row.Detail.Plain()}, row.Dirs...))
	}
	want := [][]string{
		{"mods.example/a/b/d", "1.0.0 (h1:47DEQpj) -> 1.0.0 (51d4629)", "other content", "now the repository git::https://example.com/new.git//x", "two"},
		{"mods.example/a/b/e", "1.0.0 (51d4629)", "other repository", "the repository git::https://example.com/new.git//x instead of git::https://example.com/old.git", "two"},
		{"mods.example/a/b/c", "1.0.0 (51d4629) -> 1.1.0 (25322b6)", "updated", "", "one", "two"},
		{"mods.example/a/b/f", "1.0.0 (51d4629) -> 2.0.0 (h1:47DEQpj)", "updated", "no longer the repository git::https://example.com/old.git", "two"},
		{"oci://example.com/i", "oci:0123456", "removed", "", "two"},
		{"https://example.com/a.zip", "h1:47DEQpj", "added", "", "one"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ModuleRows (-want +got):\n%s", diff)
	}
}
