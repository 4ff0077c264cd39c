package github

import (
	"context"

	"github.com/google/go-github/v60/github"
)

// PullRequest is a pull request as relock reads it.
type PullRequest struct {
	Number int
	URL    string // for people
	Title  string
	Body   string
	Open   bool
	Merged bool
	Base   string // the name of the branch
	Head   string // the commit; that of a closed pull request no longer moves
}

// PullRequests returns the newest pull requests, open or not, from a branch of
// this repository, newest first: a page of them.
func (r *Repository) PullRequests(ctx context.Context, branch string) ([]PullRequest, error) {
	pulls, _, err := r.client.rest.PullRequests.List(ctx, r.owner, r.name, &github.PullRequestListOptions{
		State: "all", Head: r.owner + ":" + branch, Sort: "created", Direction: "desc",
		ListOptions: github.ListOptions{PerPage: 30},
	})
	if err != nil {
		return nil, r.explain(ctx, "listing the pull requests from "+branch, readPulls, err)
	}
	var out []PullRequest
	for _, p := range pulls {
		r.learn(p.GetBase().GetRepo())
		if p.GetHead().GetRepo().GetFullName() == p.GetBase().GetRepo().GetFullName() {
			out = append(out, pullRequest(p))
		}
	}
	return out, nil
}

func pullRequest(p *github.PullRequest) PullRequest {
	return PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), Title: p.GetTitle(), Body: p.GetBody(),
		Open:   p.GetState() == "open",
		Merged: p.GetMerged() || p.MergedAt != nil, // lists have the time only
		Base:   p.GetBase().GetRef(), Head: p.GetHead().GetSHA(),
	}
}

// NewPullRequest is a pull request to be opened from a branch of this
// repository.
type NewPullRequest struct {
	Branch, Base, Title, Body string
}

// OpenPullRequest opens a pull request. It returns an ErrConflict if there is
// an open one of the same branch and base.
func (r *Repository) OpenPullRequest(ctx context.Context, n NewPullRequest) (PullRequest, error) {
	p, _, err := r.client.rest.PullRequests.Create(ctx, r.owner, r.name, &github.NewPullRequest{
		Title: github.String(n.Title), Body: github.String(n.Body),
		Head: github.String(n.Branch), Base: github.String(n.Base),
	})
	if err != nil {
		return PullRequest{}, r.explain(ctx, "opening a pull request from "+n.Branch, writePulls, err)
	}
	r.learn(p.GetBase().GetRepo())
	return pullRequest(p), nil
}

// PullRequestEdit is a change of a pull request; what is empty stays.
type PullRequestEdit struct {
	Title, Body string
	Close       bool
}

// EditPullRequest changes a pull request and returns it as it is then.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e PullRequestEdit) (PullRequest, error) {
	edit := &github.PullRequest{}
	if e.Title != "" {
		edit.Title = &e.Title
	}
	if e.Body != "" {
		edit.Body = &e.Body
	}
	if e.Close {
		edit.State = github.String("closed")
	}
	p, _, err := r.client.rest.PullRequests.Edit(ctx, r.owner, r.name, number, edit)
	if err != nil {
		return PullRequest{}, r.explain(ctx, "editing the pull request", writePulls, err)
	}
	return pullRequest(p), nil
}

// Comment adds a comment to a pull request.
func (r *Repository) Comment(ctx context.Context, number int, body string) error {
	_, _, err := r.client.rest.Issues.CreateComment(ctx, r.owner, r.name, number, &github.IssueComment{Body: &body})
	if err != nil {
		return r.explain(ctx, "commenting on the pull request", writePulls, err)
	}
	return nil
}

// Label adds labels to a pull request. GitHub makes those that do not exist.
func (r *Repository) Label(ctx context.Context, number int, labels []string) error {
	if _, _, err := r.client.rest.Issues.AddLabelsToIssue(ctx, r.owner, r.name, number, labels); err != nil {
		return r.explain(ctx, "labelling the pull request", writePulls, err)
	}
	return nil
}
