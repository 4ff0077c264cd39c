package github

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/transport"
)

// The bounds of waiting and reading.
const (
	// longestPause is how long one wait for a limit may take. GitHub asks for
	// about a minute at a secondary limit and for up to an hour at the primary
	// one; beyond a quarter of an hour it is better to end the run than to pay
	// for a runner that sleeps.
	longestPause = 15 * time.Minute
	// unannouncedPause is GitHub's advice for a secondary limit that names no
	// time: at least a minute, longer each time.
	unannouncedPause = time.Minute
	// mostTries bounds how often a request that meets limits is sent, and
	// mostQuestions one that gets no answer.
	mostTries     = 5
	mostQuestions = 3
	// sendingTime bounds one request, from the connection to the last byte of its
	// answer. GitHub itself gives up after ten seconds.
	sendingTime = 2 * time.Minute
	// largestAnswer bounds an answer. A page of 100 pull requests with bodies of
	// 65,536 characters is the largest that is asked for, except for archives. Reading
	// JSON takes some times as much memory.
	largestAnswer = 32 << 20
	// mostAnswered bounds the lists, objects and values of an answer to a question. The
	// largest known one is a tree of 100,000 entries, of 13 each.
	mostAnswered = 2_000_000
	// largestWritten bounds the answer to a write: what it is about, with bodies.
	largestWritten = 4 << 20
	// largestRefusal bounds how much of a refusal is looked at.
	largestRefusal = 64 << 10
	// betweenWrites is GitHub's advice for many writes, and fewWrites how many are
	// not many: no minute sees more than 80, from which on GitHub refuses them.
	betweenWrites = time.Second
	fewWrites     = 20
	// clockError is how much GitHub's clock may differ from ours.
	clockError = time.Second
	// pointsOfWrite is what a request that writes takes of PointsAMinute, where others take 1.
	pointsOfWrite = 5
)

// requestBehaviour is how a request differs from others. It travels in the context,
// through go-github and redirects.
type requestBehaviour struct {
	write   bool          // though it is a POST of GraphQL, which most often reads
	stream  bool          // the caller reads the answer while it arrives
	largest int64         // of the answer, instead of largestAnswer
	time    time.Duration // instead of sendingTime
	needs   permission    // what a mutation of GraphQL needs, which its path does not say
	others  bool          // it is a query about repositories of others
}

// question reports whether a request changes nothing, so that it may be sent again
// where no whole answer came.
func (b requestBehaviour) question() bool { return !b.write }

type behaviourKey struct{}

func behaving(ctx context.Context, b requestBehaviour) context.Context {
	return context.WithValue(ctx, behaviourKey{}, b)
}

func behaviourOf(req *http.Request) requestBehaviour {
	b, _ := req.Context().Value(behaviourKey{}).(requestBehaviour)
	b.time = cmp.Or(b.time, sendingTime)
	b.write = b.write || req.Method != http.MethodGet && limitOf(req) != "graphql"
	if b.write {
		b.largest = cmp.Or(b.largest, largestWritten)
	}
	b.largest = cmp.Or(b.largest, largestAnswer)
	return b
}

// Clock is the time as a Client sees it. The zero value is the real clock.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// limits waits for GitHub's rate limits and repeats the requests that met one,
// and questions that got no answer.
//
// It is below go-github, because that library, once it has seen a limit,
// refuses further calls by itself until the limit is over, on its own clock,
// and repeats nothing. It is shown a limit only when we give up.
type limits struct {
	next  http.RoundTripper
	clock Clock
	log   *slog.Logger
	// impatient says that no limit is waited for: a token spares anyone who has none
	// the hour.
	impatient bool
	*rates
}

// rates is what is known of the limits of one token, or of one installation: its
// tokens share them.
type rates struct {
	mu      sync.Mutex
	allowed map[string]allowance // by the name of the limit ("core", "graphql"), as the last answer said
	// held is until when a secondary limit lasts, for all requests. The newest one was met
	// at heldSince, and secondary counts them.
	held, heldSince time.Time
	secondary       int
	announced       time.Time // until when a wait lasts that was announced
	spent           []points  // of the last minute, and those that wait for their moment
	paid            time.Time // until when the writes so far take, one after the other
	givenUp         time.Time // until when a limit lasts that nobody waited for
	hour            int       // requests that GitHub allows in one; 0: not known
	share           Ration
	sent            int // requests, in the hour from since on
	since           time.Time
	made            []time.Time // contents of the last hour, the oldest first
}

// allowance is how many requests a limit leaves until it is renewed.
type allowance struct {
	left    int
	renewed time.Time
}

func (l *limits) RoundTrip(req *http.Request) (*http.Response, error) {
	for tries := 1; ; tries++ {
		l.count(req, l.clock.Now())
		if err := l.pace(req); err != nil {
			return nil, err
		}
		if err := l.await(req); err != nil {
			return nil, err
		}
		sent := l.clock.Now()
		resp, err := l.send(req)
		free := uncounted(resp)
		pause, again := l.again(req, resp, err, tries, sent)
		if !again {
			l.record(req, resp, free, l.clock.Now())
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
		if err := l.clock.Sleep(req.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// again decides whether a request is repeated, and after what pause: one that a
// limit refused, which GitHub has not carried out, and a question that got no
// answer. Whether a write that got none was carried out is for the caller to
// find out.
func (l *limits) again(req *http.Request, resp *http.Response, err error, tries int, sent time.Time) (time.Duration, bool) {
	if _, ok := errors.AsType[*noToken](err); ok || errors.Is(err, errFrugal) || errors.Is(err, errNoGraphQL) {
		return 0, false
	}
	if err != nil || resp.StatusCode >= http.StatusInternalServerError {
		_, excess := errors.AsType[*transport.ExcessOfParts](err)
		again := behaviourOf(req).question() && !errors.Is(err, errTooLarge) && !excess && tries < mostQuestions && req.Context().Err() == nil
		return time.Second << (tries - 1), again
	}
	pause, met := l.met(req, resp, tries)
	switch met {
	case noLimit:
		forget(resp.Header)
		return 0, false
	case secondaryLimit:
		pause = l.hold(sent, l.clock.Now(), pause)
	}
	if l.impatient || pause > l.patience() || l.clock.late(req.Context(), pause) || tries == mostTries {
		l.giveUp(l.clock.Now().Add(pause))
		return 0, false
	}
	l.announce(pause)
	return pause, true
}

// send passes a copy of the request on, with its body from the start and a
// bound on its time. The time of http.Client would count the waiting too.
func (l *limits) send(req *http.Request) (*http.Response, error) {
	b := behaviourOf(req)
	ctx, cancel := context.WithTimeout(req.Context(), b.time)
	req = req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel()
			return nil, err
		}
		req.Body = body
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, left: b.largest, done: cancel}
	// A body that breaks off is seen here, where the question can be repeated.
	if b.question() && !b.stream {
		resp.Body = readFrom{transport.LimitParts(resp.Body, mostAnswered), resp.Body}
		err = transport.Whole(resp, b.largest)
	}
	if err == nil {
		err = missing(resp)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// readFrom is a body that is read by another reader.
type readFrom struct {
	io.Reader
	io.Closer
}

// missing is an error if an answer that says that it has a body has none. For
// go-github that is an answer like any other: a tree without files, a list
// without pull requests, a pull request that was made and has no number.
func missing(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return nil
	}
	start := bufio.NewReader(resp.Body)
	_, err := start.Peek(1)
	resp.Body = readFrom{start, resp.Body}
	if err == io.EOF {
		return errEmpty
	}
	return nil // another error comes again when the body is read
}

var errEmpty = errors.New("the answer is empty")

// await waits for a limit that an earlier answer announced as used up, and for a secondary
// limit that any request has met.
func (l *limits) await(req *http.Request) error {
	for {
		l.mu.Lock()
		until := l.held
		if at := l.allowed[limitOf(req)]; at.left == 0 && at.renewed.After(until) {
			until = at.renewed
		}
		l.mu.Unlock()
		pause := until.Sub(l.clock.Now())
		// A longer wait is not begun: the request is sent, and its refusal says why.
		if l.impatient || pause <= 0 || pause > l.patience() || l.clock.late(req.Context(), pause) {
			return nil
		}
		l.announce(pause)
		if err := l.clock.Sleep(req.Context(), pause); err != nil {
			return err
		}
	}
}

// announce reports a wait before it begins, once if several requests wait for the same.
func (l *limits) announce(pause time.Duration) {
	until := l.clock.Now().Add(pause)
	l.mu.Lock()
	known := !until.Truncate(time.Second).After(l.announced)
	if !known {
		l.announced = until
	}
	l.mu.Unlock()
	if !known {
		l.log.Warn("waiting for a rate limit of GitHub", "seconds", int(pause.Seconds()), "until", until.UTC().Format("15:04:05 MST"))
	}
}

// late reports whether the time of the caller is over after the pause.
func (c Clock) late(ctx context.Context, pause time.Duration) bool {
	end, bounded := ctx.Deadline()
	return bounded && !c.Now().Add(pause).Before(end)
}

// pace keeps many writes a second apart [docs.github.com, "Best practices for
// using the REST API", "Pause between mutative requests"]. The first few go out
// at once, so that one pull request is made without waiting. Who has a share of what
// may be made has the same share of a minute. Then it lets all requests keep the pace of
// points.
func (l *limits) pace(req *http.Request) error {
	if behaviourOf(req).write {
		if err := l.sleep(req, l.writeAt(l.clock.Now())); err != nil {
			return err
		}
	}
	return l.sleep(req, l.moment(l.clock.Now(), pointsOf(req)))
}

// sleep waits until a time, if that is not over.
func (l *limits) sleep(req *http.Request, until time.Time) error {
	if pause := until.Sub(l.clock.Now()); pause > 0 {
		return l.clock.Sleep(req.Context(), pause)
	}
	return nil
}

// met reports whether the answer is a refusal by a limit, and how long GitHub
// asks to wait: Retry-After first, then the reset of a limit that is used up,
// else a minute and more [docs.github.com, "Best practices for using the REST
// API", "Handle rate limit errors appropriately"].
func (l *limits) met(req *http.Request, resp *http.Response, tries int) (time.Duration, limitMet) {
	left, errLeft := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining")) // which archives have not
	seconds, errReset := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	renewed := time.Unix(seconds, 0)
	known := errLeft == nil && errReset == nil
	usedUp := known && left == 0
	l.mu.Lock()
	if known {
		l.answered(req, left, renewed)
	}
	if hour, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Limit")); err == nil && (l.hour == 0 || hour < l.hour) {
		l.hour = hour
	}
	l.mu.Unlock()

	if !refusedByLimit(req, resp, usedUp) {
		return 0, noLimit
	}
	after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	announced := err == nil && after >= 0
	switch {
	case announced && usedUp:
		return time.Duration(after) * time.Second, hourlyLimit
	case announced:
		return time.Duration(after) * time.Second, secondaryLimit
	case usedUp:
		return max(renewed.Sub(l.clock.Now()), 0) + clockError, hourlyLimit
	}
	return unannouncedPause << (tries - 1), secondaryLimit
}

// limitMet says which limit has refused a request.
type limitMet int

// The limits: that of the requests of an hour, and GitHub's others, which are about all that
// the caller does.
const (
	noLimit limitMet = iota
	hourlyLimit
	secondaryLimit
)

// refusedByLimit reports whether an answer is about a limit. A 403 may have other reasons.
// REST answers 403 or 429; GraphQL answers 200 with an error of type RATE_LIMITED.
func refusedByLimit(req *http.Request, resp *http.Response, usedUp bool) bool {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return usedUp || resp.Header.Get("Retry-After") != "" ||
			strings.Contains(strings.ToLower(peek(resp)), "secondary rate limit")
	case http.StatusOK:
		return usedUp && limitOf(req) == "graphql" && strings.Contains(peek(resp), `"RATE_LIMITED"`)
	}
	return false
}

// peek returns the beginning of the body and leaves the body whole.
func peek(resp *http.Response) string {
	body := bufio.NewReaderSize(resp.Body, largestRefusal)
	start, _ := body.Peek(largestRefusal) // an error comes again when the body is read
	resp.Body = readFrom{body, resp.Body}
	return string(start)
}

// limitOf names the limit that a request counts against.
func limitOf(req *http.Request) string {
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/graphql") {
		return "graphql"
	}
	return "core"
}

// forget hides the state of a limit from go-github, which would act on it.
func forget(h http.Header) {
	h.Del("X-RateLimit-Remaining")
	h.Del("X-RateLimit-Reset")
}

// boundedBody fails as soon as more than the bound has been read.
type boundedBody struct {
	body io.ReadCloser
	left int64
	done func() // after closing
}

var errTooLarge = errors.New("the answer is too large")

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.done()
	return b.body.Close()
}
