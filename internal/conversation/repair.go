package conversation

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// repair upgrades or completes lock files on the branch of somebody's pull
// request, and pushes to it.
func (c *conversation) repair(ctx context.Context) error {
	verb := verbs.Upgrade
	if c.request.command.Verb == comment.Lock {
		verb = verbs.Lock
	}
	merged, err := c.mergeBase(ctx)
	if err != nil {
		return err
	}
	var to *run.Push
	var why safe.Markdown
	if c.reportOnly {
		why = safe.Const("relock may not push to the branch of this fork")
	} else {
		to = c.destination(merged)
	}
	ask, err := c.request.repairing(ctx, verb, merged, to)
	if err != nil {
		return err
	}
	c.report, err = run.Run(ctx, c.session, ask)
	if err != nil && c.request.pull.Fork && c.pushFailed(err) {
		c.report.Verb, why, err = verbs.Check, safe.Text(err.Error()), nil
	}
	if err != nil {
		return refused(err)
	}
	if err := c.refuseEmpty(); err != nil {
		return err
	}
	return c.say(ctx, render.Comment(c.outcome(ctx, verb, why), c.report))
}

// mergeBase merges the base where the command is to repair the lock files that
// conflict with it.
func (c *conversation) mergeBase(ctx context.Context) (*mergedHead, error) {
	if c.request.command.Verb != comment.Lock || c.reportOnly {
		return nil, nil
	}
	return baseMerge{c.repo, c.request.pull, c.log}.merge(ctx)
}

// refuseEmpty refuses a command that says no directory where there is nothing that
// it could be about.
func (c *conversation) refuseEmpty() error {
	if len(c.report.Modules) > 0 || len(c.request.command.Dirs) > 0 || c.report.Failed() || c.report.Pushed != "" {
		return nil
	}
	return comment.Refuse(safe.Const("the pull request touches no root module that has a lock file; name a directory to take one all the same"))
}

// destination is the branch of the pull request. A GitHub App must be installed
// where that is.
func (c *conversation) destination(merged *mergedHead) *run.Push {
	to := &run.Push{Repository: c.request.pull.HeadRepository, Branch: c.request.pull.HeadBranch, Ready: c.refuseQueued}
	if merged != nil {
		to.Merged = &merged.base
	}
	return to
}

// refuseQueued refuses to touch a pull request in a merge queue: a push takes it out,
// and what is merged then need not be what was reviewed.
func (c *conversation) refuseQueued(ctx context.Context) error {
	now, err := c.repo.Merging(ctx, c.request.pull)
	if err == nil && now.Open && now.Queued {
		err = comment.Refuse(safe.Format("the pull request is in the merge queue of %s; ask again when it is merged or out of there", safe.Code(c.request.pull.Base)))
	}
	return err
}

// pushFailed reports whether everything is known but could not be pushed: then the answer
// can still say how a person does so.
func (c *conversation) pushFailed(err error) bool {
	var no *comment.Refusal
	return len(c.report.Modules) > 0 && problem.Coded(err, problem.CodeGitHub) && !errors.As(err, &no)
}

// outcome says in a sentence or two what became of the lock files, and why if
// they could not be pushed.
func (c *conversation) outcome(ctx context.Context, verb verbs.Verb, why safe.Markdown) safe.Markdown {
	switch {
	case c.report.Pushed != "":
		return safe.Format("Pushed commit %s.%s", safe.Text(c.report.Pushed), c.approval(ctx))
	case !why.Empty() && c.report.Pending():
		return safe.Join(" ", nothingPushed(why), byHand(c.commandLine(verb)))
	}
	return nothingPushed(safe.Markdown{})
}

// nothingPushed is the answer where nothing was, with the reason if there is one.
func nothingPushed(why safe.Markdown) safe.Markdown {
	if why.Empty() {
		return safe.Const("Nothing was pushed.")
	}
	return safe.Format("Nothing was pushed: %s.", why)
}

// byHand says how a person does the same, by command lines.
func byHand(lines ...string) safe.Markdown {
	return safe.Format("Run this at the top of a checkout of the branch, and commit the result:\n\n%s", safe.Fenced("text", strings.Join(lines, "\n"), 4096))
}

// commandLine is the command line that does the same in a checkout.
func (c *conversation) commandLine(verb verbs.Verb) string {
	asked := report.Asked{Providers: c.request.command.Providers, Platforms: c.request.command.Platforms}
	return report.CommandLine(verb, asked, c.report.PendingDirs())
}

// inspect answers with the report of a verb that writes nothing.
func (c *conversation) inspect(ctx context.Context, verb verbs.Verb) error {
	if err := c.look(ctx, verb); err != nil {
		return err
	}
	return c.say(ctx, render.Comment(safe.Markdown{}, c.report))
}

// why says for a provider where each constraint is.
func (c *conversation) why(ctx context.Context) error {
	if err := c.look(ctx, verbs.Scan); err != nil {
		return err
	}
	var said strings.Builder
	if err := render.Text(&said, c.report, render.TextOptions{Why: c.request.command.Providers}); err != nil {
		return err
	}
	return c.say(ctx, safe.Fenced("text", strings.TrimSpace(said.String()), mostText))
}

// verify answers with what proves the hashes of the head. They are judged by the
// ledger of the base: that the pull request changes it is a finding.
func (c *conversation) verify(ctx context.Context) error {
	var by run.JudgedBy
	var tampered bool
	var err error
	if name := c.event.Ledger; name != "" {
		by.Ledger, err = c.ledger(ctx, name)
		if err != nil {
			return err
		}
		tampered, err = c.request.changes(ctx, name)
		if err != nil {
			return err
		}
	}
	err = c.examine(ctx, verbs.Verify, by)
	if err != nil {
		return err
	}
	if tampered {
		c.report.Modules = append(c.report.Modules, report.Tampered(c.event.Ledger, "ledger", ""))
	}
	if err := c.refuseEmpty(); err != nil {
		return err
	}
	return c.say(ctx, render.Comment(safe.Markdown{}, c.report))
}

// ledger reads a ledger as the base branch has it; an empty one, if that has none.
func (c *conversation) ledger(ctx context.Context, name string) (*verify.Ledger, error) {
	files, err := c.repo.Snapshot(ctx, c.request.base, func(n string) bool { return n == name })
	if err != nil {
		return nil, err
	}
	src, err := fs.ReadFile(files, name)
	var ledger *verify.Ledger
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		ledger, err = verify.ReadLedger(src, name)
	}
	if err != nil {
		return nil, comment.Refuse(safe.Format("the ledger %s on the branch %s cannot be used: %s", safe.Code(name), safe.Code(c.request.pull.Base), safe.Text(err.Error())))
	}
	return ledger, nil
}

// look runs a verb that writes nothing, about something.
func (c *conversation) look(ctx context.Context, verb verbs.Verb) error {
	if err := c.examine(ctx, verb, run.JudgedBy{}); err != nil {
		return err
	}
	return c.refuseEmpty()
}

// examine runs a verb that writes nothing.
func (c *conversation) examine(ctx context.Context, verb verbs.Verb, by run.JudgedBy) error {
	ask, err := c.request.looking(ctx, verb, by)
	if err != nil {
		return err
	}
	c.report, err = run.Run(ctx, c.session, ask)
	return refused(err)
}

// mostText bounds the text of an answer, in bytes; GitHub takes 65,536
// characters.
const mostText = 60_000

// diff shows what the pull request changes in lock files, from where it left its
// base.
func (c *conversation) diff(ctx context.Context) error {
	compared, err := c.repo.Compare(ctx, c.request.pull.Base, c.request.pull.Head)
	if err != nil {
		return err
	}
	before, err := locksOf(ctx, c.repo, compared.Fork.SHA)
	if err != nil {
		return err
	}
	after, err := locksOf(ctx, c.repo, c.request.pull.Head)
	if err != nil {
		return err
	}
	c.report = report.Report{Verb: verbs.Diff, Modules: report.Differences(before, after)}
	return c.say(ctx, render.Comment(safe.Markdown{}, c.report))
}

// rebuild makes our pull request anew on the base as it is now. It does as a
// scheduled run would, for this pull request alone.
func (c *conversation) rebuild(ctx context.Context, discard bool) error {
	said, err := c.propose(ctx, discard)
	if err != nil {
		return err
	}
	if len(c.request.command.Providers)+len(c.request.command.Platforms)+len(c.request.command.Dirs) > 0 {
		said = said.And("\n\nrelock rebuilds its own pull requests as a whole, whatever the command names. " +
			"`/relock ignore` leaves a provider out.")
	}
	return c.say(ctx, said)
}

// propose runs the verb pr for the pull request's branch, and says what became
// of that.
func (c *conversation) propose(ctx context.Context, discard bool) (said safe.Markdown, err error) {
	if c.owned.Base != c.request.pull.Base {
		return said, comment.Refuse(safe.Const("somebody has changed the base of the pull request, so that relock leaves it alone"))
	}
	files, err := run.Snapshot(ctx, c.repo, c.request.base)
	if err != nil {
		return said, err
	}
	p := run.Pulls{Only: c.request.pull.HeadBranch, Seen: c.request.pull.Head, Rebase: true, Recreate: discard}
	c.report, err = run.Run(ctx, c.session, run.ToRebuild(c.request.means, c.event.Repository, c.owned.Base, files, c.request.means.Settings.Directories, p))
	if err != nil {
		return said, err
	}
	said = nothingPushed(safe.Const("there is nothing to propose for this group"))
	for _, p := range c.report.PullRequests {
		if p.Branch == c.request.pull.HeadBranch {
			said = c.outcomeOf(ctx, p)
		}
	}
	if problems := render.Problems(failures(c.report)); !problems.Empty() {
		said = said.And("\n\n%s", problems)
	}
	return said, nil
}

// outcomeOf says what became of the pull request.
func (c *conversation) outcomeOf(ctx context.Context, p report.PullRequest) safe.Markdown {
	switch pushed := p.HeadSHA != c.request.pull.Head; {
	case p.Operation == string(pr.Closed):
		return safe.Text(p.Reason).Sentence()
	case p.Operation != string(pr.None) && pushed:
		return safe.Format("Rebuilt on %s: commit %s.%s", safe.Code(c.request.pull.Base), safe.Text(p.HeadSHA), c.approval(ctx))
	case p.Operation != string(pr.None):
		return safe.Const("The text is up to date again; nothing had to be pushed.")
	}
	return nothingPushed(safe.Text(p.Reason))
}

// failures are the errors of a report, wherever they belong to.
func failures(r report.Report) []problem.Problem {
	all := slices.Clone(r.Diagnostics)
	for _, m := range r.Modules {
		all = append(all, m.Diagnostics...)
	}
	return slices.DeleteFunc(all, func(d problem.Problem) bool { return d.Severity != problem.SeverityError })
}

// ignore changes what is ignored for the group of the pull request, and rebuilds
// that if it is open.
func (c *conversation) ignore(ctx context.Context) error {
	if err := c.refuseOlder(ctx); err != nil {
		return err
	}
	if err := c.refuseUnknown(ctx); err != nil {
		return err
	}
	ignores, said := ignoresAfter(c.request.command, c.owned.Marker.Ignores, c.event.Author, c.session.Env().Now)
	if slices.Equal(ignores, c.owned.Marker.Ignores) {
		return c.say(ctx, said)
	}
	if c.request.pull.Open {
		if err := c.refuseQueued(ctx); err != nil {
			return err
		}
	}
	if err := pr.SetIgnores(ctx, c.repo, *c.owned, ignores); err != nil {
		return err
	}
	switch {
	case !c.request.pull.Open:
		return c.say(ctx, said)
	case c.owned.Touched:
		return c.say(ctx, said.And(" The branch stays as it is, since somebody else has pushed to it."))
	}
	if err := c.say(ctx, said.And(" The pull request is being rebuilt.")); err != nil {
		return err
	}
	then, err := c.propose(ctx, false)
	if err != nil {
		return err
	}
	return c.say(ctx, said.And(" %s", then))
}

// refuseUnknown refuses to ignore a provider that nothing in the repository requires or
// locks, since the one that was meant would still be proposed. A pattern is for
// providers that are to come, too.
func (c *conversation) refuseUnknown(ctx context.Context) error {
	literal := slices.ContainsFunc(c.request.command.Providers, provider.Pattern.Literal)
	if c.request.command.Verb != comment.Ignore || !c.request.pull.Open || !literal {
		return nil
	}
	files, err := run.Snapshot(ctx, c.repo, c.request.pull.Head)
	if err != nil {
		return err
	}
	w := run.Wanted{Dirs: c.request.means.Settings.Directories, Providers: c.request.command.Providers}
	_, err = run.Run(ctx, c.session, run.ToLook(c.request.means, verbs.Scan, c.request.head(ctx, files), w, run.JudgedBy{}))
	return refused(err)
}

// refuseOlder refuses to note something for a group where nobody would look for it:
// that is its newest pull request.
func (c *conversation) refuseOlder(ctx context.Context) error {
	if c.request.pull.Open {
		return nil
	}
	latest, err := c.repo.Latest(ctx, []string{c.request.pull.HeadBranch})
	if err != nil {
		return err
	}
	for _, p := range latest[c.request.pull.HeadBranch] {
		if p.Base == c.request.pull.Base && p.Number > c.request.pull.Number {
			return comment.Refuse(safe.Format("there is a newer pull request of this group; say it under #%s", safe.Int(p.Number)))
		}
	}
	return nil
}

// refused turns what a run has not done into a refusal: what was named and is nowhere, and a
// push to a branch that has moved.
func refused(err error) error {
	if errors.Is(err, run.ErrMoved) {
		return comment.Refuse(safe.Text(err.Error()))
	}
	var missing run.NotFound
	if !errors.As(err, &missing) {
		return err
	}
	var all []safe.Markdown
	for _, d := range missing {
		text := safe.Text(d.Message)
		if d.Hint != "" {
			text = text.And(" (%s)", safe.Text(d.Hint))
		}
		all = append(all, text)
	}
	return comment.Refuse(safe.Format("nothing was done: %s", safe.Join("; ", all...)))
}
