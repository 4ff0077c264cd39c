package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/idna"
)

// The limits of connections. A server that needs longer to begin is down.
const (
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	// It is longer than one try of a question, whose end has its own reason.
	// net/http cannot separate the two, and the end of a run must not count as
	// silence of a host.
	headerTimeout = 31 * time.Second
	idleTimeout   = 90 * time.Second
	// maxIdlePerHost is more than a run asks of one host at once: atOncePerHost,
	// and some downloads.
	maxIdlePerHost = 48
)

// guard is the RoundTripper under every client. net/http calls it for each hop of
// a redirect, so its rules hold for each hop of any client.
type guard struct {
	shared *shared
	who    Namer // of the hosts that the operator has not named
	// base reports whether the base branch names a host, too; nil knows none. It
	// is needed for hosts that a fork alone may not name.
	base func(host string) bool

	// Each pool has the connections for one set of allowed kinds. With one pool
	// for all, a request that may not reach this machine could reuse a connection
	// of another request.
	mu    sync.Mutex
	pools map[kindSet]*http.Transport // by guard.inherited
}

// shared is the state and the counters of all guards of a run.
type shared struct {
	userAgent string
	log       *slog.Logger
	proxy     func(*http.Request) (*url.URL, error)
	resolver  *net.Resolver
	dial      func(ctx context.Context, network, hostport string) (net.Conn, error) // nil means the system

	mu       sync.Mutex
	admitted map[string]bool    // host:port that the operator named
	found    map[string]kindSet // by host:port, the kinds of addresses that connections found

	hosts           hosts
	requests, bytes atomic.Int64
}

func newGuard(opts Options) *guard {
	if opts.Proxy == nil {
		opts.Proxy = http.ProxyFromEnvironment
	}
	return &guard{pools: map[kindSet]*http.Transport{}, shared: &shared{
		userAgent: opts.UserAgent,
		log:       opts.Log,
		proxy:     opts.Proxy,
		resolver:  cmp.Or(opts.Resolver, net.DefaultResolver),
		dial:      opts.Dial,
		admitted:  map[string]bool{},
		found:     map[string]kindSet{},
		hosts:     newHosts(),
	}}
}

// pool returns the connections of requests that inherit these kinds.
func (g *guard) pool(inherited kindSet) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pools[inherited] == nil {
		g.pools[inherited] = &http.Transport{
			Proxy:                 g.proxyFor,
			DialContext:           g.dialer(inherited),
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   maxIdlePerHost,
			IdleConnTimeout:       idleTimeout,
			TLSHandshakeTimeout:   tlsTimeout,
			ResponseHeaderTimeout: headerTimeout,
		}
	}
	return g.pools[inherited]
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.roundTrip(req)
	if err != nil {
		g.shared.log.DebugContext(req.Context(), "no answer", "method", req.Method, "url", Redact(req.URL), "reason", err)
		if before(req) != nil {
			err = &redirected{req.URL, Plainly(err)}
		}
		return nil, err
	}
	g.shared.log.DebugContext(req.Context(), "answer", "method", req.Method, "url", Redact(req.URL), "status", resp.StatusCode)
	return resp, nil
}

func (g *guard) roundTrip(req *http.Request) (*http.Response, error) {
	inherited := g.inherited(referrer(req))
	if err := g.check(req, inherited); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	resp, err := g.send(req, inherited)
	if r, ok := errors.AsType[*refusal](err); ok {
		return nil, r // without the dialer's words
	}
	if err != nil {
		return nil, err
	}
	// The next hop finds this one by its request.
	resp.Request = req
	if err := checkLocation(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// send sends a request if the state of its host allows it, and records the
// result.
func (g *guard) send(req *http.Request, inherited kindSet) (*http.Response, error) {
	attempt, err := g.shared.hosts.enter(req.Context(), HostPort(req.URL), req.URL.EscapedPath())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	try, brief := endAfter(cancel, inquiryOf(ctx).try), (*time.Timer)(nil)
	if attempt.brief {
		brief = endAfter(cancel, probeTimeout)
	}
	g.shared.requests.Add(1)
	resp, err := g.pool(inherited).RoundTrip(g.outgoing(req.WithContext(ctx)))
	if err != nil {
		stop(try)
		stop(brief)
		err = lateness(ctx, err)
		if Refused(err) {
			attempt.unsent()
		} else {
			attempt.failed(err)
		}
		cancel(nil)
		return nil, err
	}
	attempt.heard(resp)
	body := &arriving{ReadCloser: resp.Body, guard: g, attempt: attempt, ctx: ctx, cancel: cancel, try: try, begins: func() {
		stop(brief)
		attempt.alive()
	}}
	if q := inquiryOf(ctx); q.stream {
		stop(try) // it runs while the reader waits for data
		body.stand = q.try
	}
	resp.Body = body
	return resp, nil
}

// endAfter ends a request after some time; nil if d is 0, for no limit.
func endAfter(cancel context.CancelCauseFunc, d time.Duration) *time.Timer {
	if d == 0 {
		return nil
	}
	return time.AfterFunc(d, func() { cancel(noAnswer(d)) })
}

func stop(timer *time.Timer) {
	if timer != nil {
		timer.Stop()
	}
}

// lateness replaces the error of a request whose time is over.
func lateness(ctx context.Context, err error) error {
	if l, ok := errors.AsType[*late](context.Cause(ctx)); ok {
		return l
	}
	return err
}

// outgoing is the request in the form that is sent. net/http drops credentials
// only if a redirect leaves the domain: it keeps them for subdomains and other
// ports. It also sends the query of the former URL in Referer, and does not know
// the session header of a cloud.
func (g *guard) outgoing(req *http.Request) *http.Request {
	out := req.Clone(req.Context())
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", g.shared.userAgent)
	}
	if req.Response != nil {
		out.Header.Del("Referer")
	}
	if pastCaches(req.Context()) { // HTTP/1.0 has only the second one
		out.Header.Set("Cache-Control", "no-cache")
		out.Header.Set("Pragma", "no-cache")
	}
	if crossed(req) {
		out.Header.Del("Authorization")
		out.Header.Del("Cookie")
		out.Header.Del("X-Amz-Security-Token")
	}
	return out
}

// crossed reports whether any redirect on the way led to another host and port.
// One is enough: net/http copies the first request's headers to every hop, so a
// redirect back must not restore the credentials.
func crossed(req *http.Request) bool {
	for previous := before(req); previous != nil; req, previous = previous, before(previous) {
		if HostPort(req.URL) != HostPort(previous.URL) {
			return true
		}
	}
	return false
}

// before returns the request that was redirected to this one.
func before(req *http.Request) *http.Request {
	if req.Response == nil {
		return nil
	}
	return req.Response.Request
}

// check refuses requests that need no connection for it. Literal addresses are
// checked here, since a proxy hides them later.
func (g *guard) check(req *http.Request, inherited kindSet) error {
	if s := req.URL.Scheme; s != "https" && s != "http" {
		return &refusal{reason: "only http and https are spoken"}
	}
	if p := before(req); p != nil && p.URL.Scheme == "https" && req.URL.Scheme == "http" && !g.admittedHere(req.URL) {
		return &refusal{reason: "a redirect from https to http"}
	}
	_, err := g.literal(req.URL, inherited)
	return err
}

// literal checks the host of a URL if it is an address. It returns false for a
// name, which must be resolved first.
func (g *guard) literal(u *url.URL, inherited kindSet) (bool, error) {
	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err == nil:
		return true, g.checkAddr(ip, HostPort(u), inherited)
	case numeric(u.Hostname()):
		return true, &refusal{reason: "an address in an unusual notation"}
	}
	return false, nil
}

// numeric reports whether some resolvers would read a host name as an address,
// although it is none in the usual notation: 127.1, 0x7f000001, 2130706433. By
// the URL standard such names end in a number.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndex(host, ".")+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// checkLocation refuses a redirect to an invalid URL, because the error of
// net/http would quote it.
func checkLocation(resp *http.Response) error {
	if resp.StatusCode < 300 || resp.StatusCode > 399 {
		return nil
	}
	if _, err := resp.Request.URL.Parse(resp.Header.Get("Location")); err != nil {
		return &refusal{reason: "a redirect to something that is no URL"}
	}
	return nil
}

// dialer connects after it has checked the resolved address.
func (g *guard) dialer(inherited kindSet) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		check := func(resolved string) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return err
			}
			return g.checkAddr(ap.Addr(), hostport, inherited)
		}
		if g.shared.dial != nil {
			return dialBy(ctx, g.shared.dial, network, hostport, check)
		}
		d := net.Dialer{
			Timeout:  dialTimeout,
			Resolver: g.shared.resolver,
			Control:  func(_, resolved string, _ syscall.RawConn) error { return check(resolved) },
		}
		return d.DialContext(ctx, network, hostport)
	}
}

// dialBy connects by a given function, and closes a connection to a forbidden
// address.
func dialBy(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), network, hostport string, check func(string) error) (net.Conn, error) {
	conn, err := dial(ctx, network, hostport)
	if err != nil {
		return nil, err
	}
	if err := check(conn.RemoteAddr().String()); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkAddr decides about one address of a host and port.
func (g *guard) checkAddr(ip netip.Addr, hostport string, inherited kindSet) error {
	k, hostport := kindOf(ip), strings.ToLower(hostport)
	if !inherited.has(k) && !g.allows(k, hostport) {
		return refusalOf(k, hostport)
	}
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	g.shared.found[hostport] = g.shared.found[hostport].with(k)
	return nil
}

// allows looks the host and port up in dialTable.
func (g *guard) allows(k kind, hostport string) bool {
	if dialTable[k][g.who] || dialTable[k][Operator] && g.isAdmitted(hostport) {
		return true
	}
	if !dialTable[k][Base] || g.base == nil {
		return false
	}
	host, _, err := net.SplitHostPort(hostport)
	return err == nil && g.base(host)
}

// inherited are the kinds of addresses that are allowed because the server at
// referrer names the host. They are the kinds of that server's own addresses, if
// its Namer may reach them. For example, a registry in a private network may
// refer to another server there. No other server extends what is allowed.
func (g *guard) inherited(referrer *url.URL) kindSet {
	if referrer == nil {
		return 0
	}
	hostport := HostPort(referrer)
	g.shared.mu.Lock()
	found := g.shared.found[hostport]
	g.shared.mu.Unlock()
	var kept kindSet
	for k := private; k < kinds; k++ {
		if found.has(k) && g.allows(k, hostport) {
			kept = kept.with(k)
		}
	}
	return kept
}

// resolve applies the rules to the present addresses of a URL's host, and returns
// them. There are none if the host is an address, or if the proxy resolves it.
func (g *guard) resolve(ctx context.Context, u, referrer *url.URL) (addrs []netip.Addr, proxy *url.URL, err error) {
	inherited := g.inherited(referrer)
	if u.Hostname() == "" {
		return nil, nil, &refusal{reason: "a URL without a host"}
	}
	literal, err := g.literal(u, inherited)
	if err != nil {
		return nil, nil, err
	}
	proxy, err = g.proxyFor(&http.Request{URL: u})
	if err != nil || proxy != nil || literal {
		return nil, proxy, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err = g.shared.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, nil, err
	}
	for i, ip := range addrs {
		addrs[i] = ip.Unmap()
		if err := g.checkAddr(ip, HostPort(u), inherited); err != nil {
			return nil, nil, err
		}
	}
	return addrs, nil, nil
}

func (g *guard) isAdmitted(hostport string) bool {
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	return g.shared.admitted[hostport]
}

// admittedHere reports whether the operator named this server and connections
// found it on this machine.
func (g *guard) admittedHere(u *url.URL) bool {
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	hostport := HostPort(u)
	return g.shared.admitted[hostport] && g.shared.found[hostport].has(loopback)
}

func (g *guard) admit(hostport string) {
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	g.shared.admitted[strings.ToLower(hostport)] = true
}

// proxyFor also admits the proxy, since the operator sets its variable. The
// library's error would quote the variable, which may hold a password.
func (g *guard) proxyFor(req *http.Request) (*url.URL, error) {
	u, err := g.shared.proxy(req)
	if err != nil {
		return nil, errors.New("the proxy variables of the environment hold no valid URL")
	}
	if u != nil {
		g.admit(HostPort(u))
	}
	return u, nil
}

type referrerKey struct{}

func withReferrer(ctx context.Context, u *url.URL) context.Context {
	if u == nil {
		return ctx
	}
	return context.WithValue(ctx, referrerKey{}, u)
}

// referrer returns the URL whose answer named the request's URL: the redirecting
// one, or the caller's Referrer.
func referrer(req *http.Request) *url.URL {
	if p := before(req); p != nil {
		return p.URL
	}
	u, _ := req.Context().Value(referrerKey{}).(*url.URL)
	return u
}

type pastCachesKey struct{}

// PastCaches returns a context for requests that caches must not answer: a cache
// may hold an answer that was damaged on its way.
func PastCaches(ctx context.Context) context.Context {
	return context.WithValue(ctx, pastCachesKey{}, true)
}

func pastCaches(ctx context.Context) bool { return ctx.Value(pastCachesKey{}) != nil }

// defaultPort holds the default ports of net/http and git.
var defaultPort = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080", "ssh": "22", "git": "9418"}

// HostPort returns the host and port of a URL in the form that Admit takes:
// lower case, punycode, with the scheme's default port.
func HostPort(u *url.URL) string {
	host, port := u.Hostname(), u.Port()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if port == "" {
		port = defaultPort[u.Scheme]
	}
	return strings.ToLower(net.JoinHostPort(host, port))
}
