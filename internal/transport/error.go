package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
)

// refusal is a request that this package declines to send or to follow.
type refusal struct{ reason, hint string }

func (r *refusal) Error() string { return "refused: " + r.reason }

// Refused reports whether an error of this package is a refusal by its own
// rules, which no other way to the same server may go around.
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
		if strings.HasPrefix(hostport, "[") { // which the tools take for no host
			r.hint = "if this server is meant, refer to it by a name, and put that and its port into a host block of the CLI configuration"
		}
	}
	return r
}

// untrustedHint is about certificates of an authority that nobody here trusts: most
// often that of a proxy that opens TLS. crypto/x509 reads the variable but on macOS
// and Windows, where the system's own authorities count.
const untrustedHint = "if a proxy or a server of your own signs with an authority of its own, name a file with that in SSL_CERT_FILE; on macOS and Windows, add it to those of the system"

// failure is the error of a request that got no whole answer.
func failure(ctx context.Context, u *url.URL, err error) *problem.Error {
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeUnreachable,
			Host:    Hostname(u),
			Message: "requesting " + Redact(u),
		},
		Err: WithoutURLs(err),
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		e.Problem.Hint = r.hint
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		e.Problem.Hint = untrustedHint
	}
	if ctx.Err() != nil {
		ended := problem.Ended(ctx)
		e.Problem.Code, e.Err, e.Problem.Hint = ended.Problem.Code, context.Cause(ctx), ended.Problem.Hint
	}
	return e
}

// WithoutURLs returns what is below the errors of net/http, which quote whole URLs.
func WithoutURLs(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

// Redact returns scheme, host and path of a URL. Queries and user information
// hold signatures, tokens and passwords; they never reach a message or a log.
func Redact(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return plain.String()
}

// Hostname returns the host as provider errors carry it; empty if it is no
// name of a registry host, which svchost demands of what it displays.
func Hostname(u *url.URL) svchost.Hostname {
	h, err := svchost.ForComparison(svchost.ForDisplay(u.Host))
	if err != nil {
		return ""
	}
	return h
}
