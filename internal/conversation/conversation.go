package conversation

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// Event is a comment under a pull request, or under an issue with relock's marker, that holds
// commands.
type Event struct {
	Repository string // OWNER/NAME
	Number     int    // of the pull request or the issue
	Under      comment.Thread
	// Opener is the author, and DefaultBranch the repository's default branch.
	// Under a pull request they do not matter.
	Opener        github.Actor
	DefaultBranch string
	CommentID     int64
	Author        string // login
	ViaApp        bool   // an App wrote it in the author's name
	Body          string // as it was written; comment.Commands finds at least one in it
	// Config is a file of the repository that Means.Of reads, in addition to those of
	// settings.FileNames.
	Config string
	// Ledger is the path in the repository of the ledger by which Verify judges;
	// empty: none.
	Ledger string
	// Repeated says that an earlier job had the same event, and may have answered it: a
	// person has run the job again. Our reaction with eyes under the comment says so, too.
	Repeated bool
}

// Answer carries out the commands of a comment in their order, and posts the results under
// it, in one answer. It checks the author's rights now. For each command it reads the branch
// of the pull request once, and pushes by a fast-forward from there. Settings come from the
// base branch only. A refusal is posted like any answer, and stops no other command. A failure
// is in the report, and in the answer if one can be posted. An error means that GitHub could
// not be asked.
func Answer(ctx context.Context, s *run.Session, e Event, m run.Means) (report.Report, error) {
	repo, err := s.Repository(run.ToAnswer(m, e.Repository))
	if err != nil {
		return report.Report{Verb: verbs.Comment}, err
	}
	acting, stop := s.Acting(ctx)
	defer stop()
	to := &reply{repo: repo, event: e, log: s.Env().Log}
	of := &premises{reply: to, means: m, branch: e.DefaultBranch, right: &right{repo: repo, login: e.Author, log: s.Env().Log}}
	if ours, err := of.isOurPage(acting); err != nil || !ours {
		return report.Report{Verb: verbs.Comment}, err
	}
	heard, err := of.heard(acting)
	if err == nil && !heard {
		to.log.Info("the comment does nothing: an App wrote it, and comments.via-apps is false", "by", e.Author)
		return report.Report{Verb: verbs.Comment}, nil
	}
	to.repeated = to.react(acting, github.Eyes) || e.Repeated
	var lines []string
	if err == nil {
		lines, err = of.commands(acting)
	}
	var runs []report.Report
	for _, line := range lines[:min(len(lines), comment.Most)] {
		if len(lines) > 1 {
			to.begin(line)
		}
		r, err := converse(acting, s, of, line)
		r.Diagnostics = slices.Concat(r.Diagnostics, to.explain(acting, err))
		runs = append(runs, r)
		of.pull, of.owned = github.PullRequest{}, nil // the command may have changed them
	}
	if more := len(lines) - comment.Most; more > 0 {
		err = to.leaveOut(more)
	}
	all := report.Join(runs...)
	all.Diagnostics = slices.Concat(all.Diagnostics, to.explain(acting, err))
	all.Verb = verbs.Comment
	to.end(acting, all)
	all.Diagnostics = slices.Concat(all.Diagnostics, of.notices)
	all.Answer = to.said.String()
	return all, nil
}

// converse decides about a command and carries it out.
func converse(ctx context.Context, s *run.Session, of *premises, line string) (report.Report, error) {
	decided, err := comment.Decide(ctx, line, of.event.Under, of)
	if err != nil {
		return report.Report{}, err
	}
	if decided.Command.Verb == comment.Help {
		return report.Report{}, of.say(ctx, comment.Table(of.event.Under))
	}
	if err := s.Interrupted(); err != nil {
		return report.Report{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeCancelled, Message: err.Error()}}
	}
	var does interface {
		carryOut(context.Context) (report.Report, safe.Markdown, error)
	} = page{of, s, decided.Command}
	if of.event.Under == comment.UnderPull {
		does = conversation{request{of, decided.Command}, s, decided.ReportOnly}
	}
	r, said, err := does.carryOut(ctx)
	if err != nil {
		return r, err
	}
	return r, of.say(ctx, said)
}

// conversation is one command that is carried out.
type conversation struct {
	request
	session    *run.Session
	reportOnly bool // the result is shown and not pushed
}

// carryOut carries out the command, and returns its last answer. A command that changes
// something is announced first, so that nothing changes if no answer can be posted. An
// error comes with the report of what was done before.
func (c conversation) carryOut(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	switch c.command.Verb {
	case comment.Check:
		return c.check(ctx)
	case comment.Verify:
		return c.verify(ctx)
	case comment.Diff:
		return c.diff(ctx)
	case comment.Why:
		return c.why(ctx)
	case comment.Show:
		return r, inForce(c.group(), c.means.Settings.Policy), nil
	}
	if err := c.say(ctx, safe.Const("On it.")); err != nil {
		return r, said, err
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
		said, err = c.close(ctx)
		return r, said, err
	case comment.Reopen:
		said, err = c.reopen(ctx)
		return r, said, err
	}
	panic("conversation: a command that is in the language and not here: " + string(c.command.Verb))
}

// group is the group of our pull request; none if the pull request is not ours.
func (c conversation) group() []group {
	if c.owned == nil {
		return nil
	}
	return []group{{c.owned.Group, c.owned.Pull, c.owned.Marker.Ignores}}
}

// close closes our pull request.
func (c conversation) close(ctx context.Context) (safe.Markdown, error) {
	if err := c.right.confirm(ctx); err != nil {
		return safe.Markdown{}, err
	}
	kept, err := pr.Close(ctx, c.repo, *c.owned)
	said := safe.Const("Closed. This set is not proposed again; a new release, or a root module that joins, opens a new pull request. " +
		"`/relock reopen` opens this one again.")
	if !kept.Empty() {
		said = said.And(" %s", kept)
	}
	return said, err
}

// reopen opens our pull request again.
func (c conversation) reopen(ctx context.Context) (safe.Markdown, error) {
	if err := c.right.confirm(ctx); err != nil {
		return safe.Markdown{}, err
	}
	return safe.Const("Opened again."), pr.Reopen(ctx, c.repo, *c.owned)
}
