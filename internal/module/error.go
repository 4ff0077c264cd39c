package module

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// redact is a URL for messages. A text that is no URL of a host has nothing to remove.
func redact(u *url.URL) string { return transport.Redact(u) }

// coded is an error with a code.
func coded(code problem.Code, format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func invalidAddress(format string, args ...any) error {
	return coded(problem.CodeInvalidConfig, format, args...)
}

// unread is the error of an invalid package or module.
func unread(format string, args ...any) *problem.Error {
	return coded(problem.CodeUnreadModule, format, args...)
}

// refusedModule is the error of a source that Options do not allow.
func refusedModule(hint, format string, args ...any) *problem.Error {
	e := unread(format, args...)
	e.Problem.Hint = hint
	return e
}

// unauthorized is the error of a server that wants credentials, or other ones.
func unauthorized(u *url.URL, hint, format string, args ...any) *problem.Error {
	e := coded(problem.CodeUnauthorized, format, args...)
	e.Problem.Host, e.Problem.Hint = transport.Hostname(u), hint
	return e
}

// unreachable is the error of a server that did not answer.
func unreachable(u *url.URL, format string, args ...any) *problem.Error {
	e := coded(problem.CodeUnreachable, format, args...)
	e.Problem.Host, e.Problem.Hint = transport.Hostname(u), "try again later"
	return e
}

// badAnswer is the error of a registry or server that breaks its protocol.
func badAnswer(format string, args ...any) *problem.Error {
	return coded(problem.CodeBadAnswer, format, args...)
}

// attempting adds the attempt to the message of an error. It returns a new error, because
// everyone who asked the same question shares the old one.
func attempting(attempt string, err error) *problem.Error {
	e := problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule}}
	if cause, ok := errors.AsType[*problem.Error](err); ok {
		e = *cause
	}
	e.Problem.Message, e.Err, e.Problem.About = attempt, err, ""
	return &e
}

// unfetched is attempting for a whole module. address is the address to show.
func unfetched(what, address string, err error) *problem.Error {
	e := attempting("fetching the "+what+" "+address, err)
	e.Problem.About = address
	return e
}

// ended is the error of an operation whose context has ended; nil otherwise.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return problem.Ended(ctx)
	}
	return nil
}

func statusError(u *url.URL, status int, hint string) error {
	said := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return unauthorized(u, hint, "requesting %s: %s", redact(u), said)
	case status == http.StatusTooManyRequests || status >= 500:
		e := unreachable(u, "requesting %s: %s", redact(u), said)
		e.Problem.Outage = transport.Troubled(u, status)
		return e
	}
	return unread("requesting %s: %s", redact(u), said)
}
