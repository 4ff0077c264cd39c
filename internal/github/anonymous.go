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

// tokenHint is the way out of what is refused without a token.
const tokenHint = "set GITHUB_TOKEN to a token that may read it, for example to what `gh auth token` prints"

// errFrugal is a request that was not sent.
var errFrugal = fmt.Errorf("without a token relock asks GitHub no more than %d questions", mostAnonymous)

// errNoGraphQL is a request that GitHub would refuse.
var errNoGraphQL = errors.New("GitHub answers no GraphQL without a token")

// frugal lets only as many requests through as anyone who has no token may send, and
// none that GitHub refuses without one.
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

// Anonymous is that of the client.
func (r *Repository) Anonymous() bool { return r.client.Anonymous() }

// mostRecent is how many pull requests Recent returns, a page of them.
const mostRecent = 100

// Recent returns the newest pull requests, open or not, whose heads are in this
// repository, newest first, and whether it has no others. It is one request, which
// needs no token.
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
