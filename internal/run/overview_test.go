package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/dashboard"
	"github.com/relock-dev/relock/internal/report"
)

// A week begins on Monday, in UTC.
func TestWeekOf(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"2026-11-23T00:00:00Z": "2026-11-23", "2026-11-29T23:59:59Z": "2026-11-23", "2026-11-30T00:30:00+01:00": "2026-11-23", "2026-12-02T04:17:00Z": "2026-11-30",
	} {
		now, err := time.Parse(time.RFC3339, at)
		if got := weekOf(now); err != nil || got != want {
			t.Errorf("weekOf(%s) = %s, %v, want %s", at, got, err, want)
		}
	}
}

// The comment of a shard keeps its day while nothing else changes, at most for a week.
func TestSettled(t *testing.T) {
	t.Parallel()
	on := func(day string, failing int) report.Overview {
		return report.Overview{Owner: "acme", Shard: "2/3", Day: day, States: map[report.Standing]int{report.StandingFailing: failing}}
	}
	for _, tt := range []struct{ was, now, want report.Overview }{
		{on("2026-11-23", 1), on("2026-11-25", 1), on("2026-11-23", 1)},
		{on("2026-11-23", 1), on("2026-11-25", 2), on("2026-11-25", 2)},
		{on("2026-11-23", 1), on("2026-11-30", 1), on("2026-11-30", 1)}, // the next Monday
		{on("2099-01-01", 1), on("2026-11-25", 1), on("2026-11-25", 1)}, // somebody has edited it
		{on("", 1), on("2026-11-25", 1), on("2026-11-25", 1)},
	} {
		known := []dashboard.Part{{Name: "1/3", Data: encoded(tt.now)}, {Name: "2/3", Data: encoded(tt.was)}}
		if got := settled(tt.now, known); got.Day != tt.want.Day {
			t.Errorf("after %s with %v, %s with %v is of %s, want %s", tt.was.Day, tt.was.States, tt.now.Day, tt.now.States, got.Day, tt.want.Day)
		}
	}
}

// What the comment of a shard holds fits, whatever the shard has.
func TestEncodedFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 100)
	o := report.Overview{Needs: map[report.Need][]report.NeedLine{}}
	for i := range 100 {
		o.Rows = append(o.Rows, report.OverviewRow{Name: fmt.Sprint("acme/", i), Held: []report.Remark{{Provider: long, Text: long}}})
		o.Needs[report.NeedMerge] = append(o.Needs[report.NeedMerge], report.NeedLine{Remark: report.Remark{Text: long}, Repositories: []string{long}})
	}
	text := encoded(o)
	var read report.Overview
	if err := json.Unmarshal(text, &read); err != nil || len(text) > mostEncoded || len(read.Rows) == 0 {
		t.Fatalf("%d bytes have %d rows, %v", len(text), len(read.Rows), err)
	}
	if n := len(read.Needs[report.NeedMerge]) + read.Further[report.NeedMerge]; n != 100 || len(o.Rows) != 100 || len(o.Needs[report.NeedMerge]) != 100 {
		t.Errorf("of 100 lines %d are counted; the overview has %d rows now", n, len(o.Rows))
	}
}

// Shards of another division, and what more people would see than may, are not on the page.
func TestJoined(t *testing.T) {
	t.Parallel()
	part := func(shard, owner, visibility string, failing int) dashboard.Part {
		return dashboard.Part{Name: shard, Data: encoded(report.Overview{
			Owner: owner, Shard: shard, Day: "2026-11-25", Visibility: visibility, States: map[report.Standing]int{report.StandingFailing: failing},
		})}
	}
	p := &OwnerPage{}
	p.found.Visibility = "internal"
	known := p.allowed([]dashboard.Part{part("2/4", "acme", "public", 10), part("3/4", "acme", "private", 100), part("4/4", "other", "public", 1000), part("2/3", "acme", "public", 10000)})
	got := joined(report.Overview{Owner: "acme", Shard: "1/4", Day: "2026-11-26", States: map[report.Standing]int{report.StandingFailing: 1}}, known)
	want := []report.ShardPart{{Shard: "1/4", Day: "2026-11-26"}, {Shard: "2/4", Day: "2026-11-25"}, {Shard: "3/4"}, {Shard: "4/4"}}
	if n := got.States[report.StandingFailing]; n != 11 || fmt.Sprint(got.Parts) != fmt.Sprint(want) {
		t.Errorf("%d are failing in %v, want 11 in %v", n, got.Parts, want)
	}
}
