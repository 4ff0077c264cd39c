package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// read is what a text says that must be right.
func read[T any](t *testing.T, parse func(string) (T, error), text string) T {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A release is judged by its version and its date, and by the version that it would take
// the place of: no plan is needed. The text is REASON RULE [DAY].
func TestReleasesAreJudgedByThemselves(t *testing.T) {
	t.Parallel()
	versions := func(text string) *provider.Constraints { return new(read(t, provider.ParseConstraints, text)) }
	rule := func(r policy.Rule, line int) policy.Rule {
		r.Place = problem.Place{Path: "f", Line: line}
		return r
	}
	aged := rule(policy.Rule{MinimumAge: new(72 * time.Hour)}, 1)
	undated := rule(policy.Rule{UnknownAge: policy.HoldUnknownAge}, 2)
	major := []provider.Bump{provider.BumpMajor}
	for name, tt := range map[string]struct {
		rules               []policy.Rule
		from, to, published string // from is empty where nothing is locked
		want                string
	}{
		"no rule":                         {nil, "1.0.0", "2.0.0", "2026-11-23", ""},
		"too young":                       {[]policy.Rule{aged}, "1.0.0", "2.0.0", "2026-11-22", "age f:1 2026-11-25"},
		"too young for a new provider":    {[]policy.Rule{aged}, "", "2.0.0", "2026-11-22", "age f:1 2026-11-25"},
		"old enough on the day":           {[]policy.Rule{aged}, "1.0.0", "2.0.0", "2026-11-20", ""},
		"locked already":                  {[]policy.Rule{aged}, "2.0.0", "2.0.0", "2026-11-22", ""},
		"without a date":                  {[]policy.Rule{aged}, "1.0.0", "2.0.0", "", ""},
		"without a date that is demanded": {[]policy.Rule{aged, undated}, "1.0.0", "2.0.0", "", "age f:1"},
		"outside of what is allowed":      {[]policy.Rule{rule(policy.Rule{Allow: versions("< 2.0.0")}, 3)}, "1.0.0", "2.0.0", "2020-01-01", "rule f:3"},
		"within what is not":              {[]policy.Rule{rule(policy.Rule{Except: versions(">= 1.5, < 3")}, 4)}, "", "2.0.0", "2020-01-01", "rule f:4"},
		"a kind of update":                {[]policy.Rule{rule(policy.Rule{Updates: major, Ignore: new(true)}, 5)}, "1.0.0", "2.0.0", "2020-01-01", "rule f:5"},
		"another kind":                    {[]policy.Rule{rule(policy.Rule{Updates: major, Ignore: new(true)}, 5)}, "1.0.0", "1.1.0", "2020-01-01", ""},
		"no update":                       {[]policy.Rule{rule(policy.Rule{Updates: major, Ignore: new(true)}, 5)}, "", "2.0.0", "2020-01-01", ""},
		"held until a day":                {[]policy.Rule{rule(policy.Rule{HoldUntil: read(t, policy.ParseDay, "2027-01-31")}, 6)}, "1.0.0", "2.0.0", "2020-01-01", "hold f:6 2027-01-31"},
		"the version before the age":      {[]policy.Rule{aged, rule(policy.Rule{Allow: versions("< 2.0.0")}, 3)}, "1.0.0", "2.0.0", "2026-11-22", "rule f:3"},
		"elsewhere":                       {[]policy.Rule{{Where: policy.Where{Directories: []string{"prod/**"}}, Ignore: new(true)}}, "1.0.0", "2.0.0", "2020-01-01", ""},
		"of another provider":             {[]policy.Rule{{Where: policy.Where{Providers: []provider.Pattern{read(t, provider.ParsePattern, "*/null")}}, Ignore: new(true)}}, "1.0.0", "2.0.0", "2020-01-01", ""},
		"of this provider":                {[]policy.Rule{{Where: policy.Where{Providers: []provider.Pattern{read(t, provider.ParsePattern, "*/aws")}}, Ignore: new(true), By: "octo"}}, "1.0.0", "2.0.0", "2020-01-01", "rule a comment of octo"},
		"of its group":                    {[]policy.Rule{{Group: "cloud", Ignore: new(true), By: "octo"}}, "1.0.0", "2.0.0", "2020-01-01", "rule a comment of octo"},
		"of another group":                {[]policy.Rule{{Group: "all", Ignore: new(true), By: "octo"}}, "1.0.0", "2.0.0", "2020-01-01", ""},
		"until tomorrow":                  {[]policy.Rule{{Until: read(t, policy.ParseDay, "2026-11-24"), Ignore: new(true), By: "octo"}}, "1.0.0", "2.0.0", "2020-01-01", "rule a comment of octo"},
		"until today":                     {[]policy.Rule{{Until: read(t, policy.ParseDay, "2026-11-23"), Ignore: new(true), By: "octo"}}, "1.0.0", "2.0.0", "2020-01-01", ""},
	} {
		book := policy.Rulebook{
			Rules: tt.rules, Now: read(t, policy.ParseDay, "2026-11-23"),
			Groups: []policy.Group{{Name: "cloud", Where: policy.Where{Directories: []string{"live"}}}},
		}
		release := provider.Release{Version: read(t, provider.ParseVersion, tt.to)}
		if tt.published != "" {
			release.Published = read(t, policy.ParseDay, tt.published)
		}
		applied := book.About("live", read(t, provider.ParseFullAddr, "registry.terraform.io/hashicorp/aws"))
		if tt.from != "" {
			applied.From = read(t, provider.ParseVersion, tt.from)
		}
		h := applied.Judge(release)
		got := fmt.Sprintf("%s %s", h.Reason, h.Rule)
		if !h.Eligible.IsZero() {
			got += " " + h.Eligible.Format(time.DateOnly)
		}
		if strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: Judge() = %q, want %q", name, got, tt.want)
		}
	}
}
