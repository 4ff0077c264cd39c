package github

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/collect"
)

// What GitHub lets be made in an hour by one token, or by an installation whatever
// tokens it has; no minute may have more than 80 of it [docs.github.com, "Rate limits for
// the REST API", "About secondary rate limits"]. It does not say what counts as content:
// each request that writes does, here.
const ContentsAnHour = 500

// PointsAMinute is the pace of all requests of one token, or of one installation, where a
// request is a point and one that writes is five. GitHub lets 900 points through in a minute
// [docs.github.com, "Rate limits for the REST API", "About secondary rate limits"], and counts
// them when they arrive.
const PointsAMinute = 800

// Ration is what a run may take of limits that others use, too.
type Ration struct {
	Requests int // in an hour; 0: any number
	Contents int // that are made in an hour; 0: all that GitHub lets be made
	Points   int // of requests in a minute; 0: all that GitHub lets through
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

// Share says what the run may take from now on. No request is refused for it: a
// caller that begins something asks Ready. What makes content is spread over the hour.
func (s shares) Share(r Ration) {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	s.rates.share, s.rates.sent = r, 0
}

// Hour is how many requests GitHub allows in an hour, by its answers; 0 if none has
// said so. If the limits of REST and GraphQL differ, it is the lower one.
func (s shares) Hour() int {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	return s.rates.hour
}

// Ready says whether work with so many requests and so many new contents may begin, by the
// shares and by GitHub's answers. For a small share, a tenth of the requests is enough. If
// the share never has enough contents, the work may begin when none of the share is used.
// Ready ignores requests that ahead counts, since they were made early for this work or
// later work. So the answer does not depend on them.
func (s shares) Ready(requests, contents int, ahead ...*Tally) Wait {
	r := s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.clock.Now()
	if r.givenUp.After(now) {
		return Wait{"a limit of GitHub is used up", r.givenUp}
	}
	sent, answered := 0, map[string]int{}
	for _, t := range ahead {
		sent += t.sent
		for limit, n := range t.answered {
			answered[limit] += n
		}
	}
	for _, limit := range []string{"core", "graphql"} {
		at := r.allowed[limit]
		if until := at.renewed.Add(clockError); at.left+answered[limit] < requests && until.After(now) {
			return Wait{fmt.Sprintf("only %s left", collect.Count(at.left, "request of GitHub's hour is", "requests of GitHub's hour are")), until}
		}
	}
	if of := r.share.Requests; of > 0 && now.Sub(r.since) < time.Hour && r.sent-sent+min(requests, of/10+1) > of {
		return Wait{fmt.Sprintf("the run's share of %s an hour is used up", collect.Count(of, "request", "requests")), r.since.Add(time.Hour)}
	}
	of := r.share.contents()
	r.expire(now)
	if over := len(r.made) + min(contents, of) - of; contents > 0 && over > 0 {
		return Wait{fmt.Sprintf("the run's share of the %s that GitHub lets be made in an hour, %d, is used up", collect.Count(ContentsAnHour, "content", "contents"), of), r.made[over-1].Add(time.Hour)}
	}
	return Wait{}
}

// Secondary counts how often GitHub has refused something for a while although the hour had
// requests left. Further refusals for the same reason in that time do not count.
func (s shares) Secondary() int {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	return s.rates.secondary
}

// Await waits, and reports that it does; false if the wait would be too long.
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
func (r *rates) count(req *http.Request, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Hour {
		r.since, r.sent = now, 0
	}
	r.sent++
	r.tallyOf(req).sent++
}

// uncounted reports whether GitHub does not count a request, by its answer: one that has
// changed nothing, and the download of an archive.
func uncounted(resp *http.Response) bool {
	return resp != nil && (resp.StatusCode == http.StatusNotModified || resp.StatusCode == http.StatusOK && resp.Header.Get("X-RateLimit-Remaining") == "")
}

// record stores the result of a request. The request may have made content, or been free.
func (r *rates) record(req *http.Request, resp *http.Response, free bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tallyOf(req)
	if free && r.sent > 0 {
		r.sent--
		t.sent--
	}
	t.good = t.good || resp != nil && resp.StatusCode < http.StatusBadRequest && limitOf(req) == "core"
	if behaviourOf(req).write {
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

// points are what a request takes of the pace, and when.
type points struct {
	at time.Time
	of int
}

// pointsOf are those of a request. A download that an archive's address redirects to is
// another server's.
func pointsOf(req *http.Request) int {
	switch {
	case req.Response != nil && req.Response.StatusCode == http.StatusFound:
		return 0
	case behaviourOf(req).write:
		return pointsOfWrite
	}
	return 1
}

// moment is when a request may be sent that takes so many points, which are taken then: no
// minute has more than the pace. Requests have their moments in the order in which they ask.
func (r *rates) moment(now time.Time, of int) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.spent) > 0 && now.Sub(r.spent[0].at) >= time.Minute {
		r.spent = r.spent[1:]
	}
	if of == 0 {
		return now
	}
	at, sum := now, of
	if n := len(r.spent); n > 0 && r.spent[n-1].at.After(at) {
		at = r.spent[n-1].at
	}
	for _, p := range r.spent {
		sum += p.of
	}
	pace := cmp.Or(r.share.Points, PointsAMinute)
	for _, p := range r.spent {
		over := p.at.Add(time.Minute)
		if sum > pace && over.After(at) {
			at = over
		}
		if over.After(at) {
			break
		}
		sum -= p.of
	}
	r.spent = append(r.spent, points{at, of})
	return at
}

// writeAt reserves the time at which the next request that writes may be sent.
func (r *rates) writeAt(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paid.Before(now) {
		r.paid = now
	}
	share := r.share.contents()
	between, few := betweenWrites*ContentsAnHour/time.Duration(share), max(1, fewWrites*share/ContentsAnHour)
	at := r.paid.Add(-time.Duration(few-1) * between)
	r.paid = r.paid.Add(between)
	return at
}

// hold makes all requests wait as long as a secondary limit asks, and returns how long that
// is from now. sent is when the refused request was sent. GitHub refuses requests that were
// already on their way for the same reason.
func (r *rates) hold(sent, now time.Time, pause time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sent.After(r.heldSince) {
		r.heldSince = now
		r.secondary++
	}
	if until := now.Add(pause); until.After(r.held) {
		r.held = until
	}
	return r.held.Sub(now)
}

// answered notes how many requests are left of a limit, as an answer says. Answers may come
// in another order than GitHub has counted in.
func (r *rates) answered(req *http.Request, left int, renewed time.Time) {
	limit := limitOf(req)
	if before := r.allowed[limit]; before.renewed.Equal(renewed) {
		left = min(left, before.left)
	}
	if r.allowed == nil {
		r.allowed = map[string]allowance{}
	}
	r.allowed[limit] = allowance{left, renewed}
	t := r.tallyOf(req)
	if t.answered == nil {
		t.answered = map[string]int{}
	}
	t.answered[limit]++
}

// Tally counts the requests of the contexts that it is in.
type Tally struct {
	rates    *rates
	sent     int            // that count for a share
	answered map[string]int // by the limit whose rest the answers have
	good     bool           // one had what it asked for
}

type tallyKey struct{}

// NewTally returns a Tally of requests with this token or installation.
func (s shares) NewTally() *Tally { return &Tally{rates: s.rates} }

// In returns a context whose requests are counted.
func (t *Tally) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// Now is the time by which limits are measured.
func (s shares) Now() time.Time { return s.clock.Now() }

// Requests is how many were sent, as GitHub counts them.
func (t *Tally) Requests() int {
	t.rates.mu.Lock()
	defer t.rates.mu.Unlock()
	return t.sent
}

// Good reports whether GitHub has given anything that was asked for.
func (t *Tally) Good() bool {
	t.rates.mu.Lock()
	defer t.rates.mu.Unlock()
	return t.good
}

// tallyOf is the Tally of a request. A request that is not counted has one of its own.
func (r *rates) tallyOf(req *http.Request) *Tally {
	if t, counted := req.Context().Value(tallyKey{}).(*Tally); counted && t.rates == r {
		return t
	}
	return &Tally{}
}
