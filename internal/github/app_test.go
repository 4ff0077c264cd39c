package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox"
)

const appWorld = `
-- github/octo/infra/main/main.tf --
# infra
-- github/octo/modules/main/main.tf --
# modules
-- github/other/infra/main/main.tf --
# other
`

// register makes an App known that is installed in these repositories.
func (h *hub) register(t *testing.T, permissions map[string]string, repositories ...string) github.App {
	t.Helper()
	given, err := h.Register(sandbox.App{Slug: "relock", ID: 7, Permissions: permissions, Repositories: repositories})
	if err != nil {
		t.Fatal(err)
	}
	return github.App{ID: "7", PrivateKey: string(given.Key), Repositories: []string{"octo/infra"}}
}

var proposing = map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read"}

func TestAppActsInItsRepository(t *testing.T) {
	h := newHub(t, appWorld)
	app := h.register(t, proposing, "octo/infra", "octo/modules")
	c := h.client(t, github.Options{Access: github.Access{App: &app, Token: "unused"}})
	repo := c.Repository("octo", "infra")
	head, err := repo.Head(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.CreateBranch(t.Context(), "relock/x", head); err != nil {
		t.Error(err)
	}
	// One token serves them all.
	h.wantAsked(t, "GET /installation", "POST /app/installations/", "GET /git/ref/", "POST /git/refs")
	// It is for no other repository, though the App is installed there.
	err = c.Repository("octo", "modules").CreateBranch(t.Context(), "x", h.headOf(t, "octo/modules"))
	if hint := problem.Of(err).Hint; err == nil || !strings.Contains(hint, `grant the GitHub App "contents: write"`) {
		t.Errorf("error = %v, hint %q, want one about the App's permission", err, hint)
	}
}

func (h *hub) headOf(t *testing.T, repo string) string {
	t.Helper()
	refs, err := h.Refs(repo)
	if err != nil {
		t.Fatal(err)
	}
	return refs["refs/heads/main"]
}

func TestAppAsksForTheLeast(t *testing.T) {
	key := privateKey(t)
	tests := map[string]struct {
		app  github.App
		want string
	}{
		"to_propose": {github.App{Repositories: []string{"octo/infra", "octo/live"}},
			`{"repositories":["infra","live"],"permissions":{"contents":"write","metadata":"read","pull_requests":"write"}}`},
		"with_teams": {github.App{Repositories: []string{"octo/infra"}, Teams: true},
			`{"repositories":["infra"],"permissions":{"contents":"write","members":"read","metadata":"read","pull_requests":"write"}}`},
		"for_modules": {github.App{Repositories: []string{"octo/infra"}, Modules: true},
			`{"permissions":{"contents":"read","metadata":"read"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := start(t, ok(`{"id": 9}`), reply{201, nil, `{"token": "t", "expires_at": "2030-01-01T00:00:00Z"}`})
			test.app.ID, test.app.PrivateKey = "7", key
			c := f.app(t, test.app)
			if got, err := c.Token(t.Context()); got != "t" || err != nil {
				t.Fatalf("Token = %q, %v, want t", got, err)
			}
			sent, ok := strings.CutPrefix(f.asked[1], "POST /api/v3/app/installations/9/access_tokens ")
			if !ok || f.asked[0] != "GET /api/v3/repos/octo/infra/installation" {
				t.Errorf("requests = %q", f.asked)
			}
			if diff := cmp.Diff(decoded(t, test.want), decoded(t, sent)); diff != "" {
				t.Errorf("token for (-want +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// app is the server as an App sees it.
func (f *fake) app(t *testing.T, a github.App) *github.Client {
	t.Helper()
	c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3", App: &a}, HTTP: f.Client(), Clock: f.clock()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAppRenewsItsToken(t *testing.T) {
	given := func(token string, life time.Duration) reply {
		return reply{201, nil, fmt.Sprintf(`{"token": %q, "expires_at": %q}`, token, time.Unix(1_800_000_000, 0).Add(life).Format(time.RFC3339))}
	}
	f, _ := start(t, given("first", time.Hour), ok(ref), ok(ref), given("second", 2*time.Hour), ok(ref))
	repo := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Repositories: []string{"octo/infra"}}).Repository("octo", "infra")
	for _, later := range []time.Duration{0, 54 * time.Minute, 2 * time.Minute} {
		f.now = f.now.Add(later)
		if _, err := repo.Head(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"Bearer first", "Bearer first", "Bearer second"}
	var got []string
	for i, asked := range f.asked {
		if strings.HasPrefix(asked, "GET") {
			got = append(got, f.authorization[i])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens of %q (-want +got):\n%s", f.asked, diff)
	}
}

func TestAppAsksOnceForManyRequestsAtOnce(t *testing.T) {
	h := newHub(t, appWorld)
	app := h.register(t, proposing, "octo/infra")
	repo := h.client(t, github.Options{Access: github.Access{App: &app}}).Repository("octo", "infra")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := repo.Head(t.Context(), "main"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(h.asked) != 7 {
		t.Errorf("requests = %q, want 7", h.asked)
	}
}

func TestAppSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		change        func(*github.App)
		permissions   map[string]string
		message, hint string
	}{
		"not_installed": {func(a *github.App) { a.Repositories = []string{"other/infra"} }, proposing,
			"looking for the installation of the GitHub App in other/infra: GitHub answered 404", "install the App there"},
		"another_key": {func(a *github.App) { a.PrivateKey = "" }, proposing, "GitHub answered 401", "the private key belongs to the App with the ID 7"},
		"another_app": {func(a *github.App) { a.ID = "8" }, proposing, "GitHub answered 404", "install the App"},
		"no_installation_of_it": {func(a *github.App) { a.Installation = 12345 }, proposing,
			"asking for a token of the GitHub App: GitHub answered 404", "check that installation 12345 belongs to the App"},
		"no_permission": {func(*github.App) {}, map[string]string{"contents": "write", "metadata": "read"},
			"GitHub answered 422: The permissions requested are not granted", `"Contents: write" and "Pull requests: write"`},
		"no_teams": {func(a *github.App) { a.Teams = true }, map[string]string{"contents": "write", "metadata": "read"}, "GitHub answered 422", `"Members: read"`},
		"suspended": {func(*github.App) {}, proposing,
			"GitHub answered 403: This installation has been suspended", "the installation is not suspended"},
		"not_all_repositories": {func(a *github.App) { a.Repositories = append(a.Repositories, "octo/modules") }, proposing,
			"GitHub answered 422: There is at least one repository", "let the installation include octo/infra, octo/modules"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, appWorld)
			app := h.register(t, test.permissions, "octo/infra")
			if test.change(&app); app.PrivateKey == "" {
				app.PrivateKey = privateKey(t)
			}
			if name == "suspended" {
				must0(t, h.Suspend("relock", true))
			}
			c := h.client(t, github.Options{Access: github.Access{App: &app}})
			_, err := c.Repository("octo", "infra").Head(t.Context(), "main")
			e := problem.Of(err)
			if !problem.Coded(err, problem.CodeGitHub) || !strings.Contains(err.Error(), test.message) || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("error = %v, hint %q; want %q, hint %q", err, e.Hint, test.message, test.hint)
			}
			// That there is no token says nothing of the branch.
			if errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrUncertain) {
				t.Errorf("error %v has the kind of its cause", err)
			}
			if strings.Contains(err.Error(), "PRIVATE") || len(h.asked) > 3 {
				t.Errorf("error = %v after %q", err, h.asked)
			}
			if _, err := c.Token(t.Context()); err == nil {
				t.Error("Token succeeds")
			}
		})
	}
}

// TestClockOfTheAppIsWrong holds what is said where GitHub does not believe when the App has
// signed. It is asked once.
func TestClockOfTheAppIsWrong(t *testing.T) {
	f, _ := start(t, reply{401, nil, `{"message": "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"}`})
	_, err := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Installation: 9, Repositories: []string{"octo/infra"}}).Repository("octo", "infra").Head(t.Context(), "main")
	if hint := problem.Of(err).Hint; !strings.Contains(hint, "the clock of this machine is right") || errors.Is(err, github.ErrTokenRefused) {
		t.Errorf("error = %v, hint %q, want one about the clock", err, hint)
	}
	if len(f.asked) != 1 || len(f.waits) > 0 {
		t.Errorf("requests %q and waits %v, want one request", f.asked, f.waits)
	}
}

func TestAppSaysThatItsTokenCameToNothing(t *testing.T) {
	f, _ := start(t, ok(`{"id": 9}`), reply{201, nil, `{}`})
	if _, err := f.app(t, github.App{ID: "7", PrivateKey: privateKey(t), Repositories: []string{"o/n"}}).Token(t.Context()); err == nil {
		t.Error("an empty token is taken")
	}
}

func TestRefusesAppsThatCannotBe(t *testing.T) {
	key := privateKey(t)
	tests := map[string]struct {
		app  github.App
		want string
	}{
		"no_id":         {github.App{PrivateKey: key, Repositories: []string{"o/n"}}, "the ID of the GitHub App is missing"},
		"no_key":        {github.App{ID: "7", Repositories: []string{"o/n"}}, "the private key of the GitHub App cannot be read"},
		"broken_key":    {github.App{ID: "7", PrivateKey: strings.ReplaceAll(key, "\n", ""), Repositories: []string{"o/n"}}, "private key"},
		"no_repository": {github.App{ID: "7", PrivateKey: key, Installation: 9}, "no repository is named"},
		"not_a_name":    {github.App{ID: "7", PrivateKey: key, Repositories: []string{"o/n/x"}}, `"o/n/x" is no repository`},
		"two_owners":    {github.App{ID: "7", PrivateKey: key, Repositories: []string{"o/n", "O/m", "p/n"}}, "O and p have installations"},
	}
	for name, test := range tests {
		f, _ := start(t, ok(""))
		_, err := github.New(github.Options{Access: github.Access{API: f.URL, App: &test.app}, HTTP: f.Client()})
		if !problem.Coded(err, problem.CodeSettings) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("%s: error = %v has the key", name, err)
		}
	}
	modules := github.App{ID: "7", PrivateKey: key, Installation: 9, Modules: true}
	f, _ := start(t, ok(""))
	if _, err := github.New(github.Options{Access: github.Access{API: f.URL, App: &modules}, HTTP: f.Client()}); err != nil {
		t.Errorf("an App for modules with its installation: %v", err)
	}
}

// listener is a connection on which a token must have been told before it is used.
type listener struct {
	t    *testing.T
	next http.RoundTripper
	told *[]string
	used map[string]bool
}

func (l listener) RoundTrip(req *http.Request) (*http.Response, error) {
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if token == "" || !slices.Contains(*l.told, token) {
		l.t.Errorf("%s %s uses a token that was not told of before", req.Method, req.URL.Path)
	}
	l.used[token] = true
	return l.next.RoundTrip(req)
}

func TestTokensAreToldOfBeforeTheirUse(t *testing.T) {
	f, _ := start(t,
		reply{201, nil, `{"token": "ghs_one", "expires_at": "2000-01-01T00:00:00Z"}`}, ok(`{"object": {"sha": "a"}}`),
		reply{201, nil, `{"token": "ghs_two", "expires_at": "2000-01-01T00:00:00Z"}`}, ok(`{"object": {"sha": "a"}}`))
	told, used := []string{}, map[string]bool{}
	conn := f.Client()
	conn.Transport = listener{t, conn.Transport, &told, used}
	c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3", App: &github.App{ID: "7", PrivateKey: privateKey(t), Installation: 1, Repositories: []string{"octo/infra"}}}, HTTP: conn, Clock: f.clock(), Made: func(token string) error { told = append(told, token); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Repository("octo", "infra").Head(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	// The App's own token serves both times, and is told of once.
	if len(told) != 3 || len(used) != 3 || told[1] != "ghs_one" || told[2] != "ghs_two" {
		t.Errorf("%d tokens were told of and %d used, want the App's own, ghs_one and ghs_two", len(told), len(used))
	}
}

func TestTokenThatCannotBeMaskedIsNotUsed(t *testing.T) {
	f, _ := start(t)
	c, err := github.New(github.Options{Access: github.Access{API: f.URL + "/api/v3", App: &github.App{ID: "7", PrivateKey: privateKey(t), Installation: 1, Repositories: []string{"octo/infra"}}}, HTTP: f.Client(), Clock: f.clock(), Made: func(string) error { return errors.New("the log is closed") }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repository("octo", "infra").Head(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "the log is closed") {
		t.Errorf("Head = %v, want why the token cannot be used", err)
	}
}
