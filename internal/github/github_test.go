package github_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

const token = "ghs_verySecret"

// reply is one answer of a server.
type reply struct {
	status int
	header map[string]string
	body   string
}

// fake is a GitHub that gives its replies in order, the last one for ever.
type fake struct {
	*httptest.Server
	t       *testing.T // hears of requests that name no version of the API
	replies []reply
	asked   []string // method, path and body
	// authorization is the header of each request.
	authorization []string
	waits         []time.Duration
	now           time.Time
}

// start serves the replies at api/v3 and returns the server with a repository.
func start(t *testing.T, replies ...reply) (*fake, *github.Repository) {
	t.Helper()
	f := &fake{t: t, replies: replies, now: time.Unix(1_800_000_000, 0)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f, f.repository(t, f.URL+"/api/v3")
}

func (f *fake) repository(t *testing.T, api string) *github.Repository {
	t.Helper()
	c, err := github.New(github.Options{Access: github.Access{API: api, Token: token}, HTTP: f.Client(), Clock: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Repository("octo", "infra")
}

// clock is the time of the server, in which waiting takes no time.
func (f *fake) clock() github.Clock {
	return github.Clock{
		Now: func() time.Time { return f.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			f.waits = append(f.waits, d)
			f.now = f.now.Add(d)
			return nil
		},
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if got := r.Header.Get("X-GitHub-Api-Version"); got != "2022-11-28" && strings.HasPrefix(r.URL.Path, "/api/") {
		f.t.Errorf("%s %s is for version %q of the API, want 2022-11-28", r.Method, r.URL.Path, got)
	}
	f.authorization = append(f.authorization, r.Header.Get("Authorization"))
	f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
	next := f.replies[0]
	if len(f.replies) > 1 {
		f.replies = f.replies[1:]
	}
	for name, value := range next.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(next.status)
	io.WriteString(w, next.body)
}

func ok(body string) reply { return reply{status: http.StatusOK, body: body} }

// at is the header of a rate that is used up until that long after the start.
func at(d time.Duration) map[string]string {
	return map[string]string{
		"X-RateLimit-Remaining": "0",
		"X-RateLimit-Reset":     fmt.Sprint(time.Unix(1_800_000_000, 0).Add(d).Unix()),
	}
}

const ref = `{"ref": "refs/heads/main", "object": {"sha": "abc"}}`

func TestWaitsForLimits(t *testing.T) {
	secondary := `{"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs.github.com/#secondary-rate-limits"}`
	minute := time.Minute
	tests := map[string]struct {
		replies []reply
		want    []time.Duration
	}{
		"retry_after":       {[]reply{{403, map[string]string{"Retry-After": "30"}, secondary}, ok(ref)}, []time.Duration{30 * time.Second}},
		"too_many_requests": {[]reply{{429, map[string]string{"Retry-After": "7"}, ""}, ok(ref)}, []time.Duration{7 * time.Second}},
		"used_up":           {[]reply{{403, at(10 * minute), `{"message": "API rate limit exceeded"}`}, ok(ref)}, []time.Duration{10*minute + time.Second}},
		"unannounced_grows": {[]reply{{403, nil, secondary}, {403, nil, secondary}, ok(ref)}, []time.Duration{minute, 2 * minute}},
		"broken_body":       {[]reply{{200, map[string]string{"Content-Length": "999"}, ref[:9]}, ok(ref)}, []time.Duration{time.Second}},
		"server_error":      {[]reply{{502, nil, "<html>"}, {500, nil, ""}, ok(ref)}, []time.Duration{time.Second, 2 * time.Second}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, repo := start(t, test.replies...)
			got, err := repo.Head(context.Background(), "main")
			if err != nil || got != "abc" {
				t.Errorf("Head = %q, %v, want abc", got, err)
			}
			if diff := cmp.Diff(test.want, f.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWaitsBeforeALimitIsMet(t *testing.T) {
	last := ok(ref)
	last.header = at(5 * time.Minute)
	f, repo := start(t, last, ok(ref))
	for range 3 {
		if _, err := repo.Head(context.Background(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]time.Duration{5 * time.Minute}, f.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestRepeatsTheWholeRequest(t *testing.T) {
	f, repo := start(t, reply{429, map[string]string{"Retry-After": "1"}, ""}, reply{201, nil, `{"sha": "t"}`})
	if _, err := repo.CreateTree(context.Background(), "base", []github.File{{Path: "a", Mode: "100644", Content: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if len(f.asked) != 2 || f.asked[0] != f.asked[1] || !strings.Contains(f.asked[0], `"content":"x"`) {
		t.Errorf("requests = %q, want the same twice, with its content", f.asked)
	}
}

func TestDoesNotWaitForLong(t *testing.T) {
	f, repo := start(t, reply{403, at(50 * time.Minute), `{"message": "API rate limit exceeded"}`})
	_, err := repo.Head(context.Background(), "main")
	var e *problem.Error
	if !errors.As(err, &e) || !strings.Contains(e.Problem.Hint, "run again after 2027-01-15T08:50:00Z") {
		t.Errorf("error = %#v, want a hint with the time", err)
	}
	if len(f.waits) > 0 || len(f.asked) != 1 {
		t.Errorf("waits = %v after %q, want none after one request", f.waits, f.asked)
	}
}

func TestDoesNotWaitBeyondTheEndOfTheRun(t *testing.T) {
	f, repo := start(t, reply{429, map[string]string{"Retry-After": "30"}, `{"message": "slow down"}`}, ok(ref))
	f.now = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := repo.Head(ctx, "main"); err == nil || len(f.waits) > 0 || len(f.asked) != 1 {
		t.Errorf("error = %v after waits %v and %q, want one after one request", err, f.waits, f.asked)
	}
}

func TestGivesUpOnALimitThatStays(t *testing.T) {
	f, repo := start(t, reply{429, map[string]string{"Retry-After": "1"}, `{"message": "slow down"}`})
	if _, err := repo.Head(context.Background(), "main"); err == nil || len(f.asked) > 5 {
		t.Errorf("error = %v after %d requests, want one after a few", err, len(f.asked))
	}
}

func TestDoesNotRepeatAWriteWithoutAnswer(t *testing.T) {
	f, repo := start(t, reply{502, nil, "<html>bad gateway</html>"})
	_, err := repo.PostComment(context.Background(), github.OnPull(1), safe.Const("Hello."))
	if !errors.Is(err, github.ErrUncertain) || len(f.asked) != 1 {
		t.Errorf("error = %v after %q, want an uncertain one after one request", err, f.asked)
	}
	f.Close()
	if _, err := repo.PostComment(context.Background(), github.OnPull(1), safe.Const("Hello.")); !errors.Is(err, github.ErrUncertain) {
		t.Errorf("error = %v, want an uncertain one", err)
	}
}

func TestRepeatsQueriesOfGraphQLAndNoMutations(t *testing.T) {
	broken := reply{200, map[string]string{"Content-Length": "999"}, `{"data"`}
	f, _ := start(t, broken, reply{502, nil, ""}, ok(`{"data": {}}`))
	c, err := github.New(github.Options{Access: github.Access{Token: token, API: f.URL}, HTTP: f.Client(), Clock: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Releases(t.Context(), []provider.Tagged{{Owner: "acme", Name: "null", Tags: []string{"v1"}}}); err != nil || len(f.asked) != 3 {
		t.Errorf("a query whose answers break = %v after %d requests, want an answer after 3", err, len(f.asked))
	}
	f, repo := start(t, ok(`{"node_id": "R_1"}`), broken)
	if err := repo.DeleteBranch(t.Context(), "x", "abc"); !errors.Is(err, github.ErrUncertain) || len(f.asked) != 2 {
		t.Errorf("a mutation whose answer breaks = %v after %q, want an uncertain error and no second mutation", err, f.asked)
	}
}

func TestWaitsForTheLimitOfGraphQL(t *testing.T) {
	limited := ok(`{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`)
	limited.header = at(time.Minute)
	f, repo := start(t, ok(`{"node_id": "R_1"}`), limited, ok(`{"data": {}}`))
	if err := repo.DeleteBranch(context.Background(), "x", "abc"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{time.Minute + time.Second}, f.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestTheTimeOfTheHTTPClientDoesNotCountTheWaiting(t *testing.T) {
	f, _ := start(t, reply{429, map[string]string{"Retry-After": "1"}, ""}, ok(ref))
	f.Client().Timeout = time.Nanosecond
	if _, err := f.repository(t, f.URL).Head(context.Background(), "main"); err != nil {
		t.Errorf("Head = %v, want an answer after the wait", err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	f, _ := start(t, reply{429, map[string]string{"Retry-After": "600"}, ""})
	c, err := github.New(github.Options{Access: github.Access{Token: token, API: f.URL}, HTTP: f.Client()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.Repository("octo", "infra").Head(ctx, "main"); !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("error = %v, want a cancelled one", err)
	}
}

func TestSaysWhatToDo(t *testing.T) {
	open := func(r *github.Repository) error {
		_, err := r.OpenPullRequest(context.Background(), github.NewPullRequest{Branch: "b", Base: "main", Title: "T"})
		return err
	}
	branch := func(r *github.Repository) error { return r.CreateBranch(context.Background(), "b", "abc") }
	list := func(r *github.Repository) error {
		_, err := r.PullRequests(context.Background(), "b")
		return err
	}
	tests := map[string]struct {
		call func(*github.Repository) error
		reply
		message, hint string
		kind          error
	}{
		"no_permission_to_push": {branch, reply{403, nil, `{"message": "Resource not accessible by integration"}`},
			"creating branch b in octo/infra: GitHub answered 403: Resource not accessible by integration", `"contents: write"`, nil},
		"no_permission_to_propose": {open, reply{403, nil, `{"message": "Resource not accessible by integration"}`},
			"opening a pull request from b in octo/infra", `"pull-requests: write"`, nil},
		"hidden_from_a_writer": {branch, reply{404, nil, `{"message": "Not Found"}`}, "404: Not Found", `"contents: write"`, github.ErrNotFound},
		"hidden_from_a_reader": {list, reply{404, nil, `{"message": "Not Found"}`}, "404: Not Found", `"pull-requests: read"`, github.ErrNotFound},
		"forbidden_by_setting": {open, reply{403, nil, `{"message": "GitHub Actions is not permitted to create or approve pull requests."}`},
			"not permitted", "Settings, Actions, General, Workflow permissions", nil},
		"bad_token":      {list, reply{401, nil, `{"message": "Bad credentials"}`}, "401: Bad credentials", "token is not valid", nil},
		"single_sign_on": {list, reply{403, nil, `{"message": "Resource protected by organization SAML enforcement."}`}, "SAML", "single sign-on", nil},
		"duplicate": {open, reply{422, nil, `{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for octo:b."}]}`},
			"422: Validation Failed: A pull request already exists for octo:b.", "", github.ErrConflict},
		"invalid_field": {open, reply{422, nil, `{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}]}`},
			"422: Validation Failed: invalid head", "", github.ErrConflict},
		"conflict":        {branch, reply{409, nil, `{"message": "Git Repository is empty."}`}, "409: Git Repository is empty.", "", github.ErrConflict},
		"no_words":        {open, reply{500, nil, ""}, "500: Internal Server Error", "", github.ErrUncertain},
		"many_odd_words":  {open, reply{400, nil, `{"message": "a\n\u0007b` + strings.Repeat("x", 5000) + `"}`}, "400: a", "", nil},
		"not_json_at_all": {open, reply{400, nil, "<html>"}, "400: Bad Request", "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, repo := start(t, test.reply)
			err := test.call(repo)
			var e *problem.Error
			if !errors.As(err, &e) || e.Problem.Code != problem.CodeGitHub {
				t.Fatalf("error = %#v, want a *problem.Error of GitHub", err)
			}
			if !strings.Contains(e.Error(), test.message) || !strings.Contains(e.Problem.Hint, test.hint) || test.hint == "" && e.Problem.Hint != "" {
				t.Errorf("error = %q, hint %q; want %q, hint %q", e, e.Problem.Hint, test.message, test.hint)
			}
			for _, kind := range []error{github.ErrNotFound, github.ErrConflict, github.ErrUncertain, github.ErrUnsupported} {
				if got := errors.Is(err, kind); got != (kind == test.kind) {
					t.Errorf("errors.Is(%v, %v) = %t", err, kind, got)
				}
			}
			if len(e.Error()) > 500 || strings.Contains(e.Error(), "\n") {
				t.Errorf("error = %q, want one line", e)
			}
		})
	}
}

func TestErrorsHideQueriesAndTokens(t *testing.T) {
	f, repo := start(t, ok(""))
	f.Close()
	_, err := repo.PullRequests(context.Background(), "b")
	if !problem.Coded(err, problem.CodeUnreachable) {
		t.Errorf("error = %v, want an unreachable one", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(err.Error(), "head=") || strings.Contains(text, token) {
		t.Errorf("error = %s, want neither a query nor the token", text)
	}
}

func TestSendsTheTokenToItsServerOnly(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		io.WriteString(w, ref)
	}))
	defer other.Close()
	var here []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusMovedPermanently)
	}))
	defer server.Close()
	c, err := github.New(github.Options{Access: github.Access{API: server.URL, Token: token}, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repository("octo", "infra").Head(context.Background(), "main"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Bearer " + token}, here); diff != "" {
		t.Errorf("the server got (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{""}, elsewhere); diff != "" {
		t.Errorf("another server got (-want +got):\n%s", diff)
	}
}

func TestEndpoints(t *testing.T) {
	tests := []struct{ api, rest, graphql string }{
		{"/api/v3", "/api/v3/repos/octo/infra", "/api/graphql"},
		{"/api/v3/", "/api/v3/repos/octo/infra", "/api/graphql"},
		{"", "/repos/octo/infra", "/graphql"},
		{"/github/api/v3", "/github/api/v3/repos/octo/infra", "/github/api/graphql"},
	}
	for _, test := range tests {
		f, _ := start(t, ok(`{"node_id": "R_1"}`), ok(`{"data": {}}`))
		if err := f.repository(t, f.URL+test.api).DeleteBranch(context.Background(), "b", "abc"); err != nil {
			t.Fatal(err)
		}
		want := []string{"GET " + test.rest, "POST " + test.graphql}
		for i, asked := range f.asked {
			if !strings.HasPrefix(asked, want[i]) {
				t.Errorf("API %q: request %d = %q, want %q", test.api, i, asked, want[i])
			}
		}
	}
}

func TestRefusesAddressesThatAreNone(t *testing.T) {
	for _, api := range []string{"ghe.example.com", "ftp://x", "https://", "https://me:secret@x", "https://x?token=secret", "://secret"} {
		_, err := github.New(github.Options{Access: github.Access{API: api}, HTTP: &http.Client{Transport: http.DefaultTransport}})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%q) = %v, want an error without secrets", api, err)
		}
	}
	for _, client := range []*http.Client{nil, {}} {
		if _, err := github.New(github.Options{HTTP: client}); err == nil {
			t.Errorf("New with the HTTP client %v succeeds", client)
		}
	}
}

func TestReplaceBranch(t *testing.T) {
	tests := map[string]struct {
		reply
		want error
		hint string
	}{
		"done":                {ok(`{"data": {"updateRefs": {"clientMutationId": null}}}`), nil, ""},
		"moved":               {ok(`{"data": null, "errors": [{"type": "UNPROCESSABLE", "message": "refs/heads/b is at x but expected y"}]}`), github.ErrConflict, ""},
		"unknown_field":       {ok(`{"errors": [{"message": "Field 'updateRefs' doesn't exist on type 'Mutation'", "extensions": {"code": "undefinedField"}}]}`), github.ErrUnsupported, ""},
		"unknown_input_type":  {ok(`{"errors": [{"message": "UpdateRefsInput isn't a defined input type (on $input)", "extensions": {"code": "variableRequiresValidType"}}]}`), github.ErrUnsupported, ""},
		"no_graphql":          {reply{404, nil, `{"message": "Not Found"}`}, github.ErrUnsupported, ""},
		"forbidden":           {ok(`{"data": null, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}`), errAny, "contents: write"},
		"unknown_repository":  {ok(`{"data": null, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a node"}]}`), github.ErrNotFound, "contents: write"},
		"limit_without_reset": {ok(`{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`), errAny, ""},
		"no_answer":           {reply{502, nil, ""}, github.ErrUncertain, ""},
		"not_json":            {ok("<html>"), github.ErrUncertain, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, repo := start(t, ok(`{"node_id": "R_1"}`), test.reply)
			err := repo.ReplaceBranch(context.Background(), "b", "before", "after")
			switch {
			case test.want == nil && err != nil,
				test.want == errAny && (err == nil || errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrUncertain)),
				test.want != nil && test.want != errAny && !errors.Is(err, test.want):
				t.Errorf("error = %v, want %v", err, test.want)
			}
			if err != nil && !strings.Contains(problem.Of(err).Hint, test.hint) {
				t.Errorf("hint = %q, want %q", problem.Of(err).Hint, test.hint)
			}
			_, sent, _ := strings.Cut(f.asked[1], " /api/graphql ")
			var query struct{ Variables struct{ Input any } }
			if err := json.Unmarshal([]byte(sent), &query); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"repositoryId": "R_1", "refUpdates": []any{map[string]any{
				"name": "refs/heads/b", "beforeOid": "before", "afterOid": "after", "force": true,
			}}}
			if diff := cmp.Diff(any(want), query.Variables.Input); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
}

var errAny = errors.New("any that ends the matter")

func TestReadsAllPages(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := url.Values{"page": {"2"}}
		last := r.URL.Query().Get("page") == "2"
		if !last {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, server.URL, r.URL.Path, next.Encode()))
		}
		n := 1
		if last {
			n = 2
		}
		switch {
		case strings.Contains(r.URL.Path, "matching-refs"):
			fmt.Fprintf(w, `[{"ref": "refs/heads/relock/%d", "object": {"sha": "s%[1]d"}}]`, n)
		default:
			fmt.Fprintf(w, `{"base_commit": {"sha": "b", "commit": {"tree": {"sha": "t"}}}, "merge_base_commit": {"sha": "f"},
				"total_commits": 2, "commits": [{"sha": "c%d", "commit": {"message": "m"}, "parents": [{"sha": "p"}]}]}`, n)
		}
	}))
	defer server.Close()
	c, err := github.New(github.Options{Access: github.Access{API: server.URL}, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	repo := c.Repository("octo", "infra")
	heads, err := repo.Branches(context.Background(), "relock/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"relock/1": "s1", "relock/2": "s2"}, heads); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
	got, err := repo.Compare(context.Background(), "release/1.x", "head")
	if err != nil {
		t.Fatal(err)
	}
	want := github.Comparison{
		Base: github.Commit{SHA: "b", Tree: "t"}, Fork: github.Commit{SHA: "f"}, Total: 2,
		Own: []github.Commit{{SHA: "c1", Message: "m", Parents: []string{"p"}}, {SHA: "c2", Message: "m", Parents: []string{"p"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

func TestPullRequestsLeavesOutOtherRepositories(t *testing.T) {
	f, repo := start(t, ok(`[
		{"number": 3, "state": "open", "html_url": "u", "title": "T", "body": "B",
		 "head": {"sha": "h", "repo": {"full_name": "octo/infra"}}, "base": {"ref": "main", "repo": {"full_name": "octo/infra", "node_id": "R_1"}}},
		{"number": 2, "state": "open", "head": {"repo": {"full_name": "octo/fork"}}, "base": {"repo": {"full_name": "octo/infra"}}},
		{"number": 1, "state": "closed", "merged_at": "2026-01-01T00:00:00Z", "head": {"sha": "g", "repo": {"full_name": "octo/infra"}},
		 "base": {"ref": "main", "repo": {"full_name": "octo/infra"}}},
		{"number": 0, "state": "closed", "head": {"repo": null}, "base": {"repo": {"full_name": "octo/infra"}}}]`), ok(`{"data": {}}`))
	got, err := repo.PullRequests(context.Background(), "b")
	if err != nil {
		t.Fatal(err)
	}
	want := []github.PullRequest{
		{Number: 3, URL: "u", Title: "T", Body: "B", Open: true, Base: "main", Head: "h", HeadRepository: "octo/infra"},
		{Number: 1, Merged: true, Base: "main", Head: "g", HeadRepository: "octo/infra"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pull requests (-want +got):\n%s", diff)
	}
	// They also told the id that GraphQL wants.
	if err := repo.DeleteBranch(context.Background(), "b", "h"); err != nil || len(f.asked) != 2 {
		t.Errorf("deleting: %v after %d requests, want 2", err, len(f.asked))
	}
}
