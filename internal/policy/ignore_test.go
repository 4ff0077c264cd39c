package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
)

// TestAnEntryIsAnEntryOfTheConfigurationFile reads what a person may copy from a pull
// request.
func TestAnEntryIsAnEntryOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	aws := read(t, provider.ParsePattern, "hashicorp/aws")
	versions := read(t, provider.ParseConstraints, ">= 6.0.0, != 6.1.0-rc1, < 6.0.3")
	yes, day := true, time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for words, want := range map[string]policy.Rule{
		"":                                      {Ignore: &yes},
		"until 2027-01-31":                      {HoldUntil: day},
		"minor":                                 {Updates: []provider.Bump{provider.BumpMinor}, Ignore: &yes},
		"major until 2027-01-31":                {Updates: []provider.Bump{provider.BumpMajor}, HoldUntil: day},
		versions.String():                       {Except: &versions},
		versions.String() + " until 2027-01-31": {Except: &versions}, // a person has to take it out
	} {
		ignore, err := policy.ParseIgnore("hashicorp/aws", strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		ignore.By, ignore.When = "hubot[bot]", "2026-11-23"
		want.Where.Providers = []provider.Pattern{aws}
		if err := ignore.Check(); err != nil {
			t.Errorf("%q: Check() = %v", words, err)
		}
		file, problems := settings.ParseFile([]byte("version: 1\nrules:\n"+ignore.Entry()+"\n"), "relock.yml")
		got, more := settings.Resolve(settings.Merge(file.Values))
		if len(problems)+len(more) > 0 || len(got.Policy.Rules) != 1 {
			t.Fatalf("%q: the entry\n%s\nhas problems: %v, %v", words, ignore.Entry(), problems, more)
		}
		want.Place = problem.Place{Path: "relock.yml", Line: 3}
		if diff := cmp.Diff(want, got.Policy.Rules[0], cmp.AllowUnexported(provider.Pattern{})); diff != "" {
			t.Errorf("%q: the rule (-want +got):\n%s", words, diff)
		}
	}
}

// TestHiddenIgnoresBecomeRules reads the JSON that pull requests hide.
func TestHiddenIgnoresBecomeRules(t *testing.T) {
	t.Parallel()
	aws, yes := read(t, provider.ParsePattern, "hashicorp/aws"), true
	base := policy.Rule{Where: policy.Where{Providers: []provider.Pattern{aws}}, Group: "live", Ignore: &yes, By: "monalisa"}
	rule := func(edit func(*policy.Rule)) *policy.Rule {
		r := base
		edit(&r)
		return &r
	}
	versions := read(t, provider.ParseConstraints, ">= 6.0.0, < 6.0.3")
	for hidden, want := range map[string]*policy.Rule{
		`{"provider":"hashicorp/aws","by":"monalisa","when":"2026-01-05"}`:                                      &base,
		`{"provider":"hashicorp/aws","what":"major","by":"monalisa","when":"2026-01-05"}`:                       rule(func(r *policy.Rule) { r.Updates = []provider.Bump{provider.BumpMajor} }),
		`{"provider":"hashicorp/aws","what":"\u003e= 6.0.0, \u003c 6.0.3","by":"monalisa","when":"2026-01-05"}`: rule(func(r *policy.Rule) { r.Versions = &versions }),
		`{"provider":"hashicorp/aws","until":"2027-01-31","by":"monalisa","when":"2026-01-05"}`:                 rule(func(r *policy.Rule) { r.Until = time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC) }),
		`{"provider":"a/b/c/d","by":"monalisa","when":"2026-01-05"}`:                                            nil,
		`{"provider":"hashicorp/aws","what":"next","by":"monalisa","when":"2026-01-05"}`:                        nil,
		`{"provider":"hashicorp/aws","until":"soon","by":"monalisa","when":"2026-01-05"}`:                       nil,
		`{"provider":"hashicorp/aws","by":"","when":"2026-01-05"}`:                                              nil,
		`{"provider":"hashicorp/aws","by":"monalisa","when":""}`:                                                nil,
	} {
		var ignore policy.Ignore
		if err := json.Unmarshal([]byte(hidden), &ignore); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(ignore); err != nil || string(again) != hidden {
			t.Errorf("%s is written again as %s (%v)", hidden, again, err)
		}
		got := policy.OfComments(map[string][]policy.Ignore{"live": {ignore}})
		if want == nil {
			if len(got) > 0 || ignore.Check() == nil {
				t.Errorf("%s: rules %v, Check() = %v; want none and an error", hidden, got, ignore.Check())
			}
			continue
		}
		if diff := cmp.Diff([]policy.Rule{*want}, got, cmp.AllowUnexported(provider.Pattern{})); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", hidden, diff)
		}
	}
}
