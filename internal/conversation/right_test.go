package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
)

// The right to write is asked for again once the answer is older than a minute, counted from
// when it was asked for. What is not said is no right, and no refusal either.
func TestRightIsConfirmed(t *testing.T) {
	t.Parallel()
	const writes, late = `{"permission": "write"}`, 61 * time.Second
	for name, tt := range map[string]struct {
		passed time.Duration
		took   time.Duration // until the first answer
		status int
		answer string
		asked  int
		lost   bool
		failed bool
	}{
		"at_once":           {answer: `{"permission": "none"}`, asked: 1},
		"after_a_minute":    {passed: time.Minute, answer: `{"permission": "none"}`, asked: 1},
		"later":             {passed: late, answer: writes, asked: 2},
		"slow_first_answer": {passed: 40 * time.Second, took: 30 * time.Second, answer: writes, asked: 2},
		"administrator":     {passed: late, answer: `{"permission": "admin"}`, asked: 2},
		"reader":            {passed: late, answer: `{"permission": "read"}`, asked: 2, lost: true},
		"stranger":          {passed: late, answer: `{"permission": "none"}`, asked: 2, lost: true},
		"unheard_of":        {passed: late, answer: `{"permission": "owner"}`, asked: 2, lost: true},
		"half_an_answer":    {passed: late, answer: `{"role_name": "write"}`, asked: 2, failed: true},
		"no_json":           {passed: late, answer: `<html>`, asked: 2, failed: true},
		"nobody":            {passed: late, status: http.StatusNotFound, answer: `{}`, asked: 2, failed: true},
		"out_of_order":      {passed: late, status: http.StatusInternalServerError, answer: `{}`, asked: 4, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, asked := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC), 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				if asked == 1 {
					now = now.Add(tt.took)
					fmt.Fprint(w, writes)
					return
				}
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				fmt.Fprint(w, tt.answer)
			}))
			defer server.Close()
			c, err := github.New(github.Options{
				Access: github.Access{API: server.URL, Token: "t"}, HTTP: server.Client(),
				Clock: github.Clock{Now: func() time.Time { return now }, Sleep: func(context.Context, time.Duration) error { return nil }},
			})
			if err != nil {
				t.Fatal(err)
			}
			r := &right{repo: c.Repository("acme", "infra"), login: "octocat", log: slog.New(slog.DiscardHandler)}
			if permission, err := r.ask(t.Context()); permission != "write" || err != nil {
				t.Fatalf("ask() = %q, %v, want write", permission, err)
			}
			now = now.Add(tt.passed)
			err = r.confirm(t.Context())
			_, refused := errors.AsType[*comment.Refusal](err)
			if asked != tt.asked || refused != tt.lost || (r.lost != nil) != tt.lost || (err != nil) != (tt.lost || tt.failed) {
				t.Errorf("confirm() = %v after %d questions, lost %v; want %d, lost: %t, failed: %t", err, asked, r.lost, tt.asked, tt.lost, tt.failed)
			}
			if tt.failed && (errors.Is(err, github.ErrUncertain) || !strings.Contains(problem.Of(err).Hint, "nothing was pushed")) {
				t.Errorf("confirm() = %v, want an error that is final and says what to do", err)
			}
		})
	}
}
