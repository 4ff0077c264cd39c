package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
)

// The errors on which a caller acts. They are matched with errors.Is. The errors themselves
// are *problem.Error.
var (
	// ErrNotFound means that the thing does not exist or is hidden from the token.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that GitHub refused the request because of the present state (409,
	// 422, a ref that moved): read again, then decide.
	ErrConflict = errors.New("conflict")
	// ErrForbidden means that the token has no permission for the request.
	ErrForbidden = errors.New("forbidden")
	// ErrUncertain means that there was no answer, or a server error. A write may have
	// happened: read again, then decide.
	ErrUncertain = errors.New("uncertain")
	// ErrGone means that the thing was deleted, or that the repository has turned it off.
	ErrGone = errors.New("gone")
	// ErrNotYet means that the present state does not allow it, and may change by itself:
	// try again later.
	ErrNotYet = errors.New("not yet")
	// ErrUnsupported means that the server has no such operation.
	ErrUnsupported = errors.New("unsupported")
	// ErrTokenRefused means that GitHub does not know a token that it has just made for the
	// App. The installation is the problem, not the request.
	ErrTokenRefused = errors.New("a new token is refused")
	// errTokenRevoked means that GitHub no longer knows a token of the App, and that the
	// repository got a new one within the hour. Other repositories may be fine.
	errTokenRevoked = errors.New("a token is revoked again")
)

// refusal is a failed answer of GitHub.
type refusal struct {
	status  int // of HTTP; 0 for an error inside a GraphQL answer
	message string
	kind    error          // one of the exported errors, or nil
	accepts [][]permission // what the request needs according to GitHub, if it says so
	limits  bool           // the query exceeded GitHub's limits for one query
}

func (r *refusal) Error() string {
	if r.status == 0 {
		return "GitHub answered: " + r.message
	}
	return fmt.Sprintf("GitHub answered %d: %s", r.status, r.message)
}

// Rejection is GitHub's refusal of a request.
type Rejection struct {
	// Words are GitHub's, with the status.
	Words string
	// Whole says that it is about the token or the installation, not about one repository.
	Whole bool
}

// RejectionOf is the refusal in an error; false if the error has none. If the installation
// is gone, GitHub says so when a token is requested.
func RejectionOf(err error) (Rejection, bool) {
	tokenless, tokens := errors.AsType[*noToken](err)
	if tokens {
		err = tokenless.why
	}
	r, refused := errors.AsType[*refusal](err)
	if !refused {
		return Rejection{}, false
	}
	return Rejection{Words: r.Error(), Whole: r.whole() || tokens && r.status == http.StatusNotFound}, true
}

// whole reports whether the refusal speaks for the one who asks: its token, or what the
// installation or the organization say of it.
func (r *refusal) whole() bool {
	return r.status == http.StatusUnauthorized && r.kind != errTokenRevoked || slices.ContainsFunc(advice, func(a advised) bool { return a.whole && strings.Contains(r.message, a.said) })
}

func (r *refusal) Is(target error) bool { return r.kind != nil && target == r.kind }

// finding is what is wrong with something that GitHub did answer.
type finding struct {
	message, hint string
	kind          error // one of the exported errors, or nil
}

func (f *finding) Error() string { return f.message }

func (f *finding) Is(target error) bool { return f.kind != nil && target == f.kind }

// explain turns an error of go-github into what a person can act on; nil stays nil. doing
// says what was attempted, needs what the token must be granted for it.
func (r *Repository) explain(ctx context.Context, doing string, needs permission, err error) error {
	if err == nil {
		return nil
	}
	hint := func(said *refusal) string { return r.hint(said, needs) }
	return explanation(ctx, r.client, doing+" in "+r.String(), hint, err)
}

// explanation is Repository.explain for what is about no repository. hint says what to do
// about a refusal; nil where there is nothing to do.
func explanation(ctx context.Context, c *Client, doing string, hint func(*refusal) string, err error) error {
	e := &problem.Error{Problem: problem.Problem{Code: problem.CodeGitHub, Host: c.host, Message: doing}}
	var known *problem.Error
	var tokenless *noToken
	var limit *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	var otp *github.TwoFactorAuthError
	var said *refusal
	var found *finding
	var lost *url.Error // its text has the URL with the query
	switch {
	case ctx.Err() != nil:
		e.Problem.Code, e.Err = problem.CodeCancelled, context.Cause(ctx)
	case errors.Is(err, errFrugal), errors.Is(err, errNoGraphQL):
		e.Problem.Hint, e.Err = tokenHint, unsent(err)
	case errors.As(err, &tokenless):
		e.Problem.Code, e.Problem.Hint, e.Err = tokenless.why.Problem.Code, tokenless.why.Problem.Hint, tokenless
	case errors.As(err, &known):
		e.Problem.Code, e.Problem.Hint, e.Err = known.Problem.Code, known.Problem.Hint, &uncertain{known}
	case errors.As(err, &limit):
		e.Err = &refusal{status: limit.Response.StatusCode, message: "the hourly limit of requests is used up"}
		e.Problem.Hint = "run again after " + limit.Rate.Reset.UTC().Format(time.RFC3339)
		if c.Anonymous() {
			e.Err = &refusal{
				status:  limit.Response.StatusCode,
				message: fmt.Sprintf("the %s that an address has without a token are used up", collect.Count(limit.Rate.Limit, "request an hour", "requests an hour")),
			}
			e.Problem.Hint = tokenHint + ", or " + e.Problem.Hint
		}
	case errors.As(err, &secondary):
		e.Err = &refusal{status: secondary.Response.StatusCode, message: "a secondary limit of requests is used up"}
		e.Problem.Hint = "run again later, with fewer repositories or groups at once"
	case errors.As(err, &otp):
		e.Err = &refusal{status: http.StatusUnauthorized, message: "a one-time password is required"}
		e.Problem.Hint = "use a token instead of a password"
	case errors.As(err, &answer):
		said = refusalOf(answer)
		e.Err = said
	case errors.As(err, &said):
		e.Err = said
	case errors.As(err, &found):
		e.Problem.Hint, e.Err = found.hint, found
	case errors.As(err, &lost):
		e.Problem.Code, e.Err = problem.CodeUnreachable, &uncertain{transport.Plainly(lost)}
	default: // an answer that ends too early or is not JSON
		e.Err = &uncertain{err}
	}
	switch {
	case said == nil:
	case said.kind == ErrTokenRefused:
		e.Problem.Hint = "run again later, and look whether the App is still installed there: GitHub has just made this token for the App and does not accept it"
	case said.kind == errTokenRevoked:
		e.Problem.Hint = "look who revokes the tokens or changes the installation, then run again: GitHub no longer accepts the token of the App, and relock made a new one within the hour"
	case hint != nil:
		e.Problem.Hint = hint(said)
	}
	return e
}

// unsent is the cause of what was not asked, without the request's address.
func unsent(err error) error {
	if errors.Is(err, errFrugal) {
		return errFrugal
	}
	return errNoGraphQL
}

// uncertain marks an error after which a write may have happened or not.
type uncertain struct{ error }

func (u *uncertain) Unwrap() error { return u.error }

func (u *uncertain) Is(target error) bool { return target == ErrUncertain }

// refusalOf keeps what GitHub said and drops the rest, above all the URL.
func refusalOf(answer *github.ErrorResponse) *refusal {
	status := answer.Response.StatusCode
	var said []string
	if answer.Message != "" {
		said = append(said, answer.Message)
	}
	for _, detail := range answer.Errors {
		if detail.Message != "" {
			said = append(said, detail.Message)
		} else if detail.Field != "" {
			said = append(said, strings.TrimSpace(detail.Code+" "+detail.Field))
		}
	}
	message := oneLine(strings.Join(said, ": "))
	if message == "" {
		message = http.StatusText(status)
	}
	kind := kindOf(status)
	if strings.Contains(message, ruleRefused) { // which another attempt does not change
		kind = ErrForbidden
	}
	return &refusal{status: status, message: message, kind: kind, accepts: accepted(answer.Response.Header)}
}

func kindOf(status int) error {
	switch {
	case status == http.StatusNotFound:
		return ErrNotFound
	case status == http.StatusForbidden:
		return ErrForbidden
	case status == http.StatusGone:
		return ErrGone
	case status == http.StatusConflict, status == http.StatusUnprocessableEntity:
		return ErrConflict
	case status >= http.StatusInternalServerError:
		return ErrUncertain
	}
	return nil
}

// longestMessage bounds what is repeated of GitHub's words.
const longestMessage = 300

// oneLine makes a message of an answer fit for a line of a report.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if runes := []rune(s); len(runes) > longestMessage {
		return string(runes[:longestMessage]) + "…"
	}
	return s
}
