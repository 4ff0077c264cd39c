package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// about selects providers by type.
func about(types ...string) func(provider.Addr) bool {
	return func(a provider.Addr) bool { return slices.Contains(types, a.Type) }
}

func TestOnly(t *testing.T) {
	t.Parallel()
	const a, b = "a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + "zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64", "b 1.0.0; h1:b-1.0.0-linux_amd64 zh:b-1.0.0-linux_amd64"
	releases := map[string]map[string][]string{"a": simple["a"], "b": {"1.0.0": {"linux_amd64"}}}
	requires := []string{"a ~> 1.0", "b", "fails"}
	locks := []string{"a 1.0.0 ~> 1.0; h1:old", "fails 1.0.0; h1:fails", "gone 1.0.0; h1:gone"}
	tests := []struct {
		take []string
		want []string // nil: nothing is written
		told []string // selections, and diagnostics
	}{
		{[]string{"a"}, []string{a, "fails 1.0.0; h1:fails", "gone 1.0.0; h1:gone"}, []string{"a"}},
		{[]string{"b"}, []string{"a 1.0.0 ~> 1.0; h1:old", b, "fails 1.0.0; h1:fails", "gone 1.0.0; h1:gone"}, []string{"b"}},
		{[]string{"gone"}, []string{"a 1.0.0 ~> 1.0; h1:old", "fails 1.0.0; h1:fails"}, []string{"gone"}},
		{[]string{"fails"}, nil, []string{"fails", "fails: unknown-provider"}},
		{nil, nil, nil},
		{[]string{"a", "b", "fails", "gone"}, []string{a, b, "fails 1.0.0; h1:fails"}, []string{"a", "b", "fails", "gone", "fails: unknown-provider"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.take, "+"), func(t *testing.T) {
			t.Parallel()
			whole := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{module(t, requires, locks)}, Options{Platforms: linux})[0]
			part := whole.Only(about(tt.take...))
			if diff := cmp.Diff(tt.want, summary(part)); diff != "" {
				t.Errorf("new lock file (-want +got):\n%s", diff)
			}
			if part.File != nil && string(part.File) != string((&lockfile.File{Tool: provider.Terraform, Locks: part.New}).Print()) {
				t.Errorf("the file is not that of the entries:\n%s", part.File)
			}
			var told []string
			for _, s := range part.Selections {
				told = append(told, s.Requirement.Addr.Type)
			}
			for _, d := range part.Diagnostics {
				told = append(told, d.Subject.Addr.Type+": "+string(d.Code))
			}
			if diff := cmp.Diff(tt.told, told); diff != "" {
				t.Errorf("it tells of (-want +got):\n%s", diff)
			}
		})
	}
}

// handwritten is a root module whose lock file has a comment in the entry of a. The file is
// up to date, if b has no newer release than 2.0.0.
func handwritten(t *testing.T) scan.RootModule {
	t.Helper()
	m := module(t, []string{"a ~> 1.0", "b"}, []string{
		"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "b 2.0.0; h1:b-2.0.0-linux_amd64 zh:b-2.0.0-linux_amd64",
	})
	odd := strings.Replace(string(m.Lock.Source), `version     = "1.1.0"`, `version     = "1.1.0" # by hand`, 1)
	file, diagnostics := lockfile.Parse([]byte(odd), "root/.terraform.lock.hcl")
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	m.Lock = file
	return m
}

func TestOnlyKeepsTheBytesOfOthers(t *testing.T) {
	t.Parallel()
	releases := map[string]map[string][]string{"a": simple["a"], "b": {"2.0.0": {"linux_amd64"}, "2.1.0": {"linux_amd64"}}}
	r := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{handwritten(t)}, Options{Platforms: linux})[0]
	if part := r.Only(about("b")); !strings.Contains(string(part.File), `"1.1.0" # by hand`) || !strings.Contains(string(part.File), `"2.1.0"`) {
		t.Errorf("the part about b is\n%s", part.File)
	}
	if part := r.Only(about("a")); part.File != nil {
		t.Errorf("nothing of a changes, and yet\n%s", part.File)
	}
}

func TestOnlyUnderExact(t *testing.T) {
	t.Parallel()
	releases := map[string]map[string][]string{"a": {"1.1.0": two}, "b": {"2.0.0": {"linux_amd64"}}}
	commented := string(handwritten(t).Lock.Source)
	headed := "# header\n" + strings.Replace(commented, " # by hand", "", 1)
	for _, tt := range []struct {
		name, source, take string
		writes             bool
	}{
		{"a comment belongs to its entry", commented, "a", true},
		{"and to no other", commented, "b", false},
		{"what is outside of entries belongs to the first", headed, "a", true},
		{"and not to the second", headed, "b", false},
	} {
		m := handwritten(t)
		file, diagnostics := lockfile.Parse([]byte(tt.source), "root/.terraform.lock.hcl")
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		m.Lock = file
		r := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{m}, Options{Platforms: linux, Exact: true})[0]
		if r.File == nil {
			t.Fatalf("%s: the whole plan writes nothing: %v", tt.name, r.Diagnostics)
		}
		if got := r.Only(about(tt.take)).File != nil; got != tt.writes {
			t.Errorf("%s: the part about %s writes = %t, want %t", tt.name, tt.take, got, tt.writes)
		}
	}
}

// The tools also read entries that nothing requires, and write them again.
func TestExactWritesWhatNothingRequiresInNormalForm(t *testing.T) {
	t.Parallel()
	releases := map[string]map[string][]string{"b": {"2.0.0": {"linux_amd64"}}}
	for _, exact := range []bool{true, false} {
		m := handwritten(t)
		m.Tree.Requirements = m.Tree.Requirements[1:] // b
		r := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{m}, Options{Platforms: linux, Mode: Complete, Exact: exact})[0]
		var want []byte // nothing is written
		if exact {
			want = (&lockfile.File{Tool: provider.Terraform, Locks: r.Old}).Print()
		}
		if diff := cmp.Diff(string(want), string(r.File)); diff != "" {
			t.Errorf("lock file under exact %t (-want +got):\n%s", exact, diff)
		}
	}
}

func TestOnlyMovesAProviderInOnePiece(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a"}, []string{"a 1.0.0; h1:old", "b 1.0.0; h1:b"})
	m.Tool = provider.Newest(provider.OpenTofu)
	m.Tree.Requirements[0].Addr.Host = provider.OpenTofu.DefaultHost()
	r := Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{m}, Options{Platforms: linux, Keep: patterns("hashicorp/b")})[0]
	part := func(host string) (kept []string) {
		for _, l := range r.Only(func(a provider.Addr) bool { return a.Host.ForDisplay() == host }).New {
			kept = append(kept, l.Addr.String())
		}
		return kept
	}
	want := []string{"registry.opentofu.org/hashicorp/a", "registry.terraform.io/hashicorp/b"}
	if diff := cmp.Diff(want, part("registry.opentofu.org")); diff != "" {
		t.Errorf("entries after the part about the new registry (-want +got):\n%s", diff)
	}
	want = []string{"registry.terraform.io/hashicorp/a", "registry.terraform.io/hashicorp/b"}
	if diff := cmp.Diff(want, part("registry.terraform.io")); diff != "" {
		t.Errorf("entries after the part about the old registry (-want +got):\n%s", diff)
	}
}
