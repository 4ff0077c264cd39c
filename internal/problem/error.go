package problem

import (
	"context"
	"errors"
)

// Error carries a problem as an error, with its cause.
type Error struct {
	Problem Problem
	// Finding is the code that a verification reports for the answer behind the
	// error, if the error is no failed request: CodeListGone. It is empty for any
	// other.
	Finding Code
	Err     error // the cause, already redacted; its text is part of Error's
}

// Error returns the place, the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Problem.String()
	}
	return e.Problem.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ended is the error of work that was not done because its context has ended. It
// is the context's cause, or says that the run was interrupted.
func Ended(ctx context.Context) *Error {
	var cause *Error
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return &Error{Problem: Problem{Code: CodeCancelled, Message: "interrupted"}, Err: ctx.Err()}
}

// Coded reports whether err is or wraps an Error with the code.
func Coded(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Problem.Code == code
}

// Of returns the problem of any error, with the outage that the error wraps. Its
// message is the text of the whole error. An error with a place keeps its own
// message: the place says enough.
func Of(err error) Problem {
	var e *Error
	if !errors.As(err, &e) {
		return Problem{Code: CodeInternal, Message: err.Error()}
	}
	p := e.Problem
	for cause := e; p.Outage == (Outage{}) && errors.As(cause.Err, &cause); {
		p.Outage = cause.Problem.Outage
	}
	if p.Place == (Place{}) {
		p.Message = err.Error()
	}
	return p
}
