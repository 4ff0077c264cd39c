package run

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// rebuild makes our pull request anew on the base as it is now. It does as a
// scheduled run would, for this pull request alone.
func (c *conversation) rebuild(ctx context.Context, discard bool) error {
	said, err := c.propose(ctx, discard)
	if err != nil {
		return err
	}
	if len(c.command.Providers)+len(c.command.Platforms)+len(c.command.Dirs) > 0 {
		said += "\n\nA pull request of relock is rebuilt as a whole: what the command names narrows nothing here. " +
			"`/relock ignore` leaves a provider out."
	}
	return c.say(ctx, said)
}

// propose runs the verb pr for the pull request's branch, and says what became
// of that.
func (c *conversation) propose(ctx context.Context, discard bool) (said string, err error) {
	if c.owned.Base != c.pull.Base {
		return "", refused("somebody has changed the base of the pull request, so that relock leaves it alone")
	}
	files, err := snapshot(ctx, c.repo, c.base)
	if err != nil {
		return "", err
	}
	req := c.req
	req.Verb, req.Named, req.Hub = PR, nil, c.remark.Hub
	req.Configure = func(files fs.FS) (Request, error) {
		again, err := c.configure(files)
		again.Verb, again.Named = PR, nil
		return again, err
	}
	req.Targets = []Target{{
		Repository: c.remark.Repository, Base: c.owned.Base, Files: files, Dirs: c.directories(),
		Destination: Pulls{Only: c.pull.HeadBranch, Seen: c.pull.Head, Rebase: true, Recreate: discard},
	}}
	if c.report, err = c.Do(ctx, req); err != nil {
		return "", err
	}
	said = "Nothing was pushed: there is nothing to propose for this group."
	for _, p := range c.report.PullRequests {
		if p.Branch == c.pull.HeadBranch {
			said = c.became(ctx, p)
		}
	}
	if problems := report.Problems(failures(c.report)); problems != "" {
		said += "\n\n" + problems
	}
	return said, nil
}

// became says what became of the pull request.
func (c *conversation) became(ctx context.Context, p report.PullRequest) string {
	switch pushed := p.HeadSHA != c.pull.Head; {
	case p.Operation == string(pr.Closed):
		return report.Sentence(report.Inert(p.Reason))
	case p.Operation != string(pr.None) && pushed:
		return fmt.Sprintf("Rebuilt on %s: commit %s.", report.Code(c.pull.Base), p.HeadSHA) + c.approval(ctx)
	case p.Operation != string(pr.None):
		return "The text was brought up to date; nothing had to be pushed."
	case p.Reason != "":
		return "Nothing was pushed: " + report.Inert(p.Reason) + "."
	}
	return "Nothing was pushed."
}

// failures are the errors of a report, wherever they belong to.
func failures(r report.Report) []provider.Diagnostic {
	all := slices.Clone(r.Diagnostics)
	for _, m := range r.Modules {
		all = append(all, m.Diagnostics...)
	}
	return slices.DeleteFunc(all, func(d provider.Diagnostic) bool { return d.Severity != provider.SeverityError })
}

// ignore changes what is ignored for the group of the pull request, and rebuilds
// that if it is open.
func (c *conversation) ignore(ctx context.Context) error {
	if err := c.newest(ctx); err != nil {
		return err
	}
	if err := c.known(ctx); err != nil {
		return err
	}
	ignores, said := c.ignores()
	if slices.Equal(ignores, c.owned.Marker.Ignores) {
		return c.say(ctx, said)
	}
	if c.pull.Open {
		if err := c.unqueued(ctx); err != nil {
			return err
		}
	}
	if err := pr.SetIgnores(ctx, c.repo, *c.owned, ignores); err != nil {
		return err
	}
	switch {
	case !c.pull.Open:
		return c.say(ctx, said)
	case c.owned.Touched:
		return c.say(ctx, said+" The branch stays as it is, since somebody else has pushed to it.")
	}
	if err := c.say(ctx, said+" The pull request is being rebuilt."); err != nil {
		return err
	}
	then, err := c.propose(ctx, false)
	if err != nil {
		return err
	}
	return c.say(ctx, said+" "+then)
}

// known refuses to ignore a provider that nothing in the repository requires or
// locks, since the one that was meant would go on to move. A pattern is for what
// is to come, too.
func (c *conversation) known(ctx context.Context) error {
	literal := slices.ContainsFunc(c.command.Providers, provider.Pattern.Literal)
	if c.command.Verb != comment.Ignore || !c.pull.Open || !literal {
		return nil
	}
	files, err := snapshot(ctx, c.repo, c.pull.Head)
	if err != nil {
		return err
	}
	req := c.req
	req.Verb, req.Head, req.Named, req.Clauses = Scan, OwnHead, c.command.Providers, nil
	req.Targets = []Target{{Repository: c.remark.Repository, Files: files, Dirs: c.directories()}}
	_, err = c.Do(ctx, req)
	return notFound(err)
}

// newest refuses to note something for a group where nobody would look for it:
// that is its newest pull request.
func (c *conversation) newest(ctx context.Context) error {
	if c.pull.Open {
		return nil
	}
	latest, err := c.repo.Latest(ctx, []string{c.pull.HeadBranch})
	if err != nil {
		return err
	}
	if n := latest[c.pull.HeadBranch].Number; n != c.pull.Number {
		return refused("there is a newer pull request of this group; say it under #%d", n)
	}
	return nil
}

// ignores are those of the group as the command wants them, and what is said of
// that.
func (c *conversation) ignores() (ignores []pr.Ignore, said string) {
	asked, now := c.command.Ignored, c.owned.Marker.Ignores
	what := asked.Update + asked.Versions // one of them is empty
	others := slices.DeleteFunc(slices.Clone(now), func(i pr.Ignore) bool {
		return i.Provider == asked.Provider && (c.command.Verb == comment.Unignore || i.What == what)
	})
	name := report.Code(asked.Provider)
	if c.command.Verb == comment.Unignore {
		if len(others) == len(now) {
			return now, name + " is not ignored here."
		}
		return others, "Noted: " + name + " is not ignored any more."
	}
	added := pr.Ignore{Provider: asked.Provider, What: what, By: c.remark.Author, When: c.env.Now.UTC().Format(time.DateOnly)}
	if !asked.Until.IsZero() {
		added.Until = asked.Until.Format(time.DateOnly)
	}
	return append(others, added), "Noted: " + name + " is left alone here" + limits(asked) + "."
}

func limits(i comment.Ignored) string {
	text := ""
	if i.Update != "" {
		text = " for " + i.Update + " updates"
	} else if i.Versions != "" {
		text = " for versions " + report.Code(i.Versions)
	}
	if !i.Until.IsZero() {
		text += " until " + i.Until.Format(time.DateOnly)
	}
	return text
}

// inForce lists what decides what is proposed.
func (c *conversation) inForce() string {
	var b strings.Builder
	list := func(title string, items []string) {
		if len(items) == 0 {
			items = []string{"none"}
		}
		fmt.Fprintf(&b, "**%s**\n\n- %s\n\n", title, strings.Join(items, "\n- "))
	}
	if c.owned != nil {
		var ignores []string
		for _, i := range c.owned.Marker.Ignores {
			ignores = append(ignores, ignoreText(i))
		}
		list("Ignored in the group "+report.Code(c.owned.Group), ignores)
	}
	var rules []string
	for _, r := range c.req.Plan.Rules {
		rules = append(rules, ruleText(r))
	}
	list("Rules", rules)
	var groups []string
	for _, g := range c.req.Pull.Grouping.Named {
		groups = append(groups, report.Code(g.Name))
	}
	list("Groups, and the rest by "+string(cmp.Or(c.req.Pull.Grouping.By, ByAll)), groups)
	return b.String()
}

func ignoreText(i pr.Ignore) string {
	text := report.Code(i.Provider)
	if i.What != "" {
		text += " " + report.Code(i.What)
	}
	if i.Until != "" {
		text += " until " + i.Until
	}
	return text + ", by " + report.Code(i.By) + " on " + i.When
}

// ruleText says where a rule stands, whom it is about, and what it says.
func ruleText(r upgrade.Rule) string {
	var who, what []string
	for _, p := range r.Providers {
		who = append(who, report.Code(p.String()))
	}
	for _, u := range r.Updates {
		who = append(who, string(u)+" updates")
	}
	if r.Ignore != nil && *r.Ignore {
		what = append(what, "ignored")
	} else if r.Ignore != nil {
		what = append(what, "not ignored")
	}
	if !r.HoldUntil.IsZero() {
		what = append(what, "held until "+r.HoldUntil.Format(time.DateOnly))
	}
	if r.Allow != nil {
		what = append(what, "only versions "+report.Code(r.Allow.String()))
	}
	if r.Except != nil {
		what = append(what, "no versions "+report.Code(r.Except.String()))
	}
	if r.MinimumAge != nil {
		what = append(what, fmt.Sprintf("at least %g hours old", r.MinimumAge.Hours()))
	}
	for _, p := range r.Platforms {
		what = append(what, "for "+p.String())
	}
	if len(who) == 0 {
		who = []string{"every provider"}
	}
	return fmt.Sprintf("%s: %s: %s", report.Code(r.Place), strings.Join(who, ", "), strings.Join(what, ", "))
}
