package organisation

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// offered is a source that lists these versions of each provider.
type offered struct {
	upgrade.Source
	versions []string
	err      error
}

func (o offered) Versions(context.Context, provider.Tool, provider.Addr) (provider.Offer, error) {
	var all []provider.Release
	for _, v := range o.versions {
		version, err := provider.ParseVersion(v)
		if err != nil {
			return provider.Offer{}, err
		}
		all = append(all, provider.Release{Version: version})
	}
	return provider.Offer{Releases: all}, o.err
}

func addrOf(t *testing.T, text string) provider.Addr {
	t.Helper()
	addr, err := provider.ParseFullAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// terraform is a release of Terraform.
func terraform(t *testing.T) provider.Tool {
	t.Helper()
	return provider.Tool{Name: provider.Terraform, Version: versionOf(t, "1.11.4")}
}

func versionOf(t *testing.T, text string) provider.Version {
	t.Helper()
	version, err := provider.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// selecting is the plan of one root module, which requires one provider.
func selecting(t *testing.T, sel upgrade.Selection) []upgrade.Result {
	t.Helper()
	sel.Requirement = scan.Requirement{Addr: addrOf(t, "registry.terraform.io/hashicorp/null")}
	root := scan.RootModule{Root: scan.Root{Tool: terraform(t)}}
	return []upgrade.Result{{Module: root, Selections: []upgrade.Selection{sel}}}
}

// A plan is partly unknown where a list cannot show that the next one would be another.
func TestWhatAPlanDependsOn(t *testing.T) {
	t.Parallel()
	day := time.Unix(1_800_000_000, 0).UTC()
	held := func(at ...time.Time) (all []upgrade.Held) {
		for _, until := range at {
			all = append(all, upgrade.Held{By: policy.Hold{Eligible: until}})
		}
		return all
	}
	for name, tt := range map[string]struct {
		heads     map[string]string
		branch    string
		autoMerge bool
		sel       upgrade.Selection
		err       error // of the registry
		partial   bool
		until     time.Time
	}{
		"all_is_known":       {branch: "main"},
		"another_branch":     {branch: "release", partial: true},
		"merging_later":      {branch: "main", heads: map[string]string{"relock/all": "a"}, autoMerge: true, partial: true},
		"nothing_to_merge":   {branch: "main", autoMerge: true},
		"no_answer":          {branch: "main", err: errors.New("away"), partial: true},
		"provider_fails":     {branch: "main", sel: upgrade.Selection{Err: errors.New("bad")}, partial: true},
		"held_for_two_rules": {branch: "main", sel: upgrade.Selection{Facts: upgrade.Facts{Held: held(day.Add(time.Hour), day, time.Time{})}}, until: day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{listed: github.Listed{Branch: "main", Heads: tt.heads}, requires: map[neededProvider]bool{}}
			r.add(t.Context(), run.Basis{
				Branch: tt.branch, AutoMerge: tt.autoMerge, Results: selecting(t, tt.sel), Releases: offered{versions: []string{"3.1.0", "3.2.4"}, err: tt.err},
			})
			if r.partial != tt.partial || !r.until.Equal(tt.until) {
				t.Errorf("recorded %+v, want partial: %t, until: %s", r, tt.partial, tt.until)
			}
			want := neededProvider{Tool: terraform(t), Addr: addrOf(t, "registry.terraform.io/hashicorp/null"), Newest: versionOf(t, "3.2.4")}
			if !r.requires[want] || len(r.requires) != 1 {
				t.Errorf("recorded %v, want %v", r.requires, want)
			}
		})
	}
}

// Only what would be found again is remembered.
func TestWhatIsRemembered(t *testing.T) {
	t.Parallel()
	l := github.Listed{ID: 7, Name: "acme/web", Tree: "a", Branch: "main", Heads: map[string]string{}}
	for name, tt := range map[string]struct {
		edit func(t *turns, seen *recorder, told *report.Report)
		want bool
	}{
		"nothing_to_do": {want: true, edit: func(*turns, *recorder, *report.Report) {}},
		"open_as_it_was": {want: true, edit: func(_ *turns, _ *recorder, told *report.Report) {
			told.PullRequests = []report.PullRequest{{Operation: "none", Number: 3}}
		}},
		"a_pull_request_made": {edit: func(_ *turns, _ *recorder, told *report.Report) {
			told.PullRequests = []report.PullRequest{{Operation: "created", Number: 3}}
		}},
		"a_pull_request_missing": {edit: func(_ *turns, _ *recorder, told *report.Report) {
			told.PullRequests = []report.PullRequest{{Operation: "none"}}
		}},
		"not_all_is_known": {edit: func(_ *turns, seen *recorder, _ *report.Report) { seen.partial = true }},
		"failed": {edit: func(_ *turns, _ *recorder, told *report.Report) {
			told.Diagnostics = []problem.Problem{{Code: problem.CodeGitHub}}
		}},
		"something_waits": {edit: func(t *turns, _ *recorder, _ *report.Report) { t.budget.waits = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &turns{session: &run.Session{}, memory: &memory{}, budget: &budget{}}
			all.memory.remember(l, remembered{}) // of a run before
			seen, told := &recorder{listed: l}, report.Report{}
			tt.edit(all, seen, &told)
			all.remember(l, seen, told)
			if _, got := all.memory.Repositories["7"]; got != tt.want {
				t.Errorf("remembered: %t, want %t", got, tt.want)
			}
		})
	}
}

// What waits for room is remembered with when it began to wait, also where the repository must
// be read again; what was opened meanwhile ends that.
func TestWaitingIsRemembered(t *testing.T) {
	t.Parallel()
	l := github.Listed{ID: 7, Name: "acme/web", Tree: "a", Branch: "main", Heads: map[string]string{}}
	then := time.Unix(1_700_000_000, 0).UTC()
	waits := report.PullRequest{Operation: "none", Repository: "acme/web", Title: "Update", Branch: "relock/all", Base: "main", Reason: "it waits", Directories: []string{"live"}, Waits: true}
	for name, tt := range map[string]struct {
		pulls  []report.PullRequest
		budget bool
		since  time.Time
		read   bool
		full   bool
	}{
		"for_the_run":       {[]report.PullRequest{waits}, true, then, true, false},
		"for_its_own_limit": {[]report.PullRequest{{Operation: "none", Number: 3}, waits}, false, then, true, true},
		"one_was_opened":    {[]report.PullRequest{{Operation: "created", Number: 3}, waits}, true, time.Time{}, false, false},
		"one_is_missing":    {[]report.PullRequest{{Operation: "none"}, waits}, true, then, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &turns{session: &run.Session{}, memory: &memory{}, budget: &budget{waits: tt.budget}}
			all.memory.remember(l, remembered{Waits: then}) // of a run before
			all.remember(l, &recorder{listed: l}, report.Report{PullRequests: tt.pulls})
			got, known := all.memory.Repositories["7"]
			if tt.read { // what was read now was read when the session began, which has no time here
				if !got.Waits.Equal(tt.since) || got.Full != tt.full {
					t.Errorf("remembered %+v, want since %v, full: %t", got, tt.since, tt.full)
				}
				want := slices.Clone(tt.pulls)
				for i := range want {
					want[i].Repository = "acme/web"
				}
				if diff := cmp.Diff(want, got.report("acme/web").PullRequests); diff != "" {
					t.Errorf("pull requests are recalled otherwise (-want +got):\n%s", diff)
				}
				return
			}
			if len(got.PullRequests) > 0 || known && !got.Waits.Equal(tt.since) {
				t.Errorf("remembered %+v, want no more than since when it waits", got)
			}
		})
	}
}

// What is remembered of a report is reported again.
func TestReportIsRecalled(t *testing.T) {
	t.Parallel()
	version, err := provider.ParseVersion("3.2.4")
	if err != nil {
		t.Fatal(err)
	}
	l := github.Listed{ID: 7, Name: "acme/web", Heads: map[string]string{}}
	live := report.Module{
		Dir: "live", Tool: provider.Tool{Name: provider.Terraform, Version: version}, Assumed: true, Pending: true, Left: true,
		InUse: []report.Use{{Addr: addrOf(t, "registry.terraform.io/hashicorp/null"), Version: version}},
	}
	told := report.Report{
		Excluded:    []string{"acme/web//old/.terraform.lock.hcl"},
		Modules:     []report.Module{live.Named(problem.Naming{Repository: "acme/web"})},
		Diagnostics: []problem.Problem{{Code: problem.CodeUnseen, Severity: problem.SeverityWarning, Place: problem.Place{Package: "acme/web"}, Message: "1 lock file was not looked at"}},
	}
	all := &turns{session: &run.Session{}, memory: &memory{}, budget: &budget{}}
	all.remember(l, &recorder{listed: l}, told)
	got := all.memory.Repositories["7"].report("acme/web")
	told.Modules[0].Remembered = true
	if diff := cmp.Diff(told, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(safe.Markdown{}), cmp.Comparer(func(a, b provider.Version) bool { return a.Compare(b) == 0 })); diff != "" {
		t.Errorf("recalled (-want +got):\n%s", diff)
	}
}

// A repository is read again as soon as a newer release is allowed, and where nobody can
// tell.
func TestNewerReleaseHasARepositoryRead(t *testing.T) {
	t.Parallel()
	needed := neededProvider{Tool: terraform(t), Addr: addrOf(t, "registry.terraform.io/hashicorp/null"), Constraints: "~> 3.0", Newest: versionOf(t, "3.2.4")}
	garbled := needed
	garbled.Constraints = "null"
	for name, tt := range map[string]struct {
		needed neededProvider
		source offered
		want   bool
	}{
		"as_it_was":   {needed, offered{versions: []string{"3.2.4", "4.0.0"}}, true},
		"a_newer_one": {needed, offered{versions: []string{"3.2.4", "3.3.0"}}, false},
		"no_answer":   {needed, offered{versions: []string{"3.2.4"}, err: errors.New("away")}, false},
		"garbled":     {garbled, offered{versions: []string{"3.2.4"}}, false},
	} {
		if got := (remembered{Requires: []neededProvider{tt.needed}}).stillNewest(t.Context(), tt.source); got != tt.want {
			t.Errorf("%s: stillNewest() = %t, want %t", name, got, tt.want)
		}
	}
}
