package github

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// youth is how long a token is young: GitHub's replicas know it some seconds after the
	// one that has made it [octokit/auth-app.js#65, #85 and #589; renovatebot/renovate#1000].
	youth = time.Minute
	// betweenReplacements is how often requests for one repository may have a token
	// replaced that GitHub accepts no more.
	betweenReplacements = time.Hour
)

// pauses are those before a request that a young token was refused is sent again.
var pauses = [...]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// allPauses is their sum.
const allPauses = 14 * time.Second

// issued is a token of an installation.
type issued struct {
	of           *tokens
	app          App // what it was asked for
	installation int64
	text         string // secret
	since, until time.Time
	// instead says that it was made in place of one that GitHub accepted no more.
	instead bool
	// accepted says that an answer has shown that GitHub knows it.
	accepted atomic.Bool
	seen     sync.Map // the repositories, in lower case, that it got an answer from
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

// young reports whether some replicas of GitHub may not know the token yet.
func (i *issued) young() bool { return i.of.clock.Now().Sub(i.since) < youth }

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
	if before && t.clock.Now().Sub(last) < betweenReplacements || !old.accepted.Load() && (old.instead || old.young()) {
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

// renewing gives GitHub time to know the young tokens of an App, and replaces tokens that
// GitHub accepts no more. What a refusal says does not matter. A young token's request is
// sent again 2, 6 and 14 seconds after the first refusal if the status is 401 or 403. A 404
// counts only if the token has not had an answer from that repository. So a permission that
// is missing costs 14 seconds once: Refusals remembers it.
//
// renewing is above the limits, so that what it sends again counts, and is paced, like all
// else. It does nothing for a token that was given: relock does not know how old that is.
type renewing struct {
	next     http.RoundTripper
	clock    Clock
	log      *slog.Logger
	refusals *Refusals
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
		if token != so.token {
			so.token, so.young = token, token.young()
		}
		refused := r.judge(req, resp, token)
		if refused == 0 {
			return resp, nil
		}
		again, err := r.again(req, resp, refused, &so)
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
	token    *issued // that it was sent with last
	young    bool    // it was, when the request was first sent with it
	replaced bool    // another one was asked for
}

// send passes a request on, and returns the token that it was sent with; nil: none of an
// App.
func (r *renewing) send(req *http.Request) (*http.Response, *issued, error) {
	var sent sentWith
	resp, err := r.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), sentKey{}, &sent)))
	return resp, sent.token, err
}

// judge returns the status of an answer that may be about the token: 401, 403 or 404. It
// returns 0 for other answers. It notes what an answer shows about the token.
func (r *renewing) judge(req *http.Request, resp *http.Response, token *issued) int {
	status, repository := statusOf(req, resp), r.subject(req, token)
	if status != http.StatusUnauthorized && status < http.StatusInternalServerError {
		token.accepted.Store(true)
	}
	switch status {
	case http.StatusUnauthorized:
		return status
	case http.StatusForbidden:
		if refusedByLimit(req, resp, resp.Header.Get("X-RateLimit-Remaining") == "0") {
			return 0
		}
		return status
	case http.StatusNotFound:
		if _, seen := token.seen.Load(repository); seen || !token.reaches(repository) {
			return 0
		}
		return status
	}
	if status < http.StatusBadRequest {
		token.seen.Store(repository, true)
		r.refusals.granted(lackOf(req, resp, token), everything(token))
	}
	return 0
}

// again waits, or has the token replaced, and reports whether to send the request again. It
// returns an error if GitHub still does not know the token, and no other one helps.
func (r *renewing) again(req *http.Request, resp *http.Response, refused int, so *trial) (bool, error) {
	if so.young {
		what := lackOf(req, resp, so.token)
		if refused == http.StatusUnauthorized {
			what = everything(so.token)
		}
		if waited, err := r.wait(req, what, refused, so.token); waited || err != nil {
			return waited, err
		}
	}
	if refused != http.StatusUnauthorized {
		return false, nil
	}
	if !so.replaced {
		so.replaced = true
		other, err := so.token.of.replace(req.Context(), so.token, r.repository)
		if other || err != nil {
			return other, err
		}
	}
	kind := errTokenRevoked
	if so.young && !so.token.accepted.Load() {
		kind = ErrTokenRefused
	}
	return false, &refusal{status: refused, message: messageOf(peek(resp)), kind: kind}
}

// wait waits before a refused request is sent again. It returns false if there is no pause
// left, or if the run would be over before its end.
func (r *renewing) wait(req *http.Request, what lack, status int, token *issued) (waited bool, err error) {
	pause, first := r.refusals.pause(what, token, r.clock.Now())
	if pause == 0 || r.clock.late(req.Context(), pause) {
		return false, nil
	}
	if first {
		r.log.Warn("GitHub does not accept a new token everywhere yet: waiting",
			"url", req.URL.Host+req.URL.Path, "answer", status, "seconds", int(allPauses.Seconds()))
	}
	return true, r.clock.Sleep(req.Context(), pause)
}

// ofARepository matches paths of a repository, with its name and its part, such as pulls.
var ofARepository = regexp.MustCompile(`/repos/([^/]+/[^/]+)(?:/([^/]+))?`)

// subject is the repository that a request is about, in lower case; empty: none, or several.
func (r *renewing) subject(req *http.Request, token *issued) string {
	if m := ofARepository.FindStringSubmatch(req.URL.Path); m != nil {
		return strings.ToLower(m[1])
	}
	if limitOf(req) != "graphql" {
		return ""
	}
	if r.repository == "" && len(token.app.Repositories) == 1 {
		return strings.ToLower(token.app.Repositories[0])
	}
	return strings.ToLower(r.repository)
}

// statusOf is the status of an answer. GraphQL refuses with 200: an error of a type about
// the whole answer counts as the status that REST would have. Parts of an answer that are
// refused, and repositories of others, are not about the token.
func statusOf(req *http.Request, resp *http.Response) int {
	if resp.StatusCode != http.StatusOK || limitOf(req) != "graphql" || behaviourOf(req).others {
		return resp.StatusCode
	}
	var answer struct{ Errors []graphqlError }
	// An answer longer than the part that is read is no refusal.
	if json.Unmarshal([]byte(peek(resp)), &answer) != nil {
		return resp.StatusCode
	}
	for _, e := range answer.Errors {
		switch {
		case len(e.Path) > 1:
		case e.Type == "FORBIDDEN":
			return http.StatusForbidden
		case e.Type == "NOT_FOUND":
			return http.StatusNotFound
		}
	}
	return resp.StatusCode
}

// messageOf is what GitHub says in a refusal of REST.
func messageOf(body string) string {
	var answer struct{ Message string }
	if json.Unmarshal([]byte(body), &answer) != nil {
		return ""
	}
	return oneLine(answer.Message)
}

// lack is what an installation was refused.
type lack struct {
	installation int64
	permission   string
}

// everything is the lack of a token that GitHub does not know.
func everything(token *issued) lack {
	if token.app.Owner != "" {
		return lack{token.installation, "a token for all repositories"}
	}
	return lack{token.installation, "a token for one repository"}
}

// lackOf is the permission that a request needs: from the header of its answer, or from the
// kind of the request.
func lackOf(req *http.Request, resp *http.Response, token *issued) lack {
	permission := resp.Header.Get("X-Accepted-GitHub-Permissions")
	if permission == "" {
		b, part := behaviourOf(req), string(behaviourOf(req).needs)
		if m := ofARepository.FindStringSubmatch(req.URL.Path); m != nil {
			part = m[2]
		}
		permission = fmt.Sprint(limitOf(req), " ", b.write, " ", part)
	}
	return lack{token.installation, permission}
}

// Refusals are what the young tokens of installations were refused in a run. All clients of
// a run share them, so that the run waits once for what is never granted. The zero value is
// ready to use.
type Refusals struct {
	mu  sync.Mutex
	met map[lack]*refused
}

// refused is since when something is refused.
type refused struct {
	since time.Time
	token *issued // that was refused it first
	// granted says that GitHub did grant it later. Then another token gets its own time, but
	// this one does not: what is refused then is no permission.
	granted bool
}

// pause returns how long to wait before a request is sent again that a token was refused; 0:
// it is not. All requests that are refused the same thing wait for the same moments. first
// says that this one begins the wait.
func (r *Refusals) pause(what lack, token *issued, now time.Time) (pause time.Duration, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	met := r.met[what]
	first = met == nil || met.granted && met.token != token
	if first {
		met = &refused{since: now, token: token}
		if r.met == nil {
			r.met = make(map[lack]*refused)
		}
		r.met[what] = met
	}
	moment := met.since
	for _, p := range pauses {
		moment = moment.Add(p)
		if moment.After(now) {
			return moment.Sub(now), first
		}
	}
	return 0, false
}

// granted notes that GitHub granted something to a token.
func (r *Refusals) granted(what ...lack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range what {
		if met := r.met[one]; met != nil {
			met.granted = true
		}
	}
}
