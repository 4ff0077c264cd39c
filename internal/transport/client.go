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
	// DefaultRetries is the number of retries of a failed request. A registry
	// that is down usually stays down longer than a run should wait.
	DefaultRetries = 2
	// DefaultTimeout limits one try of Do, with its body. The tools' default is
	// 10 seconds; users of large registries keep raising it.
	DefaultTimeout = 30 * time.Second
	// DefaultLimit limits a body, as the tools limit discovery documents.
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
	UserAgent string        // of requests without one; "relock" by default
	Log       *slog.Logger  // debug lines about requests and answers
	Retries   int           // DefaultRetries if 0, none if negative
	RetryWait time.Duration // before the first retry
	Timeout   time.Duration // of one try of Do with its body, and of HTTP
	Resolver  *net.Resolver // the system's if nil
	// Proxy chooses the proxy of a request. Nil means the variables of the
	// environment.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial connects instead of the system, for tests without a network. The rules
	// for addresses apply to the remote address of its connections. Nil means the
	// system.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
}

// Client sends the requests of one run. It is safe for concurrent use.
type Client struct {
	opts  Options
	guard *guard
}

// New makes a client. It follows the proxy variables and, through crypto/x509,
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

// Admit records that the operator named this host and port. Examples are a host
// block of the CLI configuration, a mirror's URL, or a variable such as
// GITHUB_API_URL. HostPort makes the argument of a URL.
func (c *Client) Admit(hostport string) { c.guard.admit(hostport) }

// For returns a client for hosts that who names. It shares counters and the
// operator's hosts with c. A host for which base is true counts as named by the
// base branch; a nil base knows none. New returns a client for Base.
func (c *Client) For(who Namer, base func(host string) bool) *Client {
	g := &guard{shared: c.guard.shared, who: who, base: base, pools: map[kindSet]*http.Transport{}}
	return &Client{opts: c.opts, guard: g}
}

// Resolve returns the way to connect to a URL's host: by these addresses, or by a
// proxy that resolves the name. Both are empty if the host is an address. The
// rules for connections have been applied.
//
// Callers use it before another program connects. That program must connect only
// to the returned addresses, since the name may resolve to others by then.
// referrer is that of Request.
//
// Errors are *problem.Error: CodeUnreachable, also for a name that does not
// resolve, or CodeCancelled if ctx has ended.
func (c *Client) Resolve(ctx context.Context, u, referrer *url.URL) (addrs []netip.Addr, proxy *url.URL, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	addrs, proxy, err = c.guard.resolve(ctx, u, referrer)
	if unknownName(err) && u.Scheme != "ssh" && waitFor(ctx, c.opts.RetryWait) == nil { // ssh has aliases of hosts
		addrs, proxy, err = c.guard.resolve(ctx, u, referrer)
	}
	if err != nil {
		return nil, nil, failure(ctx, u, err)
	}
	return addrs, proxy, nil
}

// OnThisMachine reports whether all connections to a URL's server went to
// addresses of this machine.
func (c *Client) OnThisMachine(u *url.URL) bool {
	g := c.guard
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	return g.shared.found[HostPort(u)] == kindSet(0).with(loopback)
}

// Stats counts the work of a client.
type Stats struct {
	Requests int64 // sent, with retries and redirects
	Bytes    int64 // of bodies that were read
}

// Stats returns the counters.
func (c *Client) Stats() Stats {
	return Stats{Requests: c.guard.shared.requests.Load(), Bytes: c.guard.shared.bytes.Load()}
}

// HTTP returns a client for libraries. It follows the rules of this package, but
// neither limits bodies nor retries.
func (c *Client) HTTP() *http.Client {
	return &http.Client{
		Transport:     c.guard,
		CheckRedirect: Request{}.follow,
		Timeout:       c.opts.Timeout,
	}
}

// Streaming returns a client for libraries that read long bodies. Like Stream it
// retries requests without an answer. It limits the time that a body may be below
// the floor, not the time of the whole request.
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

// endingBody ends its question when it is closed.
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

// Request describes a request. All fields but URL are optional.
type Request struct {
	Method string // GET by default
	URL    *url.URL
	// Referrer is the URL whose answer named URL. It is nil if relock or the
	// operator's configuration named URL. It is not sent.
	Referrer *url.URL
	Header   http.Header
	// Token is sent as bearer token to the host and port of URL. The first
	// redirect elsewhere drops it.
	Token        string
	Limit        int64 // of the body in bytes; DefaultLimit if 0
	MaxRedirects int   // DefaultRedirects if 0, none if negative
	// Final reports whether a redirect is returned, not followed, because the
	// next request needs its own signature. Nil follows all redirects.
	Final   func(redirect http.Header) bool
	Timeout time.Duration // of one try; Options.Timeout if 0; for Stream none if 0
	// Retries is the number of retries; Options.Retries if 0, none if negative.
	Retries int
	NoRetry bool
	// Turn is held while a Stream is read; nil for none.
	Turn Turn
}

// Turn is the right to transfer, for which many may wait. A transfer that breaks,
// or falls below the floor, hands it over before it continues.
type Turn interface {
	Leave()
	// Enter waits for another turn. It fails if ctx ends first.
	Enter(ctx context.Context) error
}

// Response is an answer with any status.
type Response struct {
	Status int
	Header http.Header
	URL    *url.URL // the answered URL, after redirects
	Size   int64    // the announced size of the body; negative if unknown
	Body   []byte   // nil from Stream
}

// Do sends the request and reads the whole answer. It retries connection errors,
// bodies that break off, and the statuses 429 and 5xx (but 501), if the method
// only reads. A status is never an error.
//
// Errors are *problem.Error: CodeUnreachable without a complete answer,
// CodeBadAnswer beyond the limit, CodeCancelled if ctx has ended.
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

// keepWhole reads a body into memory while a retry is still possible.
func keepWhole(limit int64) func(*http.Response) error {
	return func(resp *http.Response) error {
		if resp.ContentLength > limit {
			return nil // the caller refuses it
		}
		return Whole(resp, limit)
	}
}

// Whole replaces the body of an answer by a copy in memory. So a caller that
// retries notices a body that breaks off before it uses the answer. Of a body
// beyond the limit it keeps one byte more than the limit.
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

// Stream sends the request like Do, and returns the body unread. The caller
// closes it. If the transfer breaks, the reader continues with the rest of the
// same body, or with a new body that begins with the same bytes. Otherwise it
// fails like Do, with the same errors. It also fails if, with all tries, less
// than the floor arrives in a minute.
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

// begin is the part of Stream before any break. The question's time then runs
// only while the reader waits.
func (c *Client) begin(q *inquiry, r Request) (*Response, io.ReadCloser, error) {
	resp, body, err := c.open(q, r, nil)
	q.rest(0)
	if err != nil {
		return nil, nil, err
	}
	q.flowing = true
	return resp, body, nil
}

// open sends a request. If read is not nil, an answer for which it fails is no
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

// retrying returns a client for one request, with its limits and the guard's
// connections.
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

// unknownName reports whether a host name does not exist. Name servers may say so
// for a moment while they start or lose their line, so relock asks twice.
func unknownName(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// shouldRetry is the policy of go-retryablehttp with three exceptions. It never
// retries a refusal, a host name that is unknown again, or a request that the
// state of the host forbids.
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

// backoff waits longer each time, or as long as the answer demands.
func (c *Client) backoff(shortest, longest time.Duration, tries int, resp *http.Response) time.Duration {
	if resp != nil {
		if pause, asked := pauseOf(resp); asked {
			return pause
		}
	}
	return retryablehttp.DefaultBackoff(shortest, longest, tries, nil)
}

// tried marks a request as a retry.
func tried(req *http.Request) error {
	inquiryOf(req.Context()).repeated = true
	return nil
}

// reads reports whether a request changes nothing. Then it may be retried.
func reads(r Request) bool {
	return slices.Contains([]string{"", http.MethodGet, http.MethodHead}, r.Method)
}

// follow is the http.Client.CheckRedirect: a Final redirect is an answer.
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

// tooLong is an error of the server, not of the line: a retry does not help.
func tooLong(u *url.URL, limit int64) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadAnswer,
			Host:    Hostname(u),
			Message: fmt.Sprintf("the answer of %s is longer than %d bytes", Redact(u), limit),
		},
	}
}
