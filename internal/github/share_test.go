package github_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

// hourglass is a clock that stands still but for whoever sleeps, at the client and at the
// sandbox.
type hourglass struct {
	now   time.Time
	slept time.Duration
}

func (g *hourglass) clock() github.Clock {
	return github.Clock{
		Now: func() time.Time { return g.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			g.now, g.slept = g.now.Add(d), g.slept+d
			return nil
		},
	}
}

// shared is a client with a share, its repository, and the clock of both sides.
func shared(t *testing.T, s github.Ration) (*hub, *github.Client, *github.Repository, *hourglass) {
	t.Helper()
	h, g := newHub(t, listWorld), &hourglass{now: time.Now()}
	h.SetMachine(func() time.Time { return g.now })
	conn := h.options(t)
	conn.Access.Token, conn.Clock = sandbox.UserToken, g.clock()
	c, err := github.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c.Share(s)
	return h, c, c.Narrowed("acme/public", false, false).Repository("acme", "public"), g
}

// TestShareOfAnHour holds that whoever has a share is told when it is used up, by all
// clients that share the limits, and has another one in the next hour.
func TestShareOfAnHour(t *testing.T) {
	h, c, repo, g := shared(t, github.Ration{})
	asked := 0
	ask := func() {
		t.Helper()
		asked++ // what is asked twice is not counted
		if _, err := repo.Head(t.Context(), fmt.Sprint("b", asked)); !errors.Is(err, github.ErrNotFound) {
			t.Fatal(err)
		}
	}
	for range 9 {
		ask()
	}
	h.LimitRate(sandbox.UserToken, 4000)
	c.Share(github.Ration{Requests: 20}) // of which nothing is used yet
	for range 17 {
		ask()
	}
	if w := c.Ready(30, 12); w.Needed() {
		t.Errorf("a share of 20 requests is used up by 17: %v", w)
	}
	if hour := c.Hour(); hour != 5000 {
		t.Errorf("an hour has %d requests, want 5000, of which 4000 are left", hour)
	}
	ask()
	g.now = g.now.Add(20 * time.Minute)
	w := c.Ready(30, 0)
	if !strings.Contains(w.String(), "the run's share of 20 requests an hour is used up until ") || c.Await(t.Context(), w) {
		t.Errorf("after 18 of 20 requests = %v, want a wait that is too long", w)
	}
	g.now = g.now.Add(30 * time.Minute)
	if !c.Await(t.Context(), c.Ready(30, 0)) || g.slept < 9*time.Minute || g.slept > 10*time.Minute {
		t.Errorf("slept for %v, want ten minutes", g.slept)
	}
	if w := c.Ready(30, 0); w.Needed() {
		t.Errorf("the share of another hour is used up by nothing: %v", w)
	}
}

// TestSharesOfContents holds that what is made is spread over minutes and hours by the
// share, so that several that do so meet no limit together.
func TestSharesOfContents(t *testing.T) {
	for _, tt := range []struct{ share, made, minute, hour int }{{0, 700, 80, 500}, {125, 200, 20, 125}, {4, 9, 1, 4}} {
		t.Run(fmt.Sprint(tt.share), func(t *testing.T) {
			h, c, repo, g := shared(t, github.Ration{Contents: tt.share, Patience: 2 * time.Hour})
			h.LimitContents(sandbox.ContentLimit{Minute: tt.minute, Hour: tt.hour})
			sha := h.headOf(t, "acme/public")
			for i := range tt.made {
				if w := c.Ready(0, 1); w.Needed() && !c.Await(t.Context(), w) {
					t.Fatalf("nobody waits %v", w)
				}
				if err := repo.CreateBranch(t.Context(), fmt.Sprint("b", i), sha); err != nil {
					t.Fatal(err)
				}
			}
			if minute, hour, refused := h.Contents(); refused != 0 || hour < tt.hour*9/10 {
				t.Errorf("%d contents in a minute, %d in an hour, %d refused, want about %d, %d and none", minute, hour, refused, tt.minute, tt.hour)
			}
			if g.slept < 50*time.Minute {
				t.Errorf("slept for %v, want about an hour", g.slept)
			}
		})
	}
}

// TestSecondaryLimits holds that what GitHub refuses for a while is done after that, once:
// in a list, in reading and in writing, whether or not it says how long that is.
func TestSecondaryLimits(t *testing.T) {
	for path, do := range map[string]func(context.Context, *github.Client, *github.Repository, string) error{
		"POST /github/api/graphql": func(ctx context.Context, c *github.Client, _ *github.Repository, _ string) error {
			l, err := c.List(ctx, "acme", github.ListOptions{})
			if len(l) != 3 {
				return fmt.Errorf("%d repositories, %w", len(l), err)
			}
			return err
		},
		"GET /github/api/v3/repos/acme/public/tarball/...": func(ctx context.Context, _ *github.Client, r *github.Repository, sha string) error {
			_, err := r.SnapshotOf(ctx, sha, strings.Repeat("0", 40), always)
			return err
		},
		"POST /github/api/v3/repos/acme/public/git/refs": func(ctx context.Context, _ *github.Client, r *github.Repository, sha string) error {
			return r.CreateBranch(ctx, "once", sha)
		},
	} {
		for kind, least := range map[string]time.Duration{"403 retry-after=90": 90 * time.Second, "429 retry-after=90": 90 * time.Second, "403": time.Minute, "429": time.Minute} {
			t.Run(path+" "+kind, func(t *testing.T) {
				h, c, repo, g := shared(t, github.Ration{})
				status, after, _ := strings.Cut(kind, " retry-after=")
				f := sandbox.Fault{Method: strings.Fields(path)[0], Path: strings.Fields(path)[1], Times: 1, Status: map[string]int{"403": 403, "429": 429}[status],
					Body: `{"message": "You have exceeded a secondary rate limit."}`, Header: map[string][]string{}}
				if after != "" {
					f.Header.Set("Retry-After", after)
				}
				h.box.Inject(f)
				if err := do(t.Context(), c, repo, h.headOf(t, "acme/public")); err != nil || g.slept < least {
					t.Errorf("after %v = %v, want it done after %v", g.slept, err, least)
				}
				if w := c.Ready(30, 12); w.Needed() {
					t.Errorf("nothing may begin after a limit that is over: %v", w)
				}
			})
		}
	}
}

// TestLongLimitsAreTold holds that a limit for which nobody waits is known afterwards,
// with its end, and that one for which somebody does is told before.
func TestLongLimitsAreTold(t *testing.T) {
	h, c, repo, g := shared(t, github.Ration{})
	h.LimitRate(sandbox.UserToken, 0)
	if _, err := repo.Head(t.Context(), "main"); err == nil {
		t.Fatal("a limit of an hour was waited for")
	}
	if w := c.Ready(1, 0); !w.Needed() || w.Until.Sub(g.now) < 50*time.Minute {
		t.Errorf("at a limit = %v, want to wait for about an hour", w)
	}
	c.Share(github.Ration{Patience: 2 * time.Hour})
	if !c.Await(t.Context(), c.Ready(1, 0)) {
		t.Error("nobody waits for an hour who has two")
	}
	repo = c.Narrowed("acme/public", false, false).Repository("acme", "public") // go-github goes by its own clock
	if _, err := repo.Head(t.Context(), "main"); err != nil || g.slept < 50*time.Minute {
		t.Errorf("after %v = %v, want an answer after an hour", g.slept, err)
	}
	h.LimitRate(sandbox.UserToken, 20)
	if _, err := repo.Head(t.Context(), "none"); !errors.Is(err, github.ErrNotFound) {
		t.Fatal(err)
	}
	if w := c.Ready(30, 0); !strings.HasPrefix(w.String(), "only 19 requests of GitHub's hour are left until ") {
		t.Errorf("before a limit = %v, want a wait for the next hour", w)
	}
}
