package github

import (
	"context"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/safe"
)

// PullRequest is a pull request. A field that REST, GraphQL or lists do not have says so.
type PullRequest struct {
	Number int
	NodeID string // its name in GraphQL
	URL    string // for people
	Author string // a login; empty in Latest
	Title  string
	Body   string
	Open   bool
	Merged bool
	Draft  bool
	Locked bool
	Labels []string
	// AutoMerge says that GitHub merges it once it may.
	AutoMerge bool
	// MergeState is empty in lists of REST, and so is Approved.
	MergeState MergeState
	// Approved says that the reviews approve.
	Approved bool
	// Queued says that it is in the merge queue of its base. REST does not report that. A
	// push removes it from the queue.
	Queued bool

	Base    string // the name of the branch
	BaseSHA string // where the branch was when GitHub looked last; not for lists

	// Tested is GitHub's merge of the head into the base, for tests, while the pull request
	// is open. It lags behind both, and is empty if GitHub has not made it; not for lists.
	Tested string

	Head           string // the commit; that of a closed pull request no longer moves
	HeadBranch     string
	HeadRepository string // OWNER/NAME; empty if it has been deleted
	// Fork says that the head is not in this repository.
	Fork bool
	// MaintainerCanModify says that people who may push to this repository may also push to
	// the branch of the fork. Lists do not have it.
	MaintainerCanModify bool
}

// PullRequest returns the pull request with a number, with all fields of REST.
func (r *Repository) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	p, _, err := r.client.rest.PullRequests.Get(ctx, r.owner, r.name, number)
	if err != nil {
		return PullRequest{}, r.explain(ctx, "reading the pull request", readPulls, err)
	}
	r.learn(p.GetBase().GetRepo().GetNodeID())
	return pullRequest(p), nil
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
		r.learn(p.GetBase().GetRepo().GetNodeID())
		if found := pullRequest(p); !found.Fork {
			out = append(out, found)
		}
	}
	return out, nil
}

func pullRequest(p *github.PullRequest) PullRequest {
	base, head := p.GetBase(), p.GetHead()
	out := PullRequest{
		Number: p.GetNumber(), NodeID: p.GetNodeID(), URL: p.GetHTMLURL(), Author: p.GetUser().GetLogin(),
		Title: p.GetTitle(), Body: p.GetBody(),
		Open:   p.GetState() == "open",
		Merged: p.GetMerged() || p.MergedAt != nil, // lists have the time only
		Draft:  p.GetDraft(), Locked: p.GetLocked(), AutoMerge: p.AutoMerge != nil,
		Base: base.GetRef(), BaseSHA: base.GetSHA(),
		Head: head.GetSHA(), HeadBranch: head.GetRef(), HeadRepository: head.GetRepo().GetFullName(),
		Fork:                head.GetRepo().GetFullName() != base.GetRepo().GetFullName(),
		MaintainerCanModify: p.GetMaintainerCanModify(),
		MergeState:          MergeState(strings.ToUpper(p.GetMergeableState())),
	}
	if out.Open {
		out.Tested = p.GetMergeCommitSHA()
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// ChangedFiles returns the paths that a pull request changes, both of a file
// that it renames: one request for every hundred files. It reads no further
// than a number of files; complete says whether those were all. GitHub itself
// lists no more than 3,000.
func (r *Repository) ChangedFiles(ctx context.Context, number, most int) (paths []string, complete bool, err error) {
	opts := &github.ListOptions{Page: 1, PerPage: 100}
	for read := 0; ; {
		files, resp, err := r.client.rest.PullRequests.ListFiles(ctx, r.owner, r.name, number, opts)
		if err != nil {
			return nil, false, r.explain(ctx, "listing the changed files of the pull request", readPulls, err)
		}
		for _, f := range files {
			read++
			if read > most {
				return paths, false, nil
			}
			paths = append(paths, f.GetFilename())
			if old := f.GetPreviousFilename(); old != "" {
				paths = append(paths, old)
			}
		}
		if resp.NextPage == 0 {
			return paths, read < mostFiles, nil
		}
		opts.Page = resp.NextPage
	}
}

// mostFiles is how many changed files GitHub lists of a pull request.
const mostFiles = 3000

// NewPullRequest is a pull request to be opened from a branch of this
// repository.
type NewPullRequest struct {
	Branch, Base, Title string
	Body                safe.Markdown
	Draft               bool
}

// OpenPullRequest opens a pull request. It returns an ErrConflict if there is
// an open one of the same branch and base.
func (r *Repository) OpenPullRequest(ctx context.Context, n NewPullRequest) (PullRequest, error) {
	p, _, err := r.client.rest.PullRequests.Create(ctx, r.owner, r.name, &github.NewPullRequest{
		Title: github.String(n.Title), Body: github.String(n.Body.String()),
		Head: github.String(n.Branch), Base: github.String(n.Base), Draft: github.Bool(n.Draft),
	})
	if err != nil {
		return PullRequest{}, r.explain(ctx, "opening a pull request from "+n.Branch, writePulls, err)
	}
	r.learn(p.GetBase().GetRepo().GetNodeID())
	return pullRequest(p), nil
}

// PullRequestEdit is a change of a pull request; what is empty stays.
type PullRequestEdit struct {
	Title         string
	Body          safe.Markdown
	Close, Reopen bool
}

// EditPullRequest changes a pull request and returns it as it is then.
func (r *Repository) EditPullRequest(ctx context.Context, number int, e PullRequestEdit) (PullRequest, error) {
	edit := &github.PullRequest{}
	if e.Title != "" {
		edit.Title = &e.Title
	}
	if !e.Body.Empty() {
		edit.Body = github.String(e.Body.String())
	}
	if e.Close {
		edit.State = github.String("closed")
	}
	if e.Reopen {
		edit.State = github.String("open")
	}
	p, _, err := r.client.rest.PullRequests.Edit(ctx, r.owner, r.name, number, edit)
	if err != nil {
		return PullRequest{}, r.explain(ctx, "editing the pull request", writePulls, err)
	}
	return pullRequest(p), nil
}
