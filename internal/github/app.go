package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"
	"github.com/jferrl/go-githubauth"
	"golang.org/x/oauth2"

	"github.com/relock-dev/relock/internal/problem"
)

// App is a GitHub App. One of its installations gives it tokens that are valid for an hour.
// A Client requests and renews them.
type App struct {
	// ID is the App's ID or its client ID.
	ID string
	// PrivateKey is the PEM file that GitHub made for the App. It is a secret.
	PrivateKey string
	// Installation is the ID of the installation; 0: the one of the first repository.
	Installation int64
	// Repositories are those of the tokens, OWNER/NAME each. All have one owner, since an
	// installation belongs to one.
	Repositories []string
	// Owner requests tokens that read all repositories of the owner's installation, and
	// write to none. For writing there is Client.Narrowed. Properties adds the permission
	// to read the custom properties of an organization.
	Owner      string
	Properties bool
	// Modules requests tokens that only read the contents of all repositories of the
	// installation, since any of them may have modules.
	Modules bool
	// Teams requests the permission to ask teams for reviews. The App needs the permission
	// to read an organization's members.
	Teams bool
	// Labels requests the permission to create labels, if the App has it: to write issues.
	Labels bool
}

// permissions are the least that tokens need. The permission for pull requests includes
// comments, existing labels, assignees and milestones of pull requests.
func (a App) permissions() *github.InstallationPermissions {
	read, write := github.String("read"), github.String("write")
	if a.Owner != "" {
		return &github.InstallationPermissions{Contents: read, PullRequests: read, Metadata: read}
	}
	if a.Modules {
		return &github.InstallationPermissions{Contents: read, Metadata: read}
	}
	p := &github.InstallationPermissions{Contents: write, PullRequests: write, Metadata: read}
	if a.Teams {
		p.Members = read
	}
	if a.Labels {
		p.Issues = write
	}
	return p
}

// names are the repositories to which tokens are narrowed, as GitHub wants them.
func (a App) names() []string {
	if a.Modules || a.Owner != "" {
		return nil
	}
	var names []string
	for _, full := range a.Repositories {
		_, name, _ := strings.Cut(full, "/")
		names = append(names, name)
	}
	return names
}

// check finds errors of an App without asking GitHub.
func (a App) check() error {
	settings := func(message, hint string) error {
		return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint}}
	}
	if a.ID == "" {
		return settings("the ID of the GitHub App is missing", "it is on the App's settings page")
	}
	if a.Owner != "" {
		return nil
	}
	if len(a.Repositories) == 0 && (a.Installation == 0 || !a.Modules) {
		return settings("no repository is named for the GitHub App", "")
	}
	owner := ""
	for _, full := range a.Repositories {
		of, name, ok := strings.Cut(full, "/")
		switch {
		case !ok || of == "" || name == "" || strings.Contains(name, "/"):
			return settings(fmt.Sprintf("%q is no repository: it must be OWNER/NAME", full), "")
		case owner != "" && !strings.EqualFold(of, owner):
			return settings(fmt.Sprintf("%s and %s have installations of the GitHub App of their own", owner, of), "")
		}
		owner = of
	}
	return nil
}

// renewal is how long before its end a token is replaced. A request takes less, with its
// waits for limits.
const renewal = 5 * time.Minute

// tokens are what a Client authenticates with: one that was given, or those of
// an App's installation.
type tokens struct {
	given string

	app    App
	client *Client // with the App's own credentials; nil without an App
	made   func(token string) error
	clock  Clock

	wide         *tokens       // tokens of the whole installation, which know its ID; nil: these
	turn         chan struct{} // full while a caller looks at the token or requests one
	installation int64
	current      *issued              // nil: none yet
	replaced     map[string]time.Time // when a token was last replaced for a request about a repository
}

func (t *tokens) isApp() bool { return t.client != nil }

// forRequest returns the token for a request.
func (t *tokens) forRequest(req *http.Request) (string, error) { return t.token(req.Context()) }

// ofApp returns the tokens of the App. It makes no request.
func ofApp(a App, as connection) (*tokens, error) {
	o := as.options
	if err := a.check(); err != nil {
		return nil, err
	}
	signed, err := githubauth.NewApplicationTokenSource(a.ID, []byte(a.PrivateKey))
	if err != nil {
		// The cause is about ASN.1, and helps nobody.
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "the private key of the GitHub App cannot be read",
			Hint: "give the whole PEM file that GitHub made, from its BEGIN to its END line, with the line breaks",
		}}
	}
	made := o.Made
	if made == nil {
		made = func(string) error { return nil }
	}
	as.rates = &rates{} // the App itself has limits of its own
	return &tokens{
		app: a, clock: o.Clock, installation: a.Installation, turn: make(chan struct{}, 1), made: made,
		client: newClient(as, told(signed, made)),
	}, nil
}

// narrowed returns other tokens of the same installation.
func (t *tokens) narrowed(to App) *tokens {
	to.ID, to.PrivateKey = t.app.ID, t.app.PrivateKey
	return &tokens{app: to, clock: t.clock, turn: make(chan struct{}, 1), made: t.made, client: t.client, wide: t}
}

// told returns the tokens of a source. It calls made for each new token before anyone else
// gets it.
func told(source oauth2.TokenSource, made func(token string) error) func(*http.Request) (string, error) {
	var mu sync.Mutex
	known := ""
	return func(*http.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		t, err := source.Token()
		if err != nil {
			return "", err
		}
		if t.AccessToken != known {
			if err := made(t.AccessToken); err != nil {
				return "", err
			}
		}
		known = t.AccessToken
		return known, nil
	}
}

// noToken is why a request was not sent: there is no token. It hides the kind of its cause.
// For example, a missing App is not a missing branch.
type noToken struct{ why *problem.Error }

func (n *noToken) Error() string { return n.why.Error() }

// token returns a token that is valid for some minutes, and notes it for the sender of a
// request whose context this is.
func (t *tokens) token(ctx context.Context) (string, error) {
	if !t.isApp() {
		return t.given, nil
	}
	current, err := t.valid(ctx)
	if err != nil {
		return "", err
	}
	if sent, ok := ctx.Value(sentKey{}).(*sentWith); ok {
		sent.token = current
	}
	return current.text, nil
}

// valid returns a token of the App that is valid for some minutes. While one is requested,
// other callers wait for it.
func (t *tokens) valid(ctx context.Context) (*issued, error) {
	free, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	if t.current != nil && t.clock.Now().Add(renewal).Before(t.current.until) {
		return t.current, nil
	}
	if err := t.renew(ctx); err != nil {
		return nil, err
	}
	return t.current, nil
}

// take waits for the turn to look at the token, or to ask for one.
func (t *tokens) take(ctx context.Context) (free func(), err error) {
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renew requests a token. The caller has the turn. The error is a *noToken, unless the
// context has ended.
func (t *tokens) renew(ctx context.Context) error {
	err := t.issue(ctx)
	if why, ok := errors.AsType[*problem.Error](err); ok {
		return &noToken{why}
	}
	return err
}

func (t *tokens) issue(ctx context.Context) error {
	if err := t.find(ctx); err != nil {
		return err
	}
	const doing = "asking for a token of the GitHub App"
	made, err := t.mint(ctx)
	if refusedFor(err, http.StatusUnprocessableEntity) {
		// GitHub grants all permissions of a request or none. If labels cannot be created,
		// or teams not asked, that becomes a warning later.
		made, err = t.mintLess(ctx, err)
	}
	if err != nil {
		return explanation(ctx, t.client, doing, t.hint, err)
	}
	if made.GetToken() == "" {
		return explanation(ctx, t.client, doing, nil, &finding{message: "there is no token in the answer"})
	}
	if err := t.made(made.GetToken()); err != nil {
		return explanation(ctx, t.client, doing, nil, err)
	}
	t.current = &issued{of: t, app: t.app, installation: t.installation, text: made.GetToken(), since: t.clock.Now(), until: made.GetExpiresAt().Time}
	return nil
}

// mintLess requests tokens without the permissions that an App may lack, first without one
// of them.
func (t *tokens) mintLess(ctx context.Context, refused error) (made *github.InstallationToken, err error) {
	whole := t.app
	err = refused
	for _, less := range []App{{Teams: whole.Teams}, {Labels: whole.Labels}, {}} {
		if same := less.Teams == t.app.Teams && less.Labels == t.app.Labels; same || !refusedFor(err, http.StatusUnprocessableEntity) {
			continue
		}
		t.app.Teams, t.app.Labels = less.Teams, less.Labels
		made, err = t.mint(ctx)
	}
	if err != nil {
		t.app = whole // for the hint, and for later attempts
	}
	return made, err
}

func (t *tokens) mint(ctx context.Context) (*github.InstallationToken, error) {
	wish := tokenWish{Repositories: t.app.names(), Permissions: permissions{InstallationPermissions: t.app.permissions()}}
	if t.app.Properties {
		wish.Permissions.OrganizationCustomProperties = "read"
	}
	req, err := t.client.rest.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", t.installation), wish)
	if err != nil {
		return nil, err
	}
	made := new(github.InstallationToken)
	_, err = t.client.rest.Do(ctx, req, made)
	return made, err
}

// tokenWish is the request for a token. go-github does not know all permissions.
type tokenWish struct {
	Repositories []string    `json:"repositories,omitempty"`
	Permissions  permissions `json:"permissions"`
}

type permissions struct {
	*github.InstallationPermissions
	OrganizationCustomProperties string `json:"organization_custom_properties,omitempty"`
}

// refusedFor reports whether GitHub answered with the status.
func refusedFor(err error, status int) bool {
	answer, ok := errors.AsType[*github.ErrorResponse](err)
	return ok && answer.Response.StatusCode == status
}

// find looks for the installation of the owner, or of the first repository, if it is not
// known.
func (t *tokens) find(ctx context.Context) error {
	switch {
	case t.installation != 0:
		return nil
	case t.wide != nil: // it has listed the repositories
		if _, err := t.wide.token(ctx); err != nil {
			return err
		}
		t.installation = t.wide.installation
		return nil
	}
	where := t.app.Owner
	if where == "" {
		where = t.app.Repositories[0]
	}
	found, err := t.installationIn(ctx, where)
	if err != nil {
		return explanation(ctx, t.client, "looking for the installation of the GitHub App in "+where, t.hint, err)
	}
	t.installation = found.GetID()
	return nil
}

// installationIn asks for the installation of a repository, of an organisation, or of a user.
func (t *tokens) installationIn(ctx context.Context, where string) (found *github.Installation, err error) {
	owner, name, repository := strings.Cut(where, "/")
	if repository {
		found, _, err = t.client.rest.Apps.FindRepositoryInstallation(ctx, owner, name)
		return found, err
	}
	found, _, err = t.client.rest.Apps.FindOrganizationInstallation(ctx, owner)
	if refusedFor(err, http.StatusNotFound) {
		found, _, err = t.client.rest.Apps.FindUserInstallation(ctx, owner)
	}
	return found, err
}

// hint says what to do if an App is refused.
func (t *tokens) hint(said *refusal) string {
	where := cmp.Or(t.app.Owner, "the owner of the modules")
	if len(t.app.Repositories) > 0 {
		where = strings.Join(t.app.Repositories, ", ")
	}
	switch said.status {
	case http.StatusUnauthorized:
		return "check that the private key belongs to the App with the ID " + t.app.ID + ", and that the clock of this machine is right"
	case http.StatusNotFound:
		if t.app.Installation != 0 {
			return fmt.Sprintf("check that installation %d belongs to the App, or leave it out", t.app.Installation)
		}
		return "install the App there: on its settings page under Install App"
	case http.StatusForbidden:
		return "check under Settings, GitHub Apps of the owner that the installation is not suspended"
	case http.StatusUnprocessableEntity:
		return "let the installation include " + where + ", grant the App " + t.needs() + ", and accept that in its installation"
	}
	return ""
}

// needs names the permissions as the settings page of an App does.
func (t *tokens) needs() string {
	switch {
	case t.app.Properties:
		return `"Contents: write", "Pull requests: write" and of the organization "Custom properties: read"`
	case t.app.Modules:
		return `"Contents: read"`
	case t.app.Teams:
		return `"Contents: write", "Pull requests: write" and of the organization "Members: read"`
	}
	return `"Contents: write" and "Pull requests: write"`
}
