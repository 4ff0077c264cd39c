package registry

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/relock-dev/relock/internal/provider"
)

// about completes an error with what was asked for. It returns a new one, since
// errors are shared by all who asked the same.
func about(err error, want provider.Want) error {
	if err == nil {
		return nil
	}
	e := provider.Error{Code: provider.CodeInternal, Message: "asking about " + want.Addr.String(), Err: err}
	if known, ok := errors.AsType[*provider.Error](err); ok {
		e = *known
	}
	// Tools name the registry by its host, wherever its service and files are.
	e.Host = want.Addr.Host
	e.Addr = want.Addr
	e.Version = cmp.Or(e.Version, want.Version)
	e.Platform = cmp.Or(e.Platform, want.Platform)
	return &e
}

// failed puts what was attempted before an error, and keeps its code and hint.
func failed(attempt string, err error) error {
	e := &provider.Error{Code: provider.CodeInternal, Message: attempt, Err: err}
	if cause, ok := errors.AsType[*provider.Error](err); ok {
		e.Code, e.Hint = cause.Code, cause.Hint
	}
	return e
}

// statusError is about an answer that has neither content nor a meaning of its
// own in the protocol.
func statusError(attempt string, status int) error {
	e := &provider.Error{
		Code:    provider.CodeBadAnswer,
		Message: fmt.Sprintf("%s: %d %s", attempt, status, http.StatusText(status)),
	}
	if status >= 500 || status == http.StatusTooManyRequests {
		e.Code, e.Hint = provider.CodeUnreachable, "try again later"
	}
	return e
}

func badAnswer(format string, args ...any) error {
	return &provider.Error{Code: provider.CodeBadAnswer, Message: "registry response " + fmt.Sprintf(format, args...)}
}

func badChecksum(format string, args ...any) error {
	return &provider.Error{Code: provider.CodeBadChecksum, Message: fmt.Sprintf(format, args...)}
}
