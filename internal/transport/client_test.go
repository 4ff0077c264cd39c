package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// TestMain makes SSL_CERT_FILE name the certificate of httptest, as an operator
// does for a private authority. Tests over TLS rely on it.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }

// newClient does not wait for its retries, unless a test sets more.
func newClient(admit ...*httptest.Server) *Client {
	c := New(Options{RetryWait: time.Nanosecond})
	for _, s := range admit {
		c.Admit(s.Listener.Addr().String())
	}
	return c
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func serveTLS(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	trusted.Needed(t)
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return s
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func wantCode(t *testing.T, err error, code problem.Code) *problem.Error {
	t.Helper()
	var e *problem.Error
	if !errors.As(err, &e) || e.Problem.Code != code {
		t.Fatalf("error = %v (%T), want code %q", err, err, code)
	}
	return e
}

func TestDoReturnsAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		w.Header().Set("X-Method", r.Method)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Header.Get("User-Agent"), " ", r.Header.Get("X-Custom"), " ", r.Header.Get("Authorization"))
	})
	c := New(Options{UserAgent: "relock/1.2.3"})
	c.Admit(s.Listener.Addr().String())
	got, err := c.Do(t.Context(), Request{
		URL: parse(t, s.URL+"/from"), Header: http.Header{"X-Custom": {"yes"}}, Token: "t0ken",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != http.StatusTeapot || got.URL.Path != "/to" || got.Header.Get("X-Method") != "GET" {
		t.Errorf("Do = status %d, URL %v, method %s; want 418 of GET /to", got.Status, got.URL, got.Header.Get("X-Method"))
	}
	if want := "relock/1.2.3 yes Bearer t0ken"; string(got.Body) != want {
		t.Errorf("headers after a redirect within the host = %q, want %q", got.Body, want)
	}
	if want := (Stats{Requests: 2, Bytes: int64(len(got.Body)) + int64(len("<a href=\"/to\">Found</a>.\n\n"))}); c.Stats() != want {
		t.Errorf("Stats() = %+v, want %+v", c.Stats(), want)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		statuses []int
		header   string
		opts     Options
		noRetry  bool
		retries  int
		want     int
		requests int64
	}{
		{name: "after_server_errors", statuses: []int{503, 500, 200}, want: 200, requests: 3},
		{name: "after_too_many_requests", statuses: []int{429, 200}, want: 200, requests: 2},
		{name: "gives_the_last_answer", statuses: []int{500, 502, 503, 200}, want: 503, requests: 3},
		{name: "not_when_not_found", statuses: []int{404, 200}, want: 404, requests: 1},
		{name: "not_when_not_implemented", statuses: []int{501, 200}, want: 501, requests: 1},
		{name: "not_when_told_so", statuses: []int{503, 200}, noRetry: true, want: 503, requests: 1},
		{name: "not_with_negative_retries", statuses: []int{503, 200}, opts: Options{Retries: -1}, want: 503, requests: 1},
		{name: "as_often_as_the_request_says", statuses: []int{503, 503, 503, 200}, retries: 3, want: 200, requests: 4},
		{name: "not_with_negative_retries_of_the_request", statuses: []int{503, 200}, retries: -1, want: 503, requests: 1},
		// The first wait would be longer than any test.
		{name: "when_the_server_says", statuses: []int{503, 200}, header: "0", opts: Options{RetryWait: time.Hour}, want: 200, requests: 2},
		{name: "not_when_the_server_asks_for_hours", statuses: []int{503, 200}, header: "7200", want: 503, requests: 1},
		{name: "not_when_the_server_names_a_far_date", statuses: []int{503, 200}, header: "Fri, 31 Dec 2199 23:59:59 GMT", want: 503, requests: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(tt.statuses[asked.Add(1)-1])
			})
			if tt.opts.RetryWait == 0 {
				tt.opts.RetryWait = time.Nanosecond
			}
			c := New(tt.opts)
			c.Admit(s.Listener.Addr().String())
			got, err := c.Do(t.Context(), Request{URL: parse(t, s.URL), NoRetry: tt.noRetry, Retries: tt.retries})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.want || c.Stats().Requests != tt.requests {
				t.Errorf("Do = %d after %d requests, want %d after %d", got.Status, c.Stats().Requests, tt.want, tt.requests)
			}
		})
	}
}

func TestRetriesBrokenConnection(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "there")
	})
	got, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL)})
	if err != nil || string(got.Body) != "there" {
		t.Errorf("Do = %v, %v; want the second answer", got, err)
	}
}

// TestRetriesBrokenBody breaks off each answer but the last.
func TestRetriesBrokenBody(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		request  Request
		breaks   int64
		header   string
		fails    bool
		requests int64
	}{
		{name: "once", breaks: 1, requests: 2},
		{name: "with_a_length", breaks: 1, header: "5", requests: 2},
		{name: "until_the_retries_are_used_up", breaks: 9, fails: true, requests: 3},
		{name: "not_when_told_so", breaks: 1, request: Request{NoRetry: true}, fails: true, requests: 1},
		{name: "not_what_changes_something", breaks: 1, request: Request{Method: http.MethodPost}, fails: true, requests: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				n := asked.Add(1)
				if tt.header != "" {
					w.Header().Set("Content-Length", tt.header)
				}
				io.WriteString(w, "wh")
				w.(http.Flusher).Flush()
				if n <= tt.breaks {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, "ole")
			})
			tt.request.URL = parse(t, s.URL)
			got, err := newClient(s).Do(t.Context(), tt.request)
			if asked.Load() != tt.requests {
				t.Errorf("asked %d times, want %d", asked.Load(), tt.requests)
			}
			if tt.fails {
				wantCode(t, err, problem.CodeUnreachable)
			} else if err != nil || string(got.Body) != "whole" {
				t.Errorf("Do = %+v, %v; want the whole body", got, err)
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	chunked := func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		io.WriteString(w, "123456789")
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		limit   int64
		fails   bool
	}{
		{"exact", answer("123456789"), 9, false},
		{"exact_of_unknown_length", chunked, 9, false},
		{"excess_announced", answer("123456789"), 8, true},
		{"excess_of_unknown_length", chunked, 8, true},
		{"default", answer(strings.Repeat("x", DefaultLimit+1)), 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.handler)
			c := newClient(s)
			r := Request{URL: parse(t, s.URL), Limit: tt.limit}
			_, err := c.Do(t.Context(), r)
			_, body, streamErr := c.Stream(t.Context(), r)
			if streamErr == nil {
				defer body.Close()
				var data []byte
				data, streamErr = io.ReadAll(body)
				if tt.limit > 0 && int64(len(data)) > tt.limit {
					t.Errorf("Stream gave %d bytes, limit %d", len(data), tt.limit)
				}
			}
			if !tt.fails {
				if err != nil || streamErr != nil {
					t.Errorf("Do: %v; Stream: %v; want the answer", err, streamErr)
				}
				return
			}
			wantCode(t, err, problem.CodeBadAnswer)
			wantCode(t, streamErr, problem.CodeBadAnswer)
		})
	}
}

func TestExcessIsRefusedBeforeItArrives(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	_, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL), Limit: 99})
	wantCode(t, err, problem.CodeBadAnswer)
}

func TestTruncatedBodyIsAnError(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]string{"announced": "100", "chunked": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				io.WriteString(w, "short")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			c := newClient(s)
			_, err := c.Do(t.Context(), Request{URL: parse(t, s.URL)})
			e := wantCode(t, err, problem.CodeUnreachable)
			if !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("Do: %v, want an unexpected EOF", err)
			}
			_, body, err := c.Stream(t.Context(), Request{URL: parse(t, s.URL)})
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			_, err = io.Copy(io.Discard, body)
			wantCode(t, err, problem.CodeUnreachable)
		})
	}
}

func TestCancelledRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := newClient(s).Do(ctx, Request{URL: parse(t, s.URL)})
	if e := wantCode(t, err, problem.CodeCancelled); !errors.Is(e, context.Canceled) {
		t.Errorf("Do = %v, want context.Canceled below it", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL), Timeout: time.Millisecond, NoRetry: true})
	wantCode(t, err, problem.CodeUnreachable)
}

func TestTokenStaysWithItsHostAndPort(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("Referer") + r.Header.Get("X-Amz-Security-Token"))
		if back := r.URL.Query().Get("back"); back != "" {
			http.Redirect(w, r, back, http.StatusFound)
		}
	})
	var home *httptest.Server
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL+"/?secret=1", http.StatusFound)
		case "/there-and-back":
			http.Redirect(w, r, elsewhere.URL+"/?back="+home.URL+"/end", http.StatusFound)
		default:
			seen.Store(r.Header.Get("Authorization"))
		}
	})
	header := http.Header{"Cookie": {"session"}, "X-Amz-Security-Token": {"session"}}
	for _, path := range []string{"/away", "/there-and-back"} {
		seen.Store("none")
		c := newClient(home, elsewhere)
		if _, err := c.Do(t.Context(), Request{URL: parse(t, home.URL+path), Token: "t0ken", Header: header}); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != "" {
			t.Errorf("credentials after %s, another port of the same host = %q, want none", path, got)
		}
	}

	// A library's client and its own header keep the rule as well.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL+"/away", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token t0ken")
	seen.Store("none")
	resp, err := newClient(home, elsewhere).HTTP().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := seen.Load(); got != "" {
		t.Errorf("credentials from HTTP() at another port = %q, want none", got)
	}
}

func TestTokenIsDroppedForSubdomain(t *testing.T) {
	t.Parallel()
	// A proxy sees any host without a resolver.
	seen := map[string]string{}
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.URL.Host] = r.Header.Get("Authorization")
		if r.URL.Host == "registry.test" {
			http.Redirect(w, r, "http://cdn.registry.test/", http.StatusFound)
		}
	})
	c := newClient()
	c.guard.shared.proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	if _, err := c.Do(t.Context(), Request{URL: parse(t, "http://registry.test/"), Token: "t0ken"}); err != nil {
		t.Fatal(err)
	}
	if seen["registry.test"] != "Bearer t0ken" || seen["cdn.registry.test"] != "" {
		t.Errorf("Authorization by host = %v, want it at registry.test alone", seen)
	}
}

func TestRedirectLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
	})
	for _, tt := range []struct {
		max      int
		requests int64
	}{{0, DefaultRedirects + 1}, {3, 4}, {-1, 1}} {
		c := newClient(s)
		_, err := c.Do(t.Context(), Request{URL: parse(t, s.URL+"/"), MaxRedirects: tt.max})
		wantCode(t, err, problem.CodeUnreachable)
		if got := c.Stats().Requests; got != tt.requests {
			t.Errorf("MaxRedirects %d: %d requests, want %d", tt.max, got, tt.requests)
		}
	}
}

// A redirect that the caller takes for the answer is not followed, whether or
// not it says where to go; every other one is.
func TestFinalRedirect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/final":
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/bare":
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			w.WriteHeader(http.StatusMovedPermanently)
		case "/other":
			http.Redirect(w, r, "/end", http.StatusFound)
		default:
			fmt.Fprint(w, "end")
		}
	})
	final := func(h http.Header) bool { return h.Get("X-Amz-Bucket-Region") != "" }
	for path, want := range map[string]int{"/final": 307, "/bare": 301, "/other": 200} {
		got, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL+path), Final: final})
		if err != nil || got.Status != want {
			t.Errorf("answer of %s = %v, %v; want %d", path, got, err, want)
		}
	}
}

func TestRedirectFromHTTPSToHTTP(t *testing.T) {
	t.Parallel()
	plain := serve(t, answer("plain"))
	secure := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	to := func(target string) Request { return Request{URL: parse(t, secure.URL+"/?to="+target)} }

	c := newClient(secure)
	_, err := c.Do(t.Context(), to("http://registry.test/"))
	if e := wantCode(t, err, problem.CodeUnreachable); !strings.Contains(e.Error(), "from https to http") {
		t.Errorf("redirect to plain http: %v, want a refusal", err)
	}

	// On this machine, where the operator named the plain server and it is known
	// to be here, there is no line to listen on.
	c = newClient(secure, plain)
	if _, err := c.Do(t.Context(), Request{URL: parse(t, plain.URL)}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Do(t.Context(), to(plain.URL)); err != nil || string(got.Body) != "plain" {
		t.Errorf("redirect to an admitted server of this machine = %v, %v; want its answer", got, err)
	}
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	other := serve(t, answer("other"))
	named := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	elsewhere := parse(t, "https://registry.test/v1/providers/")
	_, port, _ := net.SplitHostPort(other.Listener.Addr().String())
	tests := []struct {
		name     string
		url      string
		referrer *url.URL
		allowed  bool
	}{
		{"not_named", other.URL, nil, false},
		{"not_named_by_name", "http://localhost:" + port, nil, false},
		{"not_named_unspecified", "http://0.0.0.0:" + port, nil, false},
		{"not_named_unspecified_v6", "http://[::]:" + port, nil, false},
		{"not_named_mapped", "http://[::ffff:127.0.0.1]:" + port, nil, false},
		{"odd_notation", "http://127.1:" + port, nil, false},
		{"odd_notation_hex", "http://0x7f000001:" + port, nil, false},
		{"named", named.URL, nil, true},
		{"referred_by_named_server", other.URL, parse(t, named.URL), true},
		{"redirected_by_named_server", named.URL + "/?to=" + other.URL, nil, true},
		{"referred_by_other_host", other.URL, elsewhere, false},
		{"referred_by_unnamed_server", other.URL, parse(t, other.URL), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(named)
			// Also leaves an open connection to the other server behind, which
			// must not serve those who may not reach it.
			warm := Request{URL: parse(t, other.URL), Referrer: parse(t, named.URL)}
			if _, err := c.Do(t.Context(), Request{URL: parse(t, named.URL)}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Do(t.Context(), warm); err != nil {
				t.Fatal(err)
			}
			before := c.Stats().Requests
			got, err := c.Do(t.Context(), Request{URL: parse(t, tt.url), Referrer: tt.referrer})
			if tt.allowed {
				if err != nil || got.Status != http.StatusOK {
					t.Errorf("Do(%s) = %v, %v; want an answer", tt.url, got, err)
				}
				return
			}
			if e := wantCode(t, err, problem.CodeUnreachable); !strings.Contains(e.Error(), "refused: ") {
				t.Errorf("Do(%s): %v, want a refusal", tt.url, err)
			}
			if tries := c.Stats().Requests - before; tries > 1 {
				t.Errorf("Do(%s): %d tries, want no retry of what is refused", tt.url, tries)
			}
		})
	}
}

func TestNamedServerElsewhereMayNotReferHere(t *testing.T) {
	t.Parallel()
	here := serve(t, answer("here"))
	c := newClient()
	c.Admit("registry.test:443")
	_, err := c.Do(t.Context(), Request{URL: parse(t, here.URL), Referrer: parse(t, "https://registry.test/v1/")})
	wantCode(t, err, problem.CodeUnreachable)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	proxy := serve(t, answer("through the proxy"))
	via := func(u string) *Client {
		c := newClient()
		c.guard.shared.proxy = func(*http.Request) (*url.URL, error) { return url.Parse(u) }
		return c
	}
	c := via(proxy.URL)
	if got, err := c.Do(t.Context(), Request{URL: parse(t, "http://registry.test/")}); err != nil || string(got.Body) != "through the proxy" {
		t.Errorf("Do through a proxy of this machine = %v, %v; want its answer", got, err)
	}
	for _, u := range []string{"http://169.254.169.254/", "http://127.0.0.1:9/", "http://[::ffff:0.0.0.0]/", "http://2130706433/"} {
		if _, err := c.Do(t.Context(), Request{URL: parse(t, u)}); !strings.Contains(fmt.Sprint(err), "refused: ") {
			t.Errorf("Do(%s) through a proxy = %v, want a refusal", u, err)
		}
	}
	_, err := via("http://user:pa55\x7f@proxy.test").Do(t.Context(), Request{URL: parse(t, "http://registry.test/"), NoRetry: true})
	if e := wantCode(t, err, problem.CodeUnreachable); strings.Contains(e.Error(), "pa55") {
		t.Errorf("error of a malformed proxy variable holds its password: %v", err)
	}
}

func TestNothingSecretInErrorsAndLogs(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			w.Header().Set("Location", "http://[broken?sig=s3cret")
			w.WriteHeader(http.StatusFound)
		case "/onward":
			http.Redirect(w, r, "ftp://user:s3cret@files.test/x?sig=s3cret", http.StatusFound)
		case "/ok":
		default:
			panic(http.ErrAbortHandler)
		}
	})
	var log bytes.Buffer
	c := New(Options{Retries: -1, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c.Admit(s.Listener.Addr().String())
	for _, path := range []string{"/abort", "/redirect", "/onward", "/ok"} {
		u := parse(t, s.URL+path+"?sig=s3cret")
		u.User = url.UserPassword("user", "s3cret")
		_, err := c.Do(t.Context(), Request{URL: u, Token: "s3cret"})
		if path == "/ok" {
			continue
		}
		e := wantCode(t, err, problem.CodeUnreachable)
		if strings.Contains(e.Error(), "s3cret") || !strings.HasPrefix(e.Error(), "requesting "+s.URL+path+": ") {
			t.Errorf("Do(%s) = %v, want the plain URL and nothing secret", path, err)
		}
	}
	if strings.Contains(log.String(), "s3cret") || !strings.Contains(log.String(), "/ok status=200") {
		t.Errorf("log = %s\nwant each answer and nothing secret", log.String())
	}
}

func TestHostPort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://Registry.Example/x":  "registry.example:443",
		"http://registry.example/x":   "registry.example:80",
		"https://bücher.example":      "xn--bcher-kva.example:443",
		"http://[::1]:8080/":          "[::1]:8080",
		"https://u:p@a.example:444/?": "a.example:444",
	} {
		if got := HostPort(parse(t, in)); got != want {
			t.Errorf("HostPort(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestUnknownAuthoritySaysWhatHelps asks a server whose certificate nobody here
// trusts, as that of a proxy which opens TLS.
func TestUnknownAuthoritySaysWhatHelps(t *testing.T) {
	t.Parallel()
	s := trusted.NobodysServer(t, answer("secret"))
	_, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL)})
	e := wantCode(t, err, problem.CodeUnreachable)
	if !strings.Contains(e.Error(), "the server's certificate is not trusted") || !strings.Contains(e.Problem.Hint, "SSL_CERT_FILE") {
		t.Errorf("Do = %v with the hint %q, want one that names SSL_CERT_FILE", e, e.Problem.Hint)
	}
}

func TestServerCertificateOfTheOperator(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, answer("secure"))
	if got, err := newClient(s).Do(t.Context(), Request{URL: parse(t, s.URL)}); err != nil || string(got.Body) != "secure" {
		t.Errorf("Do over TLS with SSL_CERT_FILE = %v, %v; want the answer", got, err)
	}
}
