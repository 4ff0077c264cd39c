// Package github is relock's view of GitHub's API: branches, commits made with
// the Git Data API, and pull requests, on github.com and on GitHub Enterprise.
// It is the only importer of go-github, whose major version is in its path.
//
// A [Client] belongs to one token. It waits for rate limits to pass, within
// bounds, and repeats the request. A [Repository] offers the few operations
// that the life of a pull request needs, each one request unless it says
// otherwise. What a branch or a pull request means to relock is not decided
// here but in package pr.
//
// Errors are *provider.Error with a hint where a person can do something. Those
// that a caller acts on differently match [ErrNotFound], [ErrConflict],
// [ErrUncertain] or [ErrUnsupported].
package github

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"
	svchost "github.com/hashicorp/terraform-svchost"
)

// PublicAPI is where github.com serves its REST API.
const PublicAPI = "https://api.github.com"

// Options describe a Client. HTTP is required, with its Transport.
type Options struct {
	// HTTP makes the connections. Its own retries, if any, must not repeat a
	// request that GitHub may have carried out.
	HTTP *http.Client
	// API is the address of the REST API as GITHUB_API_URL gives it; PublicAPI
	// if empty.
	API string
	// GraphQL is the address of the GraphQL API as GITHUB_GRAPHQL_URL gives it;
	// derived from API if empty.
	GraphQL string
	// Token is sent to the hosts of API and GraphQL and to no other.
	Token string
	// Log hears of waiting; nothing is logged if it is nil.
	Log *slog.Logger
	// Clock measures the waiting; its zero value is the real one.
	Clock Clock
}

// Client speaks to one GitHub server with one token. Use one Client for each
// token, since limits are counted by token. It is safe for concurrent use.
type Client struct {
	rest    *github.Client
	graphql *url.URL
	host    svchost.Hostname
	clock   Clock
}

// New returns a Client. It fails if an address cannot be used; it sends nothing.
func New(o Options) (*Client, error) {
	if o.HTTP == nil || o.HTTP.Transport == nil {
		// The default transport would dial what transport's rules forbid.
		return nil, errors.New("a GitHub client needs an HTTP client with a transport of its own")
	}
	if o.API == "" {
		o.API = PublicAPI
	}
	if o.GraphQL == "" {
		o.GraphQL = graphqlOf(o.API)
	}
	api, err := parseEndpoint(o.API)
	if err != nil {
		return nil, fmt.Errorf("the address of GitHub's REST API: %w", err)
	}
	graphql, err := parseEndpoint(o.GraphQL)
	if err != nil {
		return nil, fmt.Errorf("the address of GitHub's GraphQL API: %w", err)
	}
	o.Clock = o.Clock.orReal()
	rest := github.NewClient(limited(o, api, graphql))
	// go-github resolves paths against the base, which must end in a slash.
	rest.BaseURL = api.JoinPath("/")
	rest.UserAgent = "relock"
	return &Client{rest: rest, graphql: graphql, host: hostname(api), clock: o.Clock}, nil
}

// hostname returns the host as errors carry it; empty if svchost could not
// display it.
func hostname(u *url.URL) svchost.Hostname {
	h, err := svchost.ForComparison(svchost.ForDisplay(u.Host))
	if err != nil {
		return ""
	}
	return h
}

// limited is the operator's HTTP client with the token, the bounds and the
// waiting that every request to GitHub needs.
func limited(o Options, endpoints ...*url.URL) *http.Client {
	hosts := make(map[string]bool)
	for _, e := range endpoints {
		hosts[e.Scheme+"://"+e.Host] = true
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	client := *o.HTTP
	client.Timeout = 0 // it would count the waiting for limits; see send
	client.Transport = &limits{
		next:  &authorized{next: o.HTTP.Transport, token: o.Token, hosts: hosts},
		clock: o.Clock,
		log:   log,
	}
	return &client
}

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

// authorized adds the token to requests for the given origins. It stands below
// the redirects of http.Client and so decides for each hop, which go-github's
// own WithAuthToken does not: that one hands the token to any redirect target.
type authorized struct {
	next  http.RoundTripper
	token string
	hosts map[string]bool // by scheme://host:port
}

func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.token != "" && a.hosts[req.URL.Scheme+"://"+req.URL.Host] {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.next.RoundTrip(req)
}
