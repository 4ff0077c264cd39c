package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// TestLockedReleasesAreJudged judges what is in a lock file, where nothing is proposed.
// The text is CODE LINE [DAY] of each refusal.
func TestLockedReleasesAreJudged(t *testing.T) {
	t.Parallel()
	versions := func(text string) *provider.Constraints { return new(read(t, provider.ParseConstraints, text)) }
	rule := func(line int, r policy.Rule) policy.Rule {
		r.Place = problem.Place{Path: "f", Line: line}
		return r
	}
	aged := rule(1, policy.Rule{MinimumAge: new(72 * time.Hour)})
	undated := rule(2, policy.Rule{UnknownAge: policy.HoldUnknownAge})
	noMajor := rule(3, policy.Rule{Updates: []provider.Bump{provider.BumpMajor}, Allow: versions("< 2.0.0")})
	denied := rule(4, policy.Rule{Permitted: new(false)})
	permitted := rule(5, policy.Rule{Permitted: new(true)})
	for name, tt := range map[string]struct {
		rules                   []policy.Rule
		from, locked, published string
		want                    string
		asks                    bool
	}{
		"no rule":                           {nil, "", "2.0.0", "", "", false},
		"too young":                         {[]policy.Rule{aged}, "1.0.0", "2.0.0", "2026-11-22", "too-young f:1 2026-11-25", false},
		"too young and locked before":       {[]policy.Rule{aged}, "2.0.0", "2.0.0", "2026-11-22", "too-young f:1 2026-11-25", false},
		"old enough on the day":             {[]policy.Rule{aged}, "1.0.0", "2.0.0", "2026-11-20", "", false},
		"without a date":                    {[]policy.Rule{aged}, "1.0.0", "2.0.0", "", "", true},
		"without a date that is demanded":   {[]policy.Rule{aged, undated}, "1.0.0", "2.0.0", "", "too-young f:1", true},
		"an age that a later rule lifts":    {[]policy.Rule{aged, {MinimumAge: new(time.Duration(0))}}, "", "2.0.0", "2026-11-22", "", false},
		"outside of what is allowed":        {[]policy.Rule{rule(6, policy.Rule{Allow: versions("< 2.0.0")})}, "2.0.0", "2.0.0", "", "version-refused f:6", false},
		"within what is not":                {[]policy.Rule{rule(7, policy.Rule{Except: versions(">= 1.5, < 3")})}, "", "2.0.0", "", "version-refused f:7", false},
		"one code is said once":             {[]policy.Rule{rule(6, policy.Rule{Allow: versions("< 2.0.0"), Except: versions("2.0.0")})}, "", "2.0.0", "", "version-refused f:6", false},
		"excepted, and not allowed either":  {[]policy.Rule{rule(6, policy.Rule{Allow: versions("< 2.0.0")}), rule(7, policy.Rule{Except: versions("2.0.0")})}, "", "2.0.0", "", "version-refused f:6", false},
		"not allowed, another excepted":     {[]policy.Rule{rule(6, policy.Rule{Allow: versions("< 2.0.0")}), rule(7, policy.Rule{Except: versions("1.0.0")})}, "", "2.0.0", "", "version-refused f:6", false},
		"allowed, and excepted":             {[]policy.Rule{rule(6, policy.Rule{Allow: versions("< 3.0.0")}), rule(7, policy.Rule{Except: versions("2.0.0")})}, "", "2.0.0", "", "version-refused f:7", false},
		"a kind of update":                  {[]policy.Rule{noMajor}, "1.0.0", "2.0.0", "", "version-refused f:3", false},
		"another kind":                      {[]policy.Rule{noMajor}, "2.0.0", "2.1.0", "", "", false},
		"no update, since nothing changed":  {[]policy.Rule{noMajor}, "2.0.0", "2.0.0", "", "", false},
		"no update, since there was none":   {[]policy.Rule{noMajor}, "", "2.0.0", "", "", false},
		"ignored by what proposes":          {[]policy.Rule{{Ignore: new(true)}}, "1.0.0", "2.0.0", "", "", false},
		"held by what proposes":             {[]policy.Rule{{HoldUntil: read(t, policy.ParseDay, "2027-01-31")}}, "1.0.0", "2.0.0", "", "", false},
		"not permitted":                     {[]policy.Rule{permitted, denied}, "1.0.0", "1.0.0", "", "provider-refused f:4", false},
		"permitted by a later rule":         {[]policy.Rule{denied, permitted}, "", "1.0.0", "", "", false},
		"not permitted, not allowed, young": {[]policy.Rule{aged, denied, rule(6, policy.Rule{Allow: versions("< 2.0.0")})}, "", "2.0.0", "2026-11-23", "provider-refused f:4, version-refused f:6, too-young f:1 2026-11-26", false},
	} {
		release := provider.Release{Version: read(t, provider.ParseVersion, tt.locked)}
		if tt.published != "" {
			release.Published = read(t, policy.ParseDay, tt.published)
		}
		book := policy.Rulebook{Rules: tt.rules, Now: read(t, policy.ParseDay, "2026-11-23")}
		applied := book.About("live", read(t, provider.ParseFullAddr, "registry.terraform.io/hashicorp/aws"))
		if tt.from != "" {
			applied.From = read(t, provider.ParseVersion, tt.from)
		}
		var got []string
		for _, r := range applied.Breaches(release) {
			text := string(r.Code) + " " + r.Rule.Origin()
			if !r.Eligible.IsZero() {
				text += " " + r.Eligible.Format(time.DateOnly)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != tt.want || applied.NeedsDate(release) != tt.asks {
			t.Errorf("%s: Breaches() = %q, want %q; NeedsDate() = %t", name, text, tt.want, applied.NeedsDate(release))
		}
	}
}
