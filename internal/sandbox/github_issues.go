package sandbox

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// issueRoutes are the routes of issues. Every pull request is an issue, too.
var issueRoutes = []route{
	{"POST", "/repos/{owner}/{repo}/issues", http.StatusCreated, (*apiCall).createIssue, writeIssues},
	{"GET", "/repos/{owner}/{repo}/issues/{number}", http.StatusOK, (*apiCall).getIssue, readIssues},
	{"PATCH", "/repos/{owner}/{repo}/issues/{number}", http.StatusOK, (*apiCall).editIssue, triage},
	{"GET", "/repos/{owner}/{repo}/labels/{name}", http.StatusOK, (*apiCall).getLabel, readIssues},
	{"GET", "/repos/{owner}/{repo}/issues/{number}/labels", http.StatusOK, (*apiCall).listLabels, readIssues},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/labels", http.StatusOK, (*apiCall).addLabels, triage},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/assignees", http.StatusCreated, (*apiCall).addAssignees, triage},
	{"GET", "/repos/{owner}/{repo}/assignees/{login}", http.StatusNoContent, (*apiCall).checkAssignee, seeRepository},
	{"GET", "/repos/{owner}/{repo}/milestones", http.StatusOK, (*apiCall).listMilestones, readIssues},
	{"PUT", "/repos/{owner}/{repo}/issues/{number}/lock", http.StatusNoContent, (*apiCall).lockIssue, triage},
	{"DELETE", "/repos/{owner}/{repo}/issues/{number}/lock", http.StatusNoContent, (*apiCall).unlockIssue, triage},
}

// maxAssignees is GitHub's highest number of assignees of an issue.
const maxAssignees = 10

// issue returns the issue or pull request that the path names.
func (c *apiCall) issue() (*pullRequest, error) {
	n, err := strconv.Atoi(c.PathValue("number"))
	if err != nil || n < 1 || n > len(c.repo.issues) {
		return nil, errNotFound
	}
	switch p := c.repo.issues[n-1]; p.gone {
	case deletedIssue:
		return nil, errDeletedIssue
	case transferredIssue:
		return nil, errNotFound // if the caller does not see the new place
	default:
		return p, nil
	}
}

func (c *apiCall) getIssue() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	return c.issueDoc(p), nil
}

func (c *apiCall) issueDoc(p *pullRequest) doc {
	d := doc{
		"id": p.id, "node_id": fmt.Sprintf("I_%d", p.id), "number": p.number, "state": p.state(), "state_reason": nil,
		"title": p.title, "body": emptyIsNull(p.body), "user": c.userDoc(p.author),
		"labels": each(p.labels, c.labelDoc), "assignee": nil, "assignees": each(p.assignees, c.userDoc),
		"milestone": c.milestoneDoc(p.milestone), "locked": p.locked, "active_lock_reason": nil,
		"author_association": c.repo.association(p.author), "performed_via_github_app": nil,
		"comments": len(p.comments), "created_at": timestamp(p.created), "updated_at": timestamp(p.updated),
		"closed_at":      maybeTime(p.closed),
		"url":            c.api(c.repo, "/issues/%d", p.number),
		"repository_url": c.api(c.repo, ""),
		"labels_url":     c.api(c.repo, "/issues/%d/labels{/name}", p.number),
		"comments_url":   c.api(c.repo, "/issues/%d/comments", p.number),
		"events_url":     c.api(c.repo, "/issues/%d/events", p.number),
		"timeline_url":   c.api(c.repo, "/issues/%d/timeline", p.number),
		"html_url":       c.web(c.repo, "/%s/%d", p.page(), p.number),
	}
	if len(p.assignees) > 0 {
		d["assignee"] = c.userDoc(p.assignees[0])
	}
	if p.isPull() {
		page := c.web(c.repo, "/pull/%d", p.number)
		d["draft"] = p.draft
		d["pull_request"] = doc{
			"url": c.api(c.repo, "/pulls/%d", p.number), "html_url": page,
			"diff_url": page + ".diff", "patch_url": page + ".patch", "merged_at": nil,
		}
	}
	return d
}

// editIssue changes the fields that an issue and a pull request share. A
// milestone of null removes the present one.
func (c *apiCall) editIssue() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	if err := c.mayEditIssue(p); err != nil {
		return nil, err
	}
	var in struct {
		Title, Body, State *string
		StateReason        string `json:"state_reason"`
		Labels, Assignees  *[]string
		Milestone          json.RawMessage
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := checkTexts("Issue", in.Title, in.Body); err != nil {
		return nil, err
	}
	milestone := p.milestone
	if in.Milestone != nil {
		milestone, err = c.repo.parseMilestone(in.Milestone)
		if err != nil {
			return nil, err
		}
	}
	if in.Labels != nil {
		if err := c.mayLabel(*in.Labels); err != nil {
			return nil, err
		}
	}
	if err := c.setState(p, in.State); err != nil {
		return nil, err
	}
	p.title, p.milestone = deref(in.Title, p.title), milestone
	c.hub.edited(p, c.who.Login, deref(in.Body, p.body))
	if in.Labels != nil {
		p.labels = nil
		c.label(p, *in.Labels)
	}
	if in.Assignees != nil {
		p.assignees = nil
		c.assign(p, *in.Assignees)
	}
	p.updated = c.hub.now()
	return c.issueDoc(p), nil
}

func (r *gitRepository) parseMilestone(text json.RawMessage) (int, error) {
	if string(text) == "null" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.Trim(string(text), `"`))
	if err != nil || n < 1 || n > len(r.settings.Milestones) {
		return 0, invalid("Issue", "milestone", "invalid", "")
	}
	return n, nil
}

func (c *apiCall) listMilestones() (any, error) {
	numbers := make([]int, len(c.repo.settings.Milestones))
	for i := range numbers {
		numbers[i] = i + 1
	}
	return each(page(c, numbers), c.openMilestoneDoc), nil
}

// milestoneDoc is a milestone by its number, or null for none.
func (c *apiCall) milestoneDoc(number int) any {
	if number == 0 || number > len(c.repo.settings.Milestones) {
		return nil
	}
	return c.openMilestoneDoc(number)
}

func (c *apiCall) openMilestoneDoc(number int) doc {
	id := c.repo.id<<16 + int64(number)
	open := 0
	for _, p := range c.repo.issues {
		if p.open && p.milestone == number {
			open++
		}
	}
	return doc{
		"id": id, "node_id": fmt.Sprintf("MI_%d", id), "number": number, "title": c.repo.settings.Milestones[number-1],
		"description": nil, "state": "open", "creator": c.userDoc(c.repo.owner), "open_issues": open, "closed_issues": 0,
		"created_at": timestamp(c.hub.clock), "updated_at": timestamp(c.hub.clock), "closed_at": nil, "due_on": nil,
		"url":        c.api(c.repo, "/milestones/%d", number),
		"html_url":   c.web(c.repo, "/milestone/%d", number),
		"labels_url": c.api(c.repo, "/milestones/%d/labels", number),
	}
}

func (c *apiCall) lockIssue() (any, error)   { return nil, c.setLock(true) }
func (c *apiCall) unlockIssue() (any, error) { return nil, c.setLock(false) }

func (c *apiCall) setLock(locked bool) error {
	p, err := c.issue()
	if err == nil {
		p.locked = locked
	}
	return err
}

func (c *apiCall) listLabels() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	return each(page(c, p.labels), c.labelDoc), nil
}

// addLabels takes {"labels": [...]} or the bare array that go-github sends.
func (c *apiCall) addLabels() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	var in struct{ Labels []string }
	if json.Unmarshal(c.body, &in.Labels) != nil {
		if err := c.decode(&in); err != nil {
			return nil, err
		}
	}
	for _, name := range in.Labels {
		if strings.TrimSpace(name) == "" {
			return nil, invalid("Label", "name", "missing_field", "")
		}
	}
	if err := c.mayLabel(in.Labels); err != nil {
		return nil, err
	}
	c.label(p, in.Labels)
	p.updated = c.hub.now()
	return each(p.labels, c.labelDoc), nil
}

// mayLabel refuses all labels if one does not exist and the caller may only set
// labels. GitHub does so since the spring of 2025 [github.com/actions/labeler
// issues 867 and 870].
func (c *apiCall) mayLabel(names []string) error {
	for _, name := range names {
		if _, known := c.repo.knownLabel(name); !known && !c.may(c.repo, createLabels) {
			return refusal(http.StatusForbidden, "You do not have permission to create labels on this repository.")
		}
	}
	return nil
}

func (c *apiCall) label(p *pullRequest, names []string) {
	for _, name := range names {
		c.repo.label(p, name)
	}
}

// knownLabel returns a label in the repository's spelling. Case makes no
// difference.
func (r *gitRepository) knownLabel(name string) (string, bool) {
	for _, label := range r.settings.Labels {
		if strings.EqualFold(label, name) {
			return label, true
		}
	}
	label, ok := r.labels[strings.ToLower(name)]
	return label, ok
}

// label adds a label. If the repository has no label of that name, it creates it.
func (r *gitRepository) label(p *pullRequest, name string) {
	known, ok := r.knownLabel(name)
	if !ok {
		known = name
		r.labels[strings.ToLower(name)] = name
	}
	if !slices.Contains(p.labels, known) {
		p.labels = append(p.labels, known)
	}
}

func (c *apiCall) getLabel() (any, error) {
	name, known := c.repo.knownLabel(c.PathValue("name"))
	if !known {
		return nil, errNotFound
	}
	return c.labelDoc(name), nil
}

// labelDoc is a label in GitHub's grey for labels that a request creates.
func (c *apiCall) labelDoc(name string) doc {
	id := int64(crc32.ChecksumIEEE([]byte(name)))
	return doc{
		"id": id, "node_id": fmt.Sprintf("LA_%d", id), "name": name, "color": "ededed", "description": nil, "default": false,
		"url": c.api(c.repo, "/labels/%s", name),
	}
}

func (c *apiCall) addAssignees() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	var in struct{ Assignees []string }
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	c.assign(p, in.Assignees)
	p.updated = c.hub.now()
	return c.issueDoc(p), nil
}

// assign silently skips people that GitHub would not assign.
func (c *apiCall) assign(p *pullRequest, logins []string) {
	for _, login := range logins {
		if c.repo.assignable(login) && !slices.Contains(p.assignees, login) && len(p.assignees) < maxAssignees {
			p.assignees = append(p.assignees, login)
		}
	}
}

// assignable reports whether a person takes part in the repository.
func (r *gitRepository) assignable(login string) bool {
	return r.association(login) != "NONE"
}

func (c *apiCall) checkAssignee() (any, error) {
	if !c.repo.assignable(c.PathValue("login")) {
		return nil, errNotFound
	}
	return nil, nil
}

// createIssue opens an issue. Labels by a person who may not push are ignored
// without a refusal.
func (c *apiCall) createIssue() (any, error) {
	var in struct {
		Title, Body string
		Labels      []string
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if c.repo.settings.NoIssues {
		return nil, errNoIssues
	}
	if err := checkTexts("Issue", &in.Title, &in.Body); err != nil {
		return nil, err
	}
	p := c.hub.newIssue(c.repo, in.Title, in.Body, c.who.Login)
	if c.roleOf(c.repo).includes(RoleTriage) {
		if err := c.mayLabel(in.Labels); err != nil {
			return nil, err
		}
		c.label(p, in.Labels)
	}
	return c.issueDoc(p), nil
}

// mayEditIssue refuses callers that may write only pull requests, if p is none.
func (c *apiCall) mayEditIssue(p *pullRequest) error {
	switch {
	case p.isPull():
		return nil
	case !c.may(c.repo, writeIssues):
		c.header.Set("X-Accepted-GitHub-Permissions", writeIssues.permissions)
		return c.refuse()
	case c.repo.settings.NoIssues:
		return errNoIssues
	}
	return nil
}

// gqlIssues is a connection to the issues of a repository, without pull requests.
// For a token that may not read them the whole repository is null, since the
// connection cannot be.
func (c *apiCall) gqlIssues(r *gitRepository, args map[string]any) (any, error) {
	first, err := connectionSize(args)
	if err != nil {
		return nil, err
	}
	if !c.may(r, right{"issues=read", RoleRead}) {
		return nil, &gqlError{kind: "FORBIDDEN", message: "Resource not accessible by integration"}
	}
	filter, _ := args["filterBy"].(map[string]any)
	for name := range filter {
		if name != "createdBy" {
			return nil, fmt.Errorf("the sandbox does not obey the filter %s of issues", name)
		}
	}
	states := gqlStrings(args["states"])
	issues := slices.DeleteFunc(slices.Clone(r.issues), func(p *pullRequest) bool {
		return p.isPull() || p.gone != "" || r.settings.NoIssues ||
			len(states) > 0 && !slices.Contains(states, p.gqlState()) ||
			filter["createdBy"] != nil && !strings.EqualFold(p.author, fmt.Sprint(filter["createdBy"]))
	})
	if err := orderPulls(issues, args["orderBy"]); err != nil {
		return nil, err
	}
	total := len(issues)
	after, _ := args["after"].(string)
	from := min(number(after, 0), total)
	shown := issues[from:min(from+first, total)]
	nodes := make([]gqlObject, len(shown))
	for i, p := range shown {
		nodes[i] = c.gqlIssue(r, p)
	}
	return gqlObject{
		"totalCount": scalar(total), "nodes": scalar(nodes),
		"pageInfo": scalar(gqlObject{"hasNextPage": scalar(from+len(shown) < total), "endCursor": scalar(strconv.Itoa(from + len(shown)))}),
	}, nil
}

func (c *apiCall) gqlIssue(r *gitRepository, p *pullRequest) gqlObject {
	return gqlObject{
		"id": scalar(fmt.Sprintf("I_%d", p.id)), "number": scalar(p.number), "title": scalar(p.title), "body": scalar(p.body),
		"url": scalar(c.web(r, "/issues/%d", p.number)), "state": scalar(p.gqlState()), "locked": scalar(p.locked),
		"createdAt": scalar(timestamp(p.created)), "updatedAt": scalar(timestamp(p.updated)), "lastEditedAt": scalar(maybeTime(p.editedAt)),
		"author": scalar(gqlActor(p.author)), "editor": scalar(gqlActor(p.editor)),
	}
}
