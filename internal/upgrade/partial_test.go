package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// everything offers each provider of these tests in three releases.
func everything() *offer {
	releases := map[string]map[string][]string{}
	for _, typ := range []string{"a", "b", "c"} {
		releases[typ] = simple["a"]
	}
	return &offer{releases: releases}
}

// versions are the versions in a plan's new lock file, without hashes.
func versions(r Result) []string {
	var lines []string
	for _, line := range summary(r) {
		line, _, _ = strings.Cut(line, ";")
		lines = append(lines, line)
	}
	return lines
}

func codes(diagnostics []problem.Problem) []string {
	var found []string
	for _, d := range diagnostics {
		severity := map[problem.Severity]string{problem.SeverityWarning: "warning "}[d.Severity]
		found = append(found, severity+string(d.Code))
	}
	return found
}

func TestPlan_unread_modules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		requirements []string
		locks        []string
		opts         Options
		want         []string
		partial      bool
		problems     []string
	}{
		{
			name: "fail the root module", requirements: []string{"a ~> 1.0"}, locks: []string{"a 1.0.0 ~> 1.0; h1:a"},
			problems: []string{"unread-module"},
		},
		{
			name: "recorded constraints stand in for them", requirements: []string{"a >= 1.0"},
			locks:   []string{"a 1.0.0 >= 1.0.0, < 2.0.0; h1:a", "b 1.0.0 ~> 1.0; h1:b", "c 1.0.0; h1:c"},
			opts:    Options{Preserve: true},
			want:    []string{"a 1.1.0 >= 1.0.0, < 2.0.0", "b 1.1.0 ~> 1.0", "c 2.0.0"},
			partial: true, problems: []string{"warning unread-module"},
		},
		{
			name: "new constraints join the recorded ones", requirements: []string{"a ~> 1.0, != 1.1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a"}, opts: Options{Preserve: true},
			want:    []string{"a 1.0.0 ~> 1.0, != 1.1.0"},
			partial: true, problems: []string{"warning unread-module"},
		},
		{
			name: "new constraints that contradict the recorded ones fail", requirements: []string{"a ~> 2.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:a"}, opts: Options{Preserve: true},
			partial: true, problems: []string{"warning unread-module", "no-version"},
		},
		{
			name: "completion keeps the versions", requirements: []string{"a"},
			locks: []string{"a 1.0.0; h1:a", "b 1.0.0 ~> 1.0; h1:b"}, opts: Options{Preserve: true, Mode: Complete},
			want:    []string{"a 1.0.0", "b 1.0.0 ~> 1.0"},
			partial: true, problems: []string{"warning unread-module"},
		},
		{
			name: "without a lock file nothing is recorded", requirements: []string{"a"}, opts: Options{Preserve: true},
			problems: []string{"unread-module"},
		},
		{
			name: "exact bytes are not known", requirements: []string{"a"}, locks: []string{"a 1.0.0; h1:a"},
			opts: Options{Preserve: true, Exact: true}, problems: []string{"unread-module"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := module(t, tt.requirements, tt.locks)
			m.Tree.Unread = []scan.Unread{{Module: "x", Reason: "it is not there", Place: problem.Place{Path: "main.tf", Line: 9}}}
			tt.opts.Platforms = linux
			r := Plan(t.Context(), everything(), []scan.RootModule{m}, tt.opts)[0]
			if diff := cmp.Diff(tt.want, versions(r)); diff != "" {
				t.Errorf("the new lock file (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, codes(r.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if r.Partial != tt.partial {
				t.Errorf("Partial = %v, want %v", r.Partial, tt.partial)
			}
		})
	}
}

// A recorded term is explained at its lock entry, unless the configuration states it too:
// then at its place there.
func TestPlan_recorded_terms_have_places(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0, < 1.1.0; h1:a"})
	m.Tree.Unread = []scan.Unread{{Module: "x", Reason: "it is not there", Place: problem.Place{Path: "main.tf", Line: 9}}}
	r := Plan(t.Context(), everything(), []scan.RootModule{m}, Options{Platforms: linux, Preserve: true})[0]
	want := []scan.Term{
		{Constraint: constraints(t, "~> 1.0").Terms()[0], Place: problem.Place{Path: "main.tf", Line: 1}},
		{Constraint: constraints(t, "< 1.1.0").Terms()[0], Place: problem.Place{Path: "root/.terraform.lock.hcl", Line: 4}},
	}
	if diff := cmp.Diff(want, r.Selections[0].Requirement.Terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}

func TestPlan_kinds(t *testing.T) {
	t.Parallel()
	locks := []string{"a 1.0.0 ~> 1.0; h1:a", "b 1.0.0 ~> 1.0; h1:b"}
	tests := []struct {
		name       string
		kind       scan.Kind
		standalone bool
		opts       Options
		want       []string
		problems   []string
	}{
		{name: "an upgrade leaves an orphan", kind: scan.Orphan, standalone: true, problems: []string{"warning orphan-lock"}},
		{name: "and a Terragrunt unit", kind: scan.TerragruntUnit, standalone: true, problems: []string{"warning terragrunt-unit"}},
		{name: "and a stack", kind: scan.Stack, standalone: true, problems: []string{"warning stack"}},
		{name: "and what CDK for Terraform makes where it is run", kind: scan.CDK, standalone: true, problems: []string{"warning cdk"}},
		{name: "but not what CDK for Terraform made if that is there", kind: scan.CDK, want: []string{"a 1.1.0 ~> 1.0"}},
		{name: "completion completes them", kind: scan.Orphan, standalone: true, opts: Options{Mode: Complete}, want: []string{"a 1.0.0 ~> 1.0", "b 1.0.0 ~> 1.0"}},
		{name: "and CDK's", kind: scan.CDK, opts: Options{Mode: Complete}, want: []string{"a 1.0.0 ~> 1.0", "b 1.0.0 ~> 1.0"}},
		{name: "and a Terragrunt unit's", kind: scan.TerragruntUnit, standalone: true, opts: Options{Mode: Complete}, want: []string{"a 1.0.0 ~> 1.0", "b 1.0.0 ~> 1.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := module(t, []string{"a ~> 1.0"}, locks)
			m.Kind = tt.kind
			if tt.standalone {
				m.StandIn = scan.StandInAll
				m.Tree.Requirements = scan.Recorded(m.Lock)
			}
			tt.opts.Platforms = linux
			r := Plan(t.Context(), everything(), []scan.RootModule{m}, tt.opts)[0]
			if diff := cmp.Diff(tt.want, versions(r)); diff != "" {
				t.Errorf("the new lock file (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, codes(r.Diagnostics)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if tt.want == nil && len(r.New) != len(locks) {
				t.Errorf("New = %v, want the old entries", r.New)
			}
			if r.Left != (tt.want == nil) {
				t.Errorf("Left = %t", r.Left)
			}
		})
	}
}

// Test files count for init, and for providers lock in tool releases that read them.
func TestPlan_test_files(t *testing.T) {
	t.Parallel()
	old, young := version("1.13.0"), version("1.14.0")
	both := Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64")}}
	entry := func(head string, platforms ...string) string {
		typ, rest, _ := strings.Cut(head, " ")
		v, _, _ := strings.Cut(rest, " ")
		var hashes []string
		for _, p := range platforms {
			hashes = append(hashes, "h1:"+typ+"-"+v+"-"+p)
		}
		return head + "; " + strings.Join(hashes, " ") + " zh:" + typ + "-" + v + "-darwin_arm64 zh:" + typ + "-" + v + "-linux_amd64"
	}
	tests := []struct {
		name  string
		tool  provider.Version
		locks []string
		opts  Options
		want  []string
		fails bool
		asks  int // requests for the package of b for linux_amd64
	}{
		{
			name: "an upgrade follows init", tool: old, opts: Options{Platforms: both}, asks: 1,
			want: []string{entry("a 1.0.0 ~> 1.0, != 1.1.0", "darwin_arm64", "linux_amd64"), entry("b 1.1.0 ~> 1.0", "darwin_arm64", "linux_amd64")},
		},
		{
			name: "exact bytes are those of both commands", tool: old, opts: Options{Platforms: both, Exact: true}, asks: 1,
			want: []string{entry("a 1.0.0 ~> 1.0", "darwin_arm64", "linux_amd64"), entry("b 1.1.0 ~> 1.0", "linux_amd64")},
		},
		{
			name: "of which both read test files later", tool: young, opts: Options{Platforms: both, Exact: true}, asks: 2,
			want: []string{entry("a 1.0.0 ~> 1.0, != 1.1.0", "darwin_arm64", "linux_amd64"), entry("b 1.1.0 ~> 1.0", "darwin_arm64", "linux_amd64")},
		},
		{
			name: "a completion does not know of them", tool: old, opts: Options{Platforms: linux, Mode: Complete},
			locks: []string{"a 1.0.0 ~> 1.0; h1:x", "b 1.0.0 ~> 1.0; h1:b"},
			want:  []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-linux_amd64 h1:x zh:a-1.0.0-darwin_arm64 zh:a-1.0.0-linux_amd64", "b 1.0.0 ~> 1.0; h1:b"},
		},
		{
			name: "until it does", tool: young, opts: Options{Platforms: linux, Mode: Complete}, asks: 1,
			locks: []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-linux_amd64"},
			want:  []string{entry("a 1.0.0 ~> 1.0, != 1.1.0", "linux_amd64"), entry("b 1.1.0 ~> 1.0", "linux_amd64")},
		},
		{
			name: "an error in them fails an upgrade", tool: old, opts: Options{Platforms: linux}, fails: true,
		},
		{
			name: "but no completion", tool: old, opts: Options{Platforms: linux, Mode: Complete}, fails: true,
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64"},
			want:  []string{entry("a 1.0.0 ~> 1.0", "linux_amd64")},
		},
		{
			name: "until it does read them", tool: young, opts: Options{Platforms: linux, Mode: Complete}, fails: true,
			locks: []string{"a 1.0.0; h1:a-1.0.0-linux_amd64"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := module(t, []string{"a ~> 1.0, != 1.1.0", "b ~> 1.0"}, tt.locks)
			m.Tool.Version = tt.tool
			var untested []scan.Requirement
			for _, r := range m.Tree.Requirements {
				tested := slices.Clone(r.Terms)
				r.Terms = slices.DeleteFunc(r.Terms, func(t scan.Term) bool { return r.Addr.Type == "b" || t.Constraint.Op == provider.Not })
				tested = slices.DeleteFunc(tested, func(t scan.Term) bool { return slices.Contains(r.Terms, t) })
				m.Tests.Requirements = append(m.Tests.Requirements, scan.Requirement{Addr: r.Addr, Terms: tested})
				if len(r.Terms) > 0 {
					untested = append(untested, r)
				}
			}
			m.Tree.Requirements = untested
			if tt.fails {
				m.Tests.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax, Message: "bad", Place: problem.Place{Path: "x.tftest.hcl"}}}
			}
			src := everything()
			r := Plan(t.Context(), src, []scan.RootModule{m}, tt.opts)[0]
			if diff := cmp.Diff(tt.want, summary(r)); diff != "" {
				t.Errorf("the new lock file (-want +got):\n%s", diff)
			}
			// providers lock asks the registry again for the providers that it knows.
			asked := 0
			for _, q := range src.asked {
				if q == "b 1.1.0 linux_amd64" {
					asked++
				}
			}
			if asked != tt.asks {
				t.Errorf("the package of b was asked for %d times, want %d", asked, tt.asks)
			}
		})
	}
}

// The basis of a plan depends on the program that generates the configuration, on the parts
// that could not be read, and on the options. A lock file that is left alone is not called
// partial, even if the scan stopped before the end of its module tree.
func TestBasis(t *testing.T) {
	t.Parallel()
	unread := []scan.Unread{{Reason: "the run was interrupted"}}
	tests := []struct {
		name    string
		standIn scan.StandIn
		unread  bool
		made    bool // a generator was known before the scan read anything
		opts    Options
		want    basis
	}{
		{name: "a configuration that was read", opts: Options{Preserve: true}, want: onConfiguration},
		{name: "one that was not", unread: true, want: onConfiguration},
		{name: "one that was not, if the records may stand in", unread: true, opts: Options{Preserve: true}, want: onRecords},
		{name: "but not for exact bytes", unread: true, opts: Options{Preserve: true, Exact: true}, want: onConfiguration},
		{name: "parts of a unit", standIn: scan.StandInParts, unread: true, made: true, want: onRecords},
		{name: "an exact upgrade of a unit", standIn: scan.StandInUnit, unread: true, made: true, opts: Options{Exact: true}, want: onNothing},
		{name: "one with unread modules alone", standIn: scan.StandInParts, unread: true, opts: Options{Exact: true}, want: onConfiguration},
		{name: "exact completion of a unit", standIn: scan.StandInUnit, unread: true, made: true, opts: Options{Mode: Complete, Exact: true}, want: onRecords},
		{name: "a lock file alone", standIn: scan.StandInAll, want: onNothing},
		{name: "one that was cut off", standIn: scan.StandInAll, unread: true, opts: Options{Preserve: true}, want: onNothing},
		{name: "completion of a lock file alone", standIn: scan.StandInAll, opts: Options{Mode: Complete}, want: onConfiguration},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:a"})
			m.StandIn = tt.standIn
			if tt.unread {
				m.Tree.Unread = unread
			}
			if tt.made {
				m.Made.Unread = unread
			}
			if got := tt.opts.behaviour().basisOf(m); got != tt.want {
				t.Errorf("the plan rests on %d, want %d", got, tt.want)
			}
			m.Lock = nil
			if got := tt.opts.behaviour().basisOf(m); got == onRecords {
				t.Error("the plan rests on the records of no lock file")
			}
		})
	}
}
