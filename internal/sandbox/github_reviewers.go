package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// reviewerRoutes are the routes of people and teams asked for a review.
var reviewerRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", http.StatusOK, (*apiCall).listReviewers, readPulls},
	{"POST", "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", http.StatusCreated, (*apiCall).requestReviewers, reviewChanges},
	{"DELETE", "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", http.StatusOK, (*apiCall).removeReviewers, reviewChanges},
}

// reviewersText is the people and teams that a request names.
type reviewersText struct {
	Reviewers     []string
	TeamReviewers []string `json:"team_reviewers"`
}

func (c *apiCall) listReviewers() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return doc{"users": each(p.reviewers, c.userDoc), "teams": each(p.teamReviewers, c.teamDoc)}, nil
}

// requestReviewers asks all of them, or none if one cannot be asked. A
// GITHUB_TOKEN sees no teams. Neither does an App that may not read the members
// of an organization [peter-evans/create-pull-request, README, "Action inputs",
// team-reviewers].
func (c *apiCall) requestReviewers() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in reviewersText
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	for _, login := range in.Reviewers {
		switch {
		case strings.EqualFold(login, p.author):
			return nil, unprocessable("Review cannot be requested from pull request author.")
		case !c.repo.assignable(login):
			return nil, c.noCollaborator("users or teams")
		}
	}
	for _, slug := range in.TeamReviewers {
		switch {
		case c.who.workflow(), c.who.app != nil && c.who.Permissions["members"] == "":
			return nil, unprocessable("Could not resolve to a node with the global id of '%s'.", teamID(slug))
		case !slices.Contains(c.repo.settings.Teams, slug):
			return nil, c.noCollaborator("teams")
		}
	}
	p.reviewers, p.teamReviewers = union(p.reviewers, in.Reviewers), union(p.teamReviewers, in.TeamReviewers)
	p.updated = c.hub.now()
	return c.pullDoc(p), nil
}

func (c *apiCall) noCollaborator(who string) error {
	return unprocessable("Reviews may only be requested from collaborators. One or more of the %s you specified is not a collaborator of the %s repository.", who, c.repo.fullName())
}

func (c *apiCall) removeReviewers() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in reviewersText
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	p.reviewers = slices.DeleteFunc(p.reviewers, func(login string) bool { return slices.Contains(in.Reviewers, login) })
	p.teamReviewers = slices.DeleteFunc(p.teamReviewers, func(slug string) bool { return slices.Contains(in.TeamReviewers, slug) })
	p.updated = c.hub.now()
	return c.pullDoc(p), nil
}

// union appends elements that are not there yet.
func union(all, more []string) []string {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// teamID is a team's name in GraphQL.
func teamID(slug string) string { return fmt.Sprintf("T_%d", userID(slug)) }

func (c *apiCall) teamDoc(slug string) doc {
	id := userID(slug)
	url := c.origin() + restPath + fmt.Sprintf("/organizations/%d/team/%d", userID(c.repo.owner), id)
	return doc{
		"id": id, "node_id": teamID(slug), "name": slug, "slug": slug, "description": nil,
		"privacy": "closed", "notification_setting": "notifications_enabled", "permission": "push",
		"type": "organization", "organization_id": userID(c.repo.owner),
		"url": url, "html_url": c.origin() + fmt.Sprintf("/github/orgs/%s/teams/%s", c.repo.owner, slug),
		"members_url": url + "/members{/member}", "repositories_url": url + "/repos", "parent": nil,
	}
}
