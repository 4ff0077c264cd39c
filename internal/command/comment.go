package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/conversation"
	"github.com/relock-dev/relock/internal/dashboard"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// commentCommand makes the command of the verb that answers a comment. It takes no root
// modules: the comment names them.
func commentCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   string(verbs.Comment),
		Short: "Answer a command in a comment under a pull request or the issue",
		Long: `comment reads an issue_comment event, as the runner of a workflow describes it, and
carries out the command in it:

` + usage() + `
It needs no checkout: what it reads of the repository it reads from GitHub, and
its configuration from the base branch of the pull request, or from the default
branch if the comment is under relock's issue.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rt := env.runtime(); rt.Enabled() { // printed text may come from outside
				env.Stdout, env.Stderr = rt.Stdout(), action.Inert(env.Stderr)
			}
			from, s, err := settingsOfCommand(cmd, env, verbs.Comment)
			var r report.Report
			if err == nil {
				r, err = answer(cmd.Context(), env, from, s)
			}
			if err == nil {
				err = show(env, r, s)
			}
			if err != nil {
				return said(cmd.Context(), env, err)
			}
			return status(r)
		},
	}
	addFlags(cmd, verbs.Comment)
	return cmd
}

// ofPage reports whether a comment is under an issue with relock's marker. Whether relock
// has opened the issue is asked later.
func ofPage(e github.CommentEvent) bool { return dashboard.OfRepository.Is(github.Issue{Body: e.Page}) }

// usage lists the commands as a terminal shows them.
func usage() string {
	var b strings.Builder
	for _, u := range comment.Verbs {
		b.WriteString(" " + strings.Join(settings.Wrap(u.String(), helpWidth-1), "\n     "))
		if u.Where == comment.UnderPage {
			b.WriteString("  (under " + u.Where.String() + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// answer carries out the command in the comment of the event. A comment that is not for
// relock costs no request. s has the settings that do not depend on the repository. The
// others are read from the base branch.
func answer(ctx context.Context, env Env, from settings.Sources, s settings.Settings) (report.Report, error) {
	rt := env.runtime()
	none := report.Report{Verb: verbs.Comment}
	payload, err := rt.Payload()
	if err != nil {
		return none, err
	}
	event, err := github.ParseCommentEvent(payload)
	if err != nil {
		return none, err
	}
	switch {
	case event.Action != "created", event.Bot, len(comment.Commands(event.Body)) == 0, !event.OnPull && !ofPage(event):
		return none, nil
	case !strings.EqualFold(event.Repository, rt.Repository()):
		return none, errors.New("the event is about another repository than GITHUB_REPOSITORY names")
	case !event.OnPull && event.DefaultBranch == "":
		return none, errors.New("the event's payload does not name the default branch")
	case s.DryRun:
		return none, errors.New("a comment cannot be answered in a dry run")
	}
	under := comment.UnderPull
	if !event.OnPull {
		under, s.Dashboard.Issue = comment.UnderPage, true // so that the token may be for issues
	}
	env.Trail.willWrite()
	asked := conversation.Event{
		Repository: event.Repository, Number: event.Number, CommentID: event.CommentID,
		Under: under, Opener: event.Opener, DefaultBranch: event.DefaultBranch,
		Author: event.Author, ViaApp: event.ViaApp, Body: event.Body, Config: from.Named, Repeated: rt.Repeated(),
	}
	if s.Ledger != "" {
		asked.Ledger = slashed(env, env.path(s.Ledger))
	}
	m := env.meansOf(from, s, footer)
	return during(env, run.ToAnswer(m, event.Repository), func(session *run.Session) (report.Report, error) {
		return conversation.Answer(ctx, session, asked, m)
	})
}
