package sandbox

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// App is a GitHub App with its installations.
type App struct {
	Slug string
	ID   int64
	// Permissions are what every installation granted, by GitHub's names, as in
	// "pull_requests": "write".
	Permissions map[string]string
	// Repositories are the OWNER/NAMEs with the App. Each of their owners has an
	// installation.
	Repositories []string
}

type registeredApp struct {
	App
	key           *rsa.PrivateKey
	installations []*installation
	suspended     bool
}

// installation is an App in the repositories of one owner.
type installation struct {
	id           int64
	app          *registeredApp
	owner        string
	repositories []string // OWNER/NAME
}

// installationLimit is the hourly number of requests of an installation. It grows
// with every repository beyond twenty. It grows with users, too, but the sandbox
// has none [docs:
// docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api].
func (g *GitHub) installationLimit(id int64) int {
	repositories := 0
	for _, app := range g.apps {
		for _, in := range app.installations {
			if in.id == id {
				repositories = len(in.repositories)
			}
		}
	}
	return min(5000+50*max(0, repositories-20), 12500)
}

// appKeyBits is small for speed: nothing real depends on it.
const appKeyBits = 1024

// installationLife is the life of an installation token on GitHub.
const installationLife = time.Hour

// AppCredentials are what GitHub gives the owner of an App.
type AppCredentials struct {
	ID  int64
	Key []byte // private, in PEM; different in each sandbox
	// Installations are IDs by the login of the owner.
	Installations map[string]int64
}

// Register makes an App known.
func (g *GitHub) Register(a App) (AppCredentials, error) {
	key, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		return AppCredentials{}, fmt.Errorf("making a key for the App %s: %w", a.Slug, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.apps[a.ID] != nil {
		return AppCredentials{}, fmt.Errorf("there is an App %d", a.ID)
	}
	app := &registeredApp{App: a, key: key}
	for _, name := range a.Repositories {
		r, err := g.repository(name)
		if err != nil {
			return AppCredentials{}, fmt.Errorf("installing the App %s: %w", a.Slug, err)
		}
		in := app.installation(r.owner)
		if in == nil {
			in = &installation{id: g.nextID(), app: app, owner: r.owner}
			app.installations = append(app.installations, in)
		}
		in.repositories = append(in.repositories, r.fullName())
	}
	g.apps[a.ID] = app
	return app.credentials(), nil
}

// Credentials returns those of an App by its slug.
func (g *GitHub) Credentials(slug string) (AppCredentials, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, app := range g.apps {
		if app.Slug == slug {
			return app.credentials(), nil
		}
	}
	return AppCredentials{}, fmt.Errorf("no App %s", slug)
}

func (a *registeredApp) credentials() AppCredentials {
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)}
	out := AppCredentials{ID: a.ID, Key: pem.EncodeToMemory(block), Installations: map[string]int64{}}
	for _, in := range a.installations {
		out.Installations[in.owner] = in.id
	}
	return out
}

// ExpireTokens ends every installation token given so far.
func (g *GitHub) ExpireTokens() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.tokens, func(_ string, who Identity) bool { return who.app != nil })
}

// Distrust adds a refusal of installation tokens. A Distrust without a Status
// removes all refusals.
func (g *GitHub) Distrust(d Distrust) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.Status == 0 {
		g.doubts = nil
		return
	}
	g.doubts = append(g.doubts, d)
}

// LimitTokenLife sets the life of new installation tokens; it was an hour.
func (g *GitHub) LimitTokenLife(life time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokenLife = life
}

func (a *registeredApp) installation(owner string) *installation {
	for _, in := range a.installations {
		if strings.EqualFold(in.owner, owner) {
			return in
		}
	}
	return nil
}

// appRoutes are the routes that an App calls with its own JSON web token.
var appRoutes = []route{
	{"GET", "/app", http.StatusOK, (*apiCall).getApp, right{}},
	{"GET", "/app/installations", http.StatusOK, (*apiCall).listInstallations, right{}},
	{"GET", "/repos/{owner}/{repo}/installation", http.StatusOK, (*apiCall).getInstallation, right{}},
	{"GET", "/orgs/{login}/installation", http.StatusOK, (*apiCall).getInstallation, right{}},
	{"GET", "/users/{login}/installation", http.StatusOK, (*apiCall).getInstallation, right{}},
	{"POST", "/app/installations/{id}/access_tokens", http.StatusCreated, (*apiCall).createToken, right{}},
	{"GET", "/installation/repositories", http.StatusOK, (*apiCall).installedRepositories, right{}},
}

// isJWT separates a JSON web token from the tokens that GitHub gives.
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }

// appOf verifies a JSON web token as GitHub does. The App's key must have signed
// it with RS256, for at most ten minutes.
func (g *GitHub) appOf(token string) (*registeredApp, error) {
	undecodable := refusal(http.StatusUnauthorized, "A JSON web token could not be decoded")
	parts := strings.Split(token, ".")
	var header struct{ Alg string }
	var claims struct {
		Issuer   any   `json:"iss"`
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
	}
	if !decodePart(parts[0], &header) || header.Alg != "RS256" || !decodePart(parts[1], &claims) {
		return nil, undecodable
	}
	id, _ := strconv.ParseInt(fmt.Sprint(claims.Issuer), 10, 64) // no App has ID 0
	app := g.apps[id]
	if app == nil {
		return nil, refusal(http.StatusNotFound, "Integration not found")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || rsa.VerifyPKCS1v15(&app.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return nil, undecodable
	}
	now := time.Now()
	switch {
	case claims.IssuedAt > now.Unix():
		return nil, refusal(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Expires <= now.Unix():
		return nil, refusal(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case claims.Expires > now.Add(10*time.Minute).Unix():
		return nil, refusal(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	return app, nil
}

// decodePart reads one of the parts of a JSON web token.
func decodePart(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// caller returns the App that calls with its own token.
func (c *apiCall) caller() (*registeredApp, error) {
	if c.app == nil {
		return nil, refusal(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	return c.app, nil
}

func (c *apiCall) getApp() (any, error) {
	app, err := c.caller()
	if err != nil {
		return nil, err
	}
	d := c.appDoc(app)
	d["installations_count"] = len(app.installations)
	return d, nil
}

func (c *apiCall) appDoc(app *registeredApp) doc {
	return doc{
		"id": app.ID, "slug": app.Slug, "node_id": fmt.Sprintf("A_%d", app.ID), "name": app.Slug,
		"owner": c.userDoc(firstUser), "description": nil,
		"external_url": c.origin() + "/github/apps/" + app.Slug, "html_url": c.origin() + "/github/apps/" + app.Slug,
		"created_at": timestamp(c.hub.clock), "updated_at": timestamp(c.hub.clock),
		"permissions": app.Permissions, "events": []string{},
	}
}

func (c *apiCall) listInstallations() (any, error) {
	app, err := c.caller()
	if err != nil {
		return nil, err
	}
	return each(page(c, app.installations), c.installationDoc), nil
}

// getInstallation finds the App's installation: by owner, or by a repository with
// the App.
func (c *apiCall) getInstallation() (any, error) {
	app, err := c.caller()
	if err != nil {
		return nil, err
	}
	owner := c.PathValue("login")
	if c.repo != nil {
		owner = c.repo.owner
	}
	in := app.installation(owner)
	if in == nil || c.repo != nil && !slices.Contains(in.repositories, c.repo.fullName()) {
		return nil, errNotFound
	}
	return c.installationDoc(in), nil
}

func (c *apiCall) installationDoc(in *installation) doc {
	return doc{
		"id": in.id, "account": c.userDoc(in.owner), "repository_selection": "selected",
		"access_tokens_url": c.origin() + restPath + fmt.Sprintf("/app/installations/%d/access_tokens", in.id),
		"repositories_url":  c.origin() + restPath + "/installation/repositories",
		"html_url":          c.origin() + fmt.Sprintf("/github/settings/installations/%d", in.id),
		"app_id":            in.app.ID, "app_slug": in.app.Slug, "target_id": userID(in.owner), "target_type": "Organization",
		"permissions": in.app.Permissions, "events": []string{},
		"created_at": timestamp(c.hub.clock), "updated_at": timestamp(c.hub.clock),
		"single_file_name": nil, "suspended_by": nil, "suspended_at": nil,
	}
}

// tokenWish says how a client restricts the token that it asks for.
type tokenWish struct {
	Repositories  []string // names without their owner
	RepositoryIDs []int64  `json:"repository_ids"`
	Permissions   map[string]string
}

func (c *apiCall) createToken() (any, error) {
	app, err := c.caller()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(app.installations, func(in *installation) bool { return strconv.FormatInt(in.id, 10) == c.PathValue("id") })
	if i < 0 {
		return nil, errNotFound
	}
	if app.suspended {
		return nil, errSuspended
	}
	var wish tokenWish
	if len(c.body) > 0 {
		if err := c.decode(&wish); err != nil {
			return nil, err
		}
	}
	return c.grant(app.installations[i], wish)
}

// grant gives a token with at most the installation's rights.
func (c *apiCall) grant(in *installation, wish tokenWish) (any, error) {
	who := Identity{
		Login: in.app.Slug + "[bot]", Bot: true, app: in.app, installation: in.id,
		Permissions: in.app.Permissions, Repositories: in.repositories, given: c.hub.machine(),
	}
	narrowed := len(wish.Repositories)+len(wish.RepositoryIDs) > 0
	if narrowed {
		who.Repositories = c.hub.narrowed(in, wish)
		if len(who.Repositories) != len(wish.Repositories)+len(wish.RepositoryIDs) {
			return nil, unprocessable("There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	if wish.Permissions != nil {
		for name, level := range wish.Permissions {
			if has := in.app.Permissions[name]; has != level && (has != "write" || level != "read") {
				return nil, unprocessable("The permissions requested are not granted to this installation.")
			}
		}
		who.Permissions = wish.Permissions
	}
	who.Expires = c.hub.machine().Add(c.hub.tokenLife).Truncate(time.Second)
	token := fmt.Sprintf("ghs_sandbox%08d", c.hub.nextID())
	c.hub.tokens[token] = who
	d := doc{"token": token, "expires_at": timestamp(who.Expires), "permissions": who.Permissions, "repository_selection": "selected"}
	if narrowed {
		d["repositories"] = each(who.Repositories, func(name string) doc { return c.repositoryDoc(c.hub.repos[strings.ToLower(name)]) })
	}
	return d, nil
}

// narrowed returns the repositories of an installation that are wished for.
func (g *GitHub) narrowed(in *installation, wish tokenWish) []string {
	var names []string
	for _, name := range in.repositories {
		r := g.repos[strings.ToLower(name)]
		if slices.Contains(wish.RepositoryIDs, r.id) || slices.ContainsFunc(wish.Repositories, func(n string) bool { return strings.EqualFold(n, r.name) }) {
			names = append(names, name)
		}
	}
	return names
}

// installedRepositories are the repositories of an installation token.
func (c *apiCall) installedRepositories() (any, error) {
	if c.who.app == nil {
		return nil, refusal(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	names := c.who.Repositories
	return doc{
		"total_count": len(names),
		"repositories": each(page(c, names), func(name string) doc {
			return c.repositoryDoc(c.hub.repos[strings.ToLower(name)])
		}),
	}, nil
}
