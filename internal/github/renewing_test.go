package github_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// given is GitHub's answer with a token that lives for so long from the start on.
func given(token string, life time.Duration) reply {
	return reply{http.StatusCreated, nil, fmt.Sprintf(`{"token": %q, "expires_at": %q}`, token, time.Unix(1_800_000_000, 0).Add(life).Format(time.RFC3339))}
}

// times are so many of the same answer.
func times(n int, r reply) []reply {
	var all []reply
	for range n {
		all = append(all, r)
	}
	return all
}

// minted is the repository octo/infra as an App sees it whose token is made.
func (f *fake) minted(t *testing.T) *github.Repository {
	t.Helper()
	c := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Repositories: []string{"octo/infra"}})
	if _, err := c.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.Repository("octo", "infra")
}

// The refusals of tokens.
var (
	unknown      = reply{401, nil, `{"message": "Bad credentials"}`}
	integration  = reply{403, nil, `{"message": "Resource not accessible by integration"}`}
	missing      = reply{404, nil, `{"message": "Not Found"}`}
	forbidden    = ok(`{"data": {"repository": null}, "errors": [{"type": "FORBIDDEN", "path": ["repository"], "message": "Resource not accessible by integration"}]}`)
	noMutation   = ok(`{"data": {"updateRefs": null}, "errors": [{"type": "FORBIDDEN", "path": ["updateRefs"], "message": "Resource not accessible by integration"}]}`)
	unresolved   = ok(`{"data": {"repository": null}, "errors": [{"type": "NOT_FOUND", "path": ["repository"], "message": "Could not resolve to a Repository with the name 'Octo/Infra'."}]}`)
	secondMinute = time.Minute + time.Second
)

// question is one that is asked of the repository, and its good answer.
type question struct {
	ask    func(context.Context, *github.Repository) error
	before []reply // to what is asked first
	good   reply
}

var questions = map[string]question{
	"GET": {func(ctx context.Context, r *github.Repository) error { _, err := r.Head(ctx, "main"); return err }, nil, ok(ref)},
	"GET_itself": {func(ctx context.Context, r *github.Repository) error { _, err := r.DefaultBranch(ctx); return err }, nil,
		ok(`{"default_branch": "main"}`)},
	"GET_list": {func(ctx context.Context, r *github.Repository) error { _, _, err := r.Recent(ctx); return err }, nil, ok(`[]`)},
	"POST": {func(ctx context.Context, r *github.Repository) error {
		_, err := r.CreateTree(ctx, "base", []github.File{{Path: "a", Mode: "100644", Content: []byte("x")}})
		return err
	}, nil, reply{201, nil, `{"sha": "t"}`}},
	"PATCH": {func(ctx context.Context, r *github.Repository) error {
		_, err := r.EditPullRequest(ctx, 1, github.PullRequestEdit{Title: "T"})
		return err
	}, nil, ok(`{"number": 1}`)},
	"query": {func(ctx context.Context, r *github.Repository) error {
		_, err := r.Latest(ctx, []string{"b"})
		return err
	}, nil,
		ok(`{"data": {"repository": {"id": "R_1", "b0": {"nodes": []}}}}`)},
	"mutation": {func(ctx context.Context, r *github.Repository) error { return r.DeleteBranch(ctx, "x", "abc") }, []reply{ok(`{"node_id": "R_1"}`)},
		ok(`{"data": {"updateRefs": {}}}`)},
}

// TestPatienceWithNewTokens is a table of the age of a token, the refusal and the request:
// what is asked again, and after which pauses. What a refusal says makes no difference.
func TestPatienceWithNewTokens(t *testing.T) {
	t.Parallel()
	label := reply{403, nil, `{"message": "You do not have permission to create labels on this repository"}`}
	rule := reply{403, nil, `{"message": "Repository rule violations found"}`}
	suspended := reply{403, nil, `{"message": "This installation has been suspended"}`}
	list := ok(`{"data": {"repository": {"b0": {"nodes": [null]}}}, "errors": [{"type": "FORBIDDEN", "path": ["repository", "b0", "nodes", 0], "message": "Resource not accessible by integration"}]}`)
	allowList := ok(`{"data": {"repository": null}, "errors": [{"type": "FORBIDDEN", "path": ["repository"], "message": "Although you appear to have the correct authorization credentials, the organization has an IP allow list enabled"}]}`)
	type row struct {
		asked   string
		refused reply
	}
	patient := []row{ // with a token that is new
		{"GET", unknown}, {"POST", unknown}, {"PATCH", unknown}, {"query", unknown}, {"mutation", unknown},
		{"GET", integration}, {"POST", integration}, {"PATCH", integration}, {"query", forbidden}, {"mutation", noMutation},
		{"GET", missing}, {"GET_itself", missing}, {"GET_list", missing}, {"POST", missing}, {"query", unresolved},
		{"query", ok(`{"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}`)},
		{"POST", label}, {"POST", rule}, {"POST", suspended}, {"GET", suspended}, {"query", allowList},
	}
	never := []row{
		{"query", list}, {"GET", reply{403, map[string]string{"Retry-After": "90000"}, `{"message": "You have exceeded a secondary rate limit."}`}},
		{"POST", reply{422, nil, `{"message": "Resource not accessible by integration"}`}}, {"POST", reply{502, nil, "<html>"}},
	}
	ages := []time.Duration{0, 59 * time.Second, time.Minute, secondMinute}
	for _, age := range ages {
		for i, r := range append(patient, never...) {
			if r.refused.status == 401 && age >= time.Minute {
				continue // TestReplacesTokens
			}
			name := fmt.Sprintf("%v_%s_%d_%d", age, r.asked, r.refused.status, i)
			t.Run(name, func(t *testing.T) {
				q := questions[r.asked]
				f, _ := start(t, append(append([]reply{given("first", time.Hour)}, q.before...), r.refused, r.refused, r.refused, q.good)...)
				repo := f.minted(t)
				f.now = f.now.Add(age)
				err := q.ask(t.Context(), repo)
				waits := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}
				if i >= len(patient) || age >= time.Minute {
					waits = nil
				}
				if (err == nil) != (waits != nil) {
					t.Errorf("error = %v after waits %v", err, f.waits)
				}
				if diff := cmp.Diff(waits, f.waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
				if want := 2 + len(q.before) + len(waits); len(f.asked) != want {
					t.Errorf("%d requests, want %d: %q", len(f.asked), want, f.asked)
				}
				last := f.asked[len(f.asked)-1]
				for _, again := range f.asked[1+len(q.before):] {
					if again != last {
						t.Errorf("asked again %q, want %q", again, last)
					}
				}
			})
		}
	}
}

// TestMissingThingsAreNotWaitedFor holds that a branch that is missing costs nothing where a
// young token has had an answer from its repository, and 14 seconds once where it has not.
func TestMissingThingsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	itself := questions["GET_itself"].good
	for name, test := range map[string]struct {
		replies  []reply
		want     []string // the last parts of what is asked after the token
		waits    int
		notFound bool
	}{
		"seen":            {[]reply{itself, missing, missing}, []string{"infra", "main", "main"}, 0, true},
		"seen_by_graphql": {[]reply{questions["query"].good, missing, missing}, []string{"graphql", "main", "main"}, 0, true},
		"hidden":          {[]reply{missing, missing, ok(ref), missing}, []string{"main", "main", "main", "main"}, 2, true},
		"for_ever":        {[]reply{missing}, []string{"main", "main", "main", "main", "main"}, 3, true},
		"no_answer":       {[]reply{missing, {502, nil, ""}, {502, nil, ""}, ok(ref)}, []string{"main", "main", "main", "main", "main"}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := start(t, append([]reply{given("first", time.Hour)}, test.replies...)...)
			repo := f.minted(t)
			first := map[string]string{"seen": "GET_itself", "seen_by_graphql": "query"}[name]
			if first != "" {
				if err := questions[first].ask(t.Context(), repo); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = repo.Head(t.Context(), "main")
			_, err := repo.Head(t.Context(), "main")
			if errors.Is(err, github.ErrNotFound) != test.notFound || test.notFound && !strings.Contains(hintOf(err), "that the installation of the GitHub App includes octo/infra") {
				t.Errorf("error = %v, hint %q, want one that it is not there: %t", err, hintOf(err), test.notFound)
			}
			var got []string
			for _, asked := range f.asked[1:] {
				got = append(got, path.Base(strings.Fields(asked)[1]))
			}
			if diff := cmp.Diff(test.want, got); diff != "" || len(f.waits) != test.waits {
				t.Errorf("waits %v, want %d; asked (-want +got):\n%s", f.waits, test.waits, diff)
			}
		})
	}
}

// TestRefusalsOfOneTokenCostFourteenSeconds holds that a young token waits 14 seconds in all
// for requests of one kind, even if GitHub grants others of that kind.
func TestRefusalsOfOneTokenCostFourteenSeconds(t *testing.T) {
	rule, fine := reply{403, nil, `{"message": "Repository rule violations found"}`}, questions["POST"].good
	f, _ := start(t, append(append([]reply{given("first", time.Hour)}, times(4, rule)...), fine, rule, fine, rule)...)
	repo := f.minted(t)
	for i, fails := range []bool{true, false, true, false, true} {
		if err := questions["POST"].ask(t.Context(), repo); (err != nil) != fails {
			t.Errorf("request %d: error = %v, want one: %t", i, err, fails)
		}
	}
	if want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(f.waits, want) {
		t.Errorf("waits = %v, want %v", f.waits, want)
	}
}

// TestQueriesAboutOthersAreNotWaitedFor holds that release notes, which are in repositories of
// others, cost nothing where those are hidden from the App or refused to it.
func TestQueriesAboutOthersAreNotWaitedFor(t *testing.T) {
	for _, refused := range []reply{
		ok(`{"data": {"r0": null}, "errors": [{"type": "FORBIDDEN", "path": ["r0"], "message": "Resource not accessible by integration"}]}`),
		ok(`{"data": {"r0": null}, "errors": [{"type": "NOT_FOUND", "path": ["r0"], "message": "Could not resolve to a Repository with the name 'octo/notes'."}]}`),
	} {
		f, _ := start(t, given("first", time.Hour), refused)
		c := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Owner: "octo"})
		_, _ = c.Releases(t.Context(), []provider.Tagged{{Owner: "octo", Name: "notes", Tags: []string{"v1"}}})
		if len(f.asked) != 2 || len(f.waits) > 0 {
			t.Errorf("requests %q and waits %v, want one question", f.asked, f.waits)
		}
	}
}

// TestGivenTokensAreNotWaitedFor holds that a token that relock has not made is refused at
// once, whatever the answer.
func TestGivenTokensAreNotWaitedFor(t *testing.T) {
	for _, r := range []struct {
		asked   string
		refused reply
	}{{"GET", unknown}, {"POST", integration}, {"GET_itself", missing}, {"query", forbidden}, {"query", unresolved}} {
		q := questions[r.asked]
		f, repo := start(t, r.refused)
		if err := q.ask(t.Context(), repo); err == nil || len(f.asked) != 1 || len(f.waits) > 0 {
			t.Errorf("%s refused with %d = %v after %q and waits %v, want an error after one request", r.asked, r.refused.status, err, f.asked, f.waits)
		}
	}
}

// TestReplacesTokens holds that a token that GitHub accepts no more is replaced once an hour,
// and what is said where that is not enough.
func TestReplacesTokens(t *testing.T) {
	t.Parallel()
	second := given("second", 3*time.Hour)
	tests := map[string]struct {
		replies []reply // to a request with a token that was made the age ago, and to one that follows later
		age     time.Duration
		later   time.Duration
		want    []string // tokens of the requests; made: one is made
		waits   time.Duration
		hint    string // of the error of the last request; empty: there is none
		refused bool   // it is an ErrTokenRefused
	}{
		"old": {replies: []reply{unknown, second, ok(ref), ok(ref)}, age: secondMinute,
			want: []string{"first", "made", "second", "second"}},
		"the_new_one_is_not_known_yet": {replies: []reply{unknown, second, unknown, unknown, ok(ref), ok(ref)}, age: secondMinute,
			want: []string{"first", "made", "second", "second", "second", "second"}, waits: 6 * time.Second},
		"the_new_one_is_never_known": {replies: append([]reply{unknown, second}, times(6, unknown)...), age: secondMinute,
			want: []string{"first", "made", "second", "second", "second", "second", "second"}, waits: 14 * time.Second,
			hint: "look whether the App is still installed there", refused: true},
		"again_within_the_hour": {replies: []reply{unknown, second, ok(ref), unknown}, age: secondMinute, later: 58 * time.Minute,
			want: []string{"first", "made", "second", "second"}, hint: "relock made a new one within the hour"},
		"again_after_an_hour": {replies: []reply{unknown, second, ok(ref), unknown, given("third", 3*time.Hour), ok(ref)}, age: secondMinute, later: time.Hour,
			want: []string{"first", "made", "second", "second", "made", "third"}},
		"new_and_accepted": {replies: append(append([]reply{ok(ref)}, times(4, unknown)...), second, ok(ref)), age: time.Second,
			want: []string{"first", "first", "first", "first", "first", "made", "second"}, waits: 14 * time.Second},
		"new_and_never_accepted": {replies: times(9, unknown), age: time.Second,
			want: []string{"first", "first", "first", "first", "first"}, waits: 14 * time.Second,
			hint: "look whether the App is still installed there", refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := start(t, append([]reply{given("first", 3*time.Hour)}, test.replies...)...)
			repo := f.minted(t)
			f.now = f.now.Add(test.age)
			_, _ = repo.Head(t.Context(), "main")
			f.now = f.now.Add(test.later)
			_, err := repo.Head(t.Context(), "main")
			var got []string
			for i, asked := range f.asked[1:] {
				if strings.HasPrefix(asked, "POST") {
					got = append(got, "made")
				} else {
					got = append(got, strings.TrimPrefix(f.authorization[i+1], "Bearer "))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
			var waited time.Duration
			for _, w := range f.waits {
				waited += w
			}
			if waited != test.waits {
				t.Errorf("waited for %v, want %v", f.waits, test.waits)
			}
			if hint := hintOf(err); (err == nil) != (test.hint == "") || !strings.Contains(hint, test.hint) || errors.Is(err, github.ErrTokenRefused) != test.refused {
				t.Errorf("error = %v, hint %q; want hint %q, refused %t", err, hint, test.hint, test.refused)
			}
		})
	}
}

// hintOf is the hint of an error; empty for none.
func hintOf(err error) string {
	if err == nil {
		return ""
	}
	return problem.Of(err).Hint
}

// TestWhatIsNeverGrantedIsWaitedForOnce holds that clients that share what was refused wait
// once for a permission, and anew where it turns out to be granted.
func TestWhatIsNeverGrantedIsWaitedForOnce(t *testing.T) {
	contents := map[string]string{"X-Accepted-GitHub-Permissions": "contents=write"}
	lacks, granted := reply{403, contents, integration.body}, reply{201, contents, `{"sha": "t"}`}
	replies := append([]reply{given("a", time.Hour)}, times(4, lacks)...)
	replies = append(replies, given("b", time.Hour), lacks, given("c", time.Hour), integration, integration, granted) // another permission, for all that is known
	replies = append(replies, given("d", time.Hour), lacks, granted)
	f, _ := start(t, replies...)
	var refusals github.Refusals
	post := func(name string) error {
		c, err := github.New(github.Options{Refusals: &refusals, HTTP: f.Client(), Clock: f.clock(), Access: github.Access{API: f.URL,
			App: &github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Repositories: []string{"octo/" + name}}}})
		if err != nil {
			t.Fatal(err)
		}
		return questions["POST"].ask(t.Context(), c.Repository("octo", name))
	}
	for _, step := range []struct {
		repository string
		fails      bool
		waits      int
	}{{"a", true, 3}, {"b", true, 0}, {"c", false, 2}, {"d", false, 1}} {
		f.waits = nil
		err := post(step.repository)
		if (err != nil) != step.fails || len(f.waits) != step.waits {
			t.Errorf("%s: error = %v after waits %v, want %d", step.repository, err, f.waits, step.waits)
		}
		if hint := hintOf(err); step.fails && !strings.Contains(hint, `grant the GitHub App "contents: write"`) {
			t.Errorf("%s: hint = %q, want one that names the permission", step.repository, hint)
		}
	}
}

// TestAnOrganisationOutlivesItsToken holds that all repositories that are read with one token
// go on when it is revoked, with one new token, and that a new one that is refused, too, is
// not replaced for each of them.
func TestAnOrganisationOutlivesItsToken(t *testing.T) {
	for name, test := range map[string]struct {
		after []reply // the second token
		asked int     // requests
		fails bool
	}{
		"one_for_all":  {[]reply{ok(ref)}, 2 + 5 + 1, false},
		"never_better": {[]reply{unknown}, 2 + 5 + 1 + 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := start(t, append([]reply{given("first", 3*time.Hour), unknown, given("second", 3*time.Hour)}, test.after...)...)
			owner := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Owner: "octo"})
			if _, err := owner.Token(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.now = f.now.Add(secondMinute)
			for i := range 5 {
				name := fmt.Sprint("r", i)
				_, err := owner.Narrowed("octo/"+name, false, false).Repository("octo", name).Head(t.Context(), "main")
				if said, _ := github.RejectionOf(err); (err != nil) != test.fails || errors.Is(err, github.ErrTokenRefused) != test.fails || said.Whole != test.fails {
					t.Errorf("%s: error = %v, want a refused token: %t", name, err, test.fails)
				}
				f.now = f.now.Add(time.Second)
			}
			if len(f.asked) != test.asked {
				t.Errorf("%d requests, want %d: %q", len(f.asked), test.asked, f.asked)
			}
		})
	}
}

// TestRevokedAgainFailsOneRepository holds that a token that is revoked again within an hour
// fails the repository that has had a new one, and no other.
func TestRevokedAgainFailsOneRepository(t *testing.T) {
	f, _ := start(t, given("first", 3*time.Hour), unknown, given("second", 3*time.Hour), ok(ref),
		unknown, unknown, given("third", 3*time.Hour), ok(ref))
	owner := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Owner: "octo"})
	if _, err := owner.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name  string
		fails bool
	}{{"a", false}, {"a", true}, {"b", false}} {
		f.now = f.now.Add(secondMinute)
		_, err := owner.Narrowed("octo/"+step.name, false, false).Repository("octo", step.name).Head(t.Context(), "main")
		said, denied := github.RejectionOf(err)
		if (err != nil) != step.fails || denied != step.fails || said.Whole {
			t.Errorf("%s: error = %v, want one of this repository alone: %t", step.name, err, step.fails)
		}
	}
	if len(f.waits) > 0 || len(f.asked) != 8 {
		t.Errorf("waits %v and requests %q, want no wait and 8", f.waits, f.asked)
	}
}

// grudging is a GitHub in memory that refuses its newest token for a while, or each token
// that was revoked.
type grudging struct {
	mu             sync.Mutex
	made, asked    int
	since          time.Time
	lag, takes     time.Duration
	revoked, ready string
}

func (g *grudging) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(g.takes)
	g.mu.Lock()
	defer g.mu.Unlock()
	answer := func(status int, body string) (*http.Response, error) {
		rec := http.Response{StatusCode: status, Header: http.Header{}, Request: req, Body: http.NoBody}
		rec.Body = readCloser{strings.NewReader(body)}
		return &rec, nil
	}
	if strings.HasSuffix(req.URL.Path, "access_tokens") {
		g.made++
		g.ready, g.since = fmt.Sprint("t", g.made), time.Now()
		return answer(201, fmt.Sprintf(`{"token": %q, "expires_at": %q}`, g.ready, time.Now().Add(time.Hour).Format(time.RFC3339)))
	}
	g.asked++
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if token == g.revoked || time.Since(g.since) < g.lag {
		return answer(401, unknown.body)
	}
	return answer(200, ref)
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// TestRequestsAtOnceWaitTogether holds that requests that are refused at the same time wait
// for the same moment, and have one token made in place of a revoked one.
func TestRequestsAtOnceWaitTogether(t *testing.T) {
	key := privateKey(t)
	synctest.Test(t, func(t *testing.T) {
		g := &grudging{lag: 3 * time.Second}
		var log strings.Builder
		c, err := github.New(github.Options{HTTP: &http.Client{Transport: g}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Access: github.Access{API: "https://ghe.example.com/api/v3", App: &github.App{ID: "7", PrivateKey: key, Installation: 9, Owner: "octo"}}})
		if err != nil {
			t.Fatal(err)
		}
		all := func() (took time.Duration, asked int) {
			began, before := time.Now(), g.asked
			var group sync.WaitGroup
			for i := range 6 {
				group.Go(func() {
					name := fmt.Sprint("r", i)
					if _, err := c.Narrowed("octo/"+name, false, false).Repository("octo", name).Head(t.Context(), "main"); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			return time.Since(began), g.asked - before
		}
		if took, asked := all(); took != 6*time.Second || asked != 18 || g.made != 1 {
			t.Errorf("six requests with a new token took %v, %d requests and %d tokens, want 6 s, 18 and 1", took, asked, g.made)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "url=ghe.example.com/api/v3/repos/octo/r") || !strings.Contains(log.String(), "answer=401") {
			t.Errorf("log = %q, want one line that names what is waited for", log.String())
		}
		time.Sleep(time.Minute)
		g.revoked, g.lag, g.takes = g.ready, 0, time.Second
		if took, asked := all(); took != 3*time.Second || asked != 12 || g.made != 2 {
			t.Errorf("six requests with a revoked token took %v, %d requests and %d tokens in all, want 3 s, 12 and 2", took, asked, g.made)
		}
	})
}

// TestWaitForATokenEndsWithTheContext holds that no wait begins that would outlast the
// run, and that one ends when somebody interrupts it.
func TestWaitForATokenEndsWithTheContext(t *testing.T) {
	key := privateKey(t)
	for name, test := range map[string]struct {
		within func(context.Context) (context.Context, context.CancelFunc)
		want   string
		took   time.Duration
	}{
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		}, "Bad credentials", 2 * time.Second},
		"interrupt": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(2500*time.Millisecond, cancel)
			return ctx, cancel
		}, "context canceled", 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := github.New(github.Options{HTTP: &http.Client{Transport: &grudging{lag: time.Minute}},
					Access: github.Access{App: &github.App{ID: "7", PrivateKey: key, Installation: 9, Repositories: []string{"octo/infra"}}}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := test.within(t.Context())
				defer cancel()
				began := time.Now()
				_, err = c.Repository("octo", "infra").Head(ctx, "main")
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), test.want) || took != test.took {
					t.Errorf("error = %v after %v, want %q after %v", err, took, test.want, test.took)
				}
			})
		})
	}
}
