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

// redact is a URL for people. What is no URL of a host has no parts to drop.
func redact(u *url.URL) string { return transport.Redact(u) }

// invalidAddress is the error of what is no address of a module.
func invalidAddress(format string, args ...any) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeInvalidConfig, Message: fmt.Sprintf(format, args...)}}
}

// unread is the error of a package or module that is not as it should be.
func unread(format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule, Message: fmt.Sprintf(format, args...)}}
}

// refusedModule is the error of a source that Options do not allow.
func refusedModule(hint, format string, args ...any) *problem.Error {
	e := unread(format, args...)
	e.Problem.Hint = hint
	return e
}

// unauthorized is the error of a server that wants credentials, or others.
func unauthorized(u *url.URL, hint, format string, args ...any) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnauthorized, Host: transport.Hostname(u),
			Message: fmt.Sprintf(format, args...), Hint: hint,
		},
	}
}

// unreachable is the error of a server that did not answer.
func unreachable(u *url.URL, format string, args ...any) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnreachable, Host: transport.Hostname(u),
			Message: fmt.Sprintf(format, args...), Hint: "try again later",
		},
	}
}

// badAnswer is the error of a registry or server that breaks its protocol.
func badAnswer(format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: fmt.Sprintf(format, args...)}}
}

// attempting puts what was attempted before an error, and keeps what is known of
// it. It returns a new error, since errors are shared by all who asked the same.
func attempting(attempt string, err error) *problem.Error {
	e := problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule}}
	if cause, ok := errors.AsType[*problem.Error](err); ok {
		e = *cause
	}
	e.Problem.Message, e.Err, e.Problem.About = attempt, err, ""
	return &e
}

// unfetched is attempting for a whole module, by the address that is shown of it.
func unfetched(what, address string, err error) *problem.Error {
	e := attempting("fetching the "+what+" "+address, err)
	e.Problem.About = address
	return e
}

// ended is the error of what has ended before it was done; nil if ctx goes on.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return problem.Ended(ctx)
	}
	return nil
}

// statusError is the error of an answer whose status is no success.
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
