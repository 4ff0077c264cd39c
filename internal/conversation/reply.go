package conversation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// reply answers a comment: by reactions, and by one comment of ours.
type reply struct {
	repo  *github.Repository
	event Event
	log   *slog.Logger

	self     string        // our login; empty before our first reaction
	workflow *bool         // whether the credential is a workflow's own; nil before GitHub was asked
	repeated bool          // an earlier run may have answered the same event
	looked   bool          // whether the answer of that run was looked for
	posted   int64         // our answer, once there is one
	before   safe.Markdown // what it says before the answer to the present command
	said     safe.Markdown // what it says
	confused bool          // whether a command was refused, or has failed
}

// begin begins the answer to one of several commands, below those to the commands before.
func (c *reply) begin(command string) {
	title := safe.Format("### %s\n\n", safe.Code(command))
	if !c.said.Empty() {
		title = safe.Format("%s\n\n%s", c.said.Trimmed(), title)
	}
	c.before = title
}

// mostSaid bounds an answer, in bytes; GitHub takes 65,536 characters.
const mostSaid = 64_000

// say posts the answer to the present command. A later call replaces its text. It also
// replaces the answer of an earlier run.
func (c *reply) say(ctx context.Context, markdown safe.Markdown) error {
	c.said = safe.Join("", c.before, markdown)
	if !c.before.Empty() && c.said.Len() > mostSaid {
		c.said = c.before.And("The answer is too long beside the others: give this command alone.")
	}
	text := safe.Join("\n\n", c.said, c.mark())
	if c.posted == 0 && c.repeated && !c.looked {
		there, err := c.earlier(ctx)
		if err != nil {
			return err
		}
		c.posted, c.looked = there.ID, true
	}
	if c.posted != 0 {
		return c.edit(ctx, text)
	}
	posted, err := c.repo.PostComment(ctx, c.discussion(), text)
	if errors.Is(err, github.ErrUncertain) && ctx.Err() == nil {
		posted, err = c.postAgain(ctx, text)
	}
	c.posted = posted.ID
	return err
}

// edit replaces our answer. Editing twice has the same effect as editing once. So edit
// tries again after an unclear answer.
func (c *reply) edit(ctx context.Context, text safe.Markdown) error {
	err := c.repo.EditComment(ctx, c.discussion(), c.posted, text)
	if errors.Is(err, github.ErrUncertain) && ctx.Err() == nil {
		err = c.repo.EditComment(ctx, c.discussion(), c.posted, text)
	}
	return err
}

// discussion is the discussion that has the comment and our answer.
func (c *reply) discussion() github.Discussion {
	if c.event.Under == comment.UnderPage {
		return github.OnIssue(c.event.Number)
	}
	return github.OnPull(c.event.Number)
}

// mark is the hidden line that identifies our answer to this command.
func (c *reply) mark() safe.Markdown {
	return safe.Format("<!-- relock-answer:%s -->", safe.Int(int(c.event.CommentID)))
}

// postAgain posts an answer after an unclear response, unless the server has taken it
// already.
func (c *reply) postAgain(ctx context.Context, text safe.Markdown) (github.Comment, error) {
	there, err := c.earlier(ctx)
	if err != nil || there.ID != 0 {
		return there, err
	}
	return c.repo.PostComment(ctx, c.discussion(), text)
}

// earlier finds our answer among the comments; it is the zero Comment if there is none.
// Anybody may write the mark. So the author must be us, if our login is known.
func (c *reply) earlier(ctx context.Context) (github.Comment, error) {
	there, err := c.repo.Comments(ctx, c.discussion())
	if err != nil {
		return github.Comment{}, err
	}
	for _, comment := range slices.Backward(there) {
		if strings.Contains(comment.Body, c.mark().String()) && (c.self == "" || comment.Author == c.self) {
			return comment, nil
		}
	}
	return github.Comment{}, nil
}

// end shows by a reaction how the commands ended.
func (c *reply) end(ctx context.Context, r report.Report) {
	if !c.confused && !r.Failed() {
		c.react(ctx, github.Rocket)
	} else {
		c.confuse(ctx)
	}
}

// confuse shows, once, that a command was refused or has failed.
func (c *reply) confuse(ctx context.Context) {
	if !c.confused {
		c.react(ctx, github.Confused)
	}
	c.confused = true
}

// leaveOut returns the refusal of further commands, whose answer comes after all others.
func (c *reply) leaveOut(n int) error {
	c.before = safe.Format("%s\n\n", c.said.Trimmed())
	return comment.Refuse(safe.Format("not carried out: %s. A comment may have %s",
		safe.Count(n, "more command", "more commands"), safe.Int(comment.Most)))
}

// explain answers with the error of a command, if there is one. It returns the errors of the
// command and of the answer.
func (c *reply) explain(ctx context.Context, err error) []problem.Problem {
	if err == nil {
		return nil
	}
	var wrong []problem.Problem
	var text safe.Markdown
	var no *comment.Refusal
	if errors.As(err, &no) {
		text = no.Why.Sentence()
		if no.NoVerb {
			text = text.And("\n\n%s", comment.Table(c.event.Under))
		}
	} else {
		d := problem.Of(err)
		wrong = append(wrong, d)
		text = safe.Format("This did not work.\n\n%s", render.Problems([]problem.Problem{d}))
	}
	if rejection, _ := github.RejectionOf(err); rejection.Whole { // GitHub would refuse the answer, too
		c.said = safe.Join("", c.before, text)
		return wrong
	}
	c.confuse(ctx)
	if err := c.say(ctx, text); err != nil {
		d := problem.Of(err)
		wrong = append(wrong, d)
		c.said = c.said.And("\n\nThe answer could not be posted:\n\n%s", render.Problems([]problem.Problem{d}))
	}
	return wrong
}

// react adds a reaction, and reports whether it was there before. A failure is only logged.
func (c *reply) react(ctx context.Context, r github.Reaction) (before bool) {
	self, before, err := c.repo.React(ctx, c.discussion(), c.event.CommentID, r)
	if err != nil {
		c.log.Debug("the comment got no reaction", "reaction", r, "error", err)
		return false
	}
	c.self = self
	return before
}

// byWorkflow reports whether we use a workflow's own token. That token cannot push to a
// fork. Since 2026-06-11, workflows on its pushes wait for an approval [github.blog
// changelog 2026-06-11]. Older servers start none.
//
// The login of our reaction says so. If no reaction worked, GitHub is asked.
func (c *reply) byWorkflow(ctx context.Context) bool {
	if c.self != "" {
		return c.self == github.WorkflowLogin
	}
	if c.workflow == nil {
		own := c.repo.Workflow(ctx)
		c.workflow = &own
	}
	return *c.workflow
}

// approval says that workflows on our push wait for an approval. It is empty for other
// tokens.
func (c *reply) approval(ctx context.Context) safe.Markdown {
	if !c.byWorkflow(ctx) {
		return safe.Markdown{}
	}
	return safe.Const("\n\nWorkflows on what the workflow's own token pushes wait until somebody with write access approves them; " +
		"older GitHub Enterprise Servers start none. With the token of a GitHub App they start by themselves.")
}
