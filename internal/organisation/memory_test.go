package organisation

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// TestRecall holds that what is remembered counts only for what the list shows as it
// was then, and not for ever.
func TestRecall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 5, 0, 0, 0, time.UTC)
	at := github.Listed{
		ID: 24, Branch: "main", Tree: "t", Heads: map[string]string{"relock/a": "h"}, Pulls: map[string]string{"relock/a": "#1 then"},
	}
	for name, tt := range map[string]struct {
		change   func(*github.Listed)
		settings string
		later    time.Duration
		want     bool
	}{
		"the_same":                {nil, "s", time.Hour, true},
		"another_tree":            {func(l *github.Listed) { l.Tree = "u" }, "s", 0, false},
		"another_default_branch":  {func(l *github.Listed) { l.Branch = "trunk" }, "s", 0, false},
		"a_branch_has_moved":      {func(l *github.Listed) { l.Heads = map[string]string{"relock/a": "i"} }, "s", 0, false},
		"branches_are_not_known":  {func(l *github.Listed) { l.Heads = nil }, "s", 0, false},
		"a_pull_request_changed":  {func(l *github.Listed) { l.Pulls = map[string]string{"relock/a": "#1 now"} }, "s", 0, false},
		"a_pull_request_is_shut":  {func(l *github.Listed) { l.Pulls = nil }, "s", 0, false},
		"another_repository":      {func(l *github.Listed) { l.ID = 25 }, "s", 0, false},
		"other_settings":          {nil, "x", 0, false},
		"until_a_rule_ends":       {nil, "s", 49 * time.Hour, false},
		"from_the_future":         {nil, "s", -time.Hour, false},
		"two_days_are_not_long":   {nil, "s", 47 * time.Hour, true},
		"the_end_of_all_memories": {nil, "s", 8 * 24 * time.Hour, false},
	} {
		var m memory
		m.remember(at, remembered{Settings: "s", Read: now, Until: now.Add(48 * time.Hour)})
		l := at
		if tt.change != nil {
			tt.change(&l)
		}
		if r, got := m.recall(l, tt.settings, now.Add(tt.later)); got != tt.want {
			t.Errorf("%s: Recall = %+v, %t, want %t", name, r, got, tt.want)
		}
		m.forget(at)
		if r, got := m.recall(at, "s", now); got {
			t.Errorf("%s: Recall of what is forgotten = %+v", name, r)
		}
	}
}

// TestRecallOfWhatWaits holds that nothing but the list makes a run read a repository again in
// which all waits for room. Where a branch of ours is there, what that proposes may change.
func TestRecallOfWhatWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 5, 0, 0, 0, time.UTC)
	bare := github.Listed{ID: 24, Branch: "main", Tree: "t", Heads: map[string]string{}}
	open := bare
	open.Heads = map[string]string{"relock/a": "h"}
	waits := remembered{Settings: "s", Read: now, Until: now.Add(48 * time.Hour), Waits: now.Add(-24 * time.Hour)}
	unread := waits
	unread.Read = time.Time{}
	for name, tt := range map[string]struct {
		at      github.Listed
		known   remembered
		later   time.Duration
		want    bool
		matters bool // a new release does
	}{
		"the_same":              {bare, waits, time.Hour, true, false},
		"a_rule_ends":           {bare, waits, 49 * time.Hour, true, false},
		"after_a_month":         {bare, waits, 30 * 24 * time.Hour, true, false},
		"one_is_open":           {open, waits, time.Hour, true, true},
		"one_is_open_and_later": {open, waits, 49 * time.Hour, false, true},
		"it_must_be_read":       {bare, unread, time.Hour, false, false},
		"from_the_future":       {bare, waits, -time.Hour, false, false},
	} {
		var m memory
		m.remember(tt.at, tt.known)
		r, got := m.recall(tt.at, "s", now.Add(tt.later))
		if got != tt.want || r.matters() != tt.matters || !r.Waits.Equal(waits.Waits) {
			t.Errorf("%s: recalled %t, a release matters %t, waits since %v, want %t, %t", name, got, r.matters(), r.Waits, tt.want, tt.matters)
		}
		tt.at.Tree = "u"
		if _, got := m.recall(tt.at, "s", now); got {
			t.Errorf("%s: recalled with another tree", name)
		}
	}
}

func TestMemoryIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var m memory
	addr := addrOf(t, "registry.example.com/b/c")
	m.remember(github.Listed{ID: 7, Tree: "t", Heads: map[string]string{}}, remembered{
		Read: time.Unix(1_800_000_000, 0).UTC(), Modules: []rememberedModule{{Dir: "live", Tool: terraform(t), Assumed: true, InUse: []report.Use{{Addr: addr, Version: versionOf(t, "1.0.0")}}}},
		PullRequests: []report.PullRequest{{Operation: "none", Repository: "acme/web", Number: 3, Directories: []string{"live"}}},
		Requires:     []neededProvider{{Tool: terraform(t), Addr: addr, Constraints: "~> 1.0", Newest: versionOf(t, "1.2.0")}},
	})
	var text bytes.Buffer
	if err := m.write(&text, "v1"); err != nil {
		t.Fatal(err)
	}
	read, err := readMemory(bytes.NewReader(text.Bytes()), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Repositories, read.Repositories); diff != "" {
		t.Errorf("memory (-written +read):\n%s", diff)
	}
	if read, err := readMemory(bytes.NewReader(text.Bytes()), "v2"); err != nil || len(read.Repositories) != 0 {
		t.Errorf("memory of another version = %v, %v, want none", read, err)
	}
	for _, bad := range []string{"", "{", "[]", `{"format_version": 9}`, text.String()[:40], strings.ReplaceAll(text.String(), addr.String(), "c")} {
		if read, err := readMemory(strings.NewReader(bad), "v1"); err == nil || len(read.Repositories) != 0 {
			t.Errorf("ReadMemory(%q) = %v, %v, want an error and nothing", bad, read, err)
		}
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	var releases []provider.Release
	for _, text := range []string{"1.9.0", "2.1.0-beta1", "1.10.0", "2.0.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, provider.Release{Version: v})
	}
	for constraints, want := range map[string]string{"": "2.0.0", "~> 1.0": "1.10.0", "> 3.0.0": "0.0.0"} {
		r := neededProvider{Constraints: constraints}
		if got := r.newestOf(releases); got.String() != want {
			t.Errorf("newestOf(%q) = %q, want %q", constraints, got, want)
		}
	}
}
