package github_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
)

// GitHub's own examples, of each action and of an Enterprise Server, under issues
// and under pull requests.
func TestParseCommentEvent(t *testing.T) {
	t.Parallel()
	const first, second = "You are totally right! I'll get this fixed right away.", "You are totally right! I'll get this fixed today."
	event := func(action, body string, onPull bool) github.CommentEvent {
		return github.CommentEvent{
			Action: action, Repository: "Codertocat/Hello-World", Number: 1, OnPull: onPull,
			CommentID: 492700400, Author: "Codertocat", Body: body,
		}
	}
	enterprise := event("created", first, false)
	enterprise.CommentID = 2
	want := map[string]github.CommentEvent{
		"created-1":            event("created", first, false),
		"created-2":            event("created", first, false),
		"created-3":            event("created", first, false),
		"created-4":            event("created", first, false),
		"created-5":            event("created", first, false),
		"created-enterprise":   enterprise,
		"created-pull-request": event("created", first, true),
		"deleted-1":            event("deleted", second, false),
		"deleted-2":            event("deleted", second, false),
		"deleted-pull-request": event("deleted", second, true),
		"edited-1":             event("edited", second, false),
		"edited-2":             event("edited", second, false),
		"edited-pull-request":  event("edited", second, true),
	}
	names, err := filepath.Glob(filepath.Join("testdata", "issue_comment", "*.json"))
	if err != nil || len(names) != len(want) {
		t.Fatalf("%d examples, %v, want %d", len(names), err, len(want))
	}
	for _, name := range names {
		payload, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		example := strings.TrimSuffix(filepath.Base(name), ".json")
		got, err := github.ParseCommentEvent(payload)
		if got.Opener != (github.Actor{Login: "Codertocat"}) || strings.HasPrefix(got.Page, "It looks like you accidently") == (example == "created-2") || got.DefaultBranch == "" {
			t.Errorf("ParseCommentEvent(%s): opened by %v: %q; default branch %q", example, got.Opener, got.Page, got.DefaultBranch)
		}
		got.Opener, got.Page, got.DefaultBranch = github.Actor{}, "", ""
		if diff := cmp.Diff(want[example], got); diff != "" || err != nil {
			t.Errorf("ParseCommentEvent(%s): %v (-want +got):\n%s", example, err, diff)
		}
	}
}

func TestParseCommentEventTellsBots(t *testing.T) {
	t.Parallel()
	for user, bot := range map[string]bool{
		`{"login": "monalisa", "type": "User"}`:           false,
		`{"login": "dependabot[bot]", "type": "Bot"}`:     true,
		`{"login": "dependabot[bot]", "type": "User"}`:    true,
		`{"login": "octo-org", "type": "Organization"}`:   true,
		`{"login": "Copilot", "type": "Bot"}`:             true,
		`{"login": "monalisa"}`:                           true,
		`null`:                                            true,
		`{"login": "monalisa", "type": "User", "id": 12}`: false,
	} {
		payload := `{"action": "created", "issue": {"number": 7, "pull_request": {}}, "comment": {"id": 9, "body": "x", "user": ` + user + `},
			"repository": {"full_name": "octo/infra"}}`
		got, err := github.ParseCommentEvent([]byte(payload))
		if err != nil || got.Bot != bot {
			t.Errorf("ParseCommentEvent with the user %s: bot = %v, %v, want %v", user, got.Bot, err, bot)
		}
	}
}

func TestParseCommentEventTellsApps(t *testing.T) {
	t.Parallel()
	for via, app := range map[string]bool{
		`, "performed_via_github_app": {"id": 1, "slug": "assistant"}`: true,
		`, "performed_via_github_app": {}`:                             true,
		`, "performed_via_github_app": null`:                           false,
		``:                                                             false,
	} {
		payload := `{"action": "created", "issue": {"number": 7, "pull_request": {}}, "repository": {"full_name": "octo/infra"},
			"comment": {"id": 9, "body": "x", "user": {"login": "monalisa", "type": "User"}` + via + `}}`
		got, err := github.ParseCommentEvent([]byte(payload))
		if err != nil || got.ViaApp != app || got.Bot {
			t.Errorf("ParseCommentEvent with %q: via an App = %v, bot = %v, %v, want %v", via, got.ViaApp, got.Bot, err, app)
		}
	}
}

// The payload holds private things, and a log is no place for them.
func TestParseCommentEventRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		``, `s3cret`, `[]`, `{"action": {"s3cret": 1}}`, `{}`, `null`,
		`{"action": "created", "comment": {"id": 1, "body": "s3cret"}}`,
		`{"action": "created", "issue": {"number": 1}, "comment": {"id": 1, "body": "s3cret"}}`,
		`{"action": "created", "issue": {"number": 1}, "repository": {"full_name": "s3cret/infra"}}`,
		`{"issue": {"number": 1}, "comment": {"id": 1}, "repository": {"full_name": "s3cret/infra"}}`,
	} {
		got, err := github.ParseCommentEvent([]byte(payload))
		if err == nil || strings.Contains(err.Error(), "s3cret") || got != (github.CommentEvent{}) {
			t.Errorf("ParseCommentEvent(%s) = %+v, %v, want an error that repeats nothing", payload, got, err)
		}
	}
}
