package sandbox

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
)

func (h *hub) setRole(t *testing.T, login string, role Role) {
	t.Helper()
	if err := h.SetRole(octoInfra, login, role); err != nil {
		t.Fatal(err)
	}
}

func (h *hub) configure(t *testing.T, change func(*Settings)) {
	t.Helper()
	if err := h.Configure(octoInfra, change); err != nil {
		t.Fatal(err)
	}
}

// propose opens a pull request from a new branch.
func (h *hub) propose(t *testing.T, branch string) int {
	t.Helper()
	h.push(t, branch, branch+".txt", branch)
	n, err := h.GitHub.Open(octoInfra, branch, "main", "Change "+branch, "monalisa")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPermissionOfPeople(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	for login, role := range map[string]Role{
		"ada": RoleAdmin, "max": RoleMaintain, "wil": RoleWrite, "tri": RoleTriage, "rea": RoleRead, "non": RoleNone,
	} {
		h.setRole(t, login, role)
	}
	tests := []struct{ login, permission, role string }{
		{"ada", "admin", "admin"},
		{"max", "write", "maintain"},
		{"wil", "write", "write"},
		{"tri", "read", "triage"},
		{"rea", "read", "read"},
		{"non", "none", "none"},
		{"stranger", "read", "read"},
		{"octo", "admin", "admin"},
		{"ADA", "admin", "admin"},
	}
	for _, tt := range tests {
		level := must[*github.RepositoryPermissionLevel](t)(h.Repositories.GetPermissionLevel(ctx, "octo", "infra", tt.login))
		if level.GetPermission() != tt.permission || level.User.GetRoleName() != tt.role {
			t.Errorf("permission of %s = %s as %s, want %s as %s", tt.login, level.GetPermission(), level.User.GetRoleName(), tt.permission, tt.role)
		}
	}

	h.setRole(t, "wil", RoleNone)
	if level := must[*github.RepositoryPermissionLevel](t)(h.Repositories.GetPermissionLevel(ctx, "octo", "infra", "wil")); level.GetPermission() != "none" {
		t.Errorf("permission after it was withdrawn = %s, want none", level.GetPermission())
	}
	_, _, err := h.Repositories.GetPermissionLevel(ctx, "octo", "infra", "dependabot[bot]")
	wantRefusal(t, err, 404, "dependabot[bot] is not a user")
	h.Admit("ghp_reader", Identity{Login: "rea"})
	_, _, err = h.client(t, "ghp_reader").Repositories.GetPermissionLevel(ctx, "octo", "infra", "ada")
	wantRefusal(t, err, 403, "Must have push access to view collaborator permission.")
	if err := h.SetRole(octoInfra, "ada", "owner"); err == nil {
		t.Error("a role that does not exist was given")
	}
}

// TestRightsOfTokens sends the same requests with tokens that differ in one
// thing.
func TestRightsOfTokens(t *testing.T) {
	t.Parallel()
	bot := func(permissions map[string]string) Identity {
		return Identity{Login: "relock[bot]", Bot: true, Permissions: permissions}
	}
	const noLabels = "You do not have permission to create labels on this repository."
	const integration, fineGrained = "Resource not accessible by integration", "Resource not accessible by personal access token"
	tests := []struct {
		name    string
		who     Identity
		private bool
		method  string
		path    string
		body    string
		status  int
		message string
	}{
		{"person_who_writes", Identity{Login: "monalisa"}, false, "POST", "/git/blobs", `{"content": "x"}`, 201, ""},
		{"person_who_reads", Identity{Login: "stranger"}, false, "POST", "/git/blobs", `{"content": "x"}`, 404, "Not Found"},
		{"person_may_comment_on_what_is_public", Identity{Login: "stranger"}, false, "POST", "/issues/1/comments", `{"body": "x"}`, 201, ""},
		{"person_without_a_role_in_private", Identity{Login: "stranger"}, true, "GET", "", "", 404, "Not Found"},
		{"person_with_a_narrow_token", Identity{Login: "monalisa", Permissions: map[string]string{"contents": "read"}}, false, "POST", "/git/blobs", `{"content": "x"}`, 403, fineGrained},
		{"triage_labels", Identity{Login: "tri"}, false, "POST", "/issues/1/labels", `{"labels": ["Known"]}`, 200, ""},
		{"triage_makes_no_label", Identity{Login: "tri"}, false, "POST", "/issues/1/labels", `{"labels": ["known", "x"]}`, 403, noLabels},
		{"pull_requests_write_labels", bot(map[string]string{"pull_requests": "write"}), false, "POST", "/issues/1/labels", `{"labels": ["known"]}`, 200, ""},
		{"pull_requests_write_makes_no_label", bot(map[string]string{"pull_requests": "write"}), false, "PATCH", "/issues/1", `{"labels": ["known", "x"]}`, 403, noLabels},
		{"issues_write_makes_labels", bot(map[string]string{"issues": "write"}), false, "POST", "/issues/1/labels", `{"labels": ["known", "x"]}`, 200, ""},
		{"triage_pushes_nothing", Identity{Login: "tri"}, false, "POST", "/git/blobs", `{"content": "x"}`, 404, "Not Found"},
		{"integration_with_the_permission", bot(map[string]string{"contents": "write"}), true, "POST", "/git/blobs", `{"content": "x"}`, 201, ""},
		{"integration_with_another_permission", bot(map[string]string{"issues": "write"}), false, "POST", "/git/blobs", `{"content": "x"}`, 403, integration},
		{"either_permission_is_enough_to_comment", bot(map[string]string{"pull_requests": "write"}), false, "POST", "/issues/1/comments", `{"body": "x"}`, 201, ""},
		{"reading_what_is_public_needs_none", bot(nil), false, "GET", "/pulls", "", 200, ""},
		{"reading_what_is_private_needs_one", bot(map[string]string{"contents": "read"}), true, "GET", "/pulls", "", 403, integration},
		{"integration_in_other_repositories", Identity{Login: "relock[bot]", Bot: true, Permissions: map[string]string{"contents": "write"}, Repositories: []string{"octo/other"}}, false, "POST", "/git/blobs", `{"content": "x"}`, 403, integration},
		{"which_do_not_see_it_if_private", Identity{Login: "relock[bot]", Bot: true, Permissions: map[string]string{"contents": "write"}, Repositories: []string{"octo/other"}}, true, "GET", "", "", 404, "Not Found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t)
			h.propose(t, "topic")
			h.setRole(t, "tri", RoleTriage)
			h.configure(t, func(s *Settings) { s.Private, s.Labels = tt.private, []string{"known"} })
			if tt.who.Bot && tt.who.Permissions == nil {
				tt.who.Permissions = map[string]string{}
			}
			h.Admit("token", tt.who)
			resp, body := h.send(t, tt.method, "/repos/octo/infra"+tt.path, tt.body, "Authorization: Bearer token", "Content-Type: application/json")
			if got := message(body); resp.StatusCode != tt.status || tt.message != "" && got != tt.message {
				t.Errorf("answer = %d %s, want %d %s", resp.StatusCode, got, tt.status, tt.message)
			}
		})
	}
}

func TestRefusalsNameThePermissionsThatWouldDo(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.propose(t, "topic")
	h.Admit("token", Identity{Login: "relock[bot]", Bot: true, Permissions: map[string]string{}})
	for path, want := range map[string]string{
		"/repos/octo/infra/git/blobs":         "contents=write",
		"/repos/octo/infra/pulls":             "pull_requests=write",
		"/repos/octo/infra/issues/1/comments": "issues=write; pull_requests=write",
	} {
		resp, _ := h.send(t, "POST", path, "{}", "Authorization: Bearer token")
		if got := resp.Header.Get("X-Accepted-GitHub-Permissions"); resp.StatusCode != 403 || got != want {
			t.Errorf("POST %s = %d, accepted permissions %q, want 403 and %q", path, resp.StatusCode, got, want)
		}
	}
}

func TestActionsMayBeForbiddenToOpenPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "x")
	h.configure(t, func(s *Settings) { s.ForbidActionsPulls = true })
	pull := &github.NewPullRequest{Title: github.String("x"), Head: github.String("topic"), Base: github.String("main")}
	_, _, err := h.PullRequests.Create(ctx, "octo", "infra", pull)
	wantRefusal(t, err, 403, "GitHub Actions is not permitted to create or approve pull requests.")
	must[*github.PullRequest](t)(h.client(t, UserToken).PullRequests.Create(ctx, "octo", "infra", pull))
}

// TestPushesToForks tries who may move the branch of a pull request from a fork.
func TestPushesToForks(t *testing.T) {
	t.Parallel()
	app := Identity{Login: "relock[bot]", Bot: true, Permissions: map[string]string{"contents": "write"}}
	elsewhere := app
	elsewhere.Repositories = []string{octoInfra}
	tests := []struct {
		name    string
		who     Identity
		branch  string
		allowed bool // edits by maintainers
		status  int
	}{
		{"maintainer", Identity{Login: "monalisa"}, "topic", true, 200},
		{"maintainer_on_another_branch", Identity{Login: "monalisa"}, "main", true, 404},
		{"maintainer_where_the_author_forbids_it", Identity{Login: "monalisa"}, "topic", false, 404},
		{"reader", Identity{Login: "stranger"}, "topic", true, 404},
		{"author", Identity{Login: "hubot"}, "topic", false, 200},
		{"workflow", Identity{Login: actionsBot, Bot: true, Permissions: workflowPermissions("write")}, "topic", true, 403},
		{"app_installed_on_the_fork", app, "topic", true, 200},
		{"app_installed_elsewhere", elsewhere, "topic", true, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t)
			if err := h.Fork(octoInfra, "hubot"); err != nil {
				t.Fatal(err)
			}
			push := Push{Branch: "topic", Files: map[string]File{"f": {Content: []byte("1")}}, Author: "hubot"}
			if _, err := h.Push("hubot/infra", push); err != nil {
				t.Fatal(err)
			}
			n, err := h.Open(octoInfra, "hubot:topic", "main", "Change", "hubot")
			if err != nil {
				t.Fatal(err)
			}
			if err := h.AllowEdits(octoInfra, n, tt.allowed); err != nil {
				t.Fatal(err)
			}
			push.Branch = "next" // a commit of the fork that is on no other branch
			next, err := h.Push("hubot/infra", push)
			if err != nil {
				t.Fatal(err)
			}
			h.Admit("token", tt.who)
			resp, body := h.send(t, "PATCH", "/repos/hubot/infra/git/refs/heads/"+tt.branch, `{"sha": "`+next+`", "force": true}`,
				"Authorization: Bearer token", "Content-Type: application/json")
			if resp.StatusCode != tt.status {
				t.Errorf("answer = %d %s, want %d", resp.StatusCode, message(body), tt.status)
			}
		})
	}
}

func TestSettingsAreSeen(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.configure(t, func(s *Settings) { s.Private, s.AutoMerge, s.DeleteMerged = true, true, true })
	r := must[*github.Repository](t)(h.Repositories.Get(ctx, "octo", "infra"))
	got := []bool{r.GetPrivate(), r.GetAllowAutoMerge(), r.GetDeleteBranchOnMerge()}
	if diff := cmp.Diff([]bool{true, true, true}, got); diff != "" {
		t.Errorf("private, auto-merge, deletes branches (-want +got):\n%s", diff)
	}
	n := h.propose(t, "topic")
	if _, err := h.Merge(octoInfra, n, "monalisa"); err != nil {
		t.Fatal(err)
	}
	if at := h.head(t, "topic"); at != "" {
		t.Errorf("the branch of a merged pull request is at %s, want none", at)
	}
}

// message is the message of a refusal in GitHub's form; empty for other bodies.
func message(body string) string {
	var refusal struct{ Message string }
	if json.Unmarshal([]byte(body), &refusal) != nil {
		return ""
	}
	return refusal.Message
}
