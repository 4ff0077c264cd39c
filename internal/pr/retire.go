package pr

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// closedDone in a marker says that relock closed the pull request, and no person did.
const closedDone = "nothing left to do"

// ending is the work on a branch that has no proposal.
type ending struct{ *task }

// once is one attempt to end the branch.
func (t ending) once(ctx context.Context, head string) error {
	s := state{branch: t.Branch, head: head}
	base, err := t.readEnding(ctx, &s)
	if err != nil || base == "" {
		return err
	}
	if t.successors == nil && s.orphan && s.open() && s.pull.Base == t.opts.Base {
		t.displaced, t.known = append(t.displaced, t.Branch), false
		return nil
	}
	t.see(s)
	t.known = true
	if t.opts.Spare != nil && !s.done() && !s.contained {
		t.Reason, err = t.spared(ctx, s, base)
		if err != nil || t.Reason != "" {
			return err
		}
	}
	if base == t.opts.Base {
		if err := t.checkBase(ctx, s.base, true); err != nil {
			return err
		}
	}
	todo := unwanted(s, base)
	if todo.pull != keepPull {
		if err := t.lookAgain(ctx, &s); err != nil {
			return err
		}
		todo = unwanted(s, base)
	}
	if todo.drop && !t.opts.DryRun {
		if err := t.readDependents(ctx, &s); err != nil {
			return err
		}
		todo = unwanted(s, base)
	}
	if t.Operation == None {
		t.Reason = todo.reason
	}
	if todo.pull == closePull && !s.orphan && base == t.opts.Base {
		t.Reason = cmp.Or(t.regrouped(s), t.Reason)
	}
	if t.opts.DryRun {
		t.Operation = todo.operation()
		return nil
	}
	return t.end(ctx, s, todo, base)
}

// readEnding reads the branch and its pull request, and finds out who owns the branch. It
// returns its base: that of the run, or one that should have no pull requests any longer. It
// returns none if the branch is gone, or if this run must not end it.
func (t ending) readEnding(ctx context.Context, s *state) (base string, err error) {
	if s.head == "" {
		return "", nil // somebody has deleted it meanwhile
	}
	if t.repo.Anonymous() {
		pull := t.opts.Survey.newest[s.branch]
		if _, marked := ParseMarker(pull.Body); !marked || !pull.Open || pull.Base != t.opts.Base {
			return "", nil
		}
		*s, err = t.believed(ctx, s.branch, s.head)
		return t.opts.Base, err
	}
	if err := t.readBranch(ctx, s, t.opts.Base); err != nil {
		return "", err
	}
	base = s.mark.Base
	if s.owner == foreign && s.contained {
		base = t.opts.Base
	}
	if base != t.opts.Base && (s.owner == foreign || slices.Contains(t.opts.Bases, base)) {
		return "", nil
	}
	if err := t.readPulls(ctx, s, base); err != nil {
		return "", err
	}
	if base != t.opts.Base {
		ends, err := t.readElsewhere(ctx, s, base)
		if err != nil || !ends {
			return "", err
		}
	}
	if s.owner != foreign {
		t.Group, t.known = s.mark.Group, true
	}
	if err := t.decideOwner(ctx, s); err != nil {
		return "", err
	}
	if s.owner == foreign && !s.done() {
		return "", nil
	}
	return base, nil
}

// readElsewhere is readBranch for a branch with another base than that of the run. It
// reports whether this run must end the branch. If the base was renamed, GitHub has moved
// an open pull request to the new name.
func (t ending) readElsewhere(ctx context.Context, s *state, base string) (ends bool, err error) {
	moved := s.open() && s.pull.Base == t.opts.Base
	if len(t.opts.Bases) == 0 && !moved {
		return false, nil // another run may propose to that base
	}
	// Compared with the wrong base, commits of the right base would look like somebody's.
	err = t.readBranch(ctx, s, base)
	if !errors.Is(err, github.ErrNotFound) {
		return len(t.opts.Bases) > 0, err
	}
	s.orphan = true
	switch {
	case moved:
		return true, nil
	case s.open() && slices.Contains(t.opts.Bases, s.pull.Base):
		return false, nil // for the run over that base
	case s.open() && s.pull.Base != base:
		return true, t.readBranch(ctx, s, s.pull.Base)
	}
	// There is nothing to compare with. So the head decides for the whole branch, since our
	// commits are directly on the base.
	mark, intact, err := t.readHead(ctx, s.branch, s.head)
	s.owner = touched
	if intact {
		s.owner, s.mark = ours, mark
	}
	return true, err
}

// spared returns why a run that did not see everything does not end a branch. Such a run
// has seen nothing of another base.
func (t ending) spared(ctx context.Context, s state, base string) (string, error) {
	switch {
	case s.owner != ours:
		return pushedTo, nil
	case base != t.opts.Base || t.repo.Anonymous(): // without a token, relock cannot read what it proposes
		return notSeen, nil
	}
	files, ok, err := s.mark.proposed(ctx, t.repo, s.fork, s.head)
	if err != nil {
		return "", err
	}
	if !ok {
		return string(NotReadable), nil
	}
	if t.opts.Spare(s.mark.Group, files) {
		return notSeen, nil
	}
	return "", nil
}

// end carries out the plan for an unwanted branch.
func (t ending) end(ctx context.Context, s state, todo plan, base string) error {
	if todo.pull == closePull || todo.drop {
		if err := t.ready(ctx); err != nil {
			return err
		}
	}
	switch todo.pull {
	case warnPull:
		return t.warn(ctx, s)
	case closePull:
		if err := t.close(ctx, s, base); err != nil {
			return err
		}
	}
	if todo.drop {
		return t.drop(ctx, s)
	}
	return nil
}

// close closes the pull request with a sentence. The marker, written in the same request,
// shows later runs that no person turned the proposal down.
func (t ending) close(ctx context.Context, s state, base string) error {
	text := safe.Format("Nothing is left to do here: the lock files on %s need none of these changes any more, "+
		"or another pull request has them.", safe.Code(base))
	if waits := t.regrouped(s); waits != "" {
		text = safe.Format("The groups have changed, and relock proposes this one no more. What no other pull request has of it %s.", safe.Text(waits))
	}
	if s.orphan {
		text = safe.Format("The branch %s is gone or has another name now, so relock proposes nothing for it any more.", safe.Code(base))
		if n := t.successors[Branch(s.mark.Group, t.opts.Base, t.opts.Prefix)]; n > 0 {
			text = text.And(" #%s takes its place, for %s. What is ignored here by comments is not ignored there.", safe.Int(n), safe.Code(t.opts.Base))
		}
	} else if base != t.opts.Base {
		text = safe.Format("relock is no longer configured to propose to %s.", safe.Code(base))
	}
	if len(s.dependents) > 0 {
		text = text.And(" %s", branchStays(s.dependents))
	}
	if err := t.say(ctx, s.pull.Number, text); err != nil {
		return err
	}
	m := s.marker
	m.Closed = closedDone
	_, err := t.repo.EditPullRequest(ctx, s.pull.Number, github.PullRequestEdit{Body: remark(s.pull.Body, m), Close: true})
	if err != nil {
		return err
	}
	t.Operation = Closed
	t.opts.Log.Info("closed the pull request", "number", s.pull.Number, "branch", s.branch)
	return nil
}

// drop deletes the branch. The branch stays if the server cannot compare before the
// deletion, or refuses it.
func (t ending) drop(ctx context.Context, s state) error {
	if t.maySwap(s) {
		err := t.repo.DeleteBranch(ctx, s.branch, s.head)
		if !t.cannotSwap(s, err) {
			return err
		}
	}
	t.Reason += "; its branch stays, since it cannot be deleted safely"
	return nil
}
