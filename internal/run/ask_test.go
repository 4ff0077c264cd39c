package run

import (
	"reflect"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// What an ask does follows from its constructor: which verb it is, what is planned, where
// the result goes, and who chose what is read.
func TestAsks(t *testing.T) {
	t.Parallel()
	aws := []provider.Pattern{pattern(t, "hashicorp/aws")}
	m := Means{Settings: settings.Settings{Providers: aws}, Head: ForkHead}
	here, dirs := Checkout{Repository: "acme/infra", DefaultBranch: "main"}, []string{"live"}
	fork := PullHead{Repository: "acme/infra", Files: &Remote{Commit: "abc"}, Fork: true}
	own := PullHead{Repository: "acme/infra", Files: fork.Files}
	complete, push := Wanted{Mode: upgrade.Complete, Dirs: dirs}, &Push{Branch: "topic"}
	rebuilt := Pulls{Only: "relock/all", Seen: "abc", Rebase: true}
	for name, tt := range map[string]struct {
		ask   Ask
		verb  verbs.Verb
		mode  upgrade.Mode
		to    Destination
		head  Head
		named bool // providers of the settings must be there
	}{
		"scan":     {ToScan(m, here, dirs), verbs.Scan, upgrade.Upgrade, nil, ForkHead, true},
		"upgrade":  {ToUpgrade(m, here, dirs), verbs.Upgrade, upgrade.Upgrade, Disk{}, ForkHead, true},
		"lock":     {ToLock(m, here, dirs), verbs.Lock, upgrade.Complete, Disk{}, ForkHead, true},
		"check":    {ToCheck(m, here, dirs, JudgedBy{}, upgrade.Complete, nil), verbs.Check, upgrade.Complete, nil, ForkHead, true},
		"verify":   {ToVerify(m, here, dirs, JudgedBy{}, nil), verbs.Verify, upgrade.Upgrade, nil, ForkHead, true},
		"pr":       {ToPropose(m, Checkout{Repository: "acme/infra"}, dirs), verbs.PR, upgrade.Upgrade, Pulls{}, ForkHead, true},
		"pr_repo":  {ToProposeIn(m, []string{"acme/infra"}, dirs), verbs.PR, upgrade.Upgrade, Pulls{}, ForkHead, true},
		"pr_org":   {ToProposeOf(m, "acme", dirs), verbs.PR, upgrade.Upgrade, Pulls{}, ForkHead, true},
		"comment":  {ToAnswer(m, "acme/infra"), verbs.Comment, upgrade.Upgrade, nil, OwnHead, false},
		"look":     {ToLook(m, verbs.Check, fork, complete, JudgedBy{}), verbs.Check, upgrade.Complete, nil, ForkHead, false},
		"repair":   {ToRepair(m, verbs.Lock, own, complete, push), verbs.Lock, upgrade.Complete, push, OwnHead, false},
		"rebuild":  {ToRebuild(m, "acme/infra", "main", fork.Files, dirs, rebuilt), verbs.PR, upgrade.Upgrade, rebuilt, ForkHead, false},
		"settings": {ToRead(m, "acme/infra"), verbs.Scan, upgrade.Upgrade, nil, ForkHead, false},
	} {
		a := tt.ask
		if a.verb != tt.verb || a.mode != tt.mode || !reflect.DeepEqual(a.to, tt.to) || a.head != tt.head || (len(a.named) > 0) != tt.named {
			t.Errorf("%s: %+v, want %+v", name, a, tt)
		}
	}
}

// A command that names providers and platforms outranks settings.
func TestWantedOutranksSettings(t *testing.T) {
	t.Parallel()
	linux, darwin := []provider.Platform{{OS: "linux", Arch: "amd64"}}, []provider.Platform{{OS: "darwin", Arch: "arm64"}}
	c := settings.Settings{Providers: []provider.Pattern{pattern(t, "hashicorp/aws")}, Platforms: settings.PlatformSet{List: linux}}
	m, head := Means{Settings: c}, PullHead{Files: &Remote{}}
	null := []provider.Pattern{pattern(t, "hashicorp/null")}
	got := ToLook(m, verbs.Check, head, Wanted{Providers: null, Platforms: darwin}, JudgedBy{}).planning(c)
	if !slices.Equal(got.Only, null) || !slices.Equal(got.Platforms.List, darwin) || !got.Platforms.Demanded {
		t.Errorf("planned for %v and %v, want what the command names", got.Only, got.Platforms)
	}
	got = ToLook(m, verbs.Check, head, Wanted{}, JudgedBy{}).planning(c)
	if !slices.Equal(got.Only, c.Providers) || !slices.Equal(got.Platforms.List, linux) || got.Platforms.Demanded {
		t.Errorf("planned for %v and %v, want what settings say", got.Only, got.Platforms)
	}
}

// Base branches are those of the settings, for a checkout and for a default branch; our own
// pull request is made anew on its own.
func TestBases(t *testing.T) {
	t.Parallel()
	several := settings.Settings{PullRequest: settings.PullRequest{Base: []string{"release", "main"}}}
	m := Means{Settings: several}
	for name, tt := range map[string]struct {
		ask   Ask
		c     settings.Settings
		want  []string
		where string // the branch at hand
	}{
		"settings":    {ToPropose(m, Checkout{DefaultBranch: "main"}, nil), several, []string{"release", "main"}, "release"},
		"checked_out": {ToPropose(m, Checkout{DefaultBranch: "main", Branch: "topic"}, nil), several, []string{"release", "main"}, "topic"},
		"default":     {ToPropose(Means{}, Checkout{DefaultBranch: "main"}, nil), settings.Settings{}, []string{"main"}, "main"},
		"unknown":     {ToPropose(Means{}, Checkout{}, nil), settings.Settings{}, []string{""}, ""},
		"check":       {ToCheck(m, Checkout{DefaultBranch: "main"}, nil, JudgedBy{}, upgrade.Upgrade, nil), several, []string{"main"}, "main"},
		"rebuild":     {ToRebuild(m, "acme/infra", "main", &Remote{}, nil, Pulls{Only: "relock/all"}), several, []string{"main"}, "main"},
	} {
		of := tt.ask.targets[0]
		got, at := tt.ask.bases(of, tt.c), branchHere(tt.ask, of)
		if !slices.Equal(got, tt.want) || at != tt.where {
			t.Errorf("%s: bases %q and branch %q, want %q and %q", name, got, at, tt.want, tt.where)
		}
	}
}
