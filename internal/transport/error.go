package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
)

// refusal is a request that this package does not send or follow.
type refusal struct{ reason, hint string }

func (r *refusal) Error() string { return "refused: " + r.reason }

// Refused reports whether an error is a refusal by the rules of this package.
// Callers must not try another way to the same server.
func Refused(err error) bool {
	_, refused := errors.AsType[*refusal](err)
	return refused
}

// refusalOf is the refusal of an address of this kind.
func refusalOf(k kind, hostport string) *refusal {
	r := &refusal{reason: k.String()}
	if dialTable[k][Operator] {
		r.reason += " that no setting of the runner names"
		r.hint = "if this server is meant, name it in the CLI configuration, by a block: host \"" + hostport + "\" {}"
		if strings.HasPrefix(hostport, "[") { // the tools do not accept it as a host
			r.hint = "if this server is meant, refer to it by a name, and put that and its port into a host block of the CLI configuration"
		}
	}
	return r
}

// untrustedHint is about certificates of an unknown authority: most often that of
// a proxy that opens TLS. crypto/x509 reads the variable, except on macOS and
// Windows, which use the system's authorities.
const untrustedHint = "if a proxy or a server of your own signs with an authority of its own, name a file with that in SSL_CERT_FILE; on macOS and Windows, add it to those of the system"

// failure is the error of a request without a complete answer.
func failure(ctx context.Context, u *url.URL, err error) *problem.Error {
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeUnreachable,
			Host:    Hostname(u),
			Message: "requesting " + Redact(u),
		},
		Err: Plainly(err),
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		e.Problem.Hint = r.hint
	} else {
		e.Problem.Outage = outageOf(u, err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		e.Problem.Hint = untrustedHint
	}
	if ctx.Err() != nil {
		ended := problem.Ended(ctx)
		e.Problem.Code, e.Err, e.Problem.Hint = ended.Problem.Code, Plainly(context.Cause(ctx)), ended.Problem.Hint
		e.Problem.Outage = problem.Outage{}
	}
	return e
}

// outageOf says which server did not answer a request, and why. After redirects
// it is the last server.
func outageOf(u *url.URL, err error) problem.Outage {
	o := problem.Outage{Server: shownServer(HostPort(u))}
	if r, ok := errors.AsType[*redirected](err); ok {
		o.Server, err = shownServer(HostPort(r.to)), r.err
	}
	if _, known := errors.AsType[*outage](err); !known { // else an earlier question knows the reason
		o.Reason = Plainly(err).Error()
	}
	return o
}

// Troubled is the outage of a server whose status reports trouble, such as 503.
func Troubled(u *url.URL, status int) problem.Outage {
	return problem.Outage{Server: shownServer(HostPort(u)), Reason: strconv.Itoa(status) + " " + http.StatusText(status), Answered: true}
}

// shownServer is a host and port as people see it.
func shownServer(hostport string) string { return strings.TrimSuffix(hostport, ":443") }

// redirected is the reason why a request failed after a redirect.
type redirected struct {
	to  *url.URL
	err error
}

func (r *redirected) Error() string { return "redirected to " + Redact(r.to) + ": " + r.err.Error() }
func (r *redirected) Unwrap() error { return r.err }

// plainly is an error in words for people. It wraps the original.
type plainly struct {
	words string
	err   error
}

func (p *plainly) Error() string { return p.words }
func (p *plainly) Unwrap() error { return p.err }

// Timeout implements net.Error: url.Error asks what is directly below it.
func (p *plainly) Timeout() bool { return timedOut(p.err) }

// Temporary implements net.Error.
func (p *plainly) Temporary() bool { return p.Timeout() }

// Plainly returns in words for people why a request got no complete answer. It
// drops the errors of net/http, which quote whole URLs. An error that is plain
// already stays.
func Plainly(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			break
		}
		err = u.Err
	}
	if _, said := errors.AsType[*plainly](err); said {
		return err
	}
	if words := plainWords(err); words != "" {
		return &plainly{words, err}
	}
	return err
}

// plainWords explains an error; empty if its own text is enough. An error of an
// operation, such as a lookup or a handshake, precedes the errors that it wraps.
func plainWords(err error) string {
	_, isLate := errors.AsType[*late](err)
	_, isOutage := errors.AsType[*outage](err)
	if isLate || isOutage || Refused(err) {
		return ""
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return lookupWords(dns)
	}
	if words := certificateWords(err); words != "" {
		return words
	}
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isAny(err, syscall.ECONNREFUSED, wsaRefused):
		return "the connection was refused"
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaNetUnreachable, wsaHostUnreachable):
		return "no network route to the server"
	case isOp && op.Op == "dial" && op.Timeout():
		return "no connection within " + inSeconds(dialTimeout)
	case timedOut(err):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the request was interrupted"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isAny(err, syscall.ECONNRESET, syscall.EPIPE, wsaAborted, wsaReset):
		return "the server ended the connection"
	}
	return ""
}

// The errors of Windows' sockets. On Windows, package syscall uses other numbers
// for these names. On other systems these numbers are no errors.
const (
	wsaNetUnreachable  = syscall.Errno(10051)
	wsaAborted         = syscall.Errno(10053)
	wsaReset           = syscall.Errno(10054)
	wsaRefused         = syscall.Errno(10061)
	wsaHostUnreachable = syscall.Errno(10065)
)

func isAny(err error, of ...syscall.Errno) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains(of, errno)
}

// lookupWords explains why a name has no address.
func lookupWords(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "the name " + err.Name + " is not known"
	case err.IsTimeout:
		return "the name servers did not answer for " + err.Name
	}
	return "the name servers could not say where " + err.Name + " is"
}

// certificateWords explains why TLS failed; empty for other reasons.
func certificateWords(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is not trusted"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another name"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the server's certificate has expired, or is not valid yet"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not valid"
	}
	_, noRecord := errors.AsType[tls.RecordHeaderError](err)
	if noRecord || errors.Is(err, http.ErrSchemeMismatch) {
		return "the server does not speak https"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return "the server refused an encrypted connection"
	}
	return ""
}

// Redact returns scheme, host and path of a URL. Queries and user information
// hold signatures, tokens and passwords; they never reach a message or a log.
func Redact(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return plain.String()
}

// Hostname returns the host as provider errors carry it. It is empty if svchost
// cannot display it as a registry host.
func Hostname(u *url.URL) svchost.Hostname {
	h, err := svchost.ForComparison(svchost.ForDisplay(u.Host))
	if err != nil {
		return ""
	}
	return h
}
