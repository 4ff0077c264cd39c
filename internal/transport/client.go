package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/relock-dev/relock/internal/problem"
)

// The defaults of Options and Request.
const (
	// DefaultRetries is how often a failed request is sent again. A registry
	// that is down stays down for longer than a run should wait.
	DefaultRetries = 2
	// DefaultTimeout bounds one try of Do with its body. The tools allow 10
	// seconds by default, which users of large registries keep raising.
	DefaultTimeout = 30 * time.Second
	// DefaultLimit bounds a body, like the tools bound discovery documents.
	DefaultLimit = 1 << 20
	// DefaultRedirects is the limit of net/http.
	DefaultRedirects = 10

	// retryWait is the wait before the first retry; later ones double it, up to
	// maxRetryWait.
	retryWait    = time.Second
	maxRetryWait = 30 * time.Second
)

// Options are the settings of a Client. The zero value of each is its default.
type Options struct {
	UserAgent string        // of requests that set none; "relock" by default
	Log       *slog.Logger  // debug lines of what was asked and answered
	Retries   int           // DefaultRetries if 0, none if negative
	RetryWait time.Duration // before the first retry
	Timeout   time.Duration // of one try of Do with its body, and of HTTP
	Resolver  *net.Resolver // the system's if nil
	// Proxy chooses the proxy of a request; nil: by the variables of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial connects in place of the system: where no network is. The rules for
	// addresses hold for where a connection leads. Nil: the system connects.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}

// Client sends the requests of one run. It is safe for concurrent use.
type Client struct {
	opts  Options
	guard *guard
}

// New makes a client. It honours the proxy variables and, through crypto/x509,
// SSL_CERT_FILE and SSL_CERT_DIR of the environment.
func New(opts Options) *Client {
	opts.UserAgent = cmp.Or(opts.UserAgent, "relock")
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	opts.RetryWait = cmp.Or(opts.RetryWait, retryWait)
	opts.Retries = max(cmp.Or(opts.Retries, DefaultRetries), 0)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{opts: opts, guard: newGuard(opts)}
}

// Admit says that the operator named this host and port: in a host block of the
// CLI configuration, a mirror's URL, or a variable such as GITHUB_API_URL.
// HostPort makes the argument of a URL.
func (c *Client) Admit(hostport string) { c.guard.admit(hostport) }

// For returns a client for hosts that somebody names, which shares with c what
// the operator named and what is counted. The hosts for which base holds count as
// named by the base branch; nil knows none. New returns a client for Base.
func (c *Client) For(who Namer, base func(host string) bool) *Client {
	g := &guard{shared: c.guard.shared, who: who, base: base, pools: map[kindSet]*http.Transport{}}
	return &Client{opts: c.opts, guard: g}
}

// Resolve says how to connect to a URL's host, after applying the rules for
// connections: by these addresses, or by a proxy, which resolves the name. Neither
// is there if the host is an address itself. It is for those who are about to let
// another program connect, and must hold it to what is returned: the name may
// stand for something else by then. The referrer is that of Request.
//
// Errors are *problem.Error: CodeUnreachable, also for a name that does not
// resolve, or CodeCancelled if ctx has ended.
func (c *Client) Resolve(ctx context.Context, u, referrer *url.URL) (addrs []netip.Addr, proxy *url.URL, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	addrs, proxy, err = c.guard.resolve(ctx, u, referrer)
	if unknownName(err) && u.Scheme != "ssh" && waitFor(ctx, c.opts.RetryWait) == nil { // which has names of its own
		addrs, proxy, err = c.guard.resolve(ctx, u, referrer)
	}
	if err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	return addrs, proxy, nil
}

// OnThisMachine reports whether connections have found the server of a URL at addresses
// of this machine, and at no others.
func (c *Client) OnThisMachine(u *url.URL) bool {
	g := c.guard
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	return g.shared.found[HostPort(u)] == kindSet(0).with(loopback)
}

// Stats says what a client has done so far.
type Stats struct {
	Requests int64 // sent, with retries and redirects
	Bytes    int64 // of bodies, as read
}

// Stats returns the counters.
func (c *Client) Stats() Stats {
	return Stats{Requests: c.guard.shared.requests.Load(), Bytes: c.guard.shared.bytes.Load()}
}

// HTTP returns a client for libraries that want one. It keeps the rules of this
// package except for bounds on bodies, and does not retry.
func (c *Client) HTTP() *http.Client {
	return &http.Client{
		Transport:     c.guard,
		CheckRedirect: Request{}.follow,
		Timeout:       c.opts.Timeout,
	}
}

// Streaming returns a client for libraries that read long bodies. Like Stream it
// tries again where there is no answer, and bounds how long a body may be below the
// floor instead of the time of the whole request.
func (c *Client) Streaming() *http.Client {
	return &http.Client{Transport: streaming{c, &retryablehttp.RoundTripper{Client: c.retrying(Request{})}}}
}

// streaming is the RoundTripper that watches bodies.
type streaming struct {
	client *Client
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s streaming) RoundTrip(req *http.Request) (*http.Response, error) {
	q, err := s.client.streamed(req.Context(), req.Method, req.URL)
	if err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(req.WithContext(q.ctx))
	q.rest(0)
	if err != nil {
		s.client.guard.shared.hosts.end(q)
		return nil, lateness(q.ctx, err)
	}
	q.flowing = true
	resp.Body = &endingBody{
		ReadCloser: &bounded{inquiry: q, url: req.URL, body: resp.Body, limit: unbounded, left: unbounded},
		end:        func() { s.client.guard.shared.hosts.end(q) },
	}
	return resp, nil
}

// endingBody is a body with which a question ends.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (e *endingBody) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// unbounded is a limit that no body reaches.
const unbounded = 1 << 60

// Request is what to ask. All fields but URL are optional.
type Request struct {
	Method string // GET by default
	URL    *url.URL
	// Referrer is the URL whose answer named URL; nil if the operator's
	// configuration or relock itself did. It is not sent.
	Referrer *url.URL
	Header   http.Header
	// Token is sent as bearer token to the host and port of URL, and dropped by
	// the first redirect that leads elsewhere.
	Token        string
	Limit        int64 // of the body in bytes; DefaultLimit if 0
	MaxRedirects int   // DefaultRedirects if 0, none if negative
	// Final reports whether an answer that redirects is not followed but returned:
	// where the next request needs a signature of its own. Nil follows all.
	Final   func(redirect http.Header) bool
	Timeout time.Duration // of one try; Options.Timeout if 0, for Stream none
	// Retries is how often to try again; Options.Retries if 0, none if negative.
	Retries int
	NoRetry bool
	// Turn is what a Stream holds while it is read; nil: nothing.
	Turn Turn
}

// Turn is the right to transfer now, which many wait for. A transfer that breaks,
// or falls below the floor, gives it to another before it goes on.
type Turn interface {
	Leave()
	// Enter waits for another turn. It fails if ctx ends before.
	Enter(ctx context.Context) error
}

// Response is an answer, whatever its status.
type Response struct {
	Status int
	Header http.Header
	URL    *url.URL // what was answered, after redirects
	Size   int64    // of the body as announced; negative if it is not
	Body   []byte   // nil from Stream
}

// Do sends the request and reads the whole answer. Connection errors, bodies that
// break off, and the statuses 429 and 5xx (but 501) are tried again where the
// method only reads; a status is never an error.
//
// Errors are *problem.Error: CodeUnreachable if there was no whole answer,
// CodeBadAnswer if it exceeds the limit, CodeCancelled if ctx has ended.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	leave, err := c.guard.shared.hosts.place(ctx, HostPort(r.URL))
	if err != nil {
		return nil, failure(ctx, r.URL, err)
	}
	defer leave()
	q, err := c.guard.shared.hosts.newInquiry(ctx, r.Method, r.URL, cmp.Or(r.Timeout, c.opts.Timeout))
	if err != nil {
		return nil, failure(ctx, r.URL, err)
	}
	defer c.guard.shared.hosts.end(q)
	resp, body, err := c.open(q, r, keepWhole(cmp.Or(r.Limit, DefaultLimit)))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(body); err != nil {
		return nil, err
	}
	resp.Body = buf.Bytes()
	return resp, nil
}

// keepWhole reads a body into memory while it still can be asked for again: a
// body that breaks off later is nobody's to retry.
func keepWhole(limit int64) func(*http.Response) error {
	return func(resp *http.Response) error {
		if resp.ContentLength > limit {
			return nil // which the caller refuses
		}
		return Whole(resp, limit)
	}
}

// Whole replaces the body of an answer by one in memory, so that anyone who repeats
// questions can tell a body that breaks off before anything is made of it. Of a
// body that is longer than the limit it keeps one byte more than that.
func Whole(resp *http.Response, limit int64) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// Stream sends the request as Do does and returns the body unread; the caller
// closes it. Where a transfer breaks, the reader goes on if the server gives the
// rest of the very same body, or all of a body that begins with the same bytes.
// Else it fails where Do would, with the same errors, and where less than a floor
// arrives in a minute, with all its tries.
func (c *Client) Stream(ctx context.Context, r Request) (*Response, io.ReadCloser, error) {
	q, err := c.streamed(ctx, r.Method, r.URL)
	if err != nil {
		return nil, nil, failure(ctx, r.URL, err)
	}
	resp, body, err := c.begin(q, r)
	if err != nil {
		c.guard.shared.hosts.end(q)
		return nil, nil, err
	}
	return resp, newResuming(c, q, r, resp, body), nil
}

// streamed begins the question of a stream.
func (c *Client) streamed(ctx context.Context, method string, u *url.URL) (*inquiry, error) {
	q, err := c.guard.shared.hosts.newInquiry(ctx, method, u, standTime)
	if err == nil {
		q.stream = true
	}
	return q, err
}

// begin is Stream up to where the transfer breaks. The time of the question runs
// then while somebody reads.
func (c *Client) begin(q *inquiry, r Request) (*Response, io.ReadCloser, error) {
	resp, body, err := c.open(q, r, nil)
	q.rest(0)
	if err != nil {
		return nil, nil, err
	}
	q.flowing = true
	return resp, body, nil
}

// open sends a request. An answer that read, which may be nil, fails for is no
// answer.
func (c *Client) open(q *inquiry, r Request, read func(*http.Response) error) (*Response, *bounded, error) {
	req, err := c.request(q.ctx, r)
	if err != nil {
		return nil, nil, q.failure(r.URL, err)
	}
	if read != nil {
		req.SetResponseHandler(read)
	}
	resp, err := c.retrying(r).Do(req)
	if err != nil {
		if resp != nil {
			resp.Body.Close()
		}
		return nil, nil, q.failure(r.URL, err)
	}
	limit := cmp.Or(r.Limit, DefaultLimit)
	if resp.ContentLength > limit {
		resp.Body.Close()
		return nil, nil, tooLong(r.URL, limit)
	}
	body := &bounded{inquiry: q, url: r.URL, body: resp.Body, limit: limit, left: limit}
	answer := &Response{Status: resp.StatusCode, Header: resp.Header, URL: resp.Request.URL, Size: resp.ContentLength}
	return answer, body, nil
}

func (c *Client) request(ctx context.Context, r Request) (*retryablehttp.Request, error) {
	ctx = withReferrer(ctx, r.Referrer)
	req, err := retryablehttp.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), r.URL.String(), nil)
	if err != nil {
		return nil, err
	}
	for key, values := range r.Header {
		req.Header[key] = values
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	return req, nil
}

// retrying returns a client for one request, whose limits are its own; the
// connections are those of the guard.
func (c *Client) retrying(r Request) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     c.guard,
			CheckRedirect: r.follow,
		},
		RetryMax:     c.retries(r),
		RetryWaitMin: c.opts.RetryWait,
		RetryWaitMax: max(maxRetryWait, c.opts.RetryWait),
		CheckRetry:   c.shouldRetry,
		Backoff:      c.backoff,
		PrepareRetry: tried,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

func (c *Client) retries(r Request) int {
	if r.NoRetry || !reads(r) {
		return 0
	}
	return max(cmp.Or(r.Retries, c.opts.Retries), 0)
}

// unknownName reports whether nobody knows the name of a host. Name servers say so for a
// moment, too, while they start or lose their line, so that they are asked twice.
func unknownName(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// shouldRetry is the policy of go-retryablehttp, except that refusals, host names that
// are unknown again and what the state of the host forbids are final.
func (c *Client) shouldRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if _, refused := errors.AsType[*refusal](err); refused {
		return false, ctx.Err()
	}
	if unknownName(err) && inquiryOf(ctx).repeated {
		return false, ctx.Err()
	}
	if _, out := errors.AsType[*outage](err); out || c.guard.shared.hosts.hopeless(ctx, resp, err) {
		return false, ctx.Err()
	}
	return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
}

// backoff waits longer each time, or as long as the answer asks for.
func (c *Client) backoff(shortest, longest time.Duration, tries int, resp *http.Response) time.Duration {
	if resp != nil {
		if pause, asked := pauseOf(resp); asked {
			return pause
		}
	}
	return retryablehttp.DefaultBackoff(shortest, longest, tries, nil)
}

// tried marks a request as one that is sent again.
func tried(req *http.Request) error {
	inquiryOf(req.Context()).repeated = true
	return nil
}

// reads reports whether a request changes nothing, so that it may be sent again.
func reads(r Request) bool {
	return slices.Contains([]string{"", http.MethodGet, http.MethodHead}, r.Method)
}

// follow decides about a redirect, as http.Client.CheckRedirect: one that is Final is
// an answer.
func (r Request) follow(req *http.Request, via []*http.Request) error {
	limit := max(cmp.Or(r.MaxRedirects, DefaultRedirects), 0)
	switch {
	case r.Final != nil && r.Final(req.Response.Header):
		return http.ErrUseLastResponse
	case len(via) > limit:
		return &refusal{reason: fmt.Sprintf("more than %d redirects", limit)}
	}
	return nil
}

// tooLong is an error of the server, not of the line: trying again is no help.
func tooLong(u *url.URL, limit int64) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadAnswer,
			Host:    Hostname(u),
			Message: fmt.Sprintf("the answer of %s is longer than %d bytes", Redact(u), limit),
		},
	}
}
