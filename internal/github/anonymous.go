package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/google/go-github/v60/github"
)

// mostAnonymous is how many requests a Client sends without a token. An address
// has 60 an hour, which everybody behind it shares
// [docs.github.com, "Rate limits for the REST API"].
const mostAnonymous = 10

// tokenHint says what to do if GitHub refuses a request without a token.
const tokenHint = "set GITHUB_TOKEN to a token that may read it, for example to what `gh auth token` prints"

// errFrugal is why a request beyond the bound was not sent.
var errFrugal = fmt.Errorf("without a token relock asks GitHub no more than %d questions", mostAnonymous)

// errNoGraphQL is why a request that GitHub would refuse was not sent.
var errNoGraphQL = errors.New("GitHub answers no GraphQL without a token")

// frugal bounds the requests without a token, and stops those that GitHub refuses without
// one.
type frugal struct {
	next http.RoundTripper
	sent atomic.Int32
}

func (f *frugal) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case limitOf(req) == "graphql":
		return nil, errNoGraphQL
	case f.sent.Add(1) > mostAnonymous:
		return nil, errFrugal
	}
	return f.next.RoundTrip(req)
}

// Anonymous reports whether the client has no token.
func (r *Repository) Anonymous() bool { return r.client.Anonymous() }

// mostRecent is how many pull requests Recent returns, a page of them.
const mostRecent = 100

// Recent returns the newest pull requests from branches of this repository, open or not,
// newest first. complete says that there are no others. It makes one request, which needs
// no token.
func (r *Repository) Recent(ctx context.Context) (pulls []PullRequest, complete bool, err error) {
	listed, _, err := r.client.rest.PullRequests.List(ctx, r.owner, r.name, &github.PullRequestListOptions{
		State: "all", Sort: "created", Direction: "desc", ListOptions: github.ListOptions{PerPage: mostRecent},
	})
	if err != nil {
		return nil, false, r.explain(ctx, "listing the newest pull requests", readPulls, err)
	}
	for _, p := range listed {
		if found := pullRequest(p); !found.Fork {
			pulls = append(pulls, found)
		}
	}
	return pulls, len(listed) < mostRecent, nil
}
