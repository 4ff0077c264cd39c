package github

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// newFor is how long a token is new: GitHub's replicas know it some seconds after the
	// one that has made it [octokit/auth-app.js#65, #85 and #589; renovatebot/renovate#1000].
	newFor = time.Minute
	// betweenReplacements is how often requests for one repository may have a token
	// replaced that GitHub accepts no more.
	betweenReplacements = time.Hour
)

// firstPauses are those before a request is sent again that was refused with a new token.
var firstPauses = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// allPauses is their sum.
const allPauses = 7 * time.Second

// issued is a token of an installation.
type issued struct {
	of           *tokens
	app          App // what it was asked for
	installation int64
	text         string // secret
	since, until time.Time
	// instead says that it was made in place of one that GitHub accepted no more.
	instead bool
	// accepted says that an answer has shown that GitHub knows it, and seen that it reaches
	// what it was made for.
	accepted, seen atomic.Bool
}

// reaches reports whether the token was made for a repository, alone or with all others
// of its owner.
func (i *issued) reaches(repository string) bool {
	if i.app.Owner != "" {
		owner, _, _ := strings.Cut(repository, "/")
		return strings.EqualFold(owner, i.app.Owner)
	}
	return slices.ContainsFunc(i.app.Repositories, func(name string) bool { return strings.EqualFold(name, repository) })
}

// isNew reports whether some replicas of GitHub may not know the token yet.
func (i *issued) isNew() bool { return i.of.clock.Now().Sub(i.since) < newFor }

// sentWith gets the token of a request, from where it is added to where the answer is judged.
type sentWith struct{ token *issued }

type sentKey struct{}

// replace asks for a token in place of one that GitHub accepts no more, and reports whether
// there is another one: by this request, or by one that was here before. In an hour a
// request for each repository may do so once. A token that was never accepted is replaced
// only if it is old and was not made in place of another: one more would be no better.
func (t *tokens) replace(ctx context.Context, old *issued, repository string) (bool, error) {
	free, err := t.take(ctx)
	if err != nil {
		return false, err
	}
	defer free()
	if t.current != old {
		return true, nil
	}
	last, before := t.replaced[repository]
	if before && t.clock.Now().Sub(last) < betweenReplacements || !old.accepted.Load() && (old.instead || old.isNew()) {
		return false, nil
	}
	if t.replaced == nil {
		t.replaced = make(map[string]time.Time)
	}
	t.replaced[repository] = t.clock.Now()
	if err := t.renew(ctx); err != nil {
		return false, err
	}
	t.current.instead = true
	return true, nil
}

// renewing is patient with the tokens of an App that are new, and replaces those that GitHub
// accepts no more. It is above the limits, so that what it sends again counts, and is
// paced, like all else. A token that was given is not its matter: relock does not know how
// old that is.
type renewing struct {
	next     http.RoundTripper
	clock    Clock
	log      *slog.Logger
	refusals *Refusals
	api      string // path of the REST API
	// repository is the one that all requests are for; empty: not one alone.
	repository string
}

func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	var so trial
	for {
		resp, token, err := r.send(req)
		if err != nil || token == nil || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		said, refused := r.judge(req, resp, token, so.waits > 0 || token.isNew())
		if !refused {
			return resp, nil
		}
		again, err := r.again(req, token, said, &so)
		if err == nil && !again {
			return resp, nil
		}
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
	}
}

// trial is what was done for a request so far.
type trial struct {
	waits    int  // for the token that it was sent with last
	replaced bool // there should have been another one
}

// again waits, or has the token replaced, and reports whether to send the request again. That
// GitHub does not know the token is an error in the end, which says why no other one helps.
func (r *renewing) again(req *http.Request, token *issued, said tokenDoubt, so *trial) (bool, error) {
	if said.isNew {
		waited, err := r.wait(req, said, so.waits)
		if waited || err != nil {
			so.waits++
			return waited, err
		}
	}
	if !said.unknown {
		return false, nil
	}
	if !so.replaced {
		so.waits, so.replaced = 0, true
		other, err := token.of.replace(req.Context(), token, r.repository)
		if other || err != nil {
			return other, err
		}
	}
	kind := errTokenRevoked
	if said.isNew && !token.accepted.Load() {
		kind = ErrTokenRefused
	}
	return false, &refusal{status: http.StatusUnauthorized, message: said.message, kind: kind}
}

// send passes a request on, and returns the token that it was sent with last; nil: none of
// an App.
func (r *renewing) send(req *http.Request) (*http.Response, *issued, error) {
	var sent sentWith
	resp, err := r.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), sentKey{}, &sent)))
	return resp, sent.token, err
}

// wait waits before a refused request is sent again. It returns false where it has been sent
// often enough, where the like was refused for good before, and where the run would be over
// by then.
func (r *renewing) wait(req *http.Request, said tokenDoubt, waits int) (again bool, err error) {
	if waits == len(firstPauses) {
		r.refusals.stays(said.lack)
		return false, nil
	}
	pause, first, known := r.refusals.pause(said.lack, firstPauses[waits], r.clock.Now())
	if known || r.clock.late(req.Context(), pause) {
		return false, nil
	}
	if first && waits == 0 {
		r.log.Warn("GitHub does not accept a new token everywhere yet: waiting",
			"url", req.URL.Host+req.URL.Path, "answer", said.answer, "seconds", int(allPauses.Seconds()))
	}
	return true, r.clock.Sleep(req.Context(), pause)
}

// Refusals are what the new tokens of installations were refused in a run. All clients of a
// run share them, so that the run waits once for what is never granted. The zero value is
// ready to use.
type Refusals struct {
	mu  sync.Mutex
	met map[lack]awaited
}

// lack is what an installation was refused.
type lack struct {
	installation int64
	permission   string
}

// awaited is how long the like is waited for.
type awaited struct {
	until time.Time
	never bool // it stayed refused
}

// pause returns how long to wait. Requests that are refused the like at once wait for the
// same moment; first says that this one begins the wait.
func (r *Refusals) pause(of lack, pause time.Duration, now time.Time) (left time.Duration, first, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waits := r.met[of]
	switch {
	case waits.never:
		return 0, false, true
	case waits.until.After(now):
		return waits.until.Sub(now), false, false
	}
	if r.met == nil {
		r.met = make(map[lack]awaited)
	}
	r.met[of] = awaited{until: now.Add(pause)}
	return pause, true, false
}

// stays notes that GitHub refused something although it had the time to know the token.
func (r *Refusals) stays(what lack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.met[what] = awaited{never: true}
}

// granted forgets what was refused: it is no permission that the installation lacks.
func (r *Refusals) granted(what ...lack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range what {
		delete(r.met, one)
	}
}
