package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// Error says why a registry did not give the wanted content. It does not name the
// content, which callers know better.
type Error struct {
	// Code is CodeCancelled, CodeUnauthorized, CodeUnreachable, CodeBadChecksum or
	// CodeBadAnswer.
	Code problem.Code
	// Status is that of the answer, where it is one of HTTP's failures.
	Status int
	// Absent is what the registry says that it does not have, if it says so.
	Absent Absent
	Err    error
}

// Absent is a kind of missing content.
type Absent string

// The kinds of missing content.
const (
	NoRepository Absent = "repository"
	NoContent    Absent = "content" // a tag, a manifest or a blob
)

// Error says what happened, in words that hold no secret.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

func broken(format string, args ...any) *Error {
	return &Error{Code: problem.CodeBadAnswer, Err: fmt.Errorf(format, args...)}
}

// explain turns an error of the library into one of ours, without its words
// about URLs, which may hold signatures.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*problem.Error](err); ok {
		return known
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	refused, isRefused := errors.AsType[*errcode.ErrorResponse](err)
	_, isUnreached := errors.AsType[*url.Error](err)
	switch {
	case ctx.Err() != nil:
		return &Error{Code: problem.Ended(ctx).Problem.Code, Err: context.Cause(ctx)}
	case isRefused:
		return refusal(refused)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return unauthorized(http.StatusUnauthorized)
	case errors.Is(err, errdef.ErrNotFound):
		return &Error{Code: problem.CodeBadAnswer, Status: http.StatusNotFound, Absent: NoContent, Err: errors.New("not found")}
	case errors.Is(err, content.ErrMismatchedDigest):
		return &Error{Code: problem.CodeBadChecksum, Err: content.ErrMismatchedDigest}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: problem.CodeUnreachable, Err: transport.Plainly(err)}
	case isUnreached:
		return &Error{Code: problem.CodeUnreachable, Err: transport.Plainly(err)}
	}
	return broken("the answer breaks the protocol of OCI registries")
}

// refusal is the error of an answer whose status is no success.
func refusal(r *errcode.ErrorResponse) *Error {
	e := &Error{Code: problem.CodeBadAnswer, Status: r.StatusCode, Err: fmt.Errorf("%d %s", r.StatusCode, http.StatusText(r.StatusCode))}
	switch {
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		return unauthorized(r.StatusCode)
	case nameUnknown(r):
		e.Absent, e.Err = NoRepository, errors.New("there is no such repository")
	case r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests:
		e.Code = problem.CodeUnreachable
	}
	return e
}

func unauthorized(status int) *Error {
	return &Error{Code: problem.CodeUnauthorized, Status: status, Err: errors.New("the registry requires credentials, or rejected those that it got")}
}

// nameUnknown reports whether the answer means that there is no repository. A
// registry may say so in its own words, or by the status alone.
func nameUnknown(r *errcode.ErrorResponse) bool {
	if len(r.Errors) == 0 {
		return r.StatusCode == http.StatusNotFound
	}
	return slices.ContainsFunc(r.Errors, func(e errcode.Error) bool {
		return e.Code == errcode.ErrorCodeNameUnknown || e.Code == errcode.ErrorCodeNameInvalid
	})
}
