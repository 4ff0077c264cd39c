package github

import (
	"context"
	"net/http"
	"slices"
)

// mostDependents bounds the pull requests of a branch that one answer lists: GitHub
// gives no more [docs "Rate limits and query limits for the GraphQL API"].
const mostDependents = 100

// dependents is a connection to open pull requests.
type dependents struct {
	TotalCount int
	Nodes      []pullNode
}

// Dependents returns the numbers, ascending, of the open pull requests that GitHub closes
// with the branch. The branch is their base or their head. except is left out [docs
// "Managing branches": deletion by the API does not retarget]. It makes one request, and
// one more if forks have over a hundred pull requests from a branch of the same name.
// GitHub cannot list pull requests in other repositories with this head.
func (r *Repository) Dependents(ctx context.Context, branch string, except int) ([]int, error) {
	const doing = "asking which pull requests need the branch"
	const fields = " { totalCount nodes { number isCrossRepository headRepository { nameWithOwner } } }"
	var q graphQuery
	q.add(" repository(owner: %s, name: %s) {", q.text(r.owner), q.text(r.name))
	q.add(" onto: pullRequests(baseRefName: %s, states: [OPEN], first: %d)%s", q.text(branch), mostDependents, fields)
	q.add(" from: pullRequests(headRefName: %s, states: [OPEN], first: %d)%s }", q.text(branch), mostDependents, fields)
	var data struct {
		Repository *struct{ Onto, From dependents }
	}
	if err := r.client.graph.query(ctx, &q, &data); err != nil {
		return nil, r.explain(ctx, doing, readPulls, err)
	}
	if data.Repository == nil {
		return nil, r.explain(ctx, doing, readPulls, &refusal{status: http.StatusNotFound, message: "Not Found", kind: ErrNotFound})
	}
	var numbers []int
	for _, n := range data.Repository.Onto.Nodes {
		numbers = append(numbers, n.Number)
	}
	for _, n := range data.Repository.From.Nodes {
		if !n.fork() {
			numbers = append(numbers, n.Number)
		}
	}
	if from := data.Repository.From; len(from.Nodes) < from.TotalCount {
		own, err := r.PullRequests(ctx, branch)
		if err != nil {
			return nil, err
		}
		for _, p := range own {
			if p.Open {
				numbers = append(numbers, p.Number)
			}
		}
	}
	slices.Sort(numbers)
	return slices.DeleteFunc(slices.Compact(numbers), func(n int) bool { return n == except }), nil
}
