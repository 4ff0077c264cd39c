package pr

import (
	"cmp"
	"context"
	"errors"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/safe"
)

// proposeOnce is one attempt to bring a proposal to GitHub.
func (t *task) proposeOnce(ctx context.Context, p Proposal, head string) error {
	if settled, err := t.settle(ctx, p, head); settled || err != nil {
		return err
	}
	s, err := t.read(ctx, p, head)
	if err != nil {
		return err
	}
	t.see(s)
	todo := decide(p, s, t.opts)
	if s.open() && !todo.idle() && !t.opts.DryRun {
		if err := t.lookAgain(ctx, &s); err != nil {
			return err
		}
		todo = decide(p, s, t.opts)
	}
	if (todo.drop || todo.push && s.head != "" && !s.open()) && !t.opts.DryRun {
		if err := t.readDependents(ctx, &s); err != nil {
			return err
		}
		todo = decide(p, s, t.opts)
	}
	if todo.err != nil {
		return todo.err
	}
	t.Unsettled = todo.unsettled
	todo, err = t.limited(ctx, p, todo)
	if err != nil {
		return err
	}
	if err := t.checkBase(ctx, s.base, todo.push || todo.update); err != nil {
		return err
	}
	if t.opts.DryRun {
		t.Operation = todo.operation()
		t.wait(todo, s)
		return nil
	}
	if s.open() && todo.operation() == None && t.written != None {
		t.Operation = t.written // the earlier attempt succeeded
		if t.written == Created && !t.presented {
			return t.present(ctx, p, *s.pull)
		}
		if todo.pull == mergePull {
			return t.mergeLater(ctx, p, s)
		}
		return nil
	}
	t.wait(todo, s)
	return t.carryOut(ctx, p, s, todo)
}

// settle decides, without a request of its own, about a proposal without a branch that waits
// for room, or that a dry run would open. The survey has its pull requests. It reports false
// if something may be written, or if GitHub must say more of a pull request that a person
// has closed.
func (t *task) settle(ctx context.Context, p Proposal, head string) (bool, error) {
	if head != "" || !t.surveyed || !t.opts.Survey.asked[p.Branch] {
		return false, nil
	}
	s := state{branch: p.Branch}
	if pull, known := t.opts.Survey.newest[p.Branch]; known && !pull.Fork {
		recall(&s, &pull)
	}
	todo := decide(p, s, t.opts)
	if todo.pull != openPull {
		return false, nil
	}
	todo, err := t.limited(ctx, p, todo)
	if err != nil || !todo.waits && (!t.opts.DryRun || s.pull != nil) {
		return false, err
	}
	if err := t.checkBase(ctx, s.base, todo.push); err != nil {
		return false, err
	}
	t.Operation = todo.operation()
	t.wait(todo, s)
	return true, nil
}

// lookAgain reads the pull request before something is done about it. It returns an
// ErrConflict if its head has moved since the survey, for example by a push.
func (t *task) lookAgain(ctx context.Context, s *state) error {
	if err := t.readMerging(ctx, s); err != nil {
		return err
	}
	if t.surveyed && s.open() && s.pull.Head != s.head {
		return changedMeanwhile("looking at", s.pull.Number)
	}
	return nil
}

// changedMeanwhile says that a pull request was closed meanwhile. The next attempt decides
// by how it was closed.
func changedMeanwhile(doing string, number int) error {
	return refusal(github.ErrConflict, "", "%s pull request #%d, which has changed meanwhile", doing, number)
}

// limited makes a proposal wait in two cases: it needs a new pull request and too many are
// open, or GitHub accepts no more content at present.
func (t *task) limited(ctx context.Context, p Proposal, todo plan) (plan, error) {
	if !todo.idle() && !t.opts.DryRun && t.written == None && t.opts.Budget != nil && !t.opts.Budget.MayWrite() {
		return plan{waits: true, until: ForTheNext, reason: "it waits, since GitHub lets this run make no more in this hour"}, nil
	}
	if todo.pull != openPull {
		return todo, nil
	}
	limit := cmp.Or(p.Limit, t.opts.Limit)
	full, err := false, error(nil)
	if !t.opts.Past.has(p) && !t.opts.Again.has(p) {
		full, err = t.full(ctx, limit)
	}
	if err == nil && !full && t.opts.Budget != nil && !t.opts.Budget.TryOpen(p.Branch) {
		return plan{waits: true, until: ForTheNext, reason: "it waits, since this run opens no more pull requests"}, nil
	}
	if err != nil || !full {
		return todo, err
	}
	return plan{waits: true, until: ForRoom, reason: waitsForRoom(t.run.open, limit)}, nil
}

// carryOut carries out the plan. If the run ends in the middle, the order lets the next run
// continue.
func (t *task) carryOut(ctx context.Context, p Proposal, s state, todo plan) error {
	// The proposal has new files or new facts. The person who turned auto-merge on has not
	// seen them.
	if p.NoAutoMerge && s.open() && s.pull.AutoMerge && (todo.push || todo.pull == editPull && s.marker.Facts != p.Facts) {
		err := t.repo.DisableAutoMerge(ctx, *s.pull)
		t.disabled = t.disabled || err == nil || errors.Is(err, github.ErrUncertain)
		if err != nil {
			return err
		}
		s.pull.AutoMerge = false
		t.opts.Log.Info("disabled auto-merge, since a person must look at what is proposed now", "number", s.pull.Number)
	}
	if todo.push {
		if err := t.push(ctx, p, s); err != nil {
			return err
		}
		t.did(todo.operation())
		t.opts.Log.Info("pushed", "branch", p.Branch, "commit", t.HeadSHA)
	}
	if todo.update {
		if err := t.update(ctx, p, s); err != nil {
			if errors.Is(err, github.ErrUncertain) {
				t.did(Updated)
			}
			return err
		}
		t.did(Updated)
	}
	var err error
	switch todo.pull {
	case openPull:
		err = t.openPull(ctx, p, s)
	case editPull:
		err = t.edit(ctx, p, s)
	case mergePull:
		err = t.mergeLater(ctx, p, s)
	case warnPull:
		err = t.warn(ctx, s)
	case keepPull:
		if todo.drop {
			return ending{t}.drop(ctx, s)
		}
	}
	if err == nil && (todo.push || todo.update) {
		t.Operation = t.written
	}
	if errors.Is(err, github.ErrUncertain) {
		t.did(todo.operation())
	}
	return err
}

// update asks GitHub to merge the base into the branch. Approvals survive that, and a new
// commit would end them. If GitHub refuses, the branch is made again on the base.
func (t *task) update(ctx context.Context, p Proposal, s state) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.updated[s.branch] = true
	err := t.repo.UpdateBranch(ctx, s.pull.Number, s.head)
	if err == nil {
		t.opts.Log.Info("asked for an update of the branch", "branch", s.branch, "number", s.pull.Number)
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, github.ErrUncertain) {
		return err
	}
	t.opts.Log.Info("made the branch again, since GitHub does not update it", "branch", s.branch, "error", err)
	return t.push(ctx, p, s)
}

// push makes the proposal's commit on the base, and points the branch to it.
func (t *task) push(ctx context.Context, p Proposal, s state) error {
	files := make([]github.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = github.File{Path: f.Path, Mode: f.mode(), Content: f.Content}
	}
	tree, err := t.repo.CreateTree(ctx, t.tree, files)
	if err != nil {
		return err
	}
	if p.Styled != nil {
		recent, _ := t.history(ctx, t.opts.SHA) // without a readable history there is no style to follow
		if prefix := prefixOf(recent); prefix != "" {
			p.Subject = p.Styled(prefix)
		}
	}
	commit := github.Commit{Message: message(p, tree, t.opts.SHA), Tree: tree, Parents: []string{t.opts.SHA}}
	if s.head == "" {
		return t.commit(ctx, commit, func(sha string) error { return t.repo.CreateBranch(ctx, t.Branch, sha) })
	}
	if t.maySwap(s) {
		err := t.commit(ctx, commit, func(sha string) error { return t.repo.ReplaceBranch(ctx, t.Branch, s.head, sha) })
		if !t.cannotSwap(s, err) {
			return err
		}
	}
	if t.moved { // a merge with an older commit of the base would revert newer ones
		return refusal(nil, "run again", "branch %s stays as it is: %s has moved, and this server replaces no branch safely", t.Branch, t.opts.Base)
	}
	// A commit whose parent is the branch's head is a fast-forward from that head only. So
	// a person who pushes meanwhile loses nothing.
	commit.Parents = []string{s.head, t.opts.SHA}
	return t.commit(ctx, commit, func(sha string) error { return t.repo.FastForward(ctx, t.Branch, sha) })
}

// commit stores a commit and lets the branch point to it.
func (t *task) commit(ctx context.Context, c github.Commit, point func(sha string) error) error {
	sha, err := t.repo.CreateCommit(ctx, c)
	if err != nil {
		return err
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.sent = sha
	if err := point(sha); err != nil {
		return err
	}
	t.HeadSHA = sha
	return nil
}

// openPull opens the pull request. It copies the group's ignores from the former pull
// request, since they must be in the newest one.
func (t *task) openPull(ctx context.Context, p Proposal, s state) error {
	ignores, err := t.ignores(ctx, s)
	if err != nil {
		return err
	}
	m := Marker{Digest: p.Digest, Facts: p.Facts, Ignores: ignores, AutoMerge: p.AutoMerge != ""}
	m.entitle(p.Title)
	made, err := t.repo.OpenPullRequest(ctx, github.NewPullRequest{
		Branch: p.Branch, Base: p.Base, Title: p.Title, Body: compose(paragraphs(following(s, p), p.text()), m), Draft: p.Draft,
	})
	if err != nil {
		return err
	}
	t.did(Created)
	t.Operation, t.Number, t.URL = Created, made.Number, made.URL
	t.opts.Log.Info("opened a pull request", "number", made.Number, "branch", p.Branch)
	return t.present(ctx, p, made)
}

// present applies the presentation to a pull request that this run has opened.
func (t *task) present(ctx context.Context, p Proposal, made github.PullRequest) error {
	t.presented = true
	t.presenter().present(ctx, made.Number, p.Presentation)
	if !p.mergesItself() || t.presenter().enableAutoMerge(ctx, made, p.AutoMerge) {
		return nil
	}
	return t.merges(ctx, made.Number)
}

// merges notes that relock need not ask for auto-merge any more: it is on, or refused for
// good. If a person has replaced the body, relock leaves it.
func (t *task) merges(ctx context.Context, number int) error {
	now, err := t.readAgain(ctx, number)
	if err != nil {
		return err
	}
	m, ok := ParseMarker(now.Body)
	if !ok {
		return nil
	}
	m.AutoMerge = false
	_, err = t.repo.EditPullRequest(ctx, number, github.PullRequestEdit{Body: remark(now.Body, m)})
	return err
}

// ignores are those of the pull request in the state, if it is ours.
func (t *task) ignores(ctx context.Context, s state) ([]policy.Ignore, error) {
	if len(s.marker.Ignores) == 0 {
		return nil, nil
	}
	ours, err := t.isOurs(ctx, s.branch, *s.pull)
	if err != nil || !ours {
		return nil, err
	}
	return s.marker.Ignores, nil
}

// edit writes title and body again. People may have added ignores since the survey. So edit
// reads the body again to keep them.
func (t *task) edit(ctx context.Context, p Proposal, s state) error {
	m := Marker{Digest: p.Digest, Facts: p.Facts, AutoMerge: p.AutoMerge != "" && (t.disabled || s.marker.AutoMerge)}
	if m.AutoMerge && p.mergesItself() {
		m.AutoMerge = !s.pull.AutoMerge && t.presenter().enableAutoMerge(ctx, *s.pull, p.AutoMerge)
	}
	text := p.text()
	now, err := t.readAgain(ctx, s.pull.Number)
	if err != nil {
		return err
	}
	old, _ := ParseMarker(now.Body)
	m.Ignores = old.Ignores
	title, says := p.Title, true
	if !t.opts.Recreate {
		title, says = old.retitled(now.Title, p.Title)
	}
	m.entitle(p.Title)
	if !says {
		m.Title = old.Title
		text = paragraphs(safe.Format("**%s**", safe.Text(p.Title)), text)
	}
	text = paragraphs(formerIn(now.Body), text)
	now, err = t.repo.EditPullRequest(ctx, now.Number, github.PullRequestEdit{Title: title, Body: compose(text, m)})
	if err != nil {
		return err
	}
	if !now.Open {
		return changedMeanwhile("updating", now.Number)
	}
	t.did(Updated)
	t.Operation = t.written
	t.opts.Log.Info("updated the pull request", "number", now.Number, "branch", p.Branch)
	return nil
}

// readAgain reads a pull request that exists. If GitHub does not find it, the answer is
// outdated, and another attempt gets a newer one.
func (t *task) readAgain(ctx context.Context, number int) (github.PullRequest, error) {
	now, err := t.repo.PullRequest(ctx, number)
	if errors.Is(err, github.ErrNotFound) {
		err = changedMeanwhile("reading", number)
	}
	return now, err
}

// mergeLater asks again for auto-merge, for a pull request that needs nothing else.
func (t *task) mergeLater(ctx context.Context, p Proposal, s state) error {
	if !s.pull.AutoMerge && t.presenter().enableAutoMerge(ctx, *s.pull, p.AutoMerge) {
		return nil
	}
	if err := t.merges(ctx, s.pull.Number); err != nil {
		return err
	}
	if !s.pull.AutoMerge { // a change of the marker alone is not worth reporting
		t.did(Updated)
		t.Operation, t.Reason = t.written, ""
	}
	return nil
}

// warn comments once that relock leaves somebody else's commits alone. The marker remembers
// that.
func (t *task) warn(ctx context.Context, s state) error {
	text := safe.Format("Somebody else has pushed to %s, so relock leaves this pull request alone: it will neither update nor close it.\n\n"+
		"To get a new proposal without these commits, comment `/relock recreate`, or delete the branch.", safe.Code(s.branch))
	if err := t.say(ctx, s.pull.Number, text); err != nil {
		return err
	}
	m := s.marker
	m.Stopped, m.StoppedAt = true, s.head
	_, err := t.repo.EditPullRequest(ctx, s.pull.Number, github.PullRequestEdit{Body: remark(s.pull.Body, m)})
	return err
}
