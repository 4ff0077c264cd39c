package command

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// comment makes the command of the verb that answers a comment. It takes no root
// modules: the comment names them.
func (c *cli) comment() *cobra.Command {
	cmd := &cobra.Command{
		Use:   report.VerbComment,
		Short: "Answer a command in a comment under a pull request",
		Long: `comment reads an issue_comment event, as the runner of a workflow describes it, and
carries out the command in it:

` + usage() + `
It needs no checkout: what it reads of the repository it reads from GitHub, and
its configuration from the base branch of the pull request.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt := action.New(c.env.Getenv, c.env.Stdout)
			if rt.Enabled() { // whatever is printed may hold text from outside
				c.env.Stdout, c.env.Stderr = rt.Stdout(), action.Inert(c.env.Stderr)
			}
			flags := given(cmd.Flags())
			cfg, err := c.settingsOn(nil, flags)
			if err != nil {
				return err
			}
			r, err := c.answer(cmd.Context(), rt, cfg, flags)
			if err != nil {
				return err
			}
			if err := c.print(r, cfg); err != nil {
				return err
			}
			return status(r)
		},
	}
	addFlags(cmd, report.VerbComment)
	return cmd
}

// usage lists the commands as a terminal shows them.
func usage() string {
	var b strings.Builder
	for _, u := range comment.Verbs {
		b.WriteString("  " + u.String() + "\n")
	}
	return b.String()
}

// settingsOn are the settings that are in force on a base branch; nil stands for
// one that is not known yet. What is checked out when a comment is answered, if
// anything, decides nothing: a configuration file that is named and would lie in
// the checkout is read from the base branch.
func (c *cli) settingsOn(base fs.FS, strongest ...config.Values) (config.Config, error) {
	name := c.inRepository(config.Merge(strongest...))
	switch {
	case base == nil && name == "":
		return c.settingsOf(embed.FS{}, strongest...)
	case name == "":
		return c.settingsOf(base, strongest...)
	case base == nil:
		name = ""
	}
	file, err := repositoryFile(base, name)
	if err != nil {
		return config.Config{}, err
	}
	cfg, _, err := c.resolve(file, strongest)
	return cfg, err
}

// inRepository is the path in the repository of the configuration file that is
// named; empty if none is, or if it lies elsewhere.
func (c *cli) inRepository(values config.Values) string {
	name := c.configPath(values)
	if name == "" || c.outside(name, values) {
		return ""
	}
	rel, err := filepath.Rel(c.env.WorkDir, name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(rel)
}

// answer carries out the command of the comment that the event is about. A
// comment that is not for relock costs no request. The settings are those that
// do not depend on the repository; the others are read from the base branch.
func (c *cli) answer(ctx context.Context, rt *action.Runtime, cfg config.Config, strongest ...config.Values) (report.Report, error) {
	none := report.Report{Verb: report.VerbComment}
	payload, err := rt.Payload()
	if err != nil {
		return none, err
	}
	event, err := github.ParseCommentEvent(payload)
	if err != nil {
		return none, err
	}
	switch {
	case event.Action != "created", !event.OnPull, event.Bot, !comment.Addressed(event.Body):
		return none, nil
	case !strings.EqualFold(event.Repository, rt.Repository()):
		return none, errors.New("the event is about another repository than GITHUB_REPOSITORY names")
	case cfg.DryRun:
		return none, errors.New("a comment cannot be answered in a dry run")
	}
	configure := func(base fs.FS) (run.Request, error) {
		cfg, err := c.settingsOn(base, strongest...)
		return c.withRepository(c.request(run.PR, cfg.Directories, cfg)), err
	}
	req := c.withRepository(c.request(run.Upgrade, nil, cfg))
	req.Head = run.OwnHead // nothing of the session is kept for later runs
	remark := run.Remark{
		Hub: req.Pull.Hub, Repository: event.Repository, Number: event.Number, CommentID: event.CommentID,
		Author: event.Author, Body: event.Body, Config: c.inRepository(config.Merge(strongest...)),
	}
	return c.during(cfg, req, func(s *run.Session) (report.Report, error) { return s.Answer(ctx, remark, configure) })
}
