package github

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// What GitHub lets be made in an hour by one token, or by an installation whatever
// tokens it has; no minute may have more than 80 of it [docs.github.com, "Rate limits for
// the REST API", "About secondary rate limits"]. It does not say what counts as content:
// each request that writes does, here.
const ContentsAnHour = 500

// Ration is what a run may take of limits that others use, too.
type Ration struct {
	Requests int // in an hour; 0: any number
	Contents int // that are made in an hour; 0: all that GitHub lets be made
	// Patience is how long one wait may take; 0: a quarter of an hour.
	Patience time.Duration
}

// Wait is why nothing further should be begun, and until when. The zero value says that
// it may be.
type Wait struct {
	Why   string
	Until time.Time
}

// Needed reports whether there is anything to wait for.
func (w Wait) Needed() bool { return w.Why != "" }

// String says why and until when, for people.
func (w Wait) String() string {
	return fmt.Sprintf("%s until %s", w.Why, w.Until.UTC().Format("15:04 MST"))
}

// shares are what a run may take of the limits of its token. Those of a Client are its
// own methods.
type shares struct {
	rates *rates
	clock Clock
	log   *slog.Logger
}

// Share says what the run may take. No request is refused for it: Ready tells whoever
// begins something. What makes content is spread over the hour.
func (s shares) Share(r Ration) {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	s.rates.share = r
}

// Left is how many requests of REST are left of the hour, by the last answer; 0 if
// none has said so.
func (s shares) Left() int {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	return s.rates.left["core"]
}

// Ready says whether something may begin that takes so many requests and makes so many
// contents, by the shares and by what GitHub has told. Of a small share a tenth of the
// requests is enough, and where it has never so many contents, it may begin when none of
// them is made.
func (s shares) Ready(requests, contents int) Wait {
	r := s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.clock.Now()
	if r.givenUp.After(now) {
		return Wait{"a limit of GitHub is used up", r.givenUp}
	}
	for _, limit := range []string{"core", "graphql"} {
		if left, known := r.left[limit]; known && left < requests && r.renewed[limit].After(now) {
			return Wait{fmt.Sprintf("only %d requests of GitHub's hour are left", left), r.renewed[limit]}
		}
	}
	if of := r.share.Requests; of > 0 && now.Sub(r.since) < time.Hour && r.sent+min(requests, of/10+1) > of {
		return Wait{fmt.Sprintf("the run's share of %d requests an hour is used up", of), r.since.Add(time.Hour)}
	}
	of := r.share.contents()
	r.expire(now)
	if over := len(r.made) + min(contents, of) - of; contents > 0 && over > 0 {
		return Wait{fmt.Sprintf("the run's share of the %d contents that GitHub lets be made in an hour, %d, is used up", ContentsAnHour, of), r.made[over-1].Add(time.Hour)}
	}
	return Wait{}
}

// Await waits, and tells of it; false if that takes longer than anybody waits.
func (s shares) Await(ctx context.Context, w Wait) bool {
	pause := w.Until.Sub(s.clock.Now())
	end, bounded := ctx.Deadline()
	if pause > s.rates.patience() || bounded && !w.Until.Before(end) {
		return false
	}
	s.log.Warn("waiting: "+w.String(), "seconds", int(pause.Seconds()))
	return s.clock.Sleep(ctx, max(pause, 0)) == nil
}

func (s Ration) contents() int { return cmp.Or(s.Contents, ContentsAnHour) }

// patience is how long one wait may take.
func (r *rates) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.share.Patience, longestPause)
}

// count notes a request that is sent. Each hour has a share of its own.
func (r *rates) count(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Hour {
		r.since, r.sent = now, 0
	}
	r.sent++
}

// uncounted reports whether GitHub does not count a request, by its answer: one that has
// changed nothing, and the download of an archive.
func uncounted(resp *http.Response) bool {
	return resp != nil && (resp.StatusCode == http.StatusNotModified || resp.StatusCode == http.StatusOK && resp.Header.Get("X-RateLimit-Remaining") == "")
}

// record notes what came of a request that may have made content, or that was free.
func (r *rates) record(wrote, free bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if free && r.sent > 0 {
		r.sent--
	}
	if wrote {
		r.expire(now)
		r.made = append(r.made, now)
	}
}

// expire forgets what was made more than an hour ago.
func (r *rates) expire(now time.Time) {
	i := slices.IndexFunc(r.made, func(at time.Time) bool { return now.Sub(at) < time.Hour })
	if i < 0 {
		i = len(r.made)
	}
	r.made = r.made[i:]
}

// giveUp notes that a limit is met for longer than anybody waits.
func (r *rates) giveUp(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.givenUp = until
}
