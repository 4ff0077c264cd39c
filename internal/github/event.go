package github

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// CommentEvent is the payload of an issue_comment event. All of it is outside text. Body is
// as the person wrote it.
type CommentEvent struct {
	Action     string // created, edited or deleted
	Repository string // OWNER/NAME
	// Number is that of the issue or pull request, and OnPull says that it is a
	// pull request.
	Number int
	OnPull bool
	// Opener has opened that, and Page is its body.
	Opener Actor
	Page   string
	// DefaultBranch is the repository's, if the payload names it.
	DefaultBranch string
	CommentID     int64
	Author        string // login
	Bot           bool   // the author is no person
	// ViaApp says that an App wrote it in the author's name, by a token of theirs. A server
	// that does not say so is taken for one that says no.
	ViaApp bool
	Body   string
}

// ParseCommentEvent reads the payload of an issue_comment event:
// https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment.
// Its error repeats nothing of the payload.
func ParseCommentEvent(payload []byte) (CommentEvent, error) {
	parsed, err := github.ParseWebHook("issue_comment", payload)
	event, ok := parsed.(*github.IssueCommentEvent)
	if err != nil || !ok {
		return CommentEvent{}, fmt.Errorf("the event's payload is not one of issue_comment")
	}
	// The type of go-github has no performed_via_github_app.
	var more struct {
		Comment struct {
			Via json.RawMessage `json:"performed_via_github_app"`
		}
	}
	if err := json.Unmarshal(payload, &more); err != nil {
		return CommentEvent{}, fmt.Errorf("the event's payload is not one of issue_comment")
	}
	via := string(more.Comment.Via)
	c := event.GetComment()
	e := CommentEvent{
		Action:        event.GetAction(),
		Repository:    event.GetRepo().GetFullName(),
		Number:        event.GetIssue().GetNumber(),
		OnPull:        event.GetIssue().GetPullRequestLinks() != nil,
		Opener:        openerOf(event.GetIssue()),
		Page:          event.GetIssue().GetBody(),
		DefaultBranch: event.GetRepo().GetDefaultBranch(),
		CommentID:     c.GetID(),
		Author:        c.GetUser().GetLogin(),
		Bot:           c.GetUser().GetType() != "User" || strings.HasSuffix(c.GetUser().GetLogin(), "[bot]"),
		ViaApp:        via != "" && via != "null",
		Body:          c.GetBody(),
	}
	if e.Action == "" || e.Repository == "" || e.Number == 0 || e.CommentID == 0 {
		return CommentEvent{}, fmt.Errorf("the event's payload lacks the comment, the issue or the repository")
	}
	return e, nil
}

// IssueEdit is the payload of an issues event about an edit. All of it is outside text.
// Before and Body are as people wrote them.
type IssueEdit struct {
	Repository   string // OWNER/NAME
	Number       int
	OnPull       bool  // it is a pull request
	Opener       Actor // has opened it
	Edited       bool  // the body has changed
	By           string
	Bot          bool // who has edited it is no person
	Before, Body string
}

// ParseIssueEdit reads the payload of an issues event:
// https://docs.github.com/en/webhooks/webhook-events-and-payloads#issues. Of other actions
// than edited, and of edits of the title alone, Edited is false. Its error repeats nothing of
// the payload.
func ParseIssueEdit(payload []byte) (IssueEdit, error) {
	parsed, err := github.ParseWebHook("issues", payload)
	event, ok := parsed.(*github.IssuesEvent)
	if err != nil || !ok {
		return IssueEdit{}, fmt.Errorf("the event's payload is not one of issues")
	}
	before := event.GetChanges().GetBody()
	e := IssueEdit{
		Repository: event.GetRepo().GetFullName(),
		Number:     event.GetIssue().GetNumber(),
		OnPull:     event.GetIssue().GetPullRequestLinks() != nil,
		Opener:     openerOf(event.GetIssue()),
		Edited:     event.GetAction() == "edited" && before != nil,
		By:         event.GetSender().GetLogin(),
		Bot:        event.GetSender().GetType() != "User" || strings.HasSuffix(event.GetSender().GetLogin(), "[bot]"),
		Before:     before.GetFrom(), Body: event.GetIssue().GetBody(),
	}
	if e.Repository == "" || e.Number == 0 || e.By == "" {
		return IssueEdit{}, fmt.Errorf("the event's payload lacks the issue, the repository or the sender")
	}
	return e, nil
}

// openerOf is who has opened an issue. Only what GitHub calls a bot is one.
func openerOf(i *github.Issue) Actor {
	return Actor{Login: i.GetUser().GetLogin(), Bot: i.GetUser().GetType() == "Bot"}
}
