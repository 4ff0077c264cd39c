package github

import (
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// CommentEvent is what the payload of an issue_comment event tells of a comment.
// All of it is outside text; Body is as the person wrote it.
type CommentEvent struct {
	Action     string // created, edited or deleted
	Repository string // OWNER/NAME
	// Number is that of the issue or pull request, and OnPull says that it is a
	// pull request.
	Number    int
	OnPull    bool
	CommentID int64
	Author    string // login
	Bot       bool   // the author is no person
	Body      string
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
	c := event.GetComment()
	e := CommentEvent{
		Action:     event.GetAction(),
		Repository: event.GetRepo().GetFullName(),
		Number:     event.GetIssue().GetNumber(),
		OnPull:     event.GetIssue().GetPullRequestLinks() != nil,
		CommentID:  c.GetID(),
		Author:     c.GetUser().GetLogin(),
		Bot:        c.GetUser().GetType() != "User" || strings.HasSuffix(c.GetUser().GetLogin(), "[bot]"),
		Body:       c.GetBody(),
	}
	if e.Action == "" || e.Repository == "" || e.Number == 0 || e.CommentID == 0 {
		return CommentEvent{}, fmt.Errorf("the event's payload lacks the comment, the issue or the repository")
	}
	return e, nil
}
