package command

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

// busy is an organisation whose repositories all lack a pull request, with a clock that
// stands still but for whoever waits, at relock and at GitHub.
type busy struct {
	*sandbox.Sandbox
	session
	dir          string
	all          int
	repositories int // that runs are about
	mu           sync.Mutex
	time         time.Time
}

// now is the time.
func (b *busy) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.time
}

// pass lets time pass.
func (b *busy) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = b.time.Add(d)
}

func newBusy(t *testing.T, repositories int) *busy {
	t.Helper()
	t.Parallel()
	world := "-- registry/registry.terraform.io/hashicorp/null --\nversions: [3.2.2, 3.2.4]\nplatforms: [linux_amd64]\n"
	for i := range repositories {
		world += fmt.Sprintf("-- github/acme/r%02d/main/main.tf --\nresource \"null_resource\" \"x\" {}\n-- github/acme/r%02[1]d/main/.terraform.lock.hcl --\n"+
			"provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n}\n", i)
	}
	b := &busy{Sandbox: serveText(t, world), dir: t.TempDir(), all: repositories, repositories: repositories, time: time.Now()}
	b.GitHub().SetMachine(b.now)
	b.session = session{home: t.TempDir(), clock: github.Clock{
		Now:   b.now,
		Sleep: func(_ context.Context, d time.Duration) error { b.pass(d); return nil },
	}}
	b.session.env = map[string]string{"GITHUB_TOKEN": sandbox.UserToken, "GITHUB_API_URL": strings.TrimSuffix(b.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL": b.GraphQL()}
	return b
}

// relock runs it in the organisation.
func (b *busy) relock(t *testing.T, args ...string) (int, string) {
	t.Helper()
	return b.run(t, b.Sandbox, b.dir, args...)
}

// proposed is how many repositories have a pull request, which is the only one.
func (b *busy) proposed(t *testing.T) (n int) {
	t.Helper()
	for i := range b.all {
		name := fmt.Sprintf("acme/r%02d", i)
		pulls, err := b.GitHub().Pulls(name)
		if err != nil || len(pulls) > 1 {
			t.Errorf("%s has %d pull requests, %v, want at most one", name, len(pulls), err)
		}
		n += len(pulls)
	}
	return n
}

// shard restricts the organisation to a shard, and returns the arguments of its runs.
func (b *busy) shard(t *testing.T, shard string) (args []string) {
	t.Helper()
	args = []string{"pr", "--org", "acme", "--shard", shard, "--max-new", "1500"}
	status, said := b.relock(t, append(args[:len(args):len(args)], "--dry-run")...)
	found := regexp.MustCompile(`(?m)^acme: (\d+) repositories: \d+ outdated; left out: \d+ in other shards$`).FindStringSubmatch(said)
	if status != ExitOK || found == nil {
		t.Fatalf("a dry run = %d\n%s", status, said)
	}
	b.repositories, _ = strconv.Atoi(found[1])
	return args
}

// TestHourOfContents holds that a run makes no more than its share of an hour: what it has
// besides waits for the next run, which does it, or for the next hour if the run has the
// time. GitHub refuses nothing.
func TestHourOfContents(t *testing.T) {
	t.Run("in_several_runs", func(t *testing.T) {
		b := newBusy(t, 120)
		args := b.shard(t, "2/15")
		b.GitHub().LimitContents(sandbox.ContentLimit{Minute: 80, Hour: 30})
		for runs := 1; b.proposed(t) < b.repositories; runs++ {
			before := b.proposed(t)
			status, said := b.relock(t, args...)
			left := b.repositories - b.proposed(t)
			if status != ExitOK || b.proposed(t) < min(before+4, b.repositories) {
				t.Fatalf("run %d = %d with %d pull requests after %d, want some more\n%s", runs, status, b.proposed(t), before, said)
			}
			if want := fmt.Sprintf("%d repositories have pull requests that wait", left); left > 0 && !strings.Contains(said, want) {
				t.Errorf("run %d does not say %q:\n%s", runs, want, said)
			}
			b.pass(time.Hour)
		}
		if _, hour, refused := b.GitHub().Contents(); refused > 0 {
			t.Errorf("%d contents in an hour, %d refused, want none", hour, refused)
		}
	})
	t.Run("in_one_that_has_the_time", func(t *testing.T) {
		b := newBusy(t, 120)
		args := b.shard(t, "2/15")
		b.GitHub().LimitContents(sandbox.ContentLimit{Minute: 80, Hour: 30})
		began := b.now()
		status, said := b.relock(t, append(args, "--timeout", "9h")...)
		if status != ExitOK || b.proposed(t) != b.repositories || !strings.Contains(said, "contents that GitHub lets be made in an hour, 30, is used up until ") {
			t.Errorf("the run = %d with %d pull requests, want 0 and %d\n%s", status, b.proposed(t), b.repositories, said)
		}
		if _, hour, refused := b.GitHub().Contents(); refused > 0 || b.now().Sub(began) < time.Hour {
			t.Errorf("%d contents in an hour, %d refused, in %v, want none and more than an hour", hour, refused, b.now().Sub(began))
		}
	})
}

// TestLimitsThatOthersUseUp holds that a limit that is met all the same loses no pull
// request and opens none twice: a run that has the time ends well, and one that has not
// is gone on with by the next.
func TestLimitsThatOthersUseUp(t *testing.T) {
	for name, tt := range map[string]struct {
		limit    sandbox.ContentLimit
		requests int // that are left of the hour; 0: all
		timeout  string
		runs     int // until all is proposed
	}{
		"contents_of_an_hour":          {limit: sandbox.ContentLimit{Hour: 13}, runs: 4},
		"contents_of_an_hour_silently": {limit: sandbox.ContentLimit{Hour: 13, Silent: true}, runs: 4},
		"with_time_for_it":             {limit: sandbox.ContentLimit{Hour: 13}, timeout: "9h", runs: 1},
		"contents_of_a_minute":         {limit: sandbox.ContentLimit{Minute: 4}, runs: 1},
		"of_a_minute_silently":         {limit: sandbox.ContentLimit{Minute: 4, Silent: true}, runs: 1},
		"requests":                     {requests: 45, runs: 2},
		"requests_with_time":           {requests: 45, timeout: "9h", runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBusy(t, 6)
			b.GitHub().LimitContents(tt.limit)
			if tt.requests > 0 {
				b.GitHub().LimitRate(sandbox.UserToken, tt.requests)
			}
			args := []string{"pr", "--org", "acme"}
			if tt.timeout != "" {
				args = append(args, "--timeout", tt.timeout)
			}
			runs, said := 0, ""
			for status := -1; runs < 9 && status != ExitOK; runs++ {
				status, said = b.relock(t, args...)
				if left := b.repositories - b.proposed(t); (status == ExitOK) != (left == 0) {
					t.Errorf("run %d = %d, where %d pull requests lack\n%s", runs+1, status, left, said)
				}
				if status != ExitOK && !strings.Contains(said, " UTC: ") {
					t.Errorf("run %d does not say how long it would have to wait:\n%s", runs+1, said)
				}
				b.pass(time.Hour)
			}
			if b.proposed(t) != b.repositories || runs > tt.runs {
				t.Errorf("%d of %d pull requests after %d runs, want all after %d\n%s", b.proposed(t), b.repositories, runs, tt.runs, said)
			}
		})
	}
}

// TestNextRunGoesOn holds that a run begins where the one before has ended.
func TestNextRunGoesOn(t *testing.T) {
	b := newBusy(t, 6)
	b.GitHub().LimitRate(sandbox.UserToken, 45)
	args := []string{"pr", "--org", "acme", "--fleet", "fleet.json"}
	status, said := b.relock(t, args...)
	next := regexp.MustCompile(`repositories have not been looked at, from (acme/r\d+) on`).FindStringSubmatch(said)
	if status != ExitFailed || next == nil {
		t.Fatalf("the run = %d, want one that says what it has not looked at\n%s", status, said)
	}
	b.pass(time.Hour)
	b.ResetRequests()
	if status, said := b.relock(t, args...); status != ExitOK || b.proposed(t) != b.repositories {
		t.Errorf("the next run = %d with %d pull requests, want all\n%s", status, b.proposed(t), said)
	}
	for _, r := range b.Requests() { // what is read ahead comes in any order
		if at := strings.Index(r.Path, "/repos/acme/"); at >= 0 && r.Writes() {
			if !strings.HasPrefix(r.Path[at:], "/repos/"+next[1]+"/") {
				t.Errorf("the next run begins with %s, want %s", r.Path, next[1])
			}
			break
		}
	}
}

// TestSecondaryLimitsInAnOrganisation holds that a refusal for a while, with or without
// its length, fails no run, wherever it is met.
func TestSecondaryLimitsInAnOrganisation(t *testing.T) {
	for _, path := range []string{
		"POST /github/api/graphql", "GET /github/api/v3/repos/acme/r01/tarball/...", "GET /github/api/v3/repos/acme/r01/git/matching-refs/...",
		"POST /github/api/v3/repos/acme/r01/git/trees", "POST /github/api/v3/repos/acme/r01/git/commits", "POST /github/api/v3/repos/acme/r01/git/refs",
		"POST /github/api/v3/repos/acme/r01/pulls",
	} {
		for _, kind := range []string{"403", "403 after"} {
			t.Run(path+" "+kind, func(t *testing.T) {
				b := newBusy(t, 2)
				method, at, _ := strings.Cut(path, " ")
				f := sandbox.Fault{Method: method, Path: at, Times: 2, Status: 403, Header: map[string][]string{}, Body: `{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`}
				if kind != "403" {
					f.Header.Set("Retry-After", "75")
				}
				b.Inject(f)
				began := b.now()
				if status, said := b.relock(t, "pr", "--org", "acme"); status != ExitOK || b.proposed(t) != 2 {
					t.Errorf("the run = %d with %d pull requests, want 0 and 2\n%s", status, b.proposed(t), said)
				}
				if waited := b.now().Sub(began); waited < 2*time.Minute {
					t.Errorf("it waited for %v, want two minutes or more", waited)
				}
			})
		}
	}
}
