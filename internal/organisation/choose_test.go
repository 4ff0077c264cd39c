package organisation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/settings"
)

// estate are repositories of many kinds, each with a commit unless it has none.
var estate = []github.Listed{
	{Name: "acme/app", Head: "c", Tree: "t", Visibility: "private", Topics: []string{"terraform", "aws"}, Properties: map[string][]string{"team": {"platform"}, "stages": {"test", "live"}}},
	{Name: "acme/Infra-Live", Head: "c", Tree: "t", Visibility: "internal", Topics: []string{"terraform"}, Files: []string{".norelock"}},
	{Name: "acme/infra-test", Head: "c", Tree: "t", Visibility: "public", Properties: map[string][]string{"team": {"data"}}, Files: []string{"relock.on"}},
	{Name: "acme/forked", Head: "c", Tree: "t", Visibility: "public", Fork: true},
	{Name: "acme/old", Head: "c", Tree: "t", Archived: true},
	{Name: "acme/locked", Head: "c", Tree: "t", Disabled: true},
	{Name: "acme/new"},
}

func TestPick(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		"":                                       "app Infra-Live infra-test",
		"topic=terraform":                        "app Infra-Live",
		"topic=terraform topic!=aws":             "Infra-Live",
		"topic=Terraform visibility=private":     "app",
		"name=infra-*":                           "Infra-Live infra-test",
		"name=infra-* name=app":                  "app Infra-Live infra-test",
		"name=infra-* name!=*-test":              "Infra-Live",
		"visibility=private visibility=internal": "app Infra-Live",
		"fork=any":                               "app Infra-Live infra-test forked",
		"fork=true":                              "forked",
		"property.team=platform":                 "app",
		"property.stages=live":                   "app",
		"property.team!=platform":                "Infra-Live infra-test",
		"file=relock.on":                         "infra-test",
		"file!=.norelock":                        "app infra-test",
		"name=nothing":                           "",
	} {
		var conditions []settings.Condition
		for _, text := range strings.Fields(where) {
			c, err := settings.ParseCondition(text)
			if err != nil {
				t.Fatal(err)
			}
			conditions = append(conditions, c)
		}
		picked := pickAmong(estate, conditions, settings.Shard{})
		chosen, left := picked.chosen, picked.left
		var names []string
		out := 0
		for _, r := range chosen {
			names = append(names, strings.TrimPrefix(r.Name, "acme/"))
		}
		for _, n := range left {
			out += n
		}
		if got := strings.Join(names, " "); got != want || len(chosen)+out != len(estate) {
			t.Errorf("pickAmong(%q) = %s and %v, want %s", where, got, left, want)
		}
	}
	left := pickAmong(estate, nil, settings.Shard{}).left
	want := map[string]int{"archived": 1, "disabled by GitHub": 1, "without a commit": 1, "a fork": 1}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
}

// TestAsks holds that a list is asked for what the conditions need, and for custom
// properties, which take a permission, only then.
func TestAsks(t *testing.T) {
	t.Parallel()
	got := listOptions([]settings.Condition{{Key: "file", Value: "a"}, {Key: "file", Value: "a", Not: true}, {Key: "topic", Value: "x"}}, "relock/")
	if got.Properties || got.Prefix != "relock/" || !slices.Equal(got.Files, []string{"a"}) {
		t.Errorf("Asks = %+v, want one file and no properties", got)
	}
	if !listOptions([]settings.Condition{{Key: "property.team", Value: "a"}}, "").Properties {
		t.Error("Asks leaves custom properties out where a condition is about them")
	}
}
