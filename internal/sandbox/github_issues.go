package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// issueRoutes are those that GitHub has for issues; every issue of the
// sandbox is a pull request.
var issueRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/issues/{number}", http.StatusOK, (*apiCall).getIssue},
	{"GET", "/repos/{owner}/{repo}/issues/{number}/comments", http.StatusOK, (*apiCall).listComments},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/comments", http.StatusCreated, (*apiCall).createComment},
	{"PATCH", "/repos/{owner}/{repo}/issues/comments/{id}", http.StatusOK, (*apiCall).editComment},
	{"GET", "/repos/{owner}/{repo}/issues/{number}/labels", http.StatusOK, (*apiCall).listLabels},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/labels", http.StatusOK, (*apiCall).addLabels},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/assignees", http.StatusCreated, (*apiCall).addAssignees},
}

// maxAssignees is how many assignees GitHub lets an issue have.
const maxAssignees = 10

// issueComment is a comment in the conversation of a pull request.
type issueComment struct {
	id               int64
	author, body     string
	created, updated time.Time
}

func (g *GitHub) addComment(p *pullRequest, by, body string) *issueComment {
	now := g.now()
	m := &issueComment{id: g.nextID(), author: by, body: body, created: now, updated: now}
	p.comments = append(p.comments, m)
	p.updated = now
	return m
}

func (c *apiCall) getIssue() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return c.issueDoc(p), nil
}

func (c *apiCall) issueDoc(p *pullRequest) doc {
	return doc{
		"id": p.id, "number": p.number, "state": p.state(), "title": p.title, "body": emptyIsNull(p.body),
		"user": c.userDoc(p.author), "labels": each(p.labels, c.labelDoc), "assignees": each(p.assignees, c.userDoc),
		"comments": len(p.comments), "created_at": timestamp(p.created), "updated_at": timestamp(p.updated),
		"closed_at":    maybeTime(p.closed),
		"url":          c.api(c.repo, "/issues/%d", p.number),
		"html_url":     c.web(c.repo, "/pull/%d", p.number),
		"pull_request": doc{"url": c.api(c.repo, "/pulls/%d", p.number), "html_url": c.web(c.repo, "/pull/%d", p.number)},
	}
}

func (c *apiCall) listComments() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return each(page(c, p.comments), func(m *issueComment) doc { return c.commentDoc(p, m) }), nil
}

func (c *apiCall) createComment() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	return c.commentDoc(p, c.hub.addComment(p, c.who.Login, body)), nil
}

func (c *apiCall) commentBody() (string, error) {
	var in struct{ Body string }
	if err := c.decode(&in); err != nil {
		return "", err
	}
	if strings.TrimSpace(in.Body) == "" {
		return "", invalid("IssueComment", "body", "missing_field", "")
	}
	return in.Body, checkTexts("IssueComment", nil, &in.Body)
}

// comment returns the comment that the path names and where it stands.
func (c *apiCall) comment() (*pullRequest, *issueComment, error) {
	id, err := strconv.ParseInt(c.PathValue("id"), 10, 64)
	if err != nil {
		return nil, nil, errNotFound
	}
	for _, p := range c.repo.pulls {
		for _, m := range p.comments {
			if m.id == id {
				return p, m, nil
			}
		}
	}
	return nil, nil, errNotFound
}

func (c *apiCall) editComment() (any, error) {
	p, m, err := c.comment()
	if err != nil {
		return nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	m.body, m.updated = body, c.hub.now()
	return c.commentDoc(p, m), nil
}

func (c *apiCall) commentDoc(p *pullRequest, m *issueComment) doc {
	return doc{
		"id": m.id, "node_id": fmt.Sprintf("IC_%d", m.id), "body": m.body, "user": c.userDoc(m.author),
		"created_at": timestamp(m.created), "updated_at": timestamp(m.updated), "author_association": "NONE",
		"url":       c.api(c.repo, "/issues/comments/%d", m.id),
		"html_url":  c.web(c.repo, "/pull/%d#issuecomment-%d", p.number, m.id),
		"issue_url": c.api(c.repo, "/issues/%d", p.number),
	}
}

func (c *apiCall) listLabels() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	return each(page(c, p.labels), c.labelDoc), nil
}

// addLabels takes {"labels": [...]} or the bare array that go-github sends,
// and creates the labels that the repository has not.
func (c *apiCall) addLabels() (any, error) {
	p, err := c.pull()
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
	for _, name := range in.Labels {
		known, ok := c.repo.labels[strings.ToLower(name)]
		if !ok {
			known = name
			c.repo.labels[strings.ToLower(name)] = name
		}
		if !slices.Contains(p.labels, known) {
			p.labels = append(p.labels, known)
		}
	}
	p.updated = c.hub.now()
	return each(p.labels, c.labelDoc), nil
}

// labelDoc is a label in the grey that GitHub gives those made on the way.
func (c *apiCall) labelDoc(name string) doc {
	return doc{"name": name, "color": "ededed", "description": nil, "default": false, "url": c.api(c.repo, "/labels/%s", name)}
}

// addAssignees assigns any login: the sandbox knows no members. GitHub leaves
// out silently whom it cannot assign.
func (c *apiCall) addAssignees() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in struct{ Assignees []string }
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	for _, login := range in.Assignees {
		if !slices.Contains(p.assignees, login) && len(p.assignees) < maxAssignees {
			p.assignees = append(p.assignees, login)
		}
	}
	p.updated = c.hub.now()
	return c.issueDoc(p), nil
}
