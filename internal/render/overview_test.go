package render_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
)

var pageDay = time.Date(2026, 11, 25, 4, 17, 0, 0, time.UTC)

// members are repositories of an organisation, of which about one in seven is not quiet.
func members(n int) []outline.Member {
	var all []outline.Member
	for i := range n {
		m := outline.Member{Outcome: report.Outcome{Name: fmt.Sprintf("acme/%s-%04d", []string{"network", "payments-platform-infrastructure", "data", "edge"}[i%4], i), State: report.UpToDate, Modules: 1 + i%5}}
		m.Profile = report.Profile{
			Day: "2026-11-23",
			Uses: []report.ProviderUse{
				{Provider: "hashicorp/aws", Newest: "6.21.0", Majors: map[int64]int{int64(4 + i%3): 1 + i%5}},
				{Provider: fmt.Sprintf("hashicorp/%s", []string{"null", "random", "google", "azurerm", "kubernetes"}[i%5]), Newest: "3.2.4", Majors: map[int64]int{3: 1}},
			},
		}
		pull := report.PullRequest{Operation: "none", Number: 10 + i, Title: "Bump hashicorp/aws from 5.31.0 to 6.21.0 in 3 directories"}
		proposed := func(age int) {
			m.State, m.Pulls, m.Opened = report.Outdated, []report.PullRequest{pull}, map[int]time.Time{pull.Number: pageDay.AddDate(0, 0, -age)}
			m.Profile.Behind = report.BehindBy{Major: i % 2, Minor: 2}
		}
		switch i % 41 {
		case 1:
			m.State, m.Profile.Failing, m.Profile.Day = report.FleetFailed, []report.Remark{{Text: "registry.acme.example.com gives no answer"}}, ""
		case 2, 3:
			proposed(20 + i%9)
			m.Profile.Majors = []report.Remark{{Provider: "hashicorp/aws", Text: "from 5 to 6"}}
		case 5:
			proposed(3)
			m.Pulls = append(m.Pulls, report.PullRequest{Operation: "none", Waits: true, Waiting: &report.Waiting{For: "room"}})
		case 7:
			m.Profile.Held = []report.Remark{{Provider: "hashicorp/aws", Text: "by `~> 5.31`"}, {Provider: "hashicorp/kubernetes", Text: "by a rule (minimum-age 3d) until 2026-11-28"}}
			m.Profile.Behind = report.BehindBy{Major: 1, Patch: 1}
		case 11:
			m.State, m.Profile = report.NoLockFile, report.Profile{}
		case 13:
			m.Pulls = []report.PullRequest{{Operation: "none", Waiting: &report.Waiting{For: "person"}}}
		case 17:
			m.Profile.Moved = []report.Remark{{Text: "terraform-aws-modules/vpc/aws 5.1.0 is not what the lock file of modules has"}}
		case 19:
			m.State = report.NotReached
		}
		all = append(all, m)
	}
	return all
}

func pageOf(n int) report.Overview {
	o := outline.OverviewOf(members(n), pageDay)
	o.Owner, o.Server = "acme", "https://github.com"
	o.Since = report.Baseline{Week: "2026-11-23", Counts: map[report.Standing]int{report.StandingFailing: n / 30, report.StandingUpToDate: n * 3 / 4}}
	return o
}

// The page of 2,000 repositories is within GitHub's limit, and names 100 of them in rows.
func TestOverviewOfManyIsWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4, 300, 2000} {
		o := pageOf(n)
		text, empty := render.Overview(o)
		if length := text.Len(); length > 60_000 {
			t.Errorf("the page of %d repositories has %d bytes", n, length)
		}
		if empty != (n == 0) {
			t.Errorf("the page of %d repositories is empty: %t", n, empty)
		}
		sum := 0
		for _, s := range report.Standings {
			sum += o.States[s]
		}
		if sum != n || len(o.Rows) > 100 {
			t.Errorf("of %d repositories %d have a state, and %d have a row", n, sum, len(o.Rows))
		}
		if data, err := json.Marshal(o); err != nil || len(data) > 60_000 {
			t.Errorf("the comment of %d repositories has %d bytes, %v", n, len(data), err)
		}
	}
	text, _ := render.Overview(pageOf(2000))
	for _, want := range []string{
		"**196 of 2000 repositories need a person.**", "| Failing | 49 | -17 |", "- registry.acme.example.com gives no answer: [", " and 44 more\n",
		"### Pull requests that are open for more than 14 days\n", "- and 78 more lines\n", "| `hashicorp/aws` | 6.21.0 | ", "Without a row: ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page of 2,000 repositories lacks %q", want)
		}
	}
	if rows := strings.Count(text.String(), "| failing |"); rows != 49 {
		t.Errorf("%d rows are failing, want the 49 worst first", rows)
	}
}

// Shards add up to what one run finds, in any order, and the page does not depend on the
// time of the day.
func TestOverviewsAddUp(t *testing.T) {
	t.Parallel()
	all := members(300)
	var parts []report.Overview
	for i := range 3 {
		var some []outline.Member
		for n, m := range all {
			if n%3 == i {
				some = append(some, m)
			}
		}
		data, err := json.Marshal(outline.OverviewOf(some, pageDay.Add(time.Duration(i)*time.Hour)))
		var read report.Overview
		if err == nil {
			err = json.Unmarshal(data, &read)
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, read)
	}
	want, _ := render.Overview(outline.OverviewOf(all, pageDay))
	for range 2 {
		if got, _ := render.Overview(outline.Merge(parts)); got != want {
			t.Errorf("three shards are\n%s\nwant\n%s", got, want)
		}
		slices.Reverse(parts)
	}
}

// Names and texts of others make no markup, and counts of others no nonsense.
func TestOverviewOfHostileParts(t *testing.T) {
	t.Parallel()
	var hostile report.Overview
	err := json.Unmarshal([]byte(`{"owner": "acme", "states": {"failing": -5, "held": 99999999999, "nonsense": 7}, "needing": -1,
		"needs": {"failing": [{"text": "<!-- relock-organisation:{} --> @acme/all | x", "repositories": ["acme/a](https://evil.example.com)", "acme/b|c"]}], "open": [{"repositories": null}]},
		"uses": [{"provider": "x|y", "newest": "z", "majors": {"-3": -4}}],
		"rows": [{"name": "acme/a --> b", "state": "waiting", "waits": 3, "pulls": [-1], "day": "<b>"}, {"name": "acme/c", "state": "nonsense", "waits": -1}]}`), &hostile)
	if err != nil {
		t.Fatal(err)
	}
	o := outline.Merge([]report.Overview{hostile, hostile})
	o.Server = "https://github.com"
	text, _ := render.Overview(o)
	for _, bad := range []string{"<!--", "@acme", "](https://evil", "<b>", "- [ ]", "-5", "nonsense", "b|c"} {
		if strings.Contains(text.String(), bad) {
			t.Errorf("the page has %q:\n%s", bad, text)
		}
	}
}
