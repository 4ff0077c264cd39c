package sandbox

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
)

// registerApp installs an App in octo/infra, one of two repositories of octo.
func (h *hub) registerApp(t *testing.T) (AppCredentials, *rsa.PrivateKey) {
	t.Helper()
	if err := h.create(Repository{Owner: "octo", Name: "tools", DefaultBranch: "main", Branches: map[string]map[string]File{"main": {"f": {}}}}); err != nil {
		t.Fatal(err)
	}
	app, err := h.Register(App{
		Slug: "relock", ID: 12, Repositories: []string{"octo/infra", "octo/tools"},
		Permissions: map[string]string{"contents": "write", "pull_requests": "read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(app.Key)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return app, key
}

// webToken signs claims with RS256.
func webToken(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]any{"alg": "RS256", "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// claims are right claims, except for the change.
func claims(change map[string]any) map[string]any {
	c := map[string]any{"iss": "12", "iat": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	for name, value := range change {
		c[name] = value
	}
	return c
}

func TestAppTokens(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	app, key := h.registerApp(t)
	self := h.client(t, webToken(t, key, claims(nil)))

	if got := must[*github.App](t)(self.Apps.Get(ctx, "")); got.GetSlug() != "relock" || got.GetID() != 12 {
		t.Errorf("App = %v", got)
	}
	found := must[*github.Installation](t)(self.Apps.FindRepositoryInstallation(ctx, "octo", "infra"))
	if found.GetID() != app.Installations["octo"] {
		t.Errorf("installation = %d, want %d", found.GetID(), app.Installations["octo"])
	}
	given := must[*github.InstallationToken](t)(self.Apps.CreateInstallationToken(ctx, found.GetID(), &github.InstallationTokenOptions{
		Repositories: []string{"infra"}, Permissions: &github.InstallationPermissions{Contents: github.String("read")},
	}))
	if left := time.Until(given.GetExpiresAt().Time); left > time.Hour || left < 55*time.Minute {
		t.Errorf("the token lives for %v, want an hour", left)
	}
	narrow := h.client(t, given.GetToken())
	repos := must[*github.ListRepositories](t)(narrow.Apps.ListRepos(ctx, nil))
	if len(repos.Repositories) != 1 || repos.Repositories[0].GetFullName() != octoInfra {
		t.Errorf("repositories of a narrow token = %v, want octo/infra", repos.Repositories)
	}
	_, _, err := narrow.Git.CreateRef(ctx, "octo", "infra", &github.Reference{Ref: github.String("refs/heads/x"), Object: &github.GitObject{SHA: github.String(h.head(t, "main"))}})
	wantRefusal(t, err, 403, "Resource not accessible by integration")

	wide := must[*github.InstallationToken](t)(self.Apps.CreateInstallationToken(ctx, found.GetID(), nil))
	if diff := cmp.Diff("write", wide.GetPermissions().GetContents()); diff != "" {
		t.Errorf("contents of a token that was not narrowed (-want +got):\n%s", diff)
	}
	h.ExpireTokens()
	_, _, err = h.client(t, wide.GetToken()).Repositories.Get(ctx, "octo", "infra")
	wantRefusal(t, err, 401, "Bad credentials")

	h.LimitTokenLife(-time.Second)
	ended := must[*github.InstallationToken](t)(self.Apps.CreateInstallationToken(ctx, found.GetID(), nil))
	_, _, err = h.client(t, ended.GetToken()).Repositories.Get(ctx, "octo", "infra")
	wantRefusal(t, err, 401, "Bad credentials")
}

func TestAppTokensAreNoWiderThanTheInstallation(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	app, key := h.registerApp(t)
	path := "/app/installations/" + strconv.FormatInt(app.Installations["octo"], 10) + "/access_tokens"
	for name, tt := range map[string]struct {
		body    string
		status  int
		message string
	}{
		"less":                 {`{"permissions": {"contents": "read"}}`, 201, ""},
		"more":                 {`{"permissions": {"pull_requests": "write"}}`, 422, "The permissions requested are not granted to this installation."},
		"another":              {`{"permissions": {"issues": "read"}}`, 422, "The permissions requested are not granted to this installation."},
		"unknown_repository":   {`{"repositories": ["other"]}`, 422, "There is at least one repository that does not exist or is not accessible to the parent installation."},
		"repository_by_id":     {`{"repository_ids": [1]}`, 201, ""},
		"no_body":              {``, 201, ""},
		"unknown_installation": {``, 404, "Not Found"},
	} {
		at := path
		if name == "unknown_installation" {
			at = "/app/installations/999/access_tokens"
		}
		resp, body := h.send(t, "POST", at, tt.body, "Authorization: Bearer "+webToken(t, key, claims(nil)), "Content-Type: application/json")
		if resp.StatusCode != tt.status || tt.message != "" && message(body) != tt.message {
			t.Errorf("%s = %d %s, want %d %s", name, resp.StatusCode, message(body), tt.status, tt.message)
		}
	}
}

func TestAppProvesItself(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	_, key := h.registerApp(t)
	stranger, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		t.Fatal(err)
	}
	good := webToken(t, key, claims(nil))
	tests := []struct {
		name, token string
		status      int
		message     string
	}{
		{"right", good, 200, ""},
		{"number_as_issuer", webToken(t, key, claims(map[string]any{"iss": 12})), 200, ""},
		{"another_key", webToken(t, stranger, claims(nil)), 401, "A JSON web token could not be decoded"},
		{"altered", good[:strings.LastIndex(good, ".")] + ".AAAA", 401, "A JSON web token could not be decoded"},
		{"garbage", "a.b.c", 401, "A JSON web token could not be decoded"},
		{"unknown_app", webToken(t, key, claims(map[string]any{"iss": "13"})), 404, "Integration not found"},
		{"expired", webToken(t, key, claims(map[string]any{"exp": time.Now().Add(-time.Second).Unix()})), 401, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"},
		{"too_long", webToken(t, key, claims(map[string]any{"exp": time.Now().Add(time.Hour).Unix()})), 401, "'Expiration time' claim ('exp') is too far in the future"},
		{"issued_later", webToken(t, key, claims(map[string]any{"iat": time.Now().Add(time.Minute).Unix()})), 401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"},
		{"a_token_of_a_person", UserToken, 401, "A JSON web token could not be decoded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := h.send(t, http.MethodGet, "/app", "", "Authorization: Bearer "+tt.token)
			if resp.StatusCode != tt.status || tt.message != "" && message(body) != tt.message {
				t.Errorf("answer = %d %s, want %d %s", resp.StatusCode, message(body), tt.status, tt.message)
			}
		})
	}
}

func TestInstallationsHaveMoreRequestsForManyRepositories(t *testing.T) {
	t.Parallel()
	for repositories, want := range map[int]int{1: 5000, 20: 5000, 21: 5050, 170: 12500, 2000: 12500} {
		in := &installation{id: 7, repositories: make([]string, repositories)}
		g := &GitHub{apps: map[int64]*registeredApp{1: {installations: []*installation{{id: 8}, in}}}}
		if got := g.installationLimit(7); got != want {
			t.Errorf("the limit with %d repositories = %d, want %d", repositories, got, want)
		}
	}
}

// TestDistrust checks how GitHub refuses new tokens: for which requests, how
// long, and in which words.
func TestDistrust(t *testing.T) {
	t.Parallel()
	const (
		path   = "/repos/octo/infra/git/ref/heads/main"
		head   = "GET " + path
		branch = "POST /repos/octo/infra/git/refs"
		query  = `{"query":"{viewer{login} repository(owner:\"octo\",name:\"infra\"){id}}"}`
	)
	for name, tt := range map[string]struct {
		distrust Distrust
		age      time.Duration
		want     [3]string // status of the read, status of the write, and a text in the answer to the query
	}{
		"401":          {Distrust{Status: 401, For: 5 * time.Second}, 4 * time.Second, [3]string{"401", "401", "Bad credentials"}},
		"401_is_over":  {Distrust{Status: 401, For: 5 * time.Second}, 5 * time.Second, [3]string{"200", "422", `"id":"R_`}},
		"403":          {Distrust{Status: 403, For: 5 * time.Second}, 0, [3]string{"403", "403", `"type":"FORBIDDEN"`}},
		"404":          {Distrust{Status: 404, For: 5 * time.Second}, 0, [3]string{"404", "404", "Could not resolve to a Repository with the name 'octo/infra'"}},
		"for_good":     {Distrust{Status: 403}, time.Hour / 2, [3]string{"403", "403", `"FORBIDDEN"`}},
		"a_permission": {Distrust{Status: 403, Permission: "contents=write"}, 0, [3]string{"200", "403", `"id":"R_`}},
	} {
		t.Run(name, func(t *testing.T) {
			h, ctx := startHub(t), context.Background()
			now := time.Now()
			h.SetMachine(func() time.Time { return now })
			app, key := h.registerApp(t)
			given := must[*github.InstallationToken](t)(h.client(t, webToken(t, key, claims(nil))).Apps.CreateInstallationToken(ctx, app.Installations["octo"], nil))
			h.Distrust(tt.distrust)
			now = now.Add(tt.age)
			as := "Authorization: Bearer " + given.GetToken()
			var got [3]string
			for i, ask := range []string{head, branch} {
				method, path, _ := strings.Cut(ask, " ")
				resp, _ := h.send(t, method, path, "{}", as)
				got[i] = strconv.Itoa(resp.StatusCode)
			}
			_, got[2] = h.send(t, "POST", graphqlPath, query, as)
			if got[0] != tt.want[0] || got[1] != tt.want[1] || !strings.Contains(got[2], tt.want[2]) {
				t.Errorf("answers = %q, want %q", got, tt.want)
			}
			// Other tokens are trusted, and finally all are.
			if resp, _ := h.send(t, "GET", path, "", authorized); resp.StatusCode != http.StatusOK {
				t.Errorf("the token of a workflow is refused with %d", resp.StatusCode)
			}
			h.Distrust(Distrust{})
			if resp, _ := h.send(t, "GET", path, "", as); resp.StatusCode != http.StatusOK {
				t.Errorf("what is trusted again is refused with %d", resp.StatusCode)
			}
		})
	}
}
