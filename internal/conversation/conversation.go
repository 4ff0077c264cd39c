package conversation

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// Remark is a comment under a pull request that holds a command.
type Remark struct {
	Repository string // OWNER/NAME
	Number     int    // of the pull request
	CommentID  int64
	Author     string // login
	Body       string // as it was written; comment.Addressed holds for it
	// Config is a file of the repository that Means.Of reads, besides those of
	// settings.FileNames.
	Config string
	// Ledger is the path in the repository of the ledger by which Verify judges;
	// empty: none.
	Ledger string
}

// Answer carries out the command of a comment and says under it what came of
// it. Who may is asked now; the branch of the pull request is read once and
// pushed to by a fast-forward from there; settings come from the base branch
// alone. A refusal is an answer like any other. What fails is in the report, and
// in the answer if there can be one. An error means that nobody could be asked.
func Answer(ctx context.Context, s *run.Session, r Remark, m run.Means) (report.Report, error) {
	a := run.ToAnswer(m, r.Repository)
	repo, err := s.Repository(a)
	if err != nil {
		return report.Report{Verb: verbs.Comment}, err
	}
	c := &conversation{Session: s, remark: r, repo: repo, means: m}
	acting, stop := s.Acting(ctx)
	defer stop()
	c.end(acting, c.converse(acting))
	c.report.Diagnostics = append(c.report.Diagnostics, c.notices...)
	c.report.Verb, c.report.Answer = verbs.Comment, c.said.String()
	return c.report, nil
}

// conversation is one command on its way.
type conversation struct {
	*run.Session
	remark Remark
	repo   *github.Repository
	means  run.Means // with the settings of the base branch, once these are read

	self     string // the login that we answer by, if a reaction has told it
	workflow *bool  // whether the credential is a workflow's own; nil if nobody had to ask
	command  comment.Command
	decision comment.Decision
	pull     github.PullRequest
	owned    *pr.Owned         // nil if the pull request is not ours
	base     string            // the commit that the base branch is at
	notices  []problem.Problem // of the configuration file there
	posted   int64             // our answer, once there is one
	said     safe.Markdown     // what it says
	report   report.Report
}

// converse understands the command, decides, and carries it out.
func (c *conversation) converse(ctx context.Context) error {
	c.react(ctx, github.Eyes)
	permission, role, err := c.repo.Permission(ctx, c.remark.Author)
	if err != nil {
		return err
	}
	c.Env().Log.Info("a command was given", "by", c.remark.Author, "permission", permission, "role", role)
	if !comment.May(permission) {
		_, err := comment.Decide(comment.Command{}, comment.Situation{Permission: permission})
		return err
	}
	c.command, err = comment.Parse(c.remark.Body)
	if err != nil {
		return err
	}
	if c.command.Verb == comment.Help {
		return c.say(ctx, comment.Table())
	}
	if c.pull, err = c.repo.PullRequest(ctx, c.remark.Number); err != nil {
		return err
	}
	// What is refused whoever opened the pull request needs no settings.
	now := c.situation(ctx, permission)
	now.Ours = true
	if _, err := comment.Decide(c.command, now); err != nil {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	now.Ours, now.Touched = c.owned != nil, c.owned != nil && c.owned.Touched
	if c.decision, err = comment.Decide(c.command, now); err != nil {
		return err
	}
	if err := c.Interrupted(); err != nil {
		return &problem.Error{Problem: problem.Problem{Code: problem.CodeCancelled, Message: err.Error()}}
	}
	return c.carryOut(ctx)
}

// order is what the command is about.
func (c *conversation) order() order {
	return order{
		repo: c.repo, repository: c.remark.Repository, pull: c.pull, command: c.command, base: c.base, means: c.means, log: c.Env().Log,
	}
}

// settle reads the settings from the base branch, and whose the pull request is.
func (c *conversation) settle(ctx context.Context) (err error) {
	if c.base, err = c.repo.Head(ctx, c.pull.Base); err != nil {
		return err
	}
	files, err := c.repo.Snapshot(ctx, c.base, func(name string) bool {
		return name == c.remark.Config || slices.Contains(settings.FileNames, name)
	})
	if err != nil {
		return err
	}
	own, err := c.means.Of(files)
	if err != nil {
		return comment.Refuse(safe.Format("the configuration on the branch %s cannot be used: %s", safe.Code(c.pull.Base), safe.Text(err.Error())))
	}
	c.means.Settings, c.notices = own, own.Notices
	owned, ours, err := pr.Find(ctx, c.repo, c.pull, own.PullRequest.BranchPrefix)
	if ours {
		c.owned = &owned
	}
	return err
}

func (c *conversation) situation(ctx context.Context, permission string) comment.Situation {
	return comment.Situation{
		Permission: permission,
		Open:       c.pull.Open, Merged: c.pull.Merged, Head: c.pull.Head,
		Writable: !c.pull.Fork || c.pull.MaintainerCanModify && c.pull.HeadRepository != "" && !c.byWorkflow(ctx),
	}
}

// byWorkflow reports whether we speak with a workflow's own token. It cannot
// push to a fork, and since 2026-06-11 the workflows on what it pushes wait for
// an approval [github.blog changelog 2026-06-11]; servers before start none.
//
// It is the credential's, whoever tells it: the reactions that worked, or else
// GitHub when it is asked.
func (c *conversation) byWorkflow(ctx context.Context) bool {
	if c.self != "" {
		return c.self == github.WorkflowLogin
	}
	if c.workflow == nil {
		own := c.repo.Workflow(ctx)
		c.workflow = &own
	}
	return *c.workflow
}

// carryOut does what was decided. What changes something is announced, so that
// nothing is changed where no answer can be given.
func (c *conversation) carryOut(ctx context.Context) error {
	switch c.command.Verb {
	case comment.Check:
		return c.inspect(ctx, verbs.Check)
	case comment.Verify:
		return c.verify(ctx)
	case comment.Diff:
		return c.diff(ctx)
	case comment.Why:
		return c.why(ctx)
	case comment.Show:
		return c.say(ctx, inForce(c.owned, c.means.Settings.Policy))
	}
	if err := c.say(ctx, safe.Const("On it.")); err != nil {
		return err
	}
	switch c.command.Verb {
	case comment.Upgrade, comment.Lock:
		if c.owned == nil {
			return c.repair(ctx)
		}
		return c.rebuild(ctx, false)
	case comment.Rebase:
		return c.rebuild(ctx, false)
	case comment.Recreate:
		return c.rebuild(ctx, true)
	case comment.Ignore, comment.Unignore:
		return c.ignore(ctx)
	case comment.Close:
		kept, err := pr.Close(ctx, c.repo, *c.owned)
		said := safe.Const("Closed. These versions are not proposed again; `/relock reopen` takes that back.")
		if !kept.Empty() {
			said = said.And(" %s", kept)
		}
		return c.done(ctx, err, said)
	case comment.Reopen:
		return c.done(ctx, pr.Reopen(ctx, c.repo, *c.owned), safe.Const("Opened again."))
	}
	panic("conversation: a command that is in the language and not here: " + string(c.command.Verb))
}

func (c *conversation) done(ctx context.Context, err error, said safe.Markdown) error {
	if err != nil {
		return err
	}
	return c.say(ctx, said)
}

// say answers: with a comment, which what is said later replaces.
func (c *conversation) say(ctx context.Context, markdown safe.Markdown) error {
	c.said = markdown
	if c.posted != 0 {
		return c.repo.EditComment(ctx, c.posted, markdown)
	}
	posted, err := c.repo.PostComment(ctx, c.remark.Number, markdown)
	c.posted = posted.ID
	return err
}

// end tells how it ended.
func (c *conversation) end(ctx context.Context, err error) {
	if err == nil && !c.report.Failed() {
		c.react(ctx, github.Rocket)
		return
	}
	c.react(ctx, github.Confused)
	if err == nil {
		return // the answer tells of the failure
	}
	var text safe.Markdown
	var no *comment.Refusal
	if errors.As(err, &no) {
		text = no.Why.Sentence()
		if no.NoVerb {
			text = text.And("\n\n%s", comment.Table())
		}
	} else {
		d := problem.Of(err)
		c.report.Diagnostics = append(c.report.Diagnostics, d)
		text = safe.Format("This did not work.\n\n%s", render.Problems([]problem.Problem{d}))
	}
	if err := c.say(ctx, text); err != nil {
		d := problem.Of(err)
		c.report.Diagnostics = append(c.report.Diagnostics, d)
		c.said = c.said.And("\n\nThe answer could not be posted:\n\n%s", render.Problems([]problem.Problem{d}))
	}
}

// react is a courtesy: a conversation does not fail for it.
func (c *conversation) react(ctx context.Context, r github.Reaction) {
	self, err := c.repo.React(ctx, c.remark.CommentID, r)
	if err != nil {
		c.Env().Log.Debug("the comment got no reaction", "reaction", r, "error", err)
		return
	}
	c.self = self
}

// approval says what the workflows on our push wait for.
func (c *conversation) approval(ctx context.Context) safe.Markdown {
	if !c.byWorkflow(ctx) {
		return safe.Markdown{}
	}
	return safe.Const("\n\nWorkflows on what the workflow's own token pushes wait until somebody with write access approves them; " +
		"older GitHub Enterprise Servers start none. With the token of a GitHub App they start by themselves.")
}
