package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// TestAnEntryIsAnEntryOfTheConfigurationFile reads what a person may copy from a pull
// request.
func TestAnEntryIsAnEntryOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	aws, err := provider.ParsePattern("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	versions, err := provider.ParseConstraints(">= 6.0.0, != 6.1.0-rc1, < 6.0.3")
	if err != nil {
		t.Fatal(err)
	}
	yes, day := true, time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for words, want := range map[string]config.Rule{
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
		want.Providers = []provider.Pattern{aws}
		if err := ignore.Check(); err != nil {
			t.Errorf("%q: Check() = %v", words, err)
		}
		file, problems := config.ParseFile([]byte("version: 1\nrules:\n"+ignore.Entry()+"\n"), "relock.yml")
		got, more := config.Resolve(config.Merge(file.Values))
		if len(problems)+len(more) > 0 || len(got.Rules) != 1 {
			t.Fatalf("%q: the entry\n%s\nhas problems: %v, %v", words, ignore.Entry(), problems, more)
		}
		want.Place = problem.Place{Path: "relock.yml", Line: 3}
		if diff := cmp.Diff(want, got.Rules[0], cmp.AllowUnexported(provider.Pattern{})); diff != "" {
			t.Errorf("%q: the rule (-want +got):\n%s", words, diff)
		}
	}
}

func TestIgnoreOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for until, want := range map[string]bool{"": false, "2027-02-01": false, "2027-01-31": true, "2020-01-01": true, "soon": true} {
		if got := (policy.Ignore{Until: until}).Over(now); got != want {
			t.Errorf("Ignore{Until: %q}.Over = %t, want %t", until, got, want)
		}
	}
}
