package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"
)

// MergeState is what GitHub has found out about merging a pull request, by the
// names of GraphQL. GitHub computes it at some later time.
// https://docs.github.com/en/graphql/reference/enums#mergestatestatus
type MergeState string

// The states on which relock acts.
const (
	// MergeUnknown means that GitHub has not computed it yet. The empty state means that
	// GitHub was not asked.
	MergeUnknown MergeState = "UNKNOWN"
	// MergeBehind means that the head lacks commits of the base, and that the base requires
	// them. GitHub reports it only if nothing else is missing.
	MergeBehind  MergeState = "BEHIND"
	MergeBlocked MergeState = "BLOCKED"
	MergeClean   MergeState = "CLEAN"
	// MergeUnstable means that a check has not passed that is not required.
	MergeUnstable MergeState = "UNSTABLE"
)

// mergingFields are the GraphQL fields about the merging of a pull request. Servers without
// merge queues do not know all of them.
const mergingFields = " mergeStateStatus isInMergeQueue reviewDecision latestOpinionatedReviews(first: 20, writersOnly: true) { nodes { state } }"

// The words of GraphQL for what people have said.
const (
	approvedWord = "APPROVED"
	changesWord  = "CHANGES_REQUESTED"
)

// approved reports whether the reviews approve. If the base requires no review, GitHub does
// not decide [abcxyz/github-metrics-aggregator#224]. Then one approval of a person who may
// write is enough, unless another such person asks for changes.
func (n pullNode) approved() bool {
	if n.ReviewDecision != "" {
		return n.ReviewDecision == approvedWord
	}
	approved := false
	for _, review := range n.LatestOpinionatedReviews.Nodes {
		if review.State == changesWord {
			return false
		}
		approved = approved || review.State == approvedWord
	}
	return approved
}

// queueRefs is where GitHub keeps what a merge queue is about to merge, as
// gh-readonly-queue/BASE/pr-NUMBER-SHA.
// https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-a-merge-queue
const queueRefs = "gh-readonly-queue/"

// Merging returns the present pull request: whether it is open, its texts, base and head,
// the state of its merge, auto-merge and the queue. It makes one request, or two of REST if
// GraphQL does not answer.
func (r *Repository) Merging(ctx context.Context, p PullRequest) (PullRequest, error) {
	now, err := r.merging(ctx, p)
	if err == nil || ctx.Err() != nil {
		return now, err
	}
	read, err := r.PullRequest(ctx, p.Number)
	if err != nil {
		return p, err
	}
	p = read
	queued, err := r.Branches(ctx, fmt.Sprintf("%s%s/pr-%d-", queueRefs, p.Base, p.Number))
	p.Queued = len(queued) > 0
	return p, err
}

func (r *Repository) merging(ctx context.Context, p PullRequest) (PullRequest, error) {
	const doing = "asking for the state of the pull request's merge"
	var data struct {
		Repository struct{ PullRequest *pullNode }
	}
	err := r.client.graph.full(ctx, &data, func(fields string) *graphQuery {
		var q graphQuery
		q.add(" repository(owner: %s, name: %s) { pullRequest(number: %d) { state title body baseRefName headRefOid autoMergeRequest { mergeMethod }%s } }",
			q.text(r.owner), q.text(r.name), p.Number, fields)
		return &q
	})
	if err != nil {
		return p, r.explain(ctx, doing, readPulls, err)
	}
	n := data.Repository.PullRequest
	if n == nil {
		return p, r.explain(ctx, doing, readPulls, &refusal{status: http.StatusNotFound, message: "Not Found", kind: ErrNotFound})
	}
	p.Open, p.Merged, p.Head = n.State == "OPEN", n.State == "MERGED", n.HeadRefOid
	p.Title, p.Body, p.Base = n.Title, n.Body, n.BaseRefName
	p.MergeState, p.Queued, p.AutoMerge, p.Approved = n.MergeStateStatus, n.IsInMergeQueue, n.AutoMergeRequest != nil, n.approved()
	return p, nil
}

// DemandsUpToDate reports whether a ruleset requires branches to be up to date with the
// base before they are merged. Only administrators may read classic branch protection. For
// that, MergeBehind is the evidence.
func (r *Repository) DemandsUpToDate(ctx context.Context, base string) (bool, error) {
	doing := "reading the rules of branch " + base
	// The type of go-github fails for kinds of rules that it does not know.
	var rules []struct {
		Parameters struct {
			Strict bool `json:"strict_required_status_checks_policy"`
		}
	}
	req, err := r.client.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=100", r.owner, r.name, branchPath(base)), nil)
	if err == nil {
		_, err = r.client.rest.Do(ctx, req, &rules)
	}
	if err != nil {
		return false, r.explain(ctx, doing, readContents, err)
	}
	for _, rule := range rules {
		if rule.Parameters.Strict {
			return true, nil
		}
	}
	return false, nil
}

// UpdateBranch asks GitHub to merge the base of a pull request into its head, which
// must be at a commit. That happens after GitHub has answered. It returns an
// ErrConflict if the head is elsewhere, has all of the base, or cannot be merged.
func (r *Repository) UpdateBranch(ctx context.Context, number int, head string) error {
	_, _, err := r.client.rest.PullRequests.UpdateBranch(ctx, r.owner, r.name, number, &github.PullRequestBranchUpdateOptions{ExpectedHeadSHA: &head})
	if _, accepted := errors.AsType[*github.AcceptedError](err); err == nil || accepted {
		return nil
	}
	return r.explain(ctx, "updating the branch of the pull request", writeContents, err)
}

// branchPath is the name of a branch as the end of a path.
func branchPath(branch string) string {
	parts := strings.Split(branch, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Overlays reports whether a commit holds the files of its base with those over them
// that change from one commit to another, and nothing else: a request for each of
// the four trees.
func (r *Repository) Overlays(ctx context.Context, sha, base, from, to string) (bool, error) {
	doing := "comparing the files of commit " + sha
	var trees [4]*listing
	for i, commit := range []string{sha, base, from, to} {
		var err error
		trees[i], err = r.list(ctx, commit)
		if err != nil {
			return false, r.explain(ctx, doing, readContents, err)
		}
	}
	ours := map[string]bool{}
	for _, path := range changedPaths(trees[2], trees[3]) {
		ours[path] = true
	}
	for _, path := range changedPaths(trees[0], trees[1]) {
		if !ours[path] {
			return false, nil
		}
	}
	for path := range ours {
		is, _ := trees[0].at(path)
		want, _ := trees[3].at(path)
		if is.mode != want.mode || is.blob != want.blob || is.module != want.module {
			return false, nil
		}
	}
	return true, nil
}
