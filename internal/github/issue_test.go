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
			latest, own, err := repo.LatestAndIssues(t.Context(), []string{"relock/all-1"}, isPage)
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
	latest, own, err := as("ghs_blind").LatestAndIssues(t.Context(), []string{"relock/all-1"}, isPage)
	if err != nil || latest == nil || own.Err == nil || !strings.Contains(fmt.Sprint(own.Err), "Resource not accessible") {
		t.Errorf("without the permission: %v, %+v, %v, want pull requests and why there are no issues", latest, own, err)
	}
	if err := h.Configure("octo/infra", func(s *sandbox.Settings) { s.NoIssues = true }); err != nil {
		t.Fatal(err)
	}
	_, own, err = as(sandbox.ActionsToken).LatestAndIssues(t.Context(), nil, isPage)
	if err != nil || !own.Off || own.Err != nil {
		t.Errorf("without issues: %+v, %v", own, err)
	}
	if _, err := as(sandbox.ActionsToken).CreateIssue(t.Context(), github.NewIssue{Title: "A page"}); !errors.Is(err, github.ErrGone) {
		t.Errorf("CreateIssue without issues = %v, want ErrGone", err)
	}
}

// Whose login it is costs no request where the form of the credential says it, and else one.
func TestIsSelf(t *testing.T) {
	h := newHub(t, issueWorld)
	h.Admit("ghs_other", sandbox.Identity{Login: "renovate[bot]", Bot: true, Permissions: map[string]string{"metadata": "read", "issues": "write"}})
	for _, tt := range []struct {
		token, login string
		want         bool
		asked        int
	}{
		{sandbox.ActionsToken, "github-actions[bot]", true, 0},
		{sandbox.ActionsToken, "GitHub-Actions[bot]", true, 0},
		{sandbox.ActionsToken, "github-actions", false, 0}, // a person's
		{sandbox.ActionsToken, "monalisa", false, 0},
		{sandbox.ActionsToken, "", false, 0},
		{sandbox.ActionsToken, "renovate[bot]", false, 1},
		{"ghs_other", "renovate[bot]", true, 1},
		{"ghs_other", "mallory", false, 0},
		{sandbox.UserToken, "github-actions[bot]", false, 0},
		{sandbox.UserToken, "mallory", false, 1},
		{sandbox.UserToken, "monalisa", true, 1},
	} {
		repo := h.client(t, github.Options{Access: github.Access{Token: tt.token}}).Repository("octo", "infra")
		for i, asked := range []int{tt.asked, 0} { // the second time GitHub has said it
			h.asked = nil
			got, err := repo.IsSelf(t.Context(), tt.login)
			if n := len(h.asked); err != nil || got != tt.want || n != asked {
				t.Errorf("%s: IsSelf(%q) = %t, %v with %d requests, want %t with %d (time %d)", tt.token, tt.login, got, err, n, tt.want, asked, i+1)
			}
		}
	}
}
