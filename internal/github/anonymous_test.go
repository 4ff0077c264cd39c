package github_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
)

// startAnonymous is start for whoever has no token.
func startAnonymous(t *testing.T, replies ...reply) (*fake, *github.Repository) {
	t.Helper()
	f, _ := start(t, replies...)
	c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3"}, HTTP: f.Client(), Clock: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	return f, c.Repository("octo", "infra")
}

// limited is an answer when the requests of an address are used up.
func limited(status int, d time.Duration) reply {
	r := reply{status, at(d), `{"message": "API rate limit exceeded for 192.0.2.1."}`}
	r.header["X-RateLimit-Limit"] = "60"
	return r
}

func TestSaysWithoutATokenHowToGoOn(t *testing.T) {
	t.Parallel()
	secondary := `{"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs.github.com/#secondary-rate-limits"}`
	tests := map[string]struct {
		reply      reply
		want, hint string
	}{
		"used_up":       {limited(403, 50*time.Minute), "the 60 requests an hour that an address has without a token are used up", "gh auth token` prints, or run again after 2027-01-15T08:50:00Z"},
		"used_up_short": {limited(403, time.Minute), "without a token are used up", "2027-01-15T08:01:00Z"},
		"too_many":      {limited(429, time.Minute), "429", "gh auth token"},
		"secondary":     {reply{403, map[string]string{"Retry-After": "60"}, secondary}, "secondary limit", "run again later"},
		"private":       {reply{404, nil, `{"message": "Not Found"}`}, "404", "a private repository is hidden without a token: set GITHUB_TOKEN"},
		"closed_server": {reply{401, nil, `{"message": "Must authenticate to access this API."}`}, "401", "set GITHUB_TOKEN"},
		"forbidden":     {reply{403, nil, `{"message": "no"}`}, "403", "set GITHUB_TOKEN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, repo := startAnonymous(t, tt.reply)
			_, err := repo.DefaultBranch(context.Background())
			var e *problem.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(e.Problem.Hint, tt.hint) {
				t.Errorf("DefaultBranch() = %#v, want %q with the hint %q", err, tt.want, tt.hint)
			}
			if len(f.waits) > 0 || len(f.asked) != 1 {
				t.Errorf("waits = %v after %q, want none after one request", f.waits, f.asked)
			}
		})
	}
}

func TestDoesNotWaitWithoutATokenBeforeALimitIsMet(t *testing.T) {
	t.Parallel()
	last := ok(ref)
	last.header = at(5 * time.Minute)
	f, repo := startAnonymous(t, last, ok(ref))
	for range 2 {
		if _, err := repo.Head(context.Background(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.waits) > 0 {
		t.Errorf("waits = %v, want none", f.waits)
	}
}

func TestAsksLittleWithoutAToken(t *testing.T) {
	t.Parallel()
	f, repo := startAnonymous(t, ok(ref))
	for range 10 {
		if _, err := repo.Head(context.Background(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := repo.Head(context.Background(), "main")
	var e *problem.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "no more than 10 questions") || !strings.Contains(e.Problem.Hint, "GITHUB_TOKEN") {
		t.Errorf("the eleventh Head() = %v, want a refusal with a hint", err)
	}
	if strings.Contains(err.Error(), "http") {
		t.Errorf("the error %v has the address", err)
	}
	if len(f.asked) != 10 {
		t.Errorf("%d requests were sent, want 10", len(f.asked))
	}
	for _, header := range f.authorization {
		if header != "" {
			t.Errorf("Authorization = %q, want none", header)
		}
	}
}

// What gets no answer is asked again, and each time counts.
func TestCountsWhatIsAskedAgainWithoutAToken(t *testing.T) {
	t.Parallel()
	f, repo := startAnonymous(t, reply{502, nil, ""})
	for range 5 {
		if _, err := repo.Head(context.Background(), "main"); err == nil {
			t.Error("Head() = nil, want an error")
		}
	}
	if len(f.asked) != 10 {
		t.Errorf("%d requests were sent, want 10", len(f.asked))
	}
}

func TestAsksNoGraphQLWithoutAToken(t *testing.T) {
	t.Parallel()
	f, repo := startAnonymous(t, ok(`{}`))
	_, err := repo.Latest(context.Background(), []string{"relock/all-1"})
	var e *problem.Error
	if !errors.As(err, &e) || !strings.Contains(e.Problem.Hint, "GITHUB_TOKEN") || len(f.asked) > 0 {
		t.Errorf("Latest() = %v after %q, want an error with a hint, and no request", err, f.asked)
	}
}

func TestRecentPullRequests(t *testing.T) {
	t.Parallel()
	pull := func(head string) string {
		return `{"number": 7, "head": {"ref": "relock/all", "repo": {"full_name": "` + head + `"}}, "base": {"ref": "main", "repo": {"full_name": "octo/infra"}}}`
	}
	tests := map[string]struct {
		listed   []string
		pulls    int
		complete bool
	}{
		"none":           {nil, 0, true},
		"of_forks":       {[]string{pull("octo/infra"), pull("someone/infra")}, 1, true},
		"more_than_page": {slices.Repeat([]string{pull("octo/infra")}, 100), 100, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, repo := startAnonymous(t, ok("["+strings.Join(tt.listed, ",")+"]"))
			pulls, complete, err := repo.Recent(context.Background())
			if err != nil || len(pulls) != tt.pulls || complete != tt.complete {
				t.Errorf("Recent() = %d pull requests, %v, %v, want %d, %v", len(pulls), complete, err, tt.pulls, tt.complete)
			}
		})
	}
}
