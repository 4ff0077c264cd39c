package registry

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// about completes an error: it adds the wanted package to its fields and message, unless
// the message names it, and a hint. It returns a new error, because everyone who asked the
// same question shares the old one. host is the registry's or mirror's own host, wherever
// its service and files are.
func about(err error, want provider.Want, host svchost.Hostname) error {
	if err == nil {
		return nil
	}
	e := problem.Error{Problem: problem.Problem{Code: problem.CodeInternal, Subject: problem.Subject{Addr: want.Addr}, Message: "asking about " + want.Addr.String()}, Err: err}
	if known, ok := errors.AsType[*problem.Error](err); ok {
		e = *known
	}
	if e.Problem.Subject != namedIn(want) {
		e.Problem.Message = subject(want) + ": " + e.Problem.Message
	}
	e.Problem.Host = cmp.Or(host, e.Problem.Host, want.Addr.Host)
	e.Problem.Subject = namedIn(want)
	e.Problem.Hint = cmp.Or(e.Problem.Hint, hints[e.Problem.Code])
	if e.Problem.Hint == "" && e.Problem.Code == problem.CodeUnknownProvider {
		e.Problem.Hint = unknownHint(want.Addr)
	}
	return &e
}

// naming notes that the message of an error names this package. about then does not repeat
// it.
func naming(names provider.Want, e *problem.Error) error {
	e.Problem.Subject = namedIn(names)
	return e
}

// namedIn is the subject of a problem about this package.
func namedIn(want provider.Want) problem.Subject {
	return problem.Subject{Addr: want.Addr, Version: want.Version, Versioned: !want.Version.IsZero(), Platform: want.Platform}
}

// subject names the wanted package for a message.
func subject(want provider.Want) string {
	switch {
	case want.Version.IsZero():
		return "provider " + want.Addr.String()
	case want.Platform == provider.Platform{}:
		return fmt.Sprintf("provider %s %s", want.Addr, want.Version)
	}
	return fmt.Sprintf("package of %s %s for %s", want.Addr, want.Version, want.Platform)
}

// hints are the hints for errors that have none.
var hints = map[problem.Code]string{
	problem.CodeNoPackage:    "leave the platform out, or select a version that is published for it",
	problem.CodeProtocol:     "change the constraints, or set tool-version if another release of the tool is used",
	problem.CodeUnreachable:  "check that the host can be reached from here, and try again",
	problem.CodeBadAnswer:    "report this to the operator of the registry or mirror",
	problem.CodeBadChecksum:  "do not use the package; report this to the operator of the registry or mirror",
	problem.CodeBadSignature: "do not use the package; report this to the provider's author or the registry's operator",
	problem.CodeBadPackage:   "report this to the provider's author, and select another version until then",
	problem.CodeUnreadable:   "look at what is at this path, and at its permissions",
}

// failed adds the attempt to the message of an error. It keeps the code and the hint.
func failed(names provider.Want, attempt string, err error) error {
	e := &problem.Error{Problem: problem.Problem{Code: problem.CodeInternal, Message: attempt}, Err: err}
	if cause, ok := errors.AsType[*problem.Error](err); ok {
		e.Problem.Code, e.Problem.Hint, e.Finding = cause.Problem.Code, cause.Problem.Hint, cause.Finding
	}
	return naming(names, e)
}

// statusError is the error about a status without content or meaning in the protocol. u is
// the URL of the last request; nil if it is not known.
func statusError(attempt string, u *url.URL, status int) *problem.Error {
	e := &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadAnswer,
			Message: fmt.Sprintf("%s: %d %s", attempt, status, http.StatusText(status)),
		},
	}
	if inTrouble(status) {
		e.Problem.Code, e.Problem.Hint = problem.CodeUnreachable, "try again later"
		if u != nil {
			e.Problem.Outage = transport.Troubled(u, status)
		}
	}
	return e
}

// inTrouble reports whether a server with this status may answer differently on another
// day.
func inTrouble(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

func badAnswer(format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: "registry response " + fmt.Sprintf(format, args...)}}
}

func badChecksum(format string, args ...any) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadChecksum, Message: fmt.Sprintf(format, args...)}}
}
