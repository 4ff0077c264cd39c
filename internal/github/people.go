package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/relock-dev/relock/internal/problem"
)

// Permission returns what a person may do in the repository now: admin, write,
// read or none, and the name of the role that says so, which may be a custom
// one. Triage counts as read and maintain as write.
func (r *Repository) Permission(ctx context.Context, login string) (permission, role string, err error) {
	doing := "asking for the permission of " + login
	u := fmt.Sprintf("repos/%s/%s/collaborators/%s/permission", r.owner, r.name, url.PathEscape(login))
	req, err := r.client.rest.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		return "", "", r.explain(ctx, doing, writeContents, err)
	}
	// The type of go-github has no role_name.
	var answer struct {
		Permission string `json:"permission"`
		RoleName   string `json:"role_name"`
	}
	if _, err := r.client.rest.Do(ctx, req, &answer); err != nil {
		return "", "", r.explain(ctx, doing, writeContents, err)
	}
	if answer.Permission == "" {
		return "", "", r.explain(ctx, doing, writeContents, &finding{message: "the answer names none", hint: "try again later"})
	}
	return answer.Permission, answer.RoleName, nil
}

// KnownLabels returns those of the labels that the repository has, with one
// request; with one for each where GraphQL does not answer.
func (r *Repository) KnownLabels(ctx context.Context, labels []string) ([]string, error) {
	known, err := r.knownLabels(ctx, labels)
	if err == nil || ctx.Err() != nil {
		return known, err
	}
	known = nil
	for _, label := range labels {
		_, _, err := r.client.rest.Issues.GetLabel(ctx, r.owner, r.name, url.PathEscape(label))
		if err = r.explain(ctx, "looking for the label "+label, readPulls, err); err == nil {
			known = append(known, label)
		} else if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return known, nil
}

func (r *Repository) knownLabels(ctx context.Context, labels []string) ([]string, error) {
	var q graphQuery
	q.add(" repository(owner: %s, name: %s) {", q.text(r.owner), q.text(r.name))
	for i, label := range labels {
		q.add(" l%d: label(name: %s) { name }", i, q.text(label))
	}
	q.add(" }")
	var data struct {
		Repository map[string]*struct{ Name string }
	}
	if err := r.client.graph.query(ctx, &q, &data); err != nil {
		return nil, r.explain(ctx, "looking for labels", readPulls, err)
	}
	var known []string
	for i, label := range labels {
		if data.Repository[fmt.Sprint("l", i)] != nil {
			known = append(known, label)
		}
	}
	return known, nil
}

// Label adds labels to a pull request, all or none. GitHub makes those that do not
// exist, or returns an ErrForbidden if the token may set labels alone, as
// "pull-requests: write" lets it.
func (r *Repository) Label(ctx context.Context, number int, labels []string) error {
	_, _, err := r.client.rest.Issues.AddLabelsToIssue(ctx, r.owner, r.name, number, labels)
	return r.explain(ctx, "labelling the pull request", writePulls, err)
}

// RequestReviewers asks people, by login, and teams, by slug, to review a pull
// request. GitHub takes all of them or none. A workflow's own token cannot name
// teams.
func (r *Repository) RequestReviewers(ctx context.Context, number int, logins, teams []string) error {
	_, _, err := r.client.rest.PullRequests.RequestReviewers(ctx, r.owner, r.name, number,
		github.ReviewersRequest{Reviewers: logins, TeamReviewers: teams})
	if err == nil {
		return nil
	}
	err = r.explain(ctx, "requesting reviewers", writePulls, err)
	if e, ok := errors.AsType[*problem.Error](err); ok && len(teams) > 0 && aboutTeams(e) {
		e.Problem.Hint = "use the token of a GitHub App that may read the members of the organization, and give the teams access to " + r.String() +
			": a workflow's GITHUB_TOKEN cannot name teams"
	}
	return err
}

// aboutTeams reports whether the refusal of a request with teams is likely to be
// for them: to those who may not see a team GitHub answers that a node cannot be
// resolved, or that it is no collaborator.
func aboutTeams(e *problem.Error) bool {
	said, ok := errors.AsType[*refusal](e)
	return ok && said.status != http.StatusUnauthorized && !strings.Contains(said.message, "pull request author")
}

// Assign adds people to a pull request. It fails if GitHub leaves one out, which
// it does without a word with those who cannot be assigned.
func (r *Repository) Assign(ctx context.Context, number int, logins []string) error {
	const doing = "assigning the pull request"
	issue, _, err := r.client.rest.Issues.AddAssignees(ctx, r.owner, r.name, number, logins)
	if err != nil {
		return r.explain(ctx, doing, writePulls, err)
	}
	for _, login := range logins {
		taken := slices.ContainsFunc(issue.Assignees, func(u *github.User) bool { return strings.EqualFold(u.GetLogin(), login) })
		if !taken {
			return r.explain(ctx, doing, writePulls, &finding{
				message: login + " cannot be assigned", kind: ErrConflict, hint: "only people who may read the repository can be",
			})
		}
	}
	return nil
}

// mostMilestonePages bounds the milestones that are read, a hundred a page.
const mostMilestonePages = 10

// SetMilestone puts a pull request into the open milestone of this title. It
// costs a further request for every hundred milestones, and returns an
// ErrNotFound if there is none of the title.
func (r *Repository) SetMilestone(ctx context.Context, number int, title string) error {
	milestone, err := r.milestone(ctx, title)
	if err != nil {
		return err
	}
	_, _, err = r.client.rest.Issues.Edit(ctx, r.owner, r.name, number, &github.IssueRequest{Milestone: &milestone})
	return r.explain(ctx, "setting the milestone of the pull request", writePulls, err)
}

// milestone returns the number of an open milestone.
func (r *Repository) milestone(ctx context.Context, title string) (int, error) {
	doing := fmt.Sprintf("looking for the milestone %q", title)
	opts := &github.MilestoneListOptions{State: "open", ListOptions: github.ListOptions{Page: 1, PerPage: 100}}
	for opts.Page != 0 && opts.Page <= mostMilestonePages {
		milestones, resp, err := r.client.rest.Issues.ListMilestones(ctx, r.owner, r.name, opts)
		if err != nil {
			return 0, r.explain(ctx, doing, readPulls, err)
		}
		for _, m := range milestones {
			if m.GetTitle() == title {
				return m.GetNumber(), nil
			}
		}
		opts.Page = resp.NextPage
	}
	return 0, r.explain(ctx, doing, readPulls, &finding{
		message: "no open milestone has this title", kind: ErrNotFound, hint: "create it, or change the setting pull-request.milestone",
	})
}

// enableAutoMerge is an operation of GraphQL alone.
const enableAutoMerge = `mutation($input: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $input) { clientMutationId } }`

// EnableAutoMerge makes GitHub merge a pull request once all that its base
// branch demands is there. The method is squash, merge or rebase. It returns an
// ErrConflict if the repository does not allow it, and an ErrNotYet if there is
// nothing to wait for, as it seems just after the opening.
func (r *Repository) EnableAutoMerge(ctx context.Context, p PullRequest, method string) error {
	return r.mutate(ctx, "enabling auto-merge", writePulls, enableAutoMerge, map[string]any{
		"pullRequestId": p.NodeID, "mergeMethod": strings.ToUpper(method),
	})
}

const disableAutoMerge = `mutation($input: DisablePullRequestAutoMergeInput!) { disablePullRequestAutoMerge(input: $input) { clientMutationId } }`

// DisableAutoMerge makes GitHub leave the merging of a pull request to people,
// where EnableAutoMerge or a person made it merge by itself.
func (r *Repository) DisableAutoMerge(ctx context.Context, p PullRequest) error {
	return r.mutate(ctx, "disabling auto-merge", writePulls, disableAutoMerge, map[string]any{"pullRequestId": p.NodeID})
}
