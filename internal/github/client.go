// Package github is relock's view of GitHub's API: the files of a commit, branches, commits
// made with the Git Data API, pull requests and their comments. It works with github.com
// and with GitHub Enterprise. It is the only importer of go-github, whose major version is
// in its path.
//
// A [Client] belongs to one token or to one installation of an [App]. It waits for rate
// limits, within bounds, and repeats the request. It does not pay twice for an unchanged
// answer. A [Repository] has the few operations that the life of a pull request needs. Each
// is one request unless its comment says otherwise. The package does not decide what a
// branch, a pull request or a comment means to relock.
//
// Errors are *problem.Error, with a hint if a person can do something. An error on which a
// caller acts matches [ErrNotFound], [ErrConflict], [ErrUncertain], [ErrUnsupported] or
// [ErrTokenRefused].
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/transport"
)

// PublicAPI is where github.com serves its REST API.
const PublicAPI = "https://api.github.com"

// Options describe a Client. HTTP is required, with its Transport.
type Options struct {
	// HTTP makes the connections. Its own retries, if any, must not repeat a
	// request that GitHub may have carried out.
	HTTP   *http.Client
	Access Access
	// Made is called with every token of the App before its first use, to keep it out of
	// logs. If it fails, the token is not used. It may be nil.
	Made func(token string) error
	// Refusals are what GitHub has refused to tokens of Apps in this run; nil: the Client
	// has its own.
	Refusals *Refusals
	// Log hears of waiting; nothing is logged if it is nil.
	Log *slog.Logger
	// Clock measures the waiting; its zero value is the real one.
	Clock Clock
}

// Access is a GitHub server, and the credentials for it.
type Access struct {
	// API is the address of the REST API as GITHUB_API_URL gives it; PublicAPI
	// if empty.
	API string
	// GraphQL is the address of the GraphQL API as GITHUB_GRAPHQL_URL gives it;
	// derived from API if empty.
	GraphQL string
	// Token is sent only to the hosts of API and GraphQL. Without a token and without an
	// App, the Client reads public data: see Client.Anonymous.
	Token string // secret
	// App replaces Token, if given.
	App *App
}

// Anonymous reports whether there is neither a token nor an App.
func (a Access) Anonymous() bool { return a.Token == "" && a.App == nil }

// Client speaks to one GitHub server with one token, or as one installation of
// an App. Use one Client for each of them, since limits are counted by it. It is
// safe for concurrent use.
type Client struct {
	rest   *github.Client
	graph  *graph
	host   svchost.Hostname
	tokens *tokens
	// anonymous is true without a token and without an App.
	anonymous bool
	shares
	// as has what a client is made of, for others that share its limits.
	as connection
}

// connection is what a client is made of, without its credentials.
type connection struct {
	options Options
	server  server
	rates   *rates
	self    *selfKnown
	// repository is the only repository of the client, OWNER/NAME; empty: there may be
	// several.
	repository string
}

// New returns a Client. It fails if an address or an App cannot be used; it
// sends nothing.
func New(o Options) (*Client, error) {
	if o.HTTP == nil || o.HTTP.Transport == nil {
		// The default transport would connect to hosts that package transport forbids.
		return nil, errors.New("a GitHub client needs an HTTP client with a transport of its own")
	}
	s, err := serverOf(o)
	if err != nil {
		return nil, err
	}
	o.Clock = o.Clock.orReal()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Refusals == nil {
		o.Refusals = &Refusals{}
	}
	as := connection{options: o, server: s, rates: &rates{}, self: &selfKnown{}}
	t := &tokens{given: o.Access.Token}
	if o.Access.App != nil {
		t, err = ofApp(*o.Access.App, as)
		if err != nil {
			return nil, err
		}
	}
	c := newClient(as, t.forRequest)
	c.tokens = t
	return c, nil
}

// Narrowed returns a client for one repository of the App's owner, with the same limits. It
// reads with this client's token. It writes with an App token for that repository only,
// which it requests for the first write. Without an App it uses the same token. It has its
// own cache of answers.
func (c *Client) Narrowed(repository string, teams, labels bool) *Client {
	writing := c.tokens
	if c.tokens.isApp() {
		writing = c.tokens.narrowed(App{Repositories: []string{repository}, Teams: teams, Labels: labels})
	}
	as := c.as
	as.repository = repository
	narrow := newClient(as, func(req *http.Request) (string, error) {
		if behaviourOf(req).write {
			return writing.forRequest(req)
		}
		return c.tokens.forRequest(req)
	})
	narrow.tokens = c.tokens
	return narrow
}

// newClient returns a Client that authenticates by what token returns.
func newClient(as connection, token func(*http.Request) (string, error)) *Client {
	rest := github.NewClient(careful(as, token))
	// go-github resolves paths against the base, which must end in a slash.
	rest.BaseURL = as.server.api.JoinPath("/")
	rest.UserAgent = "relock"
	return &Client{
		rest: rest, graph: &graph{rest: rest, url: as.server.graphql}, host: transport.Hostname(as.server.api),
		anonymous: as.options.Access.Anonymous(), shares: shares{as.rates, as.options.Clock, as.options.Log}, as: as,
	}
}

// Token returns the token that the Client would send now, for others who speak
// to the same host, like git.
func (c *Client) Token(ctx context.Context) (string, error) {
	token, err := c.tokens.token(ctx)
	if err != nil {
		return "", explanation(ctx, c, "authenticating", nil, err)
	}
	return token, nil
}

// Anonymous reports whether the client has no token. It then reads public data by REST
// only, and does not wait for limits.
func (c *Client) Anonymous() bool { return c.anonymous }

// Repository returns the repository OWNER/NAME. Nothing is asked yet.
func (c *Client) Repository(owner, name string) *Repository {
	return &Repository{client: c, owner: owner, name: name}
}

// server is where a GitHub has its APIs.
type server struct{ api, graphql *url.URL }

func serverOf(o Options) (server, error) {
	rest := cmp.Or(o.Access.API, PublicAPI)
	api, err := parseEndpoint(rest)
	if err != nil {
		return server{}, fmt.Errorf("the address of GitHub's REST API: %w", err)
	}
	graphql, err := parseEndpoint(cmp.Or(o.Access.GraphQL, graphqlOf(rest)))
	if err != nil {
		return server{}, fmt.Errorf("the address of GitHub's GraphQL API: %w", err)
	}
	return server{api, graphql}, nil
}

// careful is the operator's HTTP client with the token, the bounds and the
// waiting that every request to GitHub needs.
func careful(as connection, token func(*http.Request) (string, error)) *http.Client {
	o, s := as.options, as.server
	client := *o.HTTP
	client.Timeout = 0 // it would include the waits for limits; see send
	var server http.RoundTripper = &authorized{next: o.HTTP.Transport, token: token, origins: []string{hostOrigin(s.api), hostOrigin(s.graphql)}}
	if o.Access.Anonymous() {
		server = &frugal{next: o.HTTP.Transport}
	}
	var patient http.RoundTripper = &limits{next: server, clock: o.Clock, log: o.Log, impatient: o.Access.Anonymous(), rates: as.rates}
	if o.Access.App != nil {
		patient = &renewing{next: patient, clock: o.Clock, log: o.Log, refusals: o.Refusals, repository: as.repository}
	}
	client.Transport = &revalidating{next: patient}
	return &client
}

func hostOrigin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func parseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		// The cause repeats the address, which may hold a password.
		return nil, errors.New("it is not a URL")
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return nil, errors.New("it must be like https://api.github.com")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it must have no user, query or fragment")
	}
	return u, nil
}

// graphqlOf derives the GraphQL address as GitHub documents it: /graphql beside
// the REST API of github.com and of its tenants (api.SUBDOMAIN.ghe.com), and
// /api/graphql where GitHub Enterprise Server has /api/v3.
func graphqlOf(api string) string {
	api = strings.TrimSuffix(api, "/")
	if base, ok := strings.CutSuffix(api, "/api/v3"); ok {
		return base + "/api/graphql"
	}
	return api + "/graphql"
}

// authorized adds the token to requests for the given origins. It is below the redirects of
// http.Client, and so decides for each hop. go-github's own WithAuthToken would send the
// token to any redirect target.
type authorized struct {
	next    http.RoundTripper
	token   func(*http.Request) (string, error)
	origins []string
}

func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if !slices.Contains(a.origins, hostOrigin(req.URL)) {
		return a.next.RoundTrip(req)
	}
	token, err := a.token(req)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return a.next.RoundTrip(req)
}
