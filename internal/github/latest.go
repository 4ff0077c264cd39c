package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

const (
	// mostBranches bounds the branches of one query. The bodies of their pull
	// requests are part of the answer, and GitHub gives up after ten seconds.
	mostBranches = 50
	// fewCandidates is how many pull requests of each branch a query returns: a fork
	// may have a branch of the same name.
	fewCandidates = 3
)

// pullFields are the GraphQL fields of a pull request. Unlike REST, GraphQL names bots
// without "[bot]".
const pullFields = `number id url title body state isDraft locked baseRefName baseRefOid
 headRefOid headRefName headRepository { nameWithOwner } isCrossRepository maintainerCanModify
 author { __typename login } labels(first: 50) { nodes { name } } autoMergeRequest { mergeMethod }`

type pullNode struct {
	Number              int
	ID, URL             string
	Title, Body, State  string
	IsDraft, Locked     bool
	BaseRefName         string
	BaseRefOid          string
	HeadRefOid          string
	HeadRefName         string
	HeadRepository      struct{ NameWithOwner string }
	IsCrossRepository   bool
	MaintainerCanModify bool
	Author              *actorNode
	Labels              struct{ Nodes []struct{ Name string } }
	AutoMergeRequest    *struct{ MergeMethod string }
	MergeStateStatus    MergeState
	IsInMergeQueue      bool
	ReviewDecision      string // empty where the base demands no review
	// LatestOpinionatedReviews are the latest of each person who may write that approves or
	// asks for changes.
	LatestOpinionatedReviews struct{ Nodes []struct{ State string } }
}

// fork reports whether the head is not in this repository. One that has been
// deleted was another.
func (n pullNode) fork() bool { return n.IsCrossRepository || n.HeadRepository.NameWithOwner == "" }

func (n pullNode) pullRequest() PullRequest {
	out := PullRequest{
		Number: n.Number, NodeID: n.ID, URL: n.URL, Title: n.Title, Body: n.Body,
		Open: n.State == "OPEN", Merged: n.State == "MERGED", Draft: n.IsDraft, Locked: n.Locked, AutoMerge: n.AutoMergeRequest != nil,
		Base: n.BaseRefName, BaseSHA: n.BaseRefOid,
		Head: n.HeadRefOid, HeadBranch: n.HeadRefName, HeadRepository: n.HeadRepository.NameWithOwner,
		Fork: n.fork(), MaintainerCanModify: n.MaintainerCanModify,
		MergeState: n.MergeStateStatus, Queued: n.IsInMergeQueue, Approved: n.approved(),
	}
	for _, l := range n.Labels.Nodes {
		out.Labels = append(out.Labels, l.Name)
	}
	return out
}

// Latest returns the newest pull requests, open or not, from each of the branches
// of this repository that has one, by branch, newest first: a few of each, whatever
// their base. It is one request for every fifty branches, and one more for a branch
// whose name several pull requests from forks share.
func (r *Repository) Latest(ctx context.Context, branches []string) (map[string][]PullRequest, error) {
	return r.latest(ctx, branches, nil)
}

// latest is Latest with a search for issues, if one is given, in the first query.
func (r *Repository) latest(ctx context.Context, branches []string, issues *issueSearch) (map[string][]PullRequest, error) {
	latest := make(map[string][]PullRequest)
	parts := slices.Collect(slices.Chunk(branches, mostBranches))
	if len(parts) == 0 && issues != nil {
		parts = [][]string{nil}
	}
	for _, part := range parts {
		found, err := r.candidates(ctx, part, issues)
		if issues.spare(err) {
			issues.found.Err = err
			found, err = r.candidates(ctx, part, nil)
		}
		if err != nil {
			return nil, err
		}
		issues = nil
		for i, branch := range part {
			own, err := r.own(ctx, branch, found[i])
			if err != nil {
				return nil, err
			}
			if len(own) > 0 {
				latest[branch] = own
			}
		}
	}
	return latest, nil
}

// candidates returns the newest pull requests of each branch, forks included,
// newest first, and finds the issues that are searched with them; nil if none are searched.
func (r *Repository) candidates(ctx context.Context, branches []string, issues *issueSearch) ([][]pullNode, error) {
	const doing = "listing the newest pull requests"
	var data struct {
		Viewer     struct{ Login string }
		Repository map[string]json.RawMessage
	}
	err := r.client.graph.full(ctx, &data, func(fields string) *graphQuery {
		var q graphQuery
		q.add(" repository(owner: %s, name: %s) { id", q.text(r.owner), q.text(r.name))
		for i, branch := range branches {
			q.add(" b%d: pullRequests(headRefName: %s, first: %d, orderBy: {field: CREATED_AT, direction: DESC}) { nodes { %s } }",
				i, q.text(branch), fewCandidates, pullFields+fields)
		}
		if issues != nil {
			issues.ask(&q, issues.lists)
			q.add(" } viewer { login }")
		} else {
			q.add(" }")
		}
		return &q
	})
	if err != nil {
		return nil, r.explain(ctx, doing, readPulls, err)
	}
	if data.Repository == nil {
		return nil, r.explain(ctx, doing, readPulls, &refusal{status: http.StatusNotFound, message: "Not Found", kind: ErrNotFound})
	}
	var id string
	if err := json.Unmarshal(data.Repository["id"], &id); err == nil {
		r.learn(id)
	}
	found := make([][]pullNode, len(branches))
	var openers []string // bots
	for i := range branches {
		var connection struct{ Nodes []pullNode }
		if err := json.Unmarshal(data.Repository[fmt.Sprint("b", i)], &connection); err != nil {
			return nil, r.explain(ctx, doing, readPulls, err)
		}
		found[i] = connection.Nodes
		for _, n := range connection.Nodes {
			if !n.fork() && n.Author.wroteAsBot() {
				openers = append(openers, n.Author.actor().Login+botSuffix)
			}
		}
	}
	if issues != nil {
		if err := issues.whole(ctx, r, data.Viewer.Login, data.Repository, openers); err != nil {
			issues.found.Err = r.explain(ctx, "listing issues", readIssues, err)
		}
	}
	return found, nil
}

// own are the candidates that are from this repository, newest first. Where all of
// them are from forks there may be older ones.
func (r *Repository) own(ctx context.Context, branch string, candidates []pullNode) ([]PullRequest, error) {
	var own []PullRequest
	for _, n := range candidates {
		if !n.fork() {
			own = append(own, n.pullRequest())
		}
	}
	if len(own) > 0 || len(candidates) < fewCandidates {
		return own, nil
	}
	return r.PullRequests(ctx, branch)
}

// LatestAndIssues is Latest with the issues that are sought. It costs one more request if the
// token's owner is not known yet, if another bot has opened our pull requests, and if other
// issues of the owner come first.
func (r *Repository) LatestAndIssues(ctx context.Context, branches []string, sought Sought) (map[string][]PullRequest, OwnIssues, error) {
	s := &issueSearch{Sought: &sought, self: likelyLogin(ctx, r.client)}
	s.by(s.self)
	s.by(WorkflowLogin)
	s.by(sought.Opener)
	latest, err := r.latest(ctx, branches, s)
	if err != nil {
		s.found.Err = err
	}
	return latest, s.found, err
}
