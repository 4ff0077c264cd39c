package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// calendar is a DateSource over a table from "TYPE VERSION" to a day.
type calendar struct {
	days  map[string]string
	lost  map[string]problem.Code // failures after which another day may bring a date
	mu    sync.Mutex
	asked []string
}

func (c *calendar) Published(_ context.Context, _ provider.Tool, want provider.Want) (time.Time, error) {
	name := want.Addr.Type + " " + want.Version.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, name)
	if code, ok := c.lost[name]; ok {
		return time.Time{}, &problem.Error{Problem: problem.Problem{Code: code, Message: "no date today"}}
	}
	if text, ok := c.days[name]; ok {
		return day(text), nil
	}
	return time.Time{}, errors.New("nobody knows")
}

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func days(n int) *time.Duration {
	d := time.Duration(n) * 24 * time.Hour
	return &d
}

func yes() *bool { b := true; return &b }

func no() *bool { return new(bool) }

func allowing(t *testing.T, s string) *provider.Constraints {
	t.Helper()
	c := constraints(t, s)
	return &c
}

// at is the place of a rule in the file f.
func at(line int) problem.Place { return problem.Place{Path: "f", Line: line} }

// told are the reasons of a selection in short form: VERSION REASON PLACE DAY.
func told(held []Held) []string {
	var texts []string
	for _, h := range held {
		text := fmt.Sprintf("%s %s %s", h.Version, h.By.Reason, h.By.Rule)
		if !h.By.Eligible.IsZero() {
			text += " " + h.By.Eligible.Format(time.DateOnly)
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return texts
}

// offering are releases of the provider a for one platform.
func offering(list ...string) map[string]map[string][]string {
	offered := map[string][]string{}
	for _, v := range list {
		offered[v] = two
	}
	return map[string]map[string][]string{"a": offered}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	const now = "2026-11-10"
	many := offering("1.0.0", "1.0.1", "1.1.0", "2.0.0")
	dates := map[string]string{"a 2.0.0": "2026-11-09", "a 1.1.0": "2026-11-08", "a 1.0.1": "2026-11-01", "a 1.0.0": "2026-01-01"}
	major, minor, patch := []provider.Bump{provider.BumpMajor}, []provider.Bump{provider.BumpMinor}, []provider.Bump{provider.BumpPatch}
	tests := []struct {
		name     string
		releases map[string]map[string][]string // nil: many
		requires string
		locked   string // empty: there is no entry
		mode     Mode
		rules    []policy.Rule
		dates    map[string]string // nil: none
		want     string
		held     []string
		noticed  bool
	}{
		{name: "no rule", requires: "a", locked: "1.0.0", want: "2.0.0"},
		{
			name: "a rule about another provider", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/b")}, Ignore: yes()}}, want: "2.0.0",
		},
		{
			name: "ignore keeps the locked version", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/*")}, Ignore: yes(), Place: at(1)}}, want: "1.0.0", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "a later rule takes it back", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Ignore: yes()}, {Where: policy.Where{Providers: patterns("hashicorp/a")}, Ignore: no()}}, want: "2.0.0",
		},
		{
			name: "ignoring major updates leaves the newest of the others", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Updates: major, Ignore: yes(), Place: at(1)}}, want: "1.1.0", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "of two kinds", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Updates: slices.Concat(major, minor), Ignore: yes(), Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "a kind is seen from the locked version", requires: "a", locked: "1.1.0",
			rules: []policy.Rule{{Updates: minor, Ignore: yes()}}, want: "2.0.0",
		},
		{
			name: "a change behind the numbers is a patch", requires: "a 1.0.0-rc2", locked: "1.0.0-rc1", releases: offering("1.0.0-rc1", "1.0.0-rc2"),
			rules: []policy.Rule{{Updates: patch, Ignore: yes()}}, want: "1.0.0-rc2", noticed: true, // the constraints exclude the locked version
		},
		{
			name: "a kind that is too young and alone is allowed", requires: "a >= 2.0.0", locked: "1.0.0",
			rules: []policy.Rule{{Updates: major, MinimumAge: days(7)}}, dates: dates, want: "2.0.0", noticed: true,
		},
		{
			name: "allow-versions", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Allow: allowing(t, "< 1.1.0"), Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "a policy moves no version down", requires: "a", locked: "1.1.0",
			rules: []policy.Rule{{Allow: allowing(t, "< 1.1.0"), Place: at(1)}}, want: "1.1.0", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "ignore-versions", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Except: allowing(t, ">= 1.1.0, < 3.0.0"), Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "the last of two ranges counts", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Except: allowing(t, ">= 1.1.0")}, {Except: allowing(t, "2.0.0"), Place: at(2)}}, want: "1.1.0", held: []string{"2.0.0 rule f:2"},
		},
		{
			name: "rules about single versions add up", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Versions: allowing(t, "2.0.0"), Ignore: yes(), Place: at(1)}, {Versions: allowing(t, "1.1.0"), Ignore: yes()}},
			want:  "1.0.1", held: []string{"2.0.0 rule f:1"},
		},
		{
			name: "a rule does not hide the prerelease that the configuration names", requires: "a 2.1.0-rc1", locked: "1.0.0", releases: offering("1.0.0", "2.1.0-rc1"),
			rules: []policy.Rule{{Allow: allowing(t, "< 3.0.0")}}, want: "2.1.0-rc1",
		},
		{
			name: "hold-until keeps the version until the day", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{HoldUntil: day("2026-11-11"), Place: at(1)}}, want: "1.0.0", held: []string{"2.0.0 hold f:1 2026-11-11"},
		},
		{
			name: "and not on the day", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{HoldUntil: day(now)}}, want: "2.0.0",
		},
		{
			name: "a directory", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{Where: policy.Where{Directories: []string{"elsewhere"}}, Ignore: yes()}}, want: "2.0.0",
		},
		{
			name: "a constraint comes before a rule", requires: "a < 2.0.0", locked: "1.0.0",
			rules: []policy.Rule{{Updates: append(slices.Clone(major), minor...), Ignore: yes(), Place: at(1)}},
			want:  "1.0.1", held: []string{"2.0.0 constraint", "1.1.0 rule f:1"},
		},
		{
			name: "minimum age takes the newest that is old enough", requires: "a", locked: "1.0.0", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(3), Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 age f:1 2026-11-11"},
		},
		{
			name: "a release is old enough on the day", requires: "a", locked: "1.0.0", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(1)}}, want: "2.0.0",
		},
		{
			name: "a later rule may ask for less", requires: "a", locked: "1.0.0", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(30)}, {MinimumAge: days(0)}}, want: "2.0.0",
		},
		{
			name: "another age for major updates", requires: "a", locked: "1.0.0", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(2)}, {Updates: major, MinimumAge: days(30), Place: at(2)}},
			want:  "1.1.0", held: []string{"2.0.0 age f:2 2026-12-09"},
		},
		{
			name: "no date is no reason", requires: "a", locked: "1.0.0",
			rules: []policy.Rule{{MinimumAge: days(3)}}, want: "2.0.0",
		},
		{
			name: "unless the rule says so", requires: "a", locked: "1.0.0", dates: map[string]string{"a 1.0.1": "2026-11-01"},
			rules: []policy.Rule{{MinimumAge: days(3), UnknownAge: policy.HoldUnknownAge, Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 age f:1"},
		},
		{
			name: "each reason names its newest version", requires: "a < 2.0.0", locked: "1.0.0", dates: dates,
			rules: []policy.Rule{{Versions: allowing(t, "1.0.1"), HoldUntil: day("2027-01-01"), Place: at(1)}, {MinimumAge: days(3), Place: at(2)}},
			want:  "1.0.0", held: []string{"2.0.0 constraint", "1.1.0 age f:2 2026-11-11", "1.0.1 hold f:1 2027-01-01"},
		},
		{
			name: "a new provider is not ignored", requires: "a",
			rules: []policy.Rule{{Ignore: yes()}, {Updates: major, Ignore: yes()}, {HoldUntil: day("2027-01-01")}}, want: "2.0.0",
		},
		{
			name: "but follows the other rules", requires: "a", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(3), Place: at(1)}}, want: "1.0.1", held: []string{"2.0.0 age f:1 2026-11-11"},
		},
		{
			name: "also where versions are kept", requires: "a", mode: Complete,
			rules: []policy.Rule{{Allow: allowing(t, "< 1.1.0")}}, want: "1.0.1",
		},
		{
			name: "which no rule changes for the others", requires: "a", locked: "1.1.0", mode: Complete,
			rules: []policy.Rule{{Allow: allowing(t, "< 1.1.0")}}, want: "1.1.0",
		},
		{
			name: "rules that leave nothing fall away with a word", requires: "a", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(3650)}}, want: "2.0.0", noticed: true,
		},
		{
			name: "a locked version that cannot stay does not", requires: "a >= 1.1.0", locked: "1.0.0",
			rules: []policy.Rule{{Ignore: yes()}, {Allow: allowing(t, "< 2.0.0"), Place: at(2)}}, want: "1.1.0", noticed: true, held: []string{"2.0.0 rule f:2"},
		},
		{
			name: "a withdrawn version goes up, not down", requires: "a", locked: "1.0.5",
			rules: []policy.Rule{{Allow: allowing(t, ">= 1.1.0")}}, want: "2.0.0",
		},
		{
			name: "down if the constraints want it, and no further", requires: "a < 2.0.0", locked: "2.0.0", dates: dates,
			rules: []policy.Rule{{MinimumAge: days(3)}}, want: "1.1.0", noticed: true, held: []string{"2.0.0 constraint"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: tt.releases}
			if src.releases == nil {
				src.releases = many
			}
			locks := []string{}
			if tt.locked != "" {
				locks = append(locks, "a "+tt.locked)
			}
			opts := Options{Mode: tt.mode, Platforms: linux, Policy: policy.Rulebook{Rules: tt.rules, Now: day(now)}, Dates: &calendar{days: tt.dates}}
			r := Plan(t.Context(), src, []scan.RootModule{module(t, []string{tt.requires}, locks)}, opts)[0]
			s := r.Selections[0]
			if s.Err != nil || s.To != version(tt.want) {
				t.Errorf("selected %s (error: %v), want %s", s.To, s.Err, tt.want)
			}
			if diff := cmp.Diff(tt.held, told(s.Held)); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			noticed := slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool {
				return d.Code == problem.CodePolicy && d.Severity == problem.SeverityWarning
			})
			if noticed != tt.noticed || problem.AnyError(r.Diagnostics) {
				t.Errorf("noticed = %t, want %t; %v", noticed, tt.noticed, r.Diagnostics)
			}
		})
	}
}

func TestPolicyKeepsTheVersionOfTheOtherRegistry(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a"}, []string{"a 1.0.0; h1:old"})
	m.Tool = provider.Newest(provider.OpenTofu)
	m.Tree.Requirements[0].Addr.Host = provider.OpenTofu.DefaultHost()
	opts := Options{Platforms: linux, Policy: policy.Rulebook{Rules: []policy.Rule{{Updates: []provider.Bump{provider.BumpMajor}, Ignore: yes()}}}}
	r := Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{m}, opts)[0]
	if got := r.New[0].Version; got != version("1.1.0") {
		t.Errorf("the provider moved from 1.0.0 to %s, want 1.1.0", got)
	}
}

func TestDatesAreAskedOfWhatDecides(t *testing.T) {
	t.Parallel()
	var many []string
	for minor := range 40 {
		many = append(many, fmt.Sprintf("1.%d.0", minor))
	}
	days := func(hold policy.UnknownAge, scope string) []policy.Rule {
		return []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/" + scope)}, MinimumAge: days(3), UnknownAge: hold}}
	}
	tests := []struct {
		name  string
		rules []policy.Rule
		dates map[string]string
		want  []string
	}{
		{"none without a rule", nil, nil, nil},
		{"none of other providers", days("", "b"), nil, nil},
		{"none of what is held anyway", append(days("", "a"), policy.Rule{Ignore: yes()}), nil, nil},
		{"the newest", days("", "a"), map[string]string{"a 1.39.0": "2026-01-01"}, []string{"a 1.39.0"}},
		{"until one is old enough", days("", "a"), map[string]string{"a 1.39.0": "2026-11-09", "a 1.38.0": "2026-11-08", "a 1.37.0": "2026-11-01"}, []string{"a 1.39.0", "a 1.38.0", "a 1.37.0"}},
		{"not for ever where nobody knows any", days(policy.HoldUnknownAge, "a"), nil, []string{
			"a 1.39.0", "a 1.38.0", "a 1.37.0", "a 1.36.0", "a 1.35.0", "a 1.34.0", "a 1.33.0", "a 1.32.0", "a 1.31.0", "a 1.30.0",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dates := &calendar{days: tt.dates}
			var modules []scan.RootModule
			for range 3 { // each asks the same questions
				modules = append(modules, module(t, []string{"a"}, []string{"a 1.0.0; h1:old"}))
			}
			Plan(t.Context(), &offer{releases: offering(many...)}, modules, Options{Platforms: linux, Policy: policy.Rulebook{Rules: tt.rules, Now: day("2026-11-10")}, Dates: dates})
			if diff := cmp.Diff(tt.want, dates.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDatesOfTheListAreNotAskedFor(t *testing.T) {
	t.Parallel()
	src := &listed{offer: &offer{releases: offering("1.0.0", "1.1.0", "1.2.0")}, at: map[string]string{"1.2.0": "2026-11-09", "1.1.0": "2026-01-01"}}
	dates := &calendar{}
	m := module(t, []string{"a"}, []string{"a 1.0.0; h1:old"})
	opts := Options{Platforms: linux, Policy: policy.Rulebook{Rules: []policy.Rule{{MinimumAge: days(3)}}, Now: day("2026-11-10")}, Dates: dates}
	s := Plan(t.Context(), src, []scan.RootModule{m}, opts)[0].Selections[0]
	if s.To != version("1.1.0") || !s.Published.Equal(day("2026-01-01")) || len(dates.asked) > 0 {
		t.Errorf("selected %s of %s, asked %v", s.To, s.Published, dates.asked)
	}
}

// listed is a Source whose list of releases has dates.
type listed struct {
	*offer
	at map[string]string
}

func (l *listed) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	all, err := l.offer.Versions(ctx, tool, addr)
	for i, r := range all.Releases {
		if text, ok := l.at[r.Version.String()]; ok {
			all.Releases[i].Published = day(text)
		}
	}
	return all, err
}

func TestHeldNamesEveryTermThatExcludes(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a >= 1.0", "a < 2.0.0", "a != 1.1.0"}, nil)
	terms := slices.Concat(m.Tree.Requirements[0].Terms, m.Tree.Requirements[1].Terms, m.Tree.Requirements[2].Terms)
	terms = append(terms, scan.Term{Constraint: constraints(t, "~> 1.0").Terms()[0], Module: "vpc", Place: problem.Place{Path: "vpc/main.tf", Line: 1}})
	m.Tree.Requirements = []scan.Requirement{{Addr: addr("a"), Terms: terms}}
	r := Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{m}, Options{Platforms: linux})[0]
	// Of the releases above 1.0.0 the oldest is 1.1.0: nothing newer can be
	// selected before that is allowed.
	want := []Held{{Version: version("2.0.0"), By: policy.Hold{Reason: HeldByConstraint}, Term: terms[2], Others: []scan.Term{terms[1], terms[3]}}}
	if diff := cmp.Diff(want, r.Selections[0].Held, cmpopts.IgnoreFields(Held{}, "Help")); diff != "" {
		t.Errorf("Held (-want +got):\n%s", diff)
	}
}

// TestALostDateIsNoMissingDate loses the date that decides. Neither the release nor an
// older one may be selected, whatever the rules say about releases without a date.
func TestALostDateIsNoMissingDate(t *testing.T) {
	t.Parallel()
	for _, code := range []problem.Code{problem.CodeUnreachable, problem.CodeCancelled, problem.CodeGitHub} {
		for _, unknown := range []policy.UnknownAge{"", policy.HoldUnknownAge} {
			rules := []policy.Rule{{MinimumAge: days(3), UnknownAge: unknown}}
			dates := &calendar{days: map[string]string{"a 1.2.0": "2020-01-01"}, lost: map[string]problem.Code{"a 1.3.0": code}}
			m := module(t, []string{"a ~> 1.0"}, []string{"a 1.1.0 ~> 1.0; h1:old"})
			opts := Options{Platforms: linux, Policy: policy.Rulebook{Rules: rules, Now: day("2027-01-15")}, Dates: dates}
			r := Plan(t.Context(), &offer{releases: offering("1.1.0", "1.2.0", "1.3.0")}, []scan.RootModule{m}, opts)[0]
			if r.File != nil || !problem.Coded(r.Selections[0].Err, code) {
				t.Errorf("%s, unknown %q: File = %q, error %v; want the old entry and the error", code, unknown, r.File, r.Selections[0].Err)
			}
		}
	}
}
