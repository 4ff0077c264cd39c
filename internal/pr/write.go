package pr

import (
	"context"
	"errors"
	"fmt"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
)

// proposeOnce is one attempt to bring a proposal to GitHub.
func (t *task) proposeOnce(ctx context.Context, p Proposal, head string) error {
	s, err := t.read(ctx, t.Branch, head)
	if err != nil {
		return err
	}
	t.see(s)
	todo := decide(p, s)
	if todo.err != nil {
		return todo.err
	}
	if err := t.checkBase(ctx, s.base, todo.push); err != nil {
		return err
	}
	if t.opts.DryRun {
		t.Operation, t.Reason = todo.operation(), todo.reason
		return nil
	}
	if s.open() && todo.pull == keepPull && t.written != None {
		t.Operation = t.written // the earlier attempt did it all
		return nil
	}
	t.Reason = todo.reason
	return t.carryOut(ctx, p, s, todo)
}

// carryOut does what the plan says, in an order after which a run that ends in
// the middle is taken up by the next one.
func (t *task) carryOut(ctx context.Context, p Proposal, s state, todo plan) error {
	if todo.push {
		if err := t.push(ctx, p, s); err != nil {
			return err
		}
		t.written = todo.operation()
		t.opts.Log.Info("pushed", "branch", p.Branch, "commit", t.HeadSHA)
	}
	var err error
	switch todo.pull {
	case openPull:
		err = t.open(ctx, p)
	case editPull:
		err = t.edit(ctx, p, s)
	case warnPull:
		t.warn(ctx, s)
	}
	if errors.Is(err, github.ErrUncertain) {
		t.written = todo.operation()
	}
	return err
}

// push makes the proposal's commit on the base and puts the branch there.
func (t *task) push(ctx context.Context, p Proposal, s state) error {
	files := make([]github.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = github.File{Path: f.Path, Mode: f.mode(), Content: f.Content}
	}
	tree, err := t.repo.CreateTree(ctx, t.tree, files)
	if err != nil {
		return err
	}
	commit := github.Commit{Message: message(p, tree), Tree: tree, Parents: []string{t.opts.SHA}}
	if s.head == "" {
		return t.commit(ctx, commit, func(sha string) error { return t.repo.CreateBranch(ctx, t.Branch, sha) })
	}
	if t.maySwap(s) {
		err := t.commit(ctx, commit, func(sha string) error { return t.repo.ReplaceBranch(ctx, t.Branch, s.head, sha) })
		if !t.cannotSwap(s, err) {
			return err
		}
	}
	// A commit that has the branch's head as its parent is a fast-forward from
	// there and from nowhere else: who pushed meanwhile loses nothing.
	commit.Parents = []string{s.head, t.opts.SHA}
	return t.commit(ctx, commit, func(sha string) error { return t.repo.FastForward(ctx, t.Branch, sha) })
}

// maySwap reports whether to try replacing or deleting the branch. What was
// refused at the same head before is not a lost race.
func (t *task) maySwap(s state) bool { return !t.noSwap && t.refused != s.head }

// cannotSwap notes why replacing or deleting failed, and reports whether the
// server has no such operation.
func (t *task) cannotSwap(s state, err error) bool {
	if errors.Is(err, github.ErrConflict) {
		t.refused = s.head
	}
	t.noSwap = t.noSwap || errors.Is(err, github.ErrUnsupported)
	return t.noSwap
}

// commit stores a commit and lets the branch point to it.
func (t *task) commit(ctx context.Context, c github.Commit, point func(sha string) error) error {
	sha, err := t.repo.CreateCommit(ctx, c)
	if err != nil {
		return err
	}
	if err := point(sha); err != nil {
		return err
	}
	t.HeadSHA = sha
	return nil
}

// body is the text of the pull request with what relock must remember.
func body(p Proposal) string {
	text := p.Body
	if p.Write != nil {
		text = p.Write()
	}
	return withMarker(text, marker{Digest: p.Digest})
}

func (t *task) open(ctx context.Context, p Proposal) error {
	made, err := t.repo.OpenPullRequest(ctx, github.NewPullRequest{
		Branch: p.Branch, Base: p.Base, Title: p.Title, Body: body(p),
	})
	if err != nil {
		return err
	}
	t.Operation, t.Number, t.URL = Created, made.Number, made.URL
	t.opts.Log.Info("opened a pull request", "number", made.Number, "branch", p.Branch)
	if len(p.Labels) > 0 {
		t.Err = t.repo.Label(ctx, made.Number, p.Labels)
	}
	return nil
}

func (t *task) edit(ctx context.Context, p Proposal, s state) error {
	now, err := t.repo.EditPullRequest(ctx, s.pull.Number, github.PullRequestEdit{Title: p.Title, Body: body(p)})
	if err != nil {
		return err
	}
	if !now.Open {
		return &provider.Error{
			Code:    provider.CodeGitHub,
			Message: fmt.Sprintf("updating pull request #%d, which was closed meanwhile", now.Number),
			Err:     github.ErrConflict,
		}
	}
	t.Operation = Updated
	t.opts.Log.Info("updated the pull request", "number", now.Number, "branch", p.Branch)
	return nil
}

// warn says once that somebody else's commits are left alone. The marker
// remembers it; both are tried once, since a comment cannot be taken back.
func (t *task) warn(ctx context.Context, s state) {
	t.Err = t.repo.Comment(ctx, s.pull.Number, fmt.Sprintf(
		"Somebody else has pushed to `%s`, so relock leaves this pull request alone: it will neither update nor close it.\n\n"+
			"To have the lock files proposed anew, delete the branch.", s.branch))
	if t.Err != nil {
		return
	}
	m := s.marker
	m.Stopped = true
	_, t.Err = t.repo.EditPullRequest(ctx, s.pull.Number, github.PullRequestEdit{Body: withMarker(s.pull.Body, m)})
}

// retireOnce is one attempt to end a branch that no proposal stands for.
func (t *task) retireOnce(ctx context.Context, head string) error {
	if head == "" {
		return nil // somebody was faster
	}
	s := state{branch: t.Branch, head: head}
	if err := t.readBranch(ctx, &s); err != nil {
		return err
	}
	if s.owner == foreign || s.mark.Base != t.opts.Base {
		return nil
	}
	t.Group, t.known = s.mark.Group, true
	if err := t.readPulls(ctx, &s); err != nil {
		return err
	}
	t.see(s)
	if err := t.checkBase(ctx, s.base, true); err != nil {
		return err
	}
	todo := unwanted(s, t.opts.Base)
	if t.Operation == None {
		t.Reason = todo.reason
	}
	if t.opts.DryRun {
		t.Operation = todo.operation()
		return nil
	}
	return t.end(ctx, s, todo)
}

// end does what the plan for an unwanted branch says.
func (t *task) end(ctx context.Context, s state, todo plan) error {
	switch todo.pull {
	case warnPull:
		t.warn(ctx, s)
	case closePull:
		if err := t.close(ctx, s); err != nil {
			return err
		}
	}
	if todo.drop {
		return t.drop(ctx, s)
	}
	return nil
}

// close ends the pull request with a sentence. The marker tells later runs that
// no person turned the proposal down.
func (t *task) close(ctx context.Context, s state) error {
	if !t.said {
		t.said = true // a comment cannot be taken back, so it is tried once
		err := t.repo.Comment(ctx, s.pull.Number, fmt.Sprintf(
			"Nothing is left to do here: on `%s` the lock files need none of these changes any more.", t.opts.Base))
		if err != nil {
			return err
		}
	}
	m := s.marker
	m.Closed = closedDone
	_, err := t.repo.EditPullRequest(ctx, s.pull.Number, github.PullRequestEdit{Body: withMarker(s.pull.Body, m), Close: true})
	if err != nil {
		return err
	}
	t.Operation = Closed
	t.opts.Log.Info("closed the pull request", "number", s.pull.Number, "branch", s.branch)
	return nil
}

// drop deletes the branch. It stays if the server cannot compare before it
// deletes, or will not delete.
func (t *task) drop(ctx context.Context, s state) error {
	if t.maySwap(s) {
		err := t.repo.DeleteBranch(ctx, s.branch, s.head)
		if !t.cannotSwap(s, err) {
			return err
		}
	}
	t.Reason += "; its branch stays, since it cannot be deleted safely"
	return nil
}
