package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/sandbox/described"
)

const octoInfra = "octo/infra"

// hub is a running GitHub with one repository, octo/infra, and clients of it.
type hub struct {
	*GitHub
	*github.Client // with ActionsToken
	url            string
}

func startHub(t *testing.T) *hub {
	t.Helper()
	file := func(s string) File { return File{Mode: "100644", Content: []byte(s)} }
	g, err := newGitHub([]Repository{{
		Owner: "octo", Name: "infra", DefaultBranch: "main",
		Branches: map[string]map[string]File{
			"main": {
				"README.md":       file("infra\n"),
				"prod/main.tf":    file("terraform {}\n"),
				"prod/deploy.sh":  {Mode: "100755", Content: []byte("#!/bin/sh\n")},
				"staging/main.tf": {Mode: "120000", Content: []byte("../prod/main.tf")},
			},
			"release/1.0": {"README.md": file("released\n")},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	described.CheckAnswers(t, g)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	h := &hub{GitHub: g, url: server.URL}
	h.Client = h.client(t, ActionsToken)
	return h
}

// client returns go-github with the token, or with none.
func (h *hub) client(t *testing.T, token string) *github.Client {
	t.Helper()
	c := github.NewClient(nil)
	if token != "" {
		c = c.WithAuthToken(token)
	}
	c, err := c.WithEnterpriseURLs(h.url+"/github/", h.url+"/github/")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// send makes a raw request to the REST API, or to a path that begins with
// /github/. Headers are given as NAME: VALUE.
func (h *hub) send(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	if !strings.HasPrefix(path, "/github/") {
		path = restPath + path
	}
	r, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := noRedirects.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

const authorized = "Authorization: Bearer " + ActionsToken

// must returns a value of go-github or ends the test.
func must[T any](t *testing.T) func(T, *github.Response, error) T {
	return func(v T, _ *github.Response, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantRefusal checks an error of go-github: its status, and its message or the
// message, else the code and field, of the first of its errors.
func wantRefusal(t *testing.T, err error, status int, message string) {
	t.Helper()
	var e *github.ErrorResponse
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a refusal with %d %s", err, status, message)
	}
	got := e.Message
	if len(e.Errors) > 0 {
		if got = e.Errors[0].Message; got == "" {
			got = e.Errors[0].Code + " " + e.Errors[0].Field
		}
	}
	if e.Response.StatusCode != status || got != message {
		t.Fatalf("refusal = %d %s, want %d %s", e.Response.StatusCode, got, status, message)
	}
}

func (h *hub) head(t *testing.T, branch string) string {
	t.Helper()
	refs, err := h.Refs(octoInfra)
	if err != nil {
		t.Fatal(err)
	}
	return refs["refs/heads/"+branch]
}

// push commits one file to a branch.
func (h *hub) push(t *testing.T, branch, name, content string) string {
	t.Helper()
	sha, err := h.Push(octoInfra, Push{Branch: branch, Files: map[string]File{name: {Content: []byte(content)}}})
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

func TestGitHubRepository(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()

	r := must[*github.Repository](t)(h.Repositories.Get(ctx, "octo", "infra"))
	if r.GetDefaultBranch() != "main" || r.GetFullName() != octoInfra || !r.GetAllowSquashMerge() || r.GetNodeID() == "" {
		t.Errorf("repository = %v", r)
	}
	if !r.GetPermissions()["push"] {
		t.Errorf("permissions of a writer = %v, want push", r.GetPermissions())
	}
	reader := must[*github.Repository](t)(h.client(t, ReadOnlyToken).Repositories.Get(ctx, "octo", "infra"))
	if p := reader.GetPermissions(); p["push"] || !p["pull"] {
		t.Errorf("permissions of a reader = %v, want pull without push", p)
	}
	if r := must[*github.Repository](t)(h.Repositories.Get(ctx, "OCTO", "Infra")); r.GetFullName() != octoInfra {
		t.Errorf("repository by another case = %s", r.GetFullName())
	}
	_, _, err := h.Repositories.Get(ctx, "octo", "other")
	wantRefusal(t, err, 404, "Not Found")
}

func TestGitHubUser(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()

	user := must[*github.User](t)(h.client(t, UserToken).Users.Get(ctx, ""))
	if user.GetLogin() != "monalisa" {
		t.Errorf("user = %s, want monalisa", user.GetLogin())
	}
	_, _, err := h.Users.Get(ctx, "")
	wantRefusal(t, err, 403, "Resource not accessible by integration")
	_, _, err = h.client(t, "").Users.Get(ctx, "")
	wantRefusal(t, err, 401, "Requires authentication")

	h.Admit("ghp_other", Identity{Login: "hubot"})
	if user := must[*github.User](t)(h.client(t, "ghp_other").Users.Get(ctx, "")); user.GetLogin() != "hubot" {
		t.Errorf("user of an admitted token = %s, want hubot", user.GetLogin())
	}
}

func TestGitHubAccess(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	h.Admit("ghp_guest", Identity{Login: "guest"})
	tests := []struct {
		name, method, path, header, body string
		status                           int
		message                          string
	}{
		{"reads_need_no_token", "GET", "/repos/octo/infra", "", "", 200, ""},
		{"older_scheme", "GET", "/user", "Authorization: token " + UserToken, "", 200, ""},
		{"unknown_token", "GET", "/repos/octo/infra", "Authorization: Bearer nonsense", "", 401, "Bad credentials"},
		{"anonymous_write", "POST", "/repos/octo/infra/git/blobs", "", `{}`, 401, "Requires authentication"},
		{"reading_workflow_writes", "POST", "/repos/octo/infra/git/blobs", "Authorization: Bearer " + ReadOnlyToken, `{}`, 403, "Resource not accessible by integration"},
		{"reading_person_writes", "POST", "/repos/octo/infra/git/blobs", "Authorization: Bearer ghp_guest", `{}`, 404, "Not Found"},
		{"unknown_repository", "POST", "/repos/octo/nothing/git/blobs", authorized, `{}`, 404, "Not Found"},
		{"unknown_path", "GET", "/repos/octo/infra/nothing", authorized, "", 404, "Not Found"},
		{"unknown_method", "PUT", "/repos/octo/infra", authorized, "", 404, "Not Found"},
		{"no_json", "POST", "/repos/octo/infra/git/blobs", authorized, `{`, 400, "Problems parsing JSON"},
		{"no_object", "POST", "/repos/octo/infra/git/blobs", authorized, `7`, 400, "Body should be a JSON object"},
		{"wrong_type", "POST", "/repos/octo/infra/git/refs", authorized, `{"ref": 7}`, 422, "Invalid request.\n\nFor 'Ref', number is not of the expected type."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := h.send(t, tt.method, tt.path, tt.body, tt.header)
			var e struct {
				Message          string
				DocumentationURL string `json:"documentation_url"`
				Status           string
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("body %q is not JSON: %v", body, err)
			}
			if resp.StatusCode != tt.status || e.Message != tt.message {
				t.Errorf("answer = %d %q, want %d %q", resp.StatusCode, e.Message, tt.status, tt.message)
			}
			if tt.status >= 400 && (e.DocumentationURL == "" || e.Status != fmt.Sprint(tt.status)) {
				t.Errorf("error lacks GitHub's shape: %s", body)
			}
		})
	}
}

func TestGitHubAnswersNotModified(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	first, body := h.send(t, "GET", "/repos/octo/infra", "", authorized)
	tag := first.Header.Get("ETag")
	if tag == "" || body == "" {
		t.Fatalf("answer has the ETag %q and %d bytes", tag, len(body))
	}
	again, body := h.send(t, "GET", "/repos/octo/infra", "", authorized, "If-None-Match: "+tag)
	if again.StatusCode != 304 || body != "" {
		t.Errorf("answer to the same ETag = %d with %d bytes, want 304 with none", again.StatusCode, len(body))
	}
	if a, b := first.Header.Get("X-RateLimit-Remaining"), again.Header.Get("X-RateLimit-Remaining"); a != b {
		t.Errorf("remaining requests went from %s to %s by a 304", a, b)
	}
	h.push(t, "topic", "new", "x")
	if _, err := h.Open(octoInfra, "topic", "main", "Topic", "monalisa"); err != nil {
		t.Fatal(err)
	}
	if changed, _ := h.send(t, "GET", "/repos/octo/infra", "", authorized, "If-None-Match: "+tag); changed.StatusCode != 200 {
		t.Errorf("answer after a change = %d, want 200", changed.StatusCode)
	}
}

func TestGitHubRateLimit(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()

	_, first, err := h.Repositories.Get(ctx, "octo", "infra")
	if err != nil {
		t.Fatal(err)
	}
	if r := first.Rate; r.Limit != 5000 || r.Remaining != 4999 || !r.Reset.After(time.Now()) {
		t.Errorf("rate after one request = %v", r)
	}
	_, refused, err := h.Repositories.Get(ctx, "octo", "other")
	if err == nil || refused.Rate.Remaining != 4998 {
		t.Errorf("rate after a refusal = %v, want 4998 left", refused.Rate)
	}
	for range 2 {
		if limits := must[*github.RateLimits](t)(h.RateLimit.Get(ctx)); limits.Core.Remaining != 4998 || limits.GraphQL.Remaining != 5000 {
			t.Errorf("limits = %v, want 4998 and 5000: asking costs nothing", limits)
		}
	}

	h.LimitRate(ActionsToken, 0)
	if limits := must[*github.RateLimits](t)(h.client(t, ActionsToken).RateLimit.Get(ctx)); limits.Core.Remaining != 0 {
		t.Errorf("limits = %v, want nothing left", limits)
	}
	fresh := h.client(t, ActionsToken)
	_, _, err = fresh.Repositories.Get(ctx, "octo", "infra")
	var limit *github.RateLimitError
	if !errors.As(err, &limit) {
		t.Errorf("error with nothing left = %v, want a RateLimitError", err)
	}
	if _, err := fresh.Git.DeleteRef(ctx, "octo", "infra", "heads/release/1.0"); err == nil || h.head(t, "release/1.0") == "" {
		t.Errorf("a write passed the rate limit: %v", err)
	}
}

func TestGitHubRefs(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	main := h.head(t, "main")
	ref := func(name, sha string) *github.Reference {
		return &github.Reference{Ref: github.String(name), Object: &github.GitObject{SHA: github.String(sha)}}
	}

	got := must[*github.Reference](t)(h.Git.GetRef(ctx, "octo", "infra", "refs/heads/release/1.0"))
	if got.GetRef() != "refs/heads/release/1.0" || got.Object.GetSHA() != h.head(t, "release/1.0") || got.Object.GetType() != "commit" {
		t.Errorf("ref = %v", got)
	}
	_, _, err := h.Git.GetRef(ctx, "octo", "infra", "heads/release")
	wantRefusal(t, err, 404, "Not Found")

	created := must[*github.Reference](t)(h.Git.CreateRef(ctx, "octo", "infra", ref("refs/heads/relock/all", main)))
	if created.Object.GetSHA() != main {
		t.Errorf("created ref = %v, want it at %s", created, main)
	}
	names := func(prefix string) []string {
		refs := must[[]*github.Reference](t)(h.Git.ListMatchingRefs(ctx, "octo", "infra", &github.ReferenceListOptions{Ref: prefix}))
		var names []string
		for _, r := range refs {
			names = append(names, r.GetRef())
		}
		return names
	}
	if diff := cmp.Diff([]string{"refs/heads/release/1.0", "refs/heads/relock/all"}, names("heads/rel")); diff != "" {
		t.Errorf("matching refs (-want +got):\n%s", diff)
	}
	if n := names("tags/"); len(n) != 0 {
		t.Errorf("matching tags = %v, want none", n)
	}

	next := h.push(t, "main", "new.tf", "x")
	moved := must[*github.Reference](t)(h.Git.UpdateRef(ctx, "octo", "infra", ref("heads/relock/all", next), false))
	if moved.Object.GetSHA() != next {
		t.Errorf("moved ref = %v, want %s", moved, next)
	}
	_, _, err = h.Git.UpdateRef(ctx, "octo", "infra", ref("heads/relock/all", main), false)
	wantRefusal(t, err, 422, "Update is not a fast forward")
	must[*github.Reference](t)(h.Git.UpdateRef(ctx, "octo", "infra", ref("heads/relock/all", main), true))
	if at := h.head(t, "relock/all"); at != main {
		t.Errorf("forced ref is at %s, want %s", at, main)
	}

	if _, err := h.Git.DeleteRef(ctx, "octo", "infra", "heads/relock/all"); err != nil {
		t.Error(err)
	}
	if at := h.head(t, "relock/all"); at != "" {
		t.Errorf("deleted ref is at %s", at)
	}
}

func TestGitHubRefusesRefs(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main := h.head(t, "main")
	resp, body := h.send(t, "GET", "/repos/octo/infra/git/commits/"+main, "", authorized)
	var commit github.Commit
	if err := json.Unmarshal([]byte(body), &commit); err != nil || resp.StatusCode != 200 {
		t.Fatalf("commit = %d %s", resp.StatusCode, body)
	}
	create := func(ref, sha string) string { return fmt.Sprintf(`{"ref": %q, "sha": %q}`, ref, sha) }
	tests := []struct{ name, method, path, body, message string }{
		{"exists", "POST", "refs", create("refs/heads/main", main), "Reference already exists"},
		{"short_sha", "POST", "refs", create("refs/heads/x", main[:12]), "The sha parameter must be exactly 40 characters and contain only [0-9a-f]."},
		{"unknown_sha", "POST", "refs", create("refs/heads/x", strings.Repeat("a", 40)), "Object does not exist"},
		{"zero_sha", "POST", "refs", create("refs/heads/x", strings.Repeat("0", 40)), "Object does not exist"},
		{"branch_at_a_tree", "POST", "refs", create("refs/heads/x", commit.Tree.GetSHA()), "Object is not a commit"},
		{"no_prefix", "POST", "refs", create("heads/x", main), "heads/x is not a valid ref name."},
		{"two_components", "POST", "refs", create("refs/x", main), "refs/x is not a valid ref name."},
		{"lock_suffix", "POST", "refs", create("refs/heads/x.lock", main), "refs/heads/x.lock is not a valid ref name."},
		{"below_a_branch", "POST", "refs", create("refs/heads/main/x", main), "Reference update failed"},
		{"above_a_branch", "POST", "refs", create("refs/heads/release", main), "Reference update failed"},
		{"move_missing", "PATCH", "refs/heads/x", `{"sha": "` + main + `"}`, "Reference does not exist"},
		{"move_nowhere", "PATCH", "refs/heads/main", `{"sha": "` + strings.Repeat("b", 40) + `"}`, "Object does not exist"},
		{"delete_missing", "DELETE", "refs/heads/x", "", "Reference does not exist"},
		{"delete_default_branch", "DELETE", "refs/heads/main", "", "Cannot delete the default branch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := h.send(t, tt.method, "/repos/octo/infra/git/"+tt.path, tt.body, authorized)
			var e struct{ Message string }
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("body %q is not JSON: %v", body, err)
			}
			if resp.StatusCode != 422 || e.Message != tt.message {
				t.Errorf("answer = %d %q, want 422 %q", resp.StatusCode, e.Message, tt.message)
			}
		})
	}
}

func TestGitHubBlobs(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	const hello = "ce013625030ba8dba906f756967f9e9ca394464a" // git hash-object of "hello\n"

	plain := must[*github.Blob](t)(h.Git.CreateBlob(ctx, "octo", "infra", &github.Blob{Content: github.String("hello\n")}))
	coded := must[*github.Blob](t)(h.Git.CreateBlob(ctx, "octo", "infra", &github.Blob{Content: github.String("aGVs\nbG8K"), Encoding: github.String("base64")}))
	if plain.GetSHA() != hello || coded.GetSHA() != hello {
		t.Errorf("blobs = %s and %s, want git's %s", plain.GetSHA(), coded.GetSHA(), hello)
	}
	if blob := must[*github.Blob](t)(h.Git.GetBlob(ctx, "octo", "infra", hello)); blob.GetContent() != "aGVsbG8K\n" || blob.GetEncoding() != "base64" || blob.GetSize() != 6 {
		t.Errorf("blob = %v", blob)
	}
	if raw := must[[]byte](t)(h.Git.GetBlobRaw(ctx, "octo", "infra", hello)); string(raw) != "hello\n" {
		t.Errorf("raw blob = %q", raw)
	}
	_, _, err := h.Git.GetBlob(ctx, "octo", "infra", strings.Repeat("a", 40))
	wantRefusal(t, err, 404, "Not Found")
	_, _, err = h.Git.CreateBlob(ctx, "octo", "infra", &github.Blob{Content: github.String("%"), Encoding: github.String("base64")})
	wantRefusal(t, err, 422, "content is not valid Base64")

	long := must[*github.Blob](t)(h.Git.CreateBlob(ctx, "octo", "infra", &github.Blob{Content: github.String(strings.Repeat("x", 100))}))
	long = must[*github.Blob](t)(h.Git.GetBlob(ctx, "octo", "infra", long.GetSHA()))
	if lines := strings.Split(long.GetContent(), "\n"); len(lines[0]) != 60 {
		t.Errorf("first line of Base64 has %d characters, want GitHub's 60", len(lines[0]))
	}
}

// treeEntry is an element of a tree to create; content "-" deletes.
func treeEntry(path, mode, content string) *github.TreeEntry {
	e := &github.TreeEntry{Path: github.String(path), Mode: github.String(mode), Type: github.String("blob")}
	if content != "-" {
		e.Content = github.String(content)
	}
	return e
}

func TestGitHubMakesGitsOwnObjects(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()

	tree := must[*github.Tree](t)(h.Git.CreateTree(ctx, "octo", "infra", "", []*github.TreeEntry{
		treeEntry("d/run.sh", "100755", "#!/bin/sh\n"), treeEntry("d/link", "120000", "../a.txt"), treeEntry("a.txt", "100644", "hello\n"),
	}))
	if want := "a83da22834ff88658cce1dd243d6b42bcbed1247"; tree.GetSHA() != want {
		t.Errorf("tree = %s, want git write-tree's %s", tree.GetSHA(), want)
	}
	ada := &github.CommitAuthor{
		Name: github.String("Ada"), Email: github.String("ada@example.com"),
		Date: &github.Timestamp{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	commit := must[*github.Commit](t)(h.Git.CreateCommit(ctx, "octo", "infra", &github.Commit{Message: github.String("First\n"), Tree: tree, Author: ada}, nil))
	if want := "a3b8dce144b2784b76eb4d3bffd67476638c009f"; commit.GetSHA() != want {
		t.Errorf("commit = %s, want git commit-tree's %s", commit.GetSHA(), want)
	}
	if commit.Committer.GetName() != "Ada" {
		t.Errorf("committer = %v, want the author", commit.Committer)
	}
	if commit.Verification.GetVerified() {
		t.Error("a commit that names its author is verified")
	}
}

func paths(tree *github.Tree) []string {
	var lines []string
	for _, e := range tree.Entries {
		lines = append(lines, e.GetMode()+" "+e.GetType()+" "+e.GetPath())
	}
	return lines
}

func TestGitHubTrees(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	all := []string{
		"100644 blob README.md", "040000 tree prod", "100755 blob prod/deploy.sh", "100644 blob prod/main.tf",
		"040000 tree staging", "120000 blob staging/main.tf",
	}

	whole := must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", "main", true))
	if diff := cmp.Diff(all, paths(whole)); diff != "" || whole.GetTruncated() {
		t.Errorf("tree of main, truncated %v (-want +got):\n%s", whole.GetTruncated(), diff)
	}
	top := must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", h.head(t, "main"), false))
	if diff := cmp.Diff([]string{"100644 blob README.md", "040000 tree prod", "040000 tree staging"}, paths(top)); diff != "" {
		t.Errorf("top of the tree of a commit (-want +got):\n%s", diff)
	}
	if slashed := must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", "release/1.0", true)); len(slashed.Entries) != 1 {
		t.Errorf("tree of release/1.0 = %v", paths(slashed))
	}
	_, _, err := h.Git.GetTree(ctx, "octo", "infra", "nothing", true)
	wantRefusal(t, err, 404, "Not Found")

	next := must[*github.Tree](t)(h.Git.CreateTree(ctx, "octo", "infra", whole.GetSHA(), []*github.TreeEntry{
		treeEntry("prod/.terraform.lock.hcl", "100644", "# lock\n"), treeEntry("staging/main.tf", "100644", "-"), treeEntry("README.md", "100755", "new\n"),
		{Path: github.String("copy"), Mode: github.String("040000"), Type: github.String("tree"), SHA: top.Entries[1].SHA},
		{Path: github.String("sub"), Mode: github.String("160000"), Type: github.String("commit"), SHA: github.String(strings.Repeat("c", 40))},
	}))
	if again := must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", whole.GetSHA(), true)); cmp.Diff(all, paths(again)) != "" {
		t.Error("creating a tree changed the one it was based on")
	}
	next = must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", next.GetSHA(), true))
	want := []string{
		"100755 blob README.md", "040000 tree copy", "100755 blob copy/deploy.sh", "100644 blob copy/main.tf",
		"040000 tree prod", "100644 blob prod/.terraform.lock.hcl", "100755 blob prod/deploy.sh", "100644 blob prod/main.tf",
		"160000 commit sub",
	}
	if diff := cmp.Diff(want, paths(next)); diff != "" {
		t.Errorf("created tree (-want +got):\n%s", diff)
	}

	h.TruncateTrees(3)
	cut := must[*github.Tree](t)(h.Git.GetTree(ctx, "octo", "infra", "main", true))
	if len(cut.Entries) != 3 || !cut.GetTruncated() {
		t.Errorf("tree beyond the limit has %d entries, truncated %v; want 3, true", len(cut.Entries), cut.GetTruncated())
	}
}

func TestGitHubRefusesTrees(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	none := strings.Repeat("a", 40)
	tests := []struct{ name, base, entries, message string }{
		{"empty", "", ``, "Invalid tree info"},
		{"unknown_base", none, `{"path": "a", "mode": "100644", "content": ""}`, "base_tree is not a valid tree oid"},
		{"deletes_what_is_not_there", "", `{"path": "a", "mode": "100644", "sha": null}`, "GitRPC::BadObjectState"},
		{"unknown_mode", "", `{"path": "a", "mode": "100664", "content": ""}`, "Must supply a valid tree.mode"},
		{"no_mode", "", `{"path": "a", "content": ""}`, "Must supply a valid tree.mode"},
		{"neither", "", `{"path": "a", "mode": "100644"}`, "Must supply a valid tree.sha or tree.content"},
		{"both", "", `{"path": "a", "mode": "100644", "content": "", "sha": "` + none + `"}`, "Must supply either tree.sha or tree.content, not both."},
		{"unknown_blob", "", `{"path": "a", "mode": "100644", "sha": "` + none + `"}`, "tree.sha " + none + " is not a valid blob"},
		{"unknown_tree", "", `{"path": "a", "mode": "040000", "sha": "` + none + `"}`, "tree.sha " + none + " is not a valid tree"},
		{"absolute", "", `{"path": "/a", "mode": "100644", "content": ""}`, "tree.path contains a malformed path component"},
		{"climbs", "", `{"path": "a/../b", "mode": "100644", "content": ""}`, "tree.path contains a malformed path component"},
		{"git_directory", "", `{"path": ".GIT/config", "mode": "100644", "content": ""}`, "tree.path contains a malformed path component"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := h.send(t, "POST", "/repos/octo/infra/git/trees", fmt.Sprintf(`{"base_tree": %q, "tree": [%s]}`, tt.base, tt.entries), authorized)
			var e struct{ Message string }
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("body %q is not JSON: %v", body, err)
			}
			if resp.StatusCode != 422 || e.Message != tt.message {
				t.Errorf("answer = %d %q, want 422 %q", resp.StatusCode, e.Message, tt.message)
			}
		})
	}
}

func TestGitHubCommits(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	main := h.head(t, "main")
	parent := must[*github.Commit](t)(h.Git.GetCommit(ctx, "octo", "infra", main))
	if parent.GetMessage() != "Initial commit" || parent.Author.GetName() != "monalisa" || len(parent.Parents) != 0 {
		t.Errorf("first commit = %v", parent)
	}
	draft := func() *github.Commit {
		return &github.Commit{Message: github.String("Bump"), Tree: parent.Tree, Parents: []*github.Commit{{SHA: github.String(main)}}}
	}

	byBot := must[*github.Commit](t)(h.Git.CreateCommit(ctx, "octo", "infra", draft(), nil))
	const bot = "41898282+github-actions[bot]@users.noreply.github.com"
	if byBot.Author.GetEmail() != bot || byBot.Committer.GetEmail() != bot || !byBot.Verification.GetVerified() {
		t.Errorf("commit of a bot = %v, want it signed by %s", byBot, bot)
	}
	if byBot.Tree.GetSHA() != parent.Tree.GetSHA() || len(byBot.Parents) != 1 || byBot.Parents[0].GetSHA() != main {
		t.Errorf("commit = %v", byBot)
	}
	if again := must[*github.Commit](t)(h.Git.GetCommit(ctx, "octo", "infra", byBot.GetSHA())); cmp.Diff(byBot, again) != "" {
		t.Errorf("commit read again (-want +got):\n%s", cmp.Diff(byBot, again))
	}
	byUser := must[*github.Commit](t)(h.client(t, UserToken).Git.CreateCommit(ctx, "octo", "infra", draft(), nil))
	if byUser.Author.GetName() != "monalisa" || byUser.Verification.GetVerified() || byUser.Verification.GetReason() != "unsigned" {
		t.Errorf("commit of a personal token = %v, want it unsigned by monalisa", byUser)
	}

	_, _, err := h.Git.GetCommit(ctx, "octo", "infra", strings.Repeat("a", 40))
	wantRefusal(t, err, 404, "Not Found")
	orphan := draft()
	orphan.Parents[0].SHA = github.String(strings.Repeat("a", 40))
	_, _, err = h.Git.CreateCommit(ctx, "octo", "infra", orphan, nil)
	wantRefusal(t, err, 422, "Parent SHA does not exist or is not a commit object")
	bare := draft()
	bare.Tree = &github.Tree{SHA: github.String(strings.Repeat("a", 40))}
	_, _, err = h.Git.CreateCommit(ctx, "octo", "infra", bare, nil)
	wantRefusal(t, err, 422, "Tree SHA does not exist")
	mute := draft()
	mute.Message = nil
	_, _, err = h.Git.CreateCommit(ctx, "octo", "infra", mute, nil)
	wantRefusal(t, err, 422, "Invalid request.\n\n\"message\" wasn't supplied.")
}

// TestGitHubSameActsSameCommits checks that the clock is a counter: demos and
// golden files rely on the SHAs.
func TestGitHubSameActsSameCommits(t *testing.T) {
	t.Parallel()
	a, b := startHub(t), startHub(t)
	if x, y := a.push(t, "main", "f", "1"), b.push(t, "main", "f", "1"); x != y {
		t.Errorf("the same acts gave the commits %s and %s", x, y)
	}
}

// TestGitHubConcurrentCreation creates a branch many times at once: one creation
// succeeds.
func TestGitHubConcurrentCreation(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	main := h.head(t, "main")
	outcomes := make([]error, 16)
	var wg sync.WaitGroup
	for i := range outcomes {
		wg.Go(func() {
			ref := &github.Reference{Ref: github.String("refs/heads/relock/all"), Object: &github.GitObject{SHA: github.String(main)}}
			_, _, outcomes[i] = h.Git.CreateRef(ctx, "octo", "infra", ref)
		})
		wg.Go(func() {
			if _, err := h.Push(octoInfra, Push{Branch: fmt.Sprintf("b%d", i), Files: map[string]File{"f": {Content: []byte{byte(i)}}}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lost := slices.DeleteFunc(outcomes, func(err error) bool { return err == nil })
	if len(lost) != 15 {
		t.Fatalf("%d of 16 creations failed, want 15", len(lost))
	}
	for _, err := range lost {
		wantRefusal(t, err, 422, "Reference already exists")
	}
}

func TestNewGitHubRefusesBadWorlds(t *testing.T) {
	t.Parallel()
	good := map[string]map[string]File{"main": {"f": {Content: []byte("x")}}}
	tests := map[string][]Repository{
		"no_default_branch": {{Owner: "o", Name: "r", DefaultBranch: "trunk", Branches: good}},
		"twice":             {{Owner: "o", Name: "r", DefaultBranch: "main", Branches: good}, {Owner: "O", Name: "R", DefaultBranch: "main", Branches: good}},
		"bad_mode":          {{Owner: "o", Name: "r", DefaultBranch: "main", Branches: map[string]map[string]File{"main": {"f": {Mode: "777"}}}}},
		"bad_path":          {{Owner: "o", Name: "r", DefaultBranch: "main", Branches: map[string]map[string]File{"main": {"../f": {}}}}},
		"bad_branch":        {{Owner: "o", Name: "r", DefaultBranch: "a b", Branches: map[string]map[string]File{"a b": {"f": {}}}}},
	}
	for name, repos := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := newGitHub(repos); err == nil {
				t.Error("newGitHub accepted the repositories")
			}
		})
	}
}

func TestGitHubBoundsRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", restPath+"/repos/octo/infra/git/blobs", bytes.NewReader(make([]byte, maxRequest+1)))
	r.Header.Set("Authorization", "Bearer "+ActionsToken)
	h.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("answer to a request beyond the limit = %d, want 400", w.Code)
	}
}
