package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// OpenIssue opens an issue that is no pull request and returns its number.
func (g *GitHub) OpenIssue(repo, title, by string) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return 0, err
	}
	return g.newIssue(r, title, "", by).number, nil
}

// Close closes an open issue or pull request; its branch stays.
func (g *GitHub) Close(repo string, number int, by string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if !p.open {
		return fmt.Errorf("%d is not open", number)
	}
	g.close(r, p, by)
	return nil
}

// Reopen opens a closed issue or pull request again, if GitHub would.
func (g *GitHub) Reopen(repo string, number int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if p.open {
		return fmt.Errorf("%d is open", number)
	}
	p.updated = g.now()
	return r.reopen(p)
}

// Retarget changes the base branch of an open pull request.
func (g *GitHub) Retarget(repo string, number int, base string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if !p.isPull() {
		return fmt.Errorf("%d is no pull request", number)
	}
	p.updated = g.now()
	return r.retarget(p, base)
}

// Comment writes a comment and returns its ID.
func (g *GitHub) Comment(repo string, number int, by, body string) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return 0, err
	}
	return g.addComment(p, by, body).id, nil
}

// CommentVia writes a comment as an App with a person's token does. It returns
// the comment's ID.
func (g *GitHub) CommentVia(repo string, number int, by, app, body string) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return 0, err
	}
	m := g.addComment(p, by, body)
	m.via = app
	return m.id, nil
}

// EditComment replaces the text of a comment.
func (g *GitHub) EditComment(repo string, id int64, body string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, m, err := g.findComment(repo, id)
	if err != nil {
		return err
	}
	g.editComment(m, body)
	return nil
}

// DeleteComment removes a comment.
func (g *GitHub) DeleteComment(repo string, id int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, m, err := g.findComment(repo, id)
	if err != nil {
		return err
	}
	p.comments = slices.DeleteFunc(p.comments, func(other *issueComment) bool { return other == m })
	return nil
}

// NewestComment returns the ID of the last comment of an issue or pull request.
func (g *GitHub) NewestComment(repo string, number int) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return 0, err
	}
	if len(p.comments) == 0 {
		return 0, fmt.Errorf("%d of %s has no comments", number, repo)
	}
	return p.comments[len(p.comments)-1].id, nil
}

func (g *GitHub) findComment(repo string, id int64) (*pullRequest, *issueComment, error) {
	r, err := g.repository(repo)
	if err != nil {
		return nil, nil, err
	}
	p, m, err := r.comment(id)
	if err != nil {
		return nil, nil, fmt.Errorf("no comment %d in %s", id, repo)
	}
	return p, m, nil
}

// Label adds a label to an issue or pull request.
func (g *GitHub) Label(repo string, number int, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	r.label(p, name)
	p.updated = g.now()
	return nil
}

// Lock limits a conversation to people who may write, or unlocks it.
func (g *GitHub) Lock(repo string, number int, locked bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	p.locked = locked
	return nil
}

// AllowEdits lets the maintainers push to the branch of a pull request from a
// fork, or forbids it. Its author does so on GitHub.
func (g *GitHub) AllowEdits(repo string, number int, allowed bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if !p.isPull() || p.headRepo == r {
		return fmt.Errorf("%d is no pull request from a fork", number)
	}
	p.modifiable = allowed
	return nil
}

// CommentEvent returns the payload of the event issue_comment for a comment in
// its present state. The action is created, edited or deleted; for deleted, call
// it before the deletion. by is the person who acts, not always the comment's
// author.
func (g *GitHub) CommentEvent(repo string, id int64, action, by string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, m, err := g.findComment(repo, id)
	if err != nil {
		return nil, err
	}
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	c := &apiCall{Request: &http.Request{Host: g.host}, hub: g, repo: r}
	event := doc{
		"action": action, "issue": c.issueDoc(p), "comment": c.commentDoc(p, m),
		"repository": c.repositoryDoc(r), "sender": c.userDoc(by),
	}
	if action == "edited" {
		event["changes"] = doc{"body": doc{"from": m.before}}
	}
	return eventText(event), nil
}

// PullEvent returns the payload of the event pull_request, and the commit that a runner has as
// GITHUB_SHA: the test merge. The payload names the base as it was when the head moved. For
// a pull request that was retargeted, from is its former base.
// https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request
func (g *GitHub) PullEvent(repo string, number int, action, from string) (payload []byte, tested string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return nil, "", err
	}
	r.testMerge(p)
	c := &apiCall{Request: &http.Request{Host: g.host}, hub: g, repo: r}
	pull, err := c.fullPullDoc(p)
	if err != nil {
		return nil, "", err
	}
	event := doc{"action": action, "number": number, "pull_request": pull, "repository": c.repositoryDoc(r), "sender": c.userDoc(p.author)}
	if from != "" {
		event["changes"] = doc{"base": doc{"ref": doc{"from": from}, "sha": doc{"from": r.branch(from).String()}}}
	}
	return eventText(event), p.tested.String(), nil
}

// eventText is a payload in the form of a runner's file.
func eventText(event doc) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(event); err != nil {
		panic("encoding an event: " + err.Error())
	}
	return buf.Bytes()
}

// Tick checks the first box whose line contains the text, in the body of an issue
// or pull request. A person does so with a click.
func (g *GitHub) Tick(repo string, number int, text string) error {
	return g.TickAs(repo, number, firstUser, text)
}

// TickAs is Tick by a given person.
func (g *GitHub) TickAs(repo string, number int, by, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(p.body, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "- [ ]") && strings.Contains(line, text) {
			lines[i] = strings.Replace(line, "[ ]", "[x]", 1)
			g.edited(p, by, strings.Join(lines, ""))
			return nil
		}
	}
	return fmt.Errorf("no empty box in the body of %d says %q", number, text)
}

// edited records who has replaced the body of an issue or pull request.
func (g *GitHub) edited(p *pullRequest, by, body string) {
	if body != p.body {
		p.before, p.body, p.editor, p.editedAt = p.body, body, by, g.now()
		p.updated = p.editedAt
	}
}

func (g *GitHub) newIssue(r *gitRepository, title, body, by string) *pullRequest {
	now := g.now()
	p := &pullRequest{id: g.nextID(), number: len(r.issues) + 1, title: title, body: body, author: by, open: true, created: now, updated: now}
	r.issues = append(r.issues, p)
	return p
}

// DeleteIssue deletes an issue, as an administrator does.
func (g *GitHub) DeleteIssue(repo string, number int) error {
	return g.vanish(repo, number, deletedIssue)
}

// TransferIssue moves an issue to another repository, where it gets another number.
func (g *GitHub) TransferIssue(repo string, number int, to string) error {
	if err := g.vanish(repo, number, transferredIssue); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(to)
	if err != nil {
		return err
	}
	_, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	moved := *p
	moved.gone, moved.number = "", len(r.issues)+1
	r.issues = append(r.issues, &moved)
	return nil
}

func (g *GitHub) vanish(repo string, number int, how gone) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if p.isPull() || p.gone != "" {
		return fmt.Errorf("%d is no issue that can be %s", number, how)
	}
	p.gone = how
	return nil
}

// AllIssues returns the issues of a repository, without pull requests, by number.
func (g *GitHub) AllIssues(repo string) ([]Issue, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.repository(repo)
	if err != nil {
		return nil, err
	}
	var all []Issue
	for _, p := range r.issues {
		if p.isPull() || p.gone != "" {
			continue
		}
		one := Issue{
			Number: p.number, Title: p.title, Body: p.body, Author: p.author, Editor: p.editor, Edited: p.editedAt,
			Open: p.open, Locked: p.locked, Labels: slices.Clone(p.labels),
		}
		for _, m := range p.comments {
			one.Comments = append(one.Comments, Comment{ID: m.id, Author: m.author, Body: m.body})
		}
		all = append(all, one)
	}
	return all, nil
}

// IssueEvent returns the payload of the event issues for an issue in its present
// state. For the action edited it has the former body, too.
func (g *GitHub) IssueEvent(repo string, number int, action, by string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, p, err := g.find(repo, number)
	if err != nil {
		return nil, err
	}
	c := &apiCall{Request: &http.Request{Host: g.host}, hub: g, repo: r}
	event := doc{"action": action, "issue": c.issueDoc(p), "repository": c.repositoryDoc(r), "sender": c.userDoc(by)}
	if action == "edited" {
		event["changes"] = doc{"body": doc{"from": p.before}}
	}
	return eventText(event), nil
}
