package github

import (
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

	"github.com/relock-dev/relock/internal/provider"
)

// App is a GitHub App. It acts by tokens of an hour that one of its
// installations gives, which a Client asks for and renews.
type App struct {
	// ID is the App's ID or its client ID.
	ID string
	// PrivateKey is the PEM file that GitHub made for the App. It is a secret.
	PrivateKey string
	// Installation is the ID of the installation; 0: that of the first
	// repository.
	Installation int64
	// Repositories are those that the tokens are for, OWNER/NAME each, of one
	// owner: an installation belongs to one.
	Repositories []string
	// Modules asks for tokens that read the contents of all repositories of the
	// installation, since modules are in any of them, and do nothing else.
	Modules bool
	// Teams asks for the right to name teams as reviewers too. The App must have
	// the permission to read an organization's members.
	Teams bool
	// Labels asks for the right to create labels, if the App has it.
	Labels bool
}

// permissions are the least that tokens need. Comments, labels that exist,
// assignees and milestones of pull requests take the permission for pull requests.
func (a App) permissions() *github.InstallationPermissions {
	read, write := github.String("read"), github.String("write")
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
	if a.Modules {
		return nil
	}
	var names []string
	for _, full := range a.Repositories {
		_, name, _ := strings.Cut(full, "/")
		names = append(names, name)
	}
	return names
}

// check finds what can be wrong with an App without asking GitHub.
func (a App) check() error {
	settings := func(message, hint string) error {
		return provider.Diagnostic{Code: provider.CodeSettings, Message: message, Hint: hint}
	}
	if a.ID == "" {
		return settings("the ID of the GitHub App is missing", "it is on the App's settings page")
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

// renewal is how long before its end a token is replaced. A request, with the
// waiting for limits that it may need, takes less.
const renewal = 5 * time.Minute

// tokens are what a Client authenticates with: one that was given, or those of
// an App's installation.
type tokens struct {
	given string

	app    App
	client *Client // speaks for the App itself; nil without one
	made   func(token string) error
	clock  Clock

	turn         chan struct{} // holds an element while somebody looks or asks
	installation int64
	current      string
	until        time.Time
}

func (t *tokens) isApp() bool { return t.client != nil }

// ofApp returns the tokens of the App. Nothing is asked yet.
func ofApp(a App, o Options, s server) (*tokens, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	signed, err := githubauth.NewApplicationTokenSource(a.ID, []byte(a.PrivateKey))
	if err != nil {
		// The cause is about ASN.1, and of no help.
		return nil, provider.Diagnostic{
			Code: provider.CodeSettings, Message: "the private key of the GitHub App cannot be read",
			Hint: "give the whole PEM file that GitHub made, from its BEGIN to its END line, with the line breaks",
		}
	}
	made := o.Made
	if made == nil {
		made = func(string) error { return nil }
	}
	return &tokens{
		app: a, clock: o.Clock, installation: a.Installation, turn: make(chan struct{}, 1), made: made,
		client: newClient(o, s, told(signed, made)),
	}, nil
}

// told gives the tokens of a source, and tells of each new one before anybody has
// it.
func told(source oauth2.TokenSource, made func(token string) error) func(context.Context) (string, error) {
	var mu sync.Mutex
	known := ""
	return func(context.Context) (string, error) {
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

// noToken is why there is no token for a request, which was not sent. It hides
// the kind of its cause: that the App is not there says nothing of what the
// request was about.
type noToken struct{ why *provider.Error }

func (n *noToken) Error() string { return n.why.Error() }

// token returns one that is valid for some minutes. Whoever asks while another
// one is on its way waits for it.
func (t *tokens) token(ctx context.Context) (string, error) {
	if !t.isApp() {
		return t.given, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.current != "" && t.clock.Now().Add(renewal).Before(t.until) {
		return t.current, nil
	}
	if err := t.renew(ctx); err != nil {
		var why *provider.Error
		if !errors.As(err, &why) {
			return "", err
		}
		return "", &noToken{why}
	}
	return t.current, nil
}

func (t *tokens) renew(ctx context.Context) error {
	if t.installation == 0 {
		if err := t.find(ctx); err != nil {
			return err
		}
	}
	const doing = "asking for a token of the GitHub App"
	made, err := t.mint(ctx)
	if t.app.Labels && refusedFor(err, http.StatusUnprocessableEntity) {
		// GitHub gives all that is asked for or nothing. Labels that cannot be
		// created are a warning when they are set.
		t.app.Labels = false
		made, err = t.mint(ctx)
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
	t.current, t.until = made.GetToken(), made.GetExpiresAt().Time
	return nil
}

func (t *tokens) mint(ctx context.Context) (*github.InstallationToken, error) {
	made, _, err := t.client.rest.Apps.CreateInstallationToken(ctx, t.installation, &github.InstallationTokenOptions{
		Repositories: t.app.names(), Permissions: t.app.permissions(),
	})
	return made, err
}

// refusedFor reports whether GitHub answered with the status.
func refusedFor(err error, status int) bool {
	answer, ok := errors.AsType[*github.ErrorResponse](err)
	return ok && answer.Response.StatusCode == status
}

// find looks for the installation that the first repository belongs to.
func (t *tokens) find(ctx context.Context) error {
	full := t.app.Repositories[0]
	owner, name, _ := strings.Cut(full, "/")
	found, _, err := t.client.rest.Apps.FindRepositoryInstallation(ctx, owner, name)
	if err != nil {
		return explanation(ctx, t.client, "looking for the installation of the GitHub App in "+full, t.hint, err)
	}
	t.installation = found.GetID()
	return nil
}

// hint says what to do if an App is refused.
func (t *tokens) hint(said *refusal) string {
	where := "the owner of the modules"
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
	case t.app.Modules:
		return `"Contents: read"`
	case t.app.Teams:
		return `"Contents: write", "Pull requests: write" and of the organization "Members: read"`
	}
	return `"Contents: write" and "Pull requests: write"`
}
