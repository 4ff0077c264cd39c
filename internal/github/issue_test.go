package github_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

const issueWorld = `
-- github/octo/infra/main/main.tf --
# prod
`

func isPage(i github.Issue) bool { return strings.Contains(i.Body, "page") }

// TestFindsIssuesOfOurOwn holds whose issues are found, with how many requests.
func TestFindsIssuesOfOurOwn(t *testing.T) {
	h := newHub(t, issueWorld)
	h.Admit("ghs_other", sandbox.Identity{Login: "renovate[bot]", Bot: true, Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write"}})
	h.Admit("ghs_blind", sandbox.Identity{Login: "github-actions[bot]", Bot: true, Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write"}})
	as := func(token string) *github.Repository {
		return h.client(t, github.Options{Access: github.Access{Token: token}}).Repository("octo", "infra")
	}
	// A person writes the same, with a login that looks like ours.
	for _, who := range []string{"github-actions", "monalisa"} {
		n, err := h.OpenIssue("octo/infra", "page", who)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.EditAs("octo/infra", n, who, "", "page"); err != nil {
			t.Fatal(err)
		}
	}
	open := func(repo *github.Repository, body string) {
		t.Helper()
		if _, err := repo.CreateIssue(t.Context(), github.NewIssue{Title: "A page", Body: safe.Text(body)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 45 {
		open(as(sandbox.ActionsToken), "the nightly build has failed")
	}
	open(as(sandbox.ActionsToken), "page 1")
	open(as("ghs_other"), "page 2")
	open(as(sandbox.UserToken), "page 3")
	open(as(sandbox.ActionsToken), "page 4")
	for _, tt := range []struct {
		token string
		want  []int
		asked int
	}{
		{sandbox.ActionsToken, []int{48, 51}, 3}, // two pages before it
		{"ghs_other", []int{49}, 2},              // its owner is asked for
		{sandbox.UserToken, []int{2, 50}, 2},
	} {
		repo := as(tt.token)
		for _, asked := range []int{tt.asked, tt.asked - 1} { // the second time whose token it is is known
			if tt.token == sandbox.ActionsToken {
				asked = tt.asked
			}
			h.asked = nil
			latest, own, err := repo.LatestAndIssues(t.Context(), []string{"relock/all-1"}, github.Sought{Is: isPage})
			var got []int
			for _, i := range own.List {
				got = append(got, i.Number)
			}
			if err != nil || own.Err != nil || own.Off || len(latest) != 0 || !slices.Equal(got, tt.want) || len(h.asked) != asked {
				t.Errorf("with %s: %v, %v, %v, asked %v; want %v by %d requests", tt.token, got, own.Err, err, h.asked, tt.want, asked)
			}
		}
	}
	if err := h.Configure("octo/infra", func(s *sandbox.Settings) { s.Private = true }); err != nil {
		t.Fatal(err)
	}
	latest, own, err := as("ghs_blind").LatestAndIssues(t.Context(), []string{"relock/all-1"}, github.Sought{Is: isPage})
	if err != nil || latest == nil || own.Err == nil || !strings.Contains(fmt.Sprint(own.Err), "Resource not accessible") {
		t.Errorf("without the permission: %v, %+v, %v, want pull requests and why there are no issues", latest, own, err)
	}
	if err := h.Configure("octo/infra", func(s *sandbox.Settings) { s.NoIssues = true }); err != nil {
		t.Fatal(err)
	}
	_, own, err = as(sandbox.ActionsToken).LatestAndIssues(t.Context(), nil, github.Sought{Is: isPage})
	if err != nil || !own.Off || own.Err != nil {
		t.Errorf("without issues: %+v, %v", own, err)
	}
	if _, err := as(sandbox.ActionsToken).CreateIssue(t.Context(), github.NewIssue{Title: "A page"}); !errors.Is(err, github.ErrGone) {
		t.Errorf("CreateIssue without issues = %v, want ErrGone", err)
	}
}

// TestIssueIsTheSameWhoeverRuns: every account finds the issue of a bot. A person's older
// issue does not replace a bot's, and a closed issue does not replace an open one.
func TestIssueIsTheSameWhoeverRuns(t *testing.T) {
	h := newHub(t, issueWorld)
	h.Admit("ghs_other", sandbox.Identity{Login: "renovate[bot]", Bot: true, Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write"}})
	for i, who := range []string{"hubot", "monalisa", "github-actions[bot]", "renovate[bot]", "renovate[bot]"} {
		n, err := h.OpenIssue("octo/infra", "page", who)
		if err == nil {
			err = h.EditAs("octo/infra", n, who, "", "page")
		}
		if err != nil || n != i+1 {
			t.Fatalf("issue %d: %v", n, err)
		}
	}
	if err := h.Close("octo/infra", 4, "hubot"); err != nil {
		t.Fatal(err)
	}
	look := func(token, opener string, branches ...string) string {
		h.asked = nil
		repo := h.client(t, github.Options{Access: github.Access{Token: token}}).Repository("octo", "infra")
		_, own, err := repo.LatestAndIssues(t.Context(), branches, github.Sought{Is: isPage, Opener: opener})
		var got []int
		for _, i := range own.List {
			got = append(got, i.Number)
		}
		return fmt.Sprint(got, err, own.Err, len(h.asked))
	}
	for _, tt := range []struct{ token, opener, want string }{
		{sandbox.ActionsToken, "", "[3] <nil> <nil> 1"},
		{sandbox.ActionsToken, "renovate[bot]", "[3 5 4] <nil> <nil> 1"},
		{"ghs_other", "", "[3 5 4] <nil> <nil> 2"},
		{sandbox.UserToken, "", "[3 2] <nil> <nil> 2"},
	} {
		if got := look(tt.token, tt.opener); got != tt.want {
			t.Errorf("%s, opened by %q: %s, want %s", tt.token, tt.opener, got, tt.want)
		}
	}
	if _, err := h.Push("octo/infra", sandbox.Push{Branch: "relock/all-1", Files: map[string]sandbox.File{"a": {}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open("octo/infra", "relock/all-1", "main", "Update", "renovate[bot]"); err != nil {
		t.Fatal(err)
	}
	if got, want := look(sandbox.ActionsToken, "", "relock/all-1"), "[3 5 4] <nil> <nil> 2"; got != want {
		t.Errorf("with a pull request of another bot: %s, want %s", got, want)
	}
}

// Whose issue it is costs no request where a bot has opened it or the form of the credential
// says it, and else one.
func TestMayBeOurs(t *testing.T) {
	h := newHub(t, issueWorld)
	h.Admit("ghs_other", sandbox.Identity{Login: "renovate[bot]", Bot: true, Permissions: map[string]string{"metadata": "read", "issues": "write"}})
	for _, tt := range []struct {
		token, login string
		bot          bool
		want         bool
		asked        int
	}{
		{sandbox.ActionsToken, "github-actions[bot]", true, true, 0},
		{sandbox.ActionsToken, "github-actions", false, false, 0}, // a person's
		{sandbox.ActionsToken, "monalisa", false, false, 0},
		{sandbox.ActionsToken, "", false, false, 0},
		{sandbox.ActionsToken, "renovate[bot]", true, true, 0},
		{"ghs_other", "renovate[bot]", true, true, 0},
		{"ghs_other", "mallory", false, false, 0},
		{sandbox.UserToken, "github-actions[bot]", true, true, 0},
		{sandbox.UserToken, "", false, false, 0},
		{sandbox.UserToken, "mallory", false, false, 1},
		{sandbox.UserToken, "MonaLisa", false, true, 1},
	} {
		repo := h.client(t, github.Options{Access: github.Access{Token: tt.token}}).Repository("octo", "infra")
		for i, asked := range []int{tt.asked, 0} { // the second time GitHub has said it
			h.asked = nil
			got, err := repo.MayBeOurs(t.Context(), github.Actor{Login: tt.login, Bot: tt.bot})
			if n := len(h.asked); err != nil || got != tt.want || n != asked {
				t.Errorf("%s: MayBeOurs(%q) = %t, %v with %d requests, want %t with %d (time %d)", tt.token, tt.login, got, err, n, tt.want, asked, i+1)
			}
		}
	}
}
