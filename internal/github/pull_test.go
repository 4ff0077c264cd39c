package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

const pullWorld = `
-- github/octo/infra/main/main.tf --
# infra
-- github/octo/infra/topic/main.tf --
# topic
`

func must[V any](t *testing.T) func(V, error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestPullRequestTellsOfItsHead(t *testing.T) {
	h := newHub(t, pullWorld)
	if err := h.Fork("octo/infra", "stranger"); err != nil {
		t.Fatal(err)
	}
	sha := must[string](t)(h.Push("stranger/infra", sandbox.Push{Branch: "fix", Files: map[string]sandbox.File{"main.tf": {Mode: sandbox.ModeFile, Content: []byte("# fixed\n")}}}))
	number := must[int](t)(h.Open("octo/infra", "stranger:fix", "main", "Fix", "stranger"))
	must0(t, h.AllowEdits("octo/infra", number, true))
	must0(t, h.Lock("octo/infra", number, true))
	must0(t, h.Label("octo/infra", number, "bug"))

	got := must[github.PullRequest](t)(h.repository(t).PullRequest(t.Context(), number))
	if got.URL == "" || got.NodeID == "" {
		t.Errorf("pull request = %+v, want an address and an ID", got)
	}
	merge := must[github.Commit](t)(h.repository(t).Commit(t.Context(), got.Tested))
	if !slices.Equal(merge.Parents, []string{h.head(t, "main"), sha}) {
		t.Errorf("the test merge has the parents %q, want the base and the head", merge.Parents)
	}
	got.URL, got.NodeID, got.Tested = "", "", ""
	want := github.PullRequest{
		Number: number, Author: "stranger", Title: "Fix", Open: true, Locked: true, Labels: []string{"bug"},
		Base: "main", BaseSHA: h.head(t, "main"), Head: sha, HeadBranch: "fix", HeadRepository: "stranger/infra",
		Fork: true, MaintainerCanModify: true, MergeState: github.MergeUnknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PullRequest (-want +got):\n%s", diff)
	}
}

func must0(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpensDrafts(t *testing.T) {
	h := newHub(t, pullWorld)
	for _, draft := range []bool{true, false} {
		p := must[github.PullRequest](t)(h.repository(t).OpenPullRequest(t.Context(), github.NewPullRequest{
			Branch: "topic", Base: "main", Title: "T", Draft: draft,
		}))
		if p.Draft != draft {
			t.Errorf("opened with Draft %t: %+v", draft, p)
		}
		must[github.PullRequest](t)(h.repository(t).EditPullRequest(t.Context(), p.Number, github.PullRequestEdit{Close: true}))
	}
}

func TestChangedFiles(t *testing.T) {
	var asked int
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Query().Get("page") != "2" {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=2>; rel="next"`, server.URL, r.URL.Path))
			fmt.Fprint(w, `[{"filename": "a/b.tf"}, {"filename": "new", "previous_filename": "old", "status": "renamed"}]`)
			return
		}
		fmt.Fprint(w, `[{"filename": "c"}]`)
	}))
	defer server.Close()
	c := must[*github.Client](t)(github.New(github.Options{Access: github.Access{API: server.URL}, HTTP: server.Client()}))
	for _, test := range []struct {
		most     int
		want     []string
		complete bool
		requests int
	}{
		{3, []string{"a/b.tf", "new", "old", "c"}, true, 2},
		{2, []string{"a/b.tf", "new", "old"}, false, 2},
		{1, []string{"a/b.tf"}, false, 1},
	} {
		asked = 0
		got, complete, err := c.Repository("octo", "infra").ChangedFiles(t.Context(), 1, test.most)
		if diff := cmp.Diff(test.want, got); diff != "" || complete != test.complete || err != nil || asked != test.requests {
			t.Errorf("ChangedFiles of at most %d: complete %t, %v after %d requests (-want +got):\n%s", test.most, complete, err, asked, diff)
		}
	}
}

func TestLatestIsOneQuestion(t *testing.T) {
	f, repo := start(t, ok(`{"data": {"repository": {"id": "R_1",
		"b0": {"nodes": [
			{"number": 9, "isCrossRepository": true, "headRepository": {"nameWithOwner": "x/infra"}, "headRefName": "relock/a", "state": "OPEN"},
			{"number": 8, "id": "PR_8", "url": "u", "author": {"login": "bot"}, "title": "T", "body": "B", "state": "MERGED", "isDraft": true, "locked": true,
			 "baseRefName": "main", "baseRefOid": "b0", "headRefOid": "h0", "headRefName": "relock/a", "headRepository": {"nameWithOwner": "octo/infra"},
			 "isCrossRepository": false, "maintainerCanModify": false, "labels": {"nodes": [{"name": "dependencies"}]}},
			{"number": 7, "isCrossRepository": false, "headRepository": {"nameWithOwner": "octo/infra"}, "state": "OPEN"}]},
		"b1": {"nodes": []},
		"b2": {"nodes": [{"number": 6, "isCrossRepository": false, "headRepository": null, "author": null, "state": "CLOSED"}]},
		"b3": {"nodes": [{"number": 5, "isCrossRepository": false, "headRepository": {"nameWithOwner": "octo/infra"}, "author": null, "state": "OPEN"}]}
	}}}`), ok(`{"data": {}}`))
	got, err := repo.Latest(t.Context(), []string{"relock/a", `x") { id } y: ref(qualifiedName: "`, "relock/c", "relock/d"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]github.PullRequest{
		"relock/a": {{
			Number: 8, NodeID: "PR_8", URL: "u", Title: "T", Body: "B", Merged: true, Draft: true, Locked: true, Labels: []string{"dependencies"},
			Base: "main", BaseSHA: "b0", Head: "h0", HeadBranch: "relock/a", HeadRepository: "octo/infra",
		}, {Number: 7, Open: true, HeadRepository: "octo/infra"}},
		"relock/d": {{Number: 5, Open: true, HeadRepository: "octo/infra"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Latest (-want +got):\n%s", diff)
	}
	if query, _, _ := strings.Cut(f.asked[0], `"variables"`); strings.Contains(query, "qualifiedName") {
		t.Errorf("a text from outside is part of the query: %s", query)
	}
	// It also told the id that GraphQL wants.
	if err := repo.DeleteBranch(t.Context(), "b", "h"); err != nil || len(f.asked) != 2 {
		t.Errorf("deleting: %v after %d requests, want 2", err, len(f.asked))
	}
}

func TestLatestSaysWhatListsSay(t *testing.T) {
	h := newHub(t, pullWorld)
	repo := h.repository(t)
	for range 2 {
		p := must[github.PullRequest](t)(repo.OpenPullRequest(t.Context(), github.NewPullRequest{Branch: "topic", Base: "main", Title: "T", Body: safe.Const("B"), Draft: true}))
		must0(t, repo.Label(t.Context(), p.Number, []string{"dependencies"}))
		must[github.PullRequest](t)(repo.EditPullRequest(t.Context(), p.Number, github.PullRequestEdit{Close: true}))
	}
	want := must[[]github.PullRequest](t)(repo.PullRequests(t.Context(), "topic"))
	for i := range want {
		want[i].Author, want[i].MergeState = "", github.MergeUnknown // which lists do not say
	}
	got := must[map[string][]github.PullRequest](t)(repo.Latest(t.Context(), []string{"topic", "main"}))
	if diff := cmp.Diff(map[string][]github.PullRequest{"topic": want}, got); diff != "" {
		t.Errorf("Latest (-listed +latest):\n%s", diff)
	}
}

func TestEnablesAutoMerge(t *testing.T) {
	h := newHub(t, pullWorld)
	must0(t, h.Configure("octo/infra", func(s *sandbox.Settings) { s.AutoMerge = true }))
	repo := h.repository(t)
	p := must[github.PullRequest](t)(repo.OpenPullRequest(t.Context(), github.NewPullRequest{Branch: "topic", Base: "main", Title: "T"}))
	must0(t, repo.EnableAutoMerge(t.Context(), p, "rebase"))
	if pulls, err := h.Pulls("octo/infra"); err != nil || pulls[0].AutoMerge != "rebase" {
		t.Errorf("pull requests = %+v, %v, want one that is merged by rebase", pulls, err)
	}
}

func TestLatestOfManyBranchesIsAskedInParts(t *testing.T) {
	var answers []string
	for i := range 50 {
		answers = append(answers, fmt.Sprintf(`"b%d": {"nodes": []}`, i))
	}
	f, repo := start(t, ok(`{"data": {"repository": {`+strings.Join(answers, ",")+`}}}`))
	branches := strings.Fields(strings.Repeat("b ", 101))
	if got, err := repo.Latest(t.Context(), branches); err != nil || len(got) != 0 || len(f.asked) != 3 {
		t.Errorf("101 branches: %v, %v after %d requests, want none after 3", got, err, len(f.asked))
	}
	if got, err := repo.Latest(t.Context(), nil); err != nil || len(got) != 0 || len(f.asked) != 3 {
		t.Errorf("no branches: %v, %v after %d requests, want no further one", got, err, len(f.asked))
	}
}

func TestLatestIsNotHiddenByForks(t *testing.T) {
	fork := `{"isCrossRepository": true, "headRepository": {"nameWithOwner": "x/infra"}}`
	f, repo := start(t, ok(`{"data": {"repository": {"b0": {"nodes": [`+fork+","+fork+","+fork+`]}}}}`),
		ok(`[{"number": 3, "state": "open", "head": {"repo": {"full_name": "octo/infra"}}, "base": {"repo": {"full_name": "octo/infra"}}}]`))
	got, err := repo.Latest(t.Context(), []string{"b"})
	if err != nil || len(got["b"]) != 1 || got["b"][0].Number != 3 || len(f.asked) != 2 {
		t.Errorf("Latest = %v, %v after %d requests, want 3 after 2", got, err, len(f.asked))
	}
}

// Forks hide ours among those from a branch of the same name, so that a list of these
// alone is asked for.
func TestDependentsAreNotHiddenByForks(t *testing.T) {
	f, repo := start(t, ok(`{"data": {"repository": {
		"onto": {"totalCount": 1, "nodes": [{"number": 7, "isCrossRepository": true, "headRepository": {"nameWithOwner": "x/infra"}}]},
		"from": {"totalCount": 102, "nodes": [{"number": 5, "isCrossRepository": true, "headRepository": null}]}}}}`),
		ok(`[{"number": 6, "state": "open", "head": {"repo": {"full_name": "octo/infra"}}, "base": {"repo": {"full_name": "octo/infra"}}},
			{"number": 4, "state": "closed", "head": {"repo": {"full_name": "octo/infra"}}, "base": {"repo": {"full_name": "octo/infra"}}},
			{"number": 3, "state": "open", "head": {"repo": {"full_name": "octo/infra"}}, "base": {"repo": {"full_name": "octo/infra"}}}]`))
	got, err := repo.Dependents(t.Context(), "b", 3)
	if diff := cmp.Diff([]int{6, 7}, got); diff != "" || err != nil || len(f.asked) != 2 {
		t.Errorf("Dependents: %v after %d requests, want 2 (-want +got):\n%s", err, len(f.asked), diff)
	}
}

func TestLatestFails(t *testing.T) {
	tests := map[string]struct {
		reply
		kind error
	}{
		"hidden":    {ok(`{"data": {"repository": null}, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a Repository"}]}`), github.ErrNotFound},
		"forbidden": {ok(`{"data": null, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}`), nil},
		"no_answer": {reply{502, nil, ""}, github.ErrUncertain},
		"odd":       {ok(`{"data": {"repository": {"b0": "x"}}}`), github.ErrUncertain},
	}
	for name, test := range tests {
		_, repo := start(t, test.reply)
		_, err := repo.Latest(t.Context(), []string{"b"})
		if !problem.Coded(err, problem.CodeGitHub) || test.kind != nil && !errors.Is(err, test.kind) {
			t.Errorf("%s: error = %v, want %v", name, err, test.kind)
		}
		if name != "no_answer" && name != "odd" && !strings.Contains(problem.Of(err).Hint, "pull-requests: read") {
			t.Errorf("%s: hint = %q", name, problem.Of(err).Hint)
		}
	}
}

func TestCommentsAndReactions(t *testing.T) {
	h := newHub(t, pullWorld)
	repo := h.repository(t)
	number := must[int](t)(h.Open("octo/infra", "topic", "main", "Topic", "monalisa"))
	theirs := must[int64](t)(h.Comment("octo/infra", number, "monalisa", "/relock lock"))
	made := must[github.Comment](t)(repo.PostComment(t.Context(), github.OnPull(number), safe.Const("Working.")))
	for range 2 {
		if by, _, err := repo.React(t.Context(), github.OnPull(number), theirs, github.Eyes); err != nil || by != github.WorkflowLogin {
			t.Errorf("React is by %q, want %q", by, github.WorkflowLogin)
		}
	}
	must0(t, repo.EditComment(t.Context(), github.OnPull(number), made.ID, safe.Const("Done.")))

	got := must[[]github.Comment](t)(repo.Comments(t.Context(), github.OnPull(number)))
	want := []github.Comment{
		{ID: theirs, Author: "monalisa", Body: "/relock lock"},
		{ID: made.ID, Author: "github-actions[bot]", Body: "Done."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Comments (-want +got):\n%s", diff)
	}
	pulls, err := h.Pulls("octo/infra")
	if err != nil || !slices.Equal(pulls[0].Comments[0].Reactions, []string{"eyes by github-actions[bot]"}) {
		t.Errorf("comments = %+v, %v, want one reaction", pulls[0].Comments, err)
	}
	if err := repo.EditComment(t.Context(), github.OnPull(number), 12345, safe.Const("x")); !errors.Is(err, github.ErrNotFound) {
		t.Errorf("editing a comment that is not there: %v", err)
	}
}

func TestCommentsAreBounded(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%s1>; rel="next"`, server.URL, r.URL.Path, r.URL.Query().Get("page")))
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer server.Close()
	c := must[*github.Client](t)(github.New(github.Options{Access: github.Access{API: server.URL}, HTTP: server.Client()}))
	if _, err := c.Repository("octo", "infra").Comments(t.Context(), github.OnPull(1)); err == nil || !strings.Contains(err.Error(), "more than 3,000") {
		t.Errorf("error = %v, want one about their number", err)
	}
}

func TestPermission(t *testing.T) {
	h := newHub(t, pullWorld)
	repo := h.repository(t)
	for login, role := range map[string]sandbox.Role{"ann": sandbox.RoleMaintain, "bob": sandbox.RoleTriage, "cid": sandbox.RoleNone} {
		must0(t, h.SetRole("octo/infra", login, role))
	}
	for login, want := range map[string][2]string{
		"monalisa": {"write", "write"}, "ann": {"write", "maintain"}, "bob": {"read", "triage"}, "cid": {"none", "none"}, "octo": {"admin", "admin"},
	} {
		permission, role, err := repo.Permission(t.Context(), login)
		if got := [2]string{permission, role}; got != want || err != nil {
			t.Errorf("Permission(%q) = %v, %v, want %v", login, got, err, want)
		}
	}
	// Asked each time: a right may be withdrawn meanwhile.
	must0(t, h.SetRole("octo/infra", "ann", sandbox.RoleRead))
	if permission, _, err := repo.Permission(t.Context(), "ann"); permission != "read" || err != nil {
		t.Errorf("Permission after the withdrawal = %q, %v, want read", permission, err)
	}
	repo.Permission(t.Context(), "x/../../../../../user") // whatever the answer is
	if i := slices.IndexFunc(h.asked, func(s string) bool { return strings.HasPrefix(s, "GET /user") }); i >= 0 {
		t.Errorf("a login climbed to %s", h.asked[i])
	}
}

// A proxy's answer, or half of one, is no permission, and no word that there is none.
func TestPermissionThatTheAnswerLacks(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"permission": null}`, `{"permission": ""}`, `{"role_name": "admin"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		defer server.Close()
		c := must[*github.Client](t)(github.New(github.Options{Access: github.Access{API: server.URL, Token: "t"}, HTTP: server.Client()}))
		permission, _, err := c.Repository("octo", "infra").Permission(t.Context(), "ann")
		if permission != "" || !problem.Coded(err, problem.CodeGitHub) || !strings.Contains(err.Error(), "asking for the permission of ann") {
			t.Errorf("Permission by %s = %q, %v, want an error", body, permission, err)
		}
	}
}

func TestReviewersAndOthers(t *testing.T) {
	const issue = `{"number": 1, "assignees": [{"login": "Ann"}]}`
	type call = func(*github.Repository) error
	review := func(logins, teams []string) call {
		return func(r *github.Repository) error { return r.RequestReviewers(t.Context(), 1, logins, teams) }
	}
	assign := func(r *github.Repository) error { return r.Assign(t.Context(), 1, []string{"ann", "bob"}) }
	milestone := func(r *github.Repository) error { return r.SetMilestone(t.Context(), 1, "v2") }
	merge := func(r *github.Repository) error {
		return r.EnableAutoMerge(t.Context(), github.PullRequest{NodeID: "PR_1"}, "squash")
	}
	unprocessable := func(message string) reply { return reply{422, nil, fmt.Sprintf(`{"message": %q}`, message)} }
	refused := func(message string) reply {
		return ok(fmt.Sprintf(`{"data": null, "errors": [{"type": "UNPROCESSABLE", "message": %q}]}`, message))
	}
	tests := map[string]struct {
		call
		replies       []reply
		sent          string // of the last request
		message, hint string
		kind          error
	}{
		"reviewers": {review([]string{"ann"}, []string{"core"}), []reply{{201, nil, `{}`}}, `{"reviewers":["ann"],"team_reviewers":["core"]}`, "", "", nil},
		"team_unseen": {review(nil, []string{"core"}), []reply{unprocessable("Could not resolve to a node with the global id of 'T_1'.")}, `{"team_reviewers":["core"]}`,
			"requesting reviewers in octo/infra", "use the token of a GitHub App", github.ErrConflict},
		"team_forbidden": {review(nil, []string{"core"}), []reply{{403, nil, `{"message": "Resource not accessible by integration"}`}}, "", "403", "cannot name teams", nil},
		"user_is_author": {review([]string{"ann"}, []string{"core"}), []reply{unprocessable("Review cannot be requested from pull request author.")}, "", "author", "", github.ErrConflict},
		"user_unknown": {review([]string{"ann"}, nil), []reply{unprocessable("Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator.")}, "",
			"only be requested from collaborators", "", github.ErrConflict},
		"assigned":          {func(r *github.Repository) error { return r.Assign(t.Context(), 1, []string{"ann"}) }, []reply{{201, nil, issue}}, `{"assignees":["ann"]}`, "", "", nil},
		"left_out_silently": {assign, []reply{{201, nil, issue}}, "", "bob cannot be assigned", "may read the repository", github.ErrConflict},
		"milestone":         {milestone, []reply{ok(`[{"number": 3, "title": "v1"}, {"number": 4, "title": "v2"}]`), ok(issue)}, `{"milestone":4}`, "", "", nil},
		"no_such_milestone": {milestone, []reply{ok(`[{"number": 3, "title": "v1"}]`)}, "", `looking for the milestone "v2" in octo/infra: no open milestone`, "pull-request.milestone", github.ErrNotFound},
		"auto_merge":        {merge, []reply{ok(`{"data": {}}`)}, `"variables":{"input":{"mergeMethod":"SQUASH","pullRequestId":"PR_1"}}`, "", "", nil},
		"auto_merge_off":    {merge, []reply{refused("Auto merge is not allowed for this repository")}, "", "not allowed", "Allow auto-merge", github.ErrConflict},
		"nothing_to_wait_for": {merge, []reply{refused("Pull request Pull request is in clean status")}, "", "clean status",
			"auto-merge waits for", github.ErrNotYet},
		"too_soon":          {merge, []reply{refused("Pull request Pull request is in unstable status")}, "", "unstable status", "", github.ErrNotYet},
		"given up":          {merge, []reply{refused("Something went wrong while executing your query. Please include `A:1` when reporting this issue.")}, "", "went wrong", "", github.ErrUncertain},
		"no_right_to_merge": {merge, []reply{ok(`{"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}`)}, "", "not accessible", "pull-requests: write", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, repo := start(t, test.replies...)
			err := test.call(repo)
			if last := f.asked[len(f.asked)-1]; !strings.Contains(last, test.sent) {
				t.Errorf("sent %s, want %s", last, test.sent)
			}
			if test.message == "" {
				must0(t, err)
				return
			}
			hint := problem.Of(err).Hint
			if !problem.Coded(err, problem.CodeGitHub) || !strings.Contains(err.Error(), test.message) ||
				!strings.Contains(hint, test.hint) || test.hint == "" && hint != "" {
				t.Errorf("error = %v, hint %q; want %q, hint %q", err, hint, test.message, test.hint)
			}
			if test.kind != nil && !errors.Is(err, test.kind) || test.kind == nil && (errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrNotFound)) {
				t.Errorf("error = %v, want kind %v", err, test.kind)
			}
		})
	}
}

func TestNamesTheMissingPermissions(t *testing.T) {
	for accepts, want := range map[string]string{
		"":                                  `"pull-requests: write"`,
		"pull_requests=write":               `"pull-requests: write"`,
		"issues=write":                      `"issues: write"`,
		"issues=write; pull_requests=write": `"pull-requests: write"`,
		"metadata=read,checks=write,statuses=read":         `"checks: write" and "statuses: read"`,
		"contents=write,pull_requests=write; issues=write": `"contents: write" and "pull-requests: write"`,
		"::error::x=write": `"pull-requests: write"`,
	} {
		_, repo := start(t, reply{403, map[string]string{"X-Accepted-GitHub-Permissions": accepts}, `{"message": "Resource not accessible by integration"}`})
		hint := problem.Of(repo.Label(t.Context(), 1, []string{"x"})).Hint
		if hint != "grant the token access: in a workflow add "+want+" to its permissions" {
			t.Errorf("accepted %q: hint = %q, want %s", accepts, hint, want)
		}
	}
}

func TestAsksAgainForNothing(t *testing.T) {
	h := newHub(t, pullWorld)
	h.LimitRate(sandbox.ActionsToken, 2)
	c := h.client(t, github.Options{Access: github.Access{Token: sandbox.ActionsToken}})
	repo := c.Repository("octo", "infra")
	head := must[string](t)(repo.Head(t.Context(), "main"))
	for range 5 {
		if again, err := repo.Head(t.Context(), "main"); again != head || err != nil {
			t.Fatalf("Head again = %q, %v, want %q at no cost", again, err, head)
		}
	}
	moved := must[string](t)(h.Push("octo/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{"x": {Mode: sandbox.ModeFile, Content: []byte("x")}}}))
	if now, err := repo.Head(t.Context(), "main"); now != moved || err != nil {
		t.Errorf("Head after a push = %q, %v, want %q", now, err, moved)
	}
}

func TestManyWritesAreASecondApart(t *testing.T) {
	f, repo := start(t, ok(`{"data": {}, "node_id": "R_1", "id": 1}`))
	write := func(n int) {
		t.Helper()
		for range n {
			must[github.Comment](t)(repo.PostComment(t.Context(), github.OnPull(1), safe.Const("x")))
		}
	}
	write(20)
	if len(f.waits) > 0 {
		t.Errorf("waits = %v, want none for a few writes", f.waits)
	}
	write(2)
	must0(t, repo.DeleteBranch(t.Context(), "b", "h")) // a write of GraphQL
	if diff := cmp.Diff([]time.Duration{time.Second, time.Second, time.Second}, f.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	for range 5 { // questions are none
		if _, err := repo.Latest(t.Context(), []string{"b"}); !errors.Is(err, github.ErrNotFound) {
			t.Fatalf("Latest of an answer without repository: %v", err)
		}
	}
	if len(f.waits) != 3 {
		t.Errorf("waits = %v after questions", f.waits)
	}
	f.now = f.now.Add(time.Minute)
	write(20)
	if len(f.waits) != 3 {
		t.Errorf("waits = %v after a pause of a minute", f.waits)
	}
}
