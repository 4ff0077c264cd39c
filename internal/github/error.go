package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
	"github.com/relock-dev/relock/internal/provider"
)

// The answers on which a caller acts differently. They are matched with
// errors.Is; the errors themselves are *provider.Error.
var (
	// ErrNotFound means that the thing does not exist or is hidden from the token.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that GitHub refused the request for the state that
	// things are in (409, 422, a ref that moved): read again, then decide.
	ErrConflict = errors.New("conflict")
	// ErrUncertain means that no answer came or a server error, so that a write
	// may have happened or not: read again, then decide.
	ErrUncertain = errors.New("uncertain")
	// ErrUnsupported means that the server has no such operation.
	ErrUnsupported = errors.New("unsupported")
)

// permission is what a token must be granted, as a line of the permissions
// key of a workflow.
type permission string

const (
	readContents  permission = "contents: read"
	writeContents permission = "contents: write"
	readPulls     permission = "pull-requests: read"
	writePulls    permission = "pull-requests: write"
)

// refusal is an answer of GitHub that is not the wished one.
type refusal struct {
	status  int // of HTTP; 0 for an error inside a GraphQL answer
	message string
	kind    error // one of the exported errors, or nil
}

func (r *refusal) Error() string {
	if r.status == 0 {
		return "GitHub answered: " + r.message
	}
	return fmt.Sprintf("GitHub answered %d: %s", r.status, r.message)
}

func (r *refusal) Is(target error) bool { return r.kind != nil && target == r.kind }

// explain turns an error of go-github into what a person can act on. doing says
// what was attempted, needs what the token must be granted for it.
func (r *Repository) explain(ctx context.Context, doing string, needs permission, err error) error {
	e := &provider.Error{
		Code: provider.CodeGitHub, Host: r.client.host,
		Message: doing + " in " + r.String(),
	}
	var known *provider.Error
	var limit *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	var otp *github.TwoFactorAuthError
	var said *refusal
	var lost *url.Error // its text has the URL with the query, its cause has not
	switch {
	case ctx.Err() != nil:
		e.Code, e.Err = provider.CodeCancelled, ctx.Err()
	case errors.As(err, &known):
		e.Code, e.Hint, e.Err = known.Code, known.Hint, &uncertain{known}
	case errors.As(err, &limit):
		e.Err = &refusal{status: limit.Response.StatusCode, message: "the hourly limit of requests is used up"}
		e.Hint = "run again after " + limit.Rate.Reset.UTC().Format(time.RFC3339)
	case errors.As(err, &secondary):
		e.Err = &refusal{status: secondary.Response.StatusCode, message: "a secondary limit of requests is used up"}
		e.Hint = "run again later, with fewer repositories or groups at once"
	case errors.As(err, &otp):
		e.Err = &refusal{status: http.StatusUnauthorized, message: "a one-time password is required"}
		e.Hint = "use a token instead of a password"
	case errors.As(err, &answer):
		said = refusalOf(answer)
		e.Err, e.Hint = said, r.hint(said, needs)
	case errors.As(err, &said):
		e.Err, e.Hint = said, r.hint(said, needs)
	case errors.As(err, &lost):
		e.Code, e.Err = provider.CodeUnreachable, &uncertain{lost.Err}
	default: // an answer that ends too early or is not JSON
		e.Err = &uncertain{err}
	}
	return e
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
	return &refusal{status: status, message: message, kind: kindOf(status)}
}

func kindOf(status int) error {
	switch {
	case status == http.StatusNotFound:
		return ErrNotFound
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

// actionsMayNotPropose is how GitHub begins the refusal that a setting of the
// repository or the organisation causes; no permission of the workflow helps.
const actionsMayNotPropose = "GitHub Actions is not permitted to create or approve pull requests"

// hint says what to do about a refusal.
func (r *Repository) hint(said *refusal, needs permission) string {
	switch {
	case strings.Contains(said.message, actionsMayNotPropose):
		return `tick "Allow GitHub Actions to create and approve pull requests" under Settings, Actions, General, ` +
			"Workflow permissions of the repository or its organization, or use the token of a GitHub App"
	case said.status == http.StatusUnauthorized:
		return "the token is not valid here: check that it is complete, not expired, and meant for " + r.client.host.ForDisplay()
	case strings.Contains(said.message, "SAML"):
		return "authorize the token for the organization's single sign-on"
	case said.status == http.StatusForbidden, said.status == http.StatusNotFound && needs.writes():
		return fmt.Sprintf("grant the token access: in a workflow add %q to its permissions", needs)
	case said.status == http.StatusNotFound:
		return fmt.Sprintf("check the name, and that the token may read %s (in a workflow: %q under permissions)", r, needs)
	}
	return ""
}

func (p permission) writes() bool { return strings.HasSuffix(string(p), ": write") }
