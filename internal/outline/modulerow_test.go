package outline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// TestModuleRows has root modules with the same changes of modules, and with others.
func TestModuleRows(t *testing.T) {
	t.Parallel()
	const commit, other = "git:51d462976d84fdea54b47d80dcabbf680badcdb8", "git:25322b6b6be69db6cca7f167d7b0e5327156a595"
	const old, renamed = "git::https://example.com/old.git?token=secret", "git::https://example.com/new.git//x"
	updated := modulelock.Change{Address: "mods.example/a/b/c", Kind: modulelock.Updated, From: "1.0.0", To: "1.1.0", HashFrom: commit, Hash: other}
	modules := []report.Module{
		{Dir: "one", LockedModules: changesOf(updated, modulelock.Change{Address: "https://example.com/a.zip?token=secret", Kind: modulelock.Added, Hash: "h1:47DEQpj8HBSa"})},
		{Dir: "two", LockedModules: changesOf(
			modulelock.Change{Address: "mods.example/a/b/d", Kind: modulelock.Moved, From: "1.0.0", To: "1.0.0", Package: renamed, HashFrom: "h1:47DEQpj8HBSa", Hash: commit},
			updated,
			modulelock.Change{Address: "mods.example/a/b/e", Kind: modulelock.Repackaged, From: "1.0.0", To: "1.0.0", PackageFrom: old, Package: renamed, HashFrom: commit, Hash: commit},
			modulelock.Change{Address: "oci://example.com/i", Kind: modulelock.Removed, HashFrom: "oci:sha256:0123456789"},
			modulelock.Change{Address: "mods.example/a/b/f", Kind: modulelock.Updated, From: "1.0.0", To: "2.0.0", PackageFrom: old, HashFrom: commit, Hash: "h1:47DEQpj8HBSa"},
		)},
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

func changesOf(all ...modulelock.Change) []upgrade.ModuleChange {
	return collect.Mapped(all, func(c modulelock.Change) upgrade.ModuleChange { return upgrade.ModuleChange{Change: c} })
}

// TestModuleRowsHaveCalls has a change of two root modules, and one that GitHub can show.
func TestModuleRowsHaveCalls(t *testing.T) {
	t.Parallel()
	at := func(module, file string, line int) upgrade.ModuleCall {
		return upgrade.ModuleCall{Module: module, Place: problem.Place{Path: file, Line: line}}
	}
	shared := modulelock.Change{Address: "git::https://github.com/acme/net.git", Kind: modulelock.Updated, From: "v1", To: "v2", HashFrom: "git:" + strings.Repeat("a", 40), Hash: "git:" + strings.Repeat("b", 40)}
	taken := shared
	taken.Address, taken.PackageFrom, taken.Package = "mods.example/a/b/c", "git::https://github.com/acme/one", "git::https://github.com/acme/two"
	rows := ModuleRows(report.Report{Verb: verbs.Upgrade},
		report.Module{Dir: "one", LockedModules: []upgrade.ModuleChange{{Change: shared, Calls: []upgrade.ModuleCall{at("net", "one/main.tf", 2), at("more", "one/main.tf", 9)}}}},
		report.Module{Dir: "two", LockedModules: []upgrade.ModuleChange{{Change: shared, Calls: []upgrade.ModuleCall{at("net", "two/main.tf", 4)}}, {Change: taken, Calls: []upgrade.ModuleCall{at("c", "two/c.tf", 1)}}}},
	)
	var got [][]string
	for _, row := range rows {
		got = append(got, []string{row.Name.Plain(), row.Calls.Plain(), row.Compare})
	}
	want := [][]string{
		{"git::https://github.com/acme/net.git", "3 calls, first at one/main.tf:2", "https://github.com/acme/net/compare/" + strings.Repeat("a", 40) + "..." + strings.Repeat("b", 40)},
		{"mods.example/a/b/c", "two/c.tf:1", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ModuleRows (-want +got):\n%s", diff)
	}
}

// TestModulesAloneAreNoFormatting has a root module of which only the lock file of modules
// changes.
func TestModulesAloneAreNoFormatting(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Check, Mending: report.Mending{Verb: verbs.Upgrade}, Modules: []report.Module{{
		Dir: "live", LockPath: "live/.terraform.lock.hcl", Pending: true,
		LockedModules: changesOf(modulelock.Change{Address: "mods.example/a/b/c", Kind: modulelock.Removed, From: "1.0.0", HashFrom: "h1:47DEQpj8HBSa"}),
	}}}
	o, stale := Of(r), StaleLocks(r)
	if got, want := o.Headline.Plain(), "1 locked module would change in the lock file of 1 root module."; got != want {
		t.Errorf("the headline is %q, want %q", got, want)
	}
	if got, want := o.Closing.Plain(), "1 lock file up to date, 1 lock file of modules would change"; got != want {
		t.Errorf("the closing line is %q, want %q", got, want)
	}
	if len(stale) != 1 || stale[0].Code != problem.CodeModulesDiffer || stale[0].Place.Path != "live/.modules.lock.hcl" ||
		stale[0].Details[0].Plain() != "live/.modules.lock.hcl: module mods.example/a/b/c 1.0.0 (h1:47DEQpj) (removed)" {
		t.Errorf("the annotation is about %+v", stale)
	}
	r.Modules[0].Changes = []report.Change{{Change: diff.Change{Kind: diff.Upgraded}}}
	if got, want := Of(r).Headline.Plain(), "1 provider would be upgraded in the lock file of 1 root module, and 1 locked module would change."; got != want {
		t.Errorf("the headline is %q, want %q", got, want)
	}
}
