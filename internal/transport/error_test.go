package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

func TestWhatHappenedIsSaidPlainly(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	call := func(name string, errno syscall.Errno) error { return dial(os.NewSyscallError(name, errno)) }
	verifying := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	own := errors.New("the answer has no list")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{dial(&net.DNSError{Err: "no such host", Name: "registry.test", IsNotFound: true}), "the name registry.test is not known"},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "registry.test", IsTimeout: true}), "the name servers did not answer for registry.test"},
		{dial(&net.DNSError{Err: "server misbehaving", Name: "registry.test"}), "the name servers could not say where registry.test is"},
		{call("connect", syscall.ECONNREFUSED), "the connection was refused"},
		{call("connectex", wsaRefused), "the connection was refused"},
		{call("connect", syscall.EHOSTUNREACH), "no network route to the server"},
		{call("connectex", wsaNetUnreachable), "no network route to the server"},
		{dial(os.ErrDeadlineExceeded), "no connection within 10 s"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "no answer in time"},
		{context.DeadlineExceeded, "no answer in time"},
		{context.Canceled, "the request was interrupted"},
		{io.EOF, "the server ended the connection"},
		{fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "the server ended the connection"},
		{call("read", syscall.ECONNRESET), "the server ended the connection"},
		{call("wsarecv", wsaReset), "the server ended the connection"},
		{verifying(x509.UnknownAuthorityError{}), "the server's certificate is not trusted"},
		{verifying(x509.HostnameError{Certificate: &x509.Certificate{}}), "the server's certificate is for another name"},
		{verifying(x509.CertificateInvalidError{Reason: x509.Expired}), "the server's certificate has expired, or is not valid yet"},
		{verifying(x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}), "the server's certificate is not valid"},
		{http.ErrSchemeMismatch, "the server does not speak https"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "the server does not speak https"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "the server refused an encrypted connection"},
		{noAnswer(30 * time.Second), "no answer within 30 s"},
		{noAnswer(1500 * time.Millisecond), "no answer within 1.5 s"},
		{&outage{"registry.test:443", "does not answer"}, "registry.test:443 does not answer"},
		{&refusal{reason: "a redirect"}, "refused: a redirect"},
		{own, own.Error()},
	} {
		got := Plainly(&url.Error{Op: "Get", URL: "https://registry.test/?token=secret", Err: tt.err})
		if got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("Plainly(%v) = %v, want %q above it", tt.err, got, tt.want)
		}
		if timedOut(got) != timedOut(tt.err) {
			t.Errorf("Plainly(%v) says by its type that the time is over: %t", tt.err, timedOut(got))
		}
		if again := Plainly(fmt.Errorf("redirected to x: %w", got)); again.Error() != "redirected to x: "+tt.want {
			t.Errorf("Plainly of %q, said before, = %v", tt.want, again)
		}
	}
}

// What a server does is said the same by every client, by one that ends a question itself
// among them.
func TestServersAreDescribedPlainly(t *testing.T) {
	t.Parallel()
	ends := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	gone := serve(t, answer(""))
	gone.Close()
	leads := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, gone.URL, http.StatusFound) })
	for _, tt := range []struct {
		address, want string
		timeout       time.Duration
	}{
		{ends.URL, "the server ended the connection", 0},
		{gone.URL, "the connection was refused", 0},
		{leads.URL, "redirected to " + gone.URL + ": the connection was refused", 0},
		{silent.URL, "no answer within 0.001 s", time.Millisecond},
	} {
		_, err := newClient(ends, silent, gone, leads).Do(t.Context(), Request{URL: parse(t, tt.address), Timeout: tt.timeout, NoRetry: true})
		if e := wantCode(t, err, problem.CodeUnreachable); e.Err.Error() != tt.want {
			t.Errorf("Do: %q, want %q", e.Err, tt.want)
		}
	}
	c := New(Options{Timeout: time.Millisecond})
	c.Admit(silent.Listener.Addr().String())
	if _, err := c.HTTP().Get(silent.URL); Plainly(err).Error() != "no answer in time" {
		t.Errorf("a library's request: %v, want no answer in time", Plainly(err))
	}
}

// What one server leaves without an answer is known by that server, also where another
// one has led there, and whatever says in between what was attempted.
func TestOutagesNameTheServer(t *testing.T) {
	t.Parallel()
	gone := serve(t, answer(""))
	gone.Close()
	leads := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, gone.URL+"/a", http.StatusFound) })
	want := problem.Outage{Server: gone.Listener.Addr().String(), Reason: "the connection was refused"}
	for _, address := range []string{gone.URL + "/b", leads.URL} {
		_, err := newClient(gone, leads).Do(t.Context(), Request{URL: parse(t, address), NoRetry: true})
		attempt := &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "reading a list"}, Err: err}
		for _, err := range []error{err, attempt} {
			if got := problem.Of(err).Outage; got != want {
				t.Errorf("the outage of %v is %v, want %v", err, got, want)
			}
		}
	}
	u := parse(t, "https://registry.test/v1")
	if got := failure(t.Context(), u, &outage{"registry.test:443", "does not answer"}).Problem.Outage; got != (problem.Outage{Server: "registry.test"}) {
		t.Errorf("the outage of what was not asked any more is %v, want the server alone", got)
	}
	if got := failure(t.Context(), u, &refusal{reason: "no"}).Problem.Outage; got != (problem.Outage{}) {
		t.Errorf("a refusal of our own is the outage %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := failure(ctx, u, context.Canceled).Problem.Outage; got != (problem.Outage{}) {
		t.Errorf("the end of a run is the outage %v", got)
	}
}
