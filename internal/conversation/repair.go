package conversation

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// repair upgrades or completes lock files on the branch of somebody's pull
// request, and pushes to it.
func (c conversation) repair(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	verb := verbs.Upgrade
	if c.command.Verb == comment.Lock {
		verb = verbs.Lock
	}
	merged, err := c.mergeBase(ctx)
	if err != nil {
		return r, said, err
	}
	var to *run.Push
	var why safe.Markdown
	if c.reportOnly {
		why = safe.Const("relock may not push to the branch of this fork")
	} else {
		to = c.destination(merged)
	}
	ask, err := c.repairing(ctx, verb, merged, to)
	if err != nil {
		return r, said, err
	}
	r, err = run.Run(ctx, c.session, ask)
	if err != nil && c.pull.Fork && pushFailed(r, err) {
		r.Verb, why, err = verbs.Check, safe.Text(err.Error()), nil
	}
	if err != nil {
		return r, said, refused(err)
	}
	if err := c.refuseEmpty(r); err != nil {
		return r, said, err
	}
	if why.Empty() {
		r.Mending = c.mending(r, verb)
	}
	said = render.Comment(c.outcome(ctx, r, verb, why), r)
	if r.Pushed == "" && r.MendingVerb(verb) != verb && !slices.ContainsFunc(failures(r), notUpgradable) {
		return report.Report{}, said, comment.Refuse(said)
	}
	return r, said, nil
}

func notUpgradable(p problem.Problem) bool { return !p.Upgradable }

// mending says which command does what this one could not, since it keeps locked versions.
// It is none if another version is not the reason.
func (c conversation) mending(r report.Report, verb verbs.Verb) report.Mending {
	by := r.MendingVerb(verb)
	if by == verb {
		return report.Mending{}
	}
	m := report.Mending{Verb: by, Comments: true, Directories: c.command.Dirs}
	for _, p := range c.command.Providers {
		m.Flags = append(m.Flags, settings.GivenFlag{Name: "provider", Value: p.Given()})
	}
	for _, p := range c.command.Platforms {
		m.Flags = append(m.Flags, settings.GivenFlag{Name: "platform", Value: p.String()})
	}
	return m
}

// mergeBase merges the base for a command that repairs lock files: they may conflict with
// it. For other commands, and for a fork without a right to push, it returns nil.
func (c conversation) mergeBase(ctx context.Context) (*mergedHead, error) {
	if c.command.Verb != comment.Lock || c.reportOnly {
		return nil, nil
	}
	merge := baseMerge{c.premises}
	if c.repeated {
		if err := c.right.confirm(ctx); err != nil {
			return nil, err
		}
		merge.sweep(ctx)
	}
	return merge.merge(ctx)
}

// refuseEmpty refuses a command without a directory if there is no root module for it.
func (c conversation) refuseEmpty(r report.Report) error {
	if len(r.Modules) > 0 || len(c.command.Dirs) > 0 || r.Failed() || r.Pushed != "" {
		return nil
	}
	return comment.Refuse(safe.Const("the pull request touches no root module that has a lock file; name a directory to include one anyway"))
}

// destination is the branch of the pull request. A GitHub App must be installed in the
// repository of that branch.
func (c conversation) destination(merged *mergedHead) *run.Push {
	to := &run.Push{Repository: c.pull.HeadRepository, Branch: c.pull.HeadBranch, Ready: c.mayPush}
	if merged != nil {
		to.Merged = &merged.base
	}
	return to
}

// mayPush refuses to push to a pull request in a merge queue, or for an author who may not
// write any more.
func (c conversation) mayPush(ctx context.Context) error {
	if err := c.refuseQueued(ctx); err != nil {
		return err
	}
	return c.right.confirm(ctx)
}

// refuseQueued refuses to touch a pull request in a merge queue: a push takes it out,
// and what is merged then need not be what was reviewed.
func (c conversation) refuseQueued(ctx context.Context) error {
	now, err := c.repo.Merging(ctx, c.pull)
	if err == nil && now.Open && now.Queued {
		err = comment.Refuse(safe.Format("the pull request is in the merge queue of %s; ask again when it is merged or out of there", safe.Code(c.pull.Base)))
	}
	return err
}

// pushFailed reports whether the result is known but could not be pushed. Then the answer
// says how a person can do so.
func pushFailed(r report.Report, err error) bool {
	var no *comment.Refusal
	return len(r.Modules) > 0 && problem.Coded(err, problem.CodeGitHub) && !errors.As(err, &no)
}

// outcome says in a sentence or two what happened to the lock files, and why if
// they could not be pushed.
func (c conversation) outcome(ctx context.Context, r report.Report, verb verbs.Verb, why safe.Markdown) safe.Markdown {
	if r.Pushed != "" {
		return safe.Format("Pushed commit %s.%s", safe.Text(r.Pushed), c.approval(ctx))
	}
	if !why.Empty() && r.Fails() && len(c.command.Modules) == 0 { // no command line names modules
		asked := report.Asked{Providers: c.command.Providers, Platforms: c.command.Platforms}
		return safe.Join(" ", nothingPushed(why), byHand(report.CommandLine(r.MendingVerb(verb), asked, r.FailingDirs())))
	}
	return nothingPushed(safe.Markdown{})
}

// nothingPushed is the answer if nothing was pushed, with the reason if there is one.
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

// check answers with the report of what would change.
func (c conversation) check(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	r, err = c.look(ctx, verbs.Check, run.JudgedBy{})
	if err != nil {
		return r, said, err
	}
	return r, render.Comment(safe.Markdown{}, r), c.refuseEmpty(r)
}

// why says for a provider where each constraint is, what holds it, and what would let it go on.
func (c conversation) why(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	r, err = c.look(ctx, verbs.Why, run.JudgedBy{})
	if err != nil {
		return r, said, err
	}
	if err := c.refuseEmpty(r); err != nil {
		return r, said, err
	}
	said, err = whyText(r, c.command.Providers)
	return r, said, err
}

// whyText is the answer to a question why, about some providers.
func whyText(r report.Report, about []provider.Pattern) (safe.Markdown, error) {
	var text strings.Builder
	err := render.Text(&text, r, render.TextOptions{Why: about})
	return safe.Fenced("text", strings.TrimSpace(text.String()), mostText), err
}

// verify answers with the proofs of the head's hashes. The ledger of the base judges them.
// It is a finding if the pull request changes the ledger.
func (c conversation) verify(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	var by run.JudgedBy
	var tampered bool
	if name := c.event.Ledger; name != "" {
		by.Ledger, err = c.ledger(ctx, name)
		if err != nil {
			return r, said, err
		}
		tampered, err = c.changes(ctx, name)
		if err != nil {
			return r, said, err
		}
	}
	r, err = c.look(ctx, verbs.Verify, by)
	if err != nil {
		return r, said, err
	}
	if tampered {
		r.Modules = append(r.Modules, report.Tampered(c.event.Ledger, "ledger", ""))
	}
	return r, render.Comment(safe.Markdown{}, r), c.refuseEmpty(r)
}

// ledger reads the ledger of the base branch; it is empty if that has none.
func (c conversation) ledger(ctx context.Context, name string) (*ledger.Ledger, error) {
	files, err := c.repo.Snapshot(ctx, c.base, func(n string) bool { return n == name })
	if err != nil {
		return nil, err
	}
	src, err := fs.ReadFile(files, name)
	var seen *ledger.Ledger
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		seen, err = ledger.ReadLedger(src, name)
	}
	if err != nil {
		return nil, comment.Refuse(safe.Format("the ledger %s on the branch %s cannot be used: %s", safe.Code(name), safe.Code(c.pull.Base), safe.Text(err.Error())))
	}
	return seen, nil
}

// look runs a verb that writes nothing.
func (c conversation) look(ctx context.Context, verb verbs.Verb, by run.JudgedBy) (report.Report, error) {
	ask, err := c.looking(ctx, verb, by)
	if err != nil {
		return report.Report{}, err
	}
	r, err := run.Run(ctx, c.session, ask)
	return r, refused(err)
}

// mostText bounds the text of an answer, in bytes; GitHub takes 65,536
// characters.
const mostText = 60_000

// diff shows what the pull request changes in lock files, from where it left its
// base.
func (c conversation) diff(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	compared, err := c.repo.Compare(ctx, c.pull.Base, c.pull.Head)
	if err != nil {
		return r, said, err
	}
	before, err := readSide(ctx, c.repo, compared.Fork.SHA)
	if err != nil {
		return r, said, err
	}
	after, err := readSide(ctx, c.repo, c.pull.Head)
	if err != nil {
		return r, said, err
	}
	r = report.Report{Verb: verbs.Diff, Modules: report.Differences(before.locks, after.locks)}
	return r, render.Comment(safe.Markdown{}, r), nil
}

// rebuild makes our pull request again on the present base. It does the same as a scheduled
// run, for this pull request alone.
func (c conversation) rebuild(ctx context.Context, discard bool) (r report.Report, said safe.Markdown, err error) {
	r, said, err = c.propose(ctx, discard)
	if err != nil {
		return r, said, err
	}
	if named := c.command; len(named.Providers)+len(named.Modules)+len(named.Platforms)+len(named.Dirs) > 0 {
		said = said.And("\n\nrelock rebuilds its own pull requests as a whole, whatever the command names. " +
			"`/relock ignore` leaves a provider out.")
	}
	return r, said, nil
}

// propose runs the verb pr for the pull request's branch, and says what the result is.
func (c conversation) propose(ctx context.Context, discard bool) (r report.Report, said safe.Markdown, err error) {
	if c.owned.Base != c.pull.Base {
		return r, said, comment.Refuse(safe.Const("the pull request was opened for another base than it has now, so relock leaves it alone"))
	}
	files, err := run.Snapshot(ctx, c.repo, c.base)
	if err != nil {
		return r, said, err
	}
	to := run.Pulls{Only: c.pull.HeadBranch, Seen: c.pull.Head, Rebase: true, Recreate: discard, Ready: c.right.confirm}
	r, err = run.Run(ctx, c.session, run.ToRebuild(c.means, c.event.Repository, c.owned.Base, files, c.means.Settings.Directories, to))
	if c.right.lost != nil {
		return report.Report{}, said, c.right.lost
	}
	if err != nil {
		return r, said, err
	}
	said = nothingPushed(safe.Const("there is nothing to propose for this group"))
	for _, p := range r.PullRequests {
		if p.Branch == c.pull.HeadBranch {
			said = c.outcomeOf(ctx, p)
		}
	}
	if problems := render.Problems(failures(r)); !problems.Empty() {
		said = said.And("\n\n%s", problems)
	}
	return r, said, nil
}

// outcomeOf says what happened to the pull request.
func (c conversation) outcomeOf(ctx context.Context, p report.PullRequest) safe.Markdown {
	switch pushed := p.HeadSHA != c.pull.Head; {
	case p.Operation == string(pr.Closed):
		return safe.Text(p.Reason).Sentence()
	case p.Operation != string(pr.None) && pushed:
		return safe.Format("Rebuilt on %s: commit %s.%s", safe.Code(c.pull.Base), safe.Text(p.HeadSHA), c.approval(ctx))
	case p.Operation != string(pr.None):
		return safe.Const("The text is up to date again; nothing had to be pushed.")
	}
	return nothingPushed(safe.Text(p.Reason))
}

// failures are all errors of a report: those of the run, and those of its root modules.
func failures(r report.Report) []problem.Problem {
	all := slices.Clone(r.Diagnostics)
	for _, m := range r.Modules {
		all = append(all, m.Diagnostics...)
	}
	return slices.DeleteFunc(all, func(d problem.Problem) bool { return d.Severity != problem.SeverityError })
}

// ignore changes what is ignored for the group of the pull request. If the pull request is
// open, it is rebuilt.
func (c conversation) ignore(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	if err := c.refuseOlder(ctx); err != nil {
		return r, said, err
	}
	if err := c.refuseUnknown(ctx); err != nil {
		return r, said, err
	}
	ignores, note := ignoresAfter(c.command, c.owned.Marker.Ignores, c.event.Author, c.session.Env().Now)
	known := slices.Equal(ignores, c.owned.Marker.Ignores)
	if known && !c.repeated { // else an earlier run may have ended before the rebuilding
		return r, note, nil
	}
	if c.pull.Open {
		if err := c.refuseQueued(ctx); err != nil {
			return r, said, err
		}
	}
	if err := c.right.confirm(ctx); err != nil {
		return r, said, err
	}
	if !known {
		if err := pr.SetIgnores(ctx, c.repo, *c.owned, ignores); err != nil {
			return r, said, err
		}
	}
	if !c.pull.Open {
		return r, note, nil
	}
	if c.owned.Touched {
		return r, note.And(" The branch stays as it is, since somebody else has pushed to it."), nil
	}
	if err := c.say(ctx, note.And(" The pull request is being rebuilt.")); err != nil {
		return r, said, err
	}
	r, then, err := c.propose(ctx, false)
	return r, note.And(" %s", then), err
}

// refuseUnknown refuses to ignore a provider or a module that nothing in the repository
// requires or locks: it may be misspelt, and the intended one would still be proposed. A pattern may be
// for providers of the future.
func (c conversation) refuseUnknown(ctx context.Context) error {
	literal := slices.ContainsFunc(c.command.Providers, provider.Pattern.Literal) || len(c.command.Modules) > 0
	if c.command.Verb != comment.Ignore || !c.pull.Open || !literal {
		return nil
	}
	files, err := run.Snapshot(ctx, c.repo, c.pull.Head)
	if err != nil {
		return err
	}
	w := run.Wanted{Dirs: c.means.Settings.Directories, Providers: c.command.Providers, Modules: c.command.Modules}
	_, err = run.Run(ctx, c.session, run.ToLook(c.means, verbs.Scan, c.head(ctx, files), w, run.JudgedBy{}))
	return refused(err)
}

// refuseOlder refuses to note an ignore under a closed pull request if the group has a
// newer one. A run reads only the newest.
func (c conversation) refuseOlder(ctx context.Context) error {
	if c.pull.Open {
		return nil
	}
	latest, err := c.repo.Latest(ctx, []string{c.pull.HeadBranch})
	if err != nil {
		return err
	}
	for _, p := range latest[c.pull.HeadBranch] {
		if p.Base == c.pull.Base && p.Number > c.pull.Number {
			return comment.Refuse(safe.Format("there is a newer pull request of this group; say it under #%s", safe.Int(p.Number)))
		}
	}
	return nil
}

// refused makes a refusal of two errors of a run: a name that was not found, and a push to
// a branch that has moved.
func refused(err error) error {
	if errors.Is(err, run.ErrMoved) {
		return comment.Refuse(safe.Text(err.Error()))
	}
	var missing problem.Several
	if !errors.As(err, &missing) {
		return err
	}
	var all []safe.Markdown
	for _, d := range missing {
		text := safe.Text(d.Message)
		if d.Hint != "" {
			text = text.And(" (%s)", safe.Hint(d.Hint))
		}
		all = append(all, text)
	}
	return comment.Refuse(safe.Format("nothing was done: %s", safe.Join("; ", all...)))
}
