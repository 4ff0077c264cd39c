package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// conversationRoutes are those of the comments of one issue or pull request.
var conversationRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/issues/{number}/comments", http.StatusOK, (*apiCall).listComments, readTalk},
	{"POST", "/repos/{owner}/{repo}/issues/{number}/comments", http.StatusCreated, (*apiCall).createComment, talk},
}

// commentRoutes are those of one comment and of the reactions to it.
var commentRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/issues/comments/{id}", http.StatusOK, (*apiCall).getComment, readTalk},
	{"PATCH", "/repos/{owner}/{repo}/issues/comments/{id}", http.StatusOK, (*apiCall).editComment, talk},
	{"DELETE", "/repos/{owner}/{repo}/issues/comments/{id}", http.StatusNoContent, (*apiCall).deleteComment, talk},
	{"GET", "/repos/{owner}/{repo}/issues/comments/{id}/reactions", http.StatusOK, (*apiCall).listReactions, readTalk},
	{"POST", "/repos/{owner}/{repo}/issues/comments/{id}/reactions", http.StatusCreated, (*apiCall).react, talk},
	{"DELETE", "/repos/{owner}/{repo}/issues/comments/{id}/reactions/{reaction}", http.StatusNoContent, (*apiCall).deleteReaction, talk},
}

// issueComment is a comment in the conversation of an issue or pull request.
type issueComment struct {
	id               int64
	author, body     string
	via              string // slug of the App that wrote it in the author's name; empty for none
	before           string // the body before the last edit
	created, updated time.Time
	reactions        []reaction
}

type reaction struct {
	id             int64
	login, content string
	created        time.Time
}

var reactionContents = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

func (g *GitHub) addComment(p *pullRequest, by, body string) *issueComment {
	now := g.now()
	m := &issueComment{id: g.nextID(), author: by, body: body, created: now, updated: now}
	p.comments = append(p.comments, m)
	p.updated = now
	return m
}

func (g *GitHub) editComment(m *issueComment, body string) {
	m.before, m.body, m.updated = m.body, body, g.now()
}

func (c *apiCall) listComments() (any, error) {
	p, err := c.issue()
	if err != nil {
		return nil, err
	}
	return each(page(c, p.comments), func(m *issueComment) doc { return c.commentDoc(p, m) }), nil
}

// mayTalk refuses callers that may write only on pull requests, if p is none. The
// header still names both permissions, since it belongs to the endpoint.
func (c *apiCall) mayTalk(p *pullRequest) error {
	if !p.isPull() && !c.may(c.repo, talkOnIssue) {
		return c.refuse()
	}
	return nil
}

func (c *apiCall) createComment() (any, error) {
	p, err := c.issue()
	if err == nil {
		err = c.mayTalk(p)
	}
	if err != nil {
		return nil, err
	}
	if c.isSilenced(p) {
		return nil, refusal(http.StatusForbidden, "Unable to create comment because issue is locked.")
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	return c.commentDoc(p, c.hub.addComment(p, c.who.Login, body)), nil
}

// isSilenced reports whether a lock keeps the caller out of a conversation. Only
// collaborators who may write pass a lock. A token of an App or a workflow is no
// collaborator.
func (c *apiCall) isSilenced(p *pullRequest) bool {
	return p.locked && (c.who.Bot || !c.repo.role(c.who.Login).includes(RoleWrite))
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

// comment returns the comment that the path names, with its issue.
func (c *apiCall) comment() (*pullRequest, *issueComment, error) {
	id, err := strconv.ParseInt(c.PathValue("id"), 10, 64)
	if err != nil {
		return nil, nil, errNotFound
	}
	return c.repo.comment(id)
}

func (r *gitRepository) comment(id int64) (*pullRequest, *issueComment, error) {
	for _, p := range r.issues {
		for _, m := range p.comments {
			if m.id == id {
				return p, m, nil
			}
		}
	}
	return nil, nil, errNotFound
}

func (c *apiCall) getComment() (any, error) {
	p, m, err := c.comment()
	if err != nil {
		return nil, err
	}
	return c.commentDoc(p, m), nil
}

// ownComment returns the comment if the caller wrote it or may write here.
func (c *apiCall) ownComment() (*pullRequest, *issueComment, error) {
	p, m, err := c.comment()
	if err == nil && m.author != c.who.Login && !c.roleOf(c.repo).includes(RoleWrite) {
		err = c.refuse()
	}
	return p, m, err
}

func (c *apiCall) editComment() (any, error) {
	p, m, err := c.ownComment()
	if err == nil {
		err = c.mayTalk(p)
	}
	if err != nil {
		return nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	c.hub.editComment(m, body)
	return c.commentDoc(p, m), nil
}

func (c *apiCall) deleteComment() (any, error) {
	p, m, err := c.ownComment()
	if err != nil {
		return nil, err
	}
	p.comments = slices.DeleteFunc(p.comments, func(other *issueComment) bool { return other == m })
	return nil, nil
}

func (c *apiCall) commentDoc(p *pullRequest, m *issueComment) doc {
	var via any
	if m.via != "" {
		via = c.appDoc(&registeredApp{App: App{ID: 1, Slug: m.via, Permissions: map[string]string{}}})
	}
	return doc{
		"id": m.id, "node_id": fmt.Sprintf("IC_%d", m.id), "body": m.body, "user": c.userDoc(m.author),
		"created_at": timestamp(m.created), "updated_at": timestamp(m.updated),
		"author_association": c.repo.association(m.author),
		"url":                c.api(c.repo, "/issues/comments/%d", m.id),
		"html_url":           c.web(c.repo, "/%s/%d#issuecomment-%d", p.page(), p.number, m.id),
		"issue_url":          c.api(c.repo, "/issues/%d", p.number),
		"reactions":          c.reactionsDoc(m), "performed_via_github_app": via,
	}
}

// association is GitHub's name for an author's relation to the repository. It
// says little about rights: a person who was invited to read is a collaborator,
// too.
func (r *gitRepository) association(login string) string {
	_, invited := r.settings.People[login]
	switch {
	case strings.EqualFold(login, r.owner):
		return "OWNER"
	case strings.HasSuffix(login, "[bot]"):
		return "NONE"
	case invited && r.role(login) != RoleNone, r.role(login).includes(RoleTriage):
		return "COLLABORATOR"
	}
	return "NONE"
}

func (c *apiCall) reactionsDoc(m *issueComment) doc {
	d := doc{"url": c.api(c.repo, "/issues/comments/%d/reactions", m.id), "total_count": len(m.reactions)}
	for _, content := range reactionContents {
		count := 0
		for _, r := range m.reactions {
			if r.content == content {
				count++
			}
		}
		d[content] = count
	}
	return d
}

func (c *apiCall) listReactions() (any, error) {
	_, m, err := c.comment()
	if err != nil {
		return nil, err
	}
	return each(page(c, m.reactions), c.reactionDoc), nil
}

// react adds a reaction. If the caller has made it already, the status is 200.
func (c *apiCall) react() (any, error) {
	p, m, err := c.comment()
	if err == nil {
		err = c.mayTalk(p)
	}
	if err != nil {
		return nil, err
	}
	var in struct{ Content string }
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if !slices.Contains(reactionContents, in.Content) {
		return nil, invalid("Reaction", "content", "invalid", "")
	}
	if c.isSilenced(p) {
		return nil, refusal(http.StatusForbidden, "Unable to add reaction because issue is locked.")
	}
	for _, made := range m.reactions {
		if made.login == c.who.Login && made.content == in.Content {
			return encode(c.reactionDoc(made), http.StatusOK), nil
		}
	}
	made := reaction{id: c.hub.nextID(), login: c.who.Login, content: in.Content, created: c.hub.now()}
	m.reactions = append(m.reactions, made)
	return c.reactionDoc(made), nil
}

func (c *apiCall) deleteReaction() (any, error) {
	_, m, err := c.comment()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.reactions, func(r reaction) bool {
		return strconv.FormatInt(r.id, 10) == c.PathValue("reaction") && r.login == c.who.Login
	})
	if i < 0 {
		return nil, errNotFound
	}
	m.reactions = slices.Delete(m.reactions, i, i+1)
	return nil, nil
}

func (c *apiCall) reactionDoc(r reaction) doc {
	return doc{
		"id": r.id, "node_id": fmt.Sprintf("REA_%d", r.id), "user": c.userDoc(r.login),
		"content": r.content, "created_at": timestamp(r.created),
	}
}
