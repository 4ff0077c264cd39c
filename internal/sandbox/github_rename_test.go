package sandbox

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"
)

func TestGitHubRenamesBranches(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.push(t, "topic", "ours", "1\n")
	h.open(t, "topic", "main")
	if err := h.RenameBranch(octoInfra, "main", "trunk"); err != nil {
		t.Fatal(err)
	}
	if p := h.view(t); p.State != "open" || p.Base != "trunk" {
		t.Errorf("pull request = %+v, want it open for trunk", p)
	}
	branch, _, err := h.Repositories.GetBranch(context.Background(), "octo", "infra", "main", 1)
	if err != nil || branch.GetName() != "trunk" {
		t.Errorf("main is now %v, %v; want trunk", branch.GetName(), err)
	}
	_, _, err = h.Git.GetRef(context.Background(), "octo", "infra", "heads/main")
	wantRefusal(t, err, 404, "Not Found")
	if resp, body := h.send(t, "GET", "/repos/octo/infra/branches/nothing", ""); resp.StatusCode != 404 || !strings.Contains(body, "Branch not found") {
		t.Errorf("a branch that never was: %d %s", resp.StatusCode, body)
	}
	// Nobody has renamed it.
	if branch, _, err = h.Repositories.GetBranch(context.Background(), "octo", "infra", "master", 1); err != nil || branch.GetName() != "trunk" {
		t.Errorf("master is %v, %v; want the default branch", branch.GetName(), err)
	}
	if err := h.RenameBranch(octoInfra, "topic", "other"); err != nil {
		t.Fatal(err)
	}
	if p := h.view(t); p.State != "closed" {
		t.Errorf("pull request = %+v, want it closed with its head", p)
	}
}

func TestGitHubMovesRepositories(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "ours", "1\n")
	if err := h.Move(octoInfra, "octo/platform"); err != nil {
		t.Fatal(err)
	}
	repo, _, err := h.Repositories.Get(ctx, "octo", "infra")
	if err != nil || repo.GetFullName() != "octo/platform" {
		t.Errorf("the repository is %s, %v; want octo/platform", repo.GetFullName(), err)
	}
	title, head, base := "T", "topic", "main"
	made, _, err := h.PullRequests.Create(ctx, "octo", "infra", &github.NewPullRequest{Title: &title, Head: &head, Base: &base})
	if err != nil || made.GetNumber() != 1 {
		t.Errorf("opened %v, %v; want what is asked with 307 to be done", made, err)
	}
	resp, body := h.send(t, "POST", "/repos/octo/infra/git/refs", "{}")
	if resp.StatusCode != 422 && resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestGitHubArchives(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	sha := h.head(t, "main")
	if err := h.Configure(octoInfra, func(s *Settings) { s.Archived = true }); err != nil {
		t.Fatal(err)
	}
	if repo := must[*github.Repository](t)(h.Repositories.Get(ctx, "octo", "infra")); !repo.GetArchived() {
		t.Error("the repository does not say that it is archived")
	}
	ref := "refs/heads/x"
	_, _, err := h.Git.CreateRef(ctx, "octo", "infra", &github.Reference{Ref: &ref, Object: &github.GitObject{SHA: &sha}})
	wantRefusal(t, err, 403, "Repository was archived so is read-only.")
	if got := h.updateRefsQuery(t, refUpdateJSON(ref, strings.Repeat("0", 40), sha, false)).messages(); len(got) != 1 || !strings.Contains(got[0], "archived") {
		t.Errorf("updateRefs: %q", got)
	}
}

func TestGitHubSuspendsInstallations(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	creds, key := h.registerApp(t)
	asApp := h.client(t, webToken(t, key, map[string]any{"iss": creds.ID, "iat": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}))
	token := must[*github.InstallationToken](t)(asApp.Apps.CreateInstallationToken(context.Background(), creds.Installations["octo"], nil))
	if err := h.Suspend("relock", true); err != nil {
		t.Fatal(err)
	}
	_, _, err := asApp.Apps.CreateInstallationToken(context.Background(), creds.Installations["octo"], nil)
	wantRefusal(t, err, 403, "This installation has been suspended")
	_, _, err = h.client(t, token.GetToken()).Repositories.Get(context.Background(), "octo", "infra")
	wantRefusal(t, err, 403, "This installation has been suspended")
}

func TestGitHubRulesets(t *testing.T) {
	t.Parallel()
	zero := strings.Repeat("0", 40)
	tests := []struct {
		name, refused string
		rule          BranchRule
		update        func(h *hub, before, other string) map[string]any
	}{
		{"force", "Cannot force-push to this branch", BranchRule{NoForce: true}, func(_ *hub, before, other string) map[string]any {
			return refUpdateJSON("refs/heads/relock/all", before, other, true)
		}},
		{"deletion", "Cannot delete this branch", BranchRule{NoDeletion: true}, func(_ *hub, before, _ string) map[string]any {
			return refUpdateJSON("refs/heads/relock/all", before, zero, true)
		}},
		{"creation", "Cannot create ref due to creations being restricted.", BranchRule{NoCreation: true}, func(_ *hub, _, other string) map[string]any {
			return refUpdateJSON("refs/heads/relock/new", zero, other, false)
		}},
		{"signatures", "Commits must have verified signatures.", BranchRule{Signed: true}, func(_ *hub, before, other string) map[string]any {
			return refUpdateJSON("refs/heads/relock/all", before, other, true)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t)
			before, other := h.push(t, "relock/all", "a", "1\n"), h.push(t, "topic", "b", "1\n")
			tt.rule.Branches = "relock/**"
			if err := h.Configure(octoInfra, func(s *Settings) { s.Rules = []BranchRule{tt.rule} }); err != nil {
				t.Fatal(err)
			}
			got := h.updateRefsQuery(t, tt.update(h, before, other)).messages()
			if len(got) != 1 || !strings.Contains(got[0], "Repository rule violations found") || !strings.Contains(got[0], tt.refused) {
				t.Errorf("updateRefs: %q, want %q", got, tt.refused)
			}
		})
	}
}

// A token without the permission for workflows cannot take a base into a branch
// whose workflows have changed since.
func TestGitHubGuardsWorkflows(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.push(t, "topic", "ours", "1\n")
	h.open(t, "topic", "main")
	h.push(t, "main", ".github/workflows/ci.yml", "on: push\n")
	const refused = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission"
	_, _, err := h.PullRequests.UpdateBranch(context.Background(), "octo", "infra", 1, nil)
	wantRefusal(t, err, 403, refused)
	_, _, err = h.Repositories.Merge(context.Background(), "octo", "infra", &github.RepositoryMergeRequest{Base: github.String("topic"), Head: github.String("main")})
	wantRefusal(t, err, 403, refused)
	_, _, err = h.client(t, UserToken).PullRequests.UpdateBranch(context.Background(), "octo", "infra", 1, nil)
	if _, accepted := err.(*github.AcceptedError); !accepted {
		t.Errorf("a person's update answers %v", err)
	}
}

func TestGitHubWithoutGraphQL(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.WithoutMergeQueues()
	if got := h.query(t, `{ repository(owner: "octo", name: "infra") { pullRequest(number: 1) { isInMergeQueue } } }`, nil).messages(); len(got) != 1 || !strings.Contains(got[0], "doesn't exist on type 'PullRequest'") {
		t.Errorf("without merge queues: %q", got)
	}
	h.WithoutGraphQL()
	if _, err := h.post(`{ viewer { login } }`, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("without GraphQL: %v, want a 404", err)
	}
}
