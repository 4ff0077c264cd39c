package pr

import (
	"context"
	"errors"

	"github.com/relock-dev/relock/internal/github"
)

// state is what GitHub holds for one of our branches.
type state struct {
	branch string
	head   string // its commit; empty if there is no such branch
	owner  owner
	mark   trailers      // of the head
	base   github.Commit // the head of the base; unknown if there is no branch

	// pull is the open pull request from the branch to its base, else any open
	// one from the branch, else the newest to its base; nil if there is none.
	pull   *github.PullRequest
	marker marker // of its body
	marked bool   // whether it has one
	// rejected is the digest that a person turned down by closing pull.
	rejected string
}

// open reports whether there is an open pull request from the branch.
func (s state) open() bool { return s.pull != nil && s.pull.Open }

// read finds out about a branch, which stands at head or, if that is empty,
// does not exist.
func (r *run) read(ctx context.Context, branch, head string) (state, error) {
	s := state{branch: branch, head: head}
	if head != "" {
		if err := r.readBranch(ctx, &s); err != nil || s.owner == foreign {
			return s, err
		}
	}
	return s, r.readPulls(ctx, &s)
}

// readBranch finds out whose the branch is and what it proposes.
func (r *run) readBranch(ctx context.Context, s *state) error {
	c, err := r.repo.Compare(ctx, r.opts.Base, s.head)
	if errors.Is(err, github.ErrNotFound) {
		// The branch has been seen, so either the base is missing or the two
		// have no commit in common.
		if _, err := r.repo.Head(ctx, r.opts.Base); err != nil {
			return err
		}
		s.owner = foreign
		return nil
	}
	if err != nil {
		return err
	}
	s.base = c.Base
	s.owner, s.mark = judge(s.branch, c, s.head)
	return nil
}

// readPulls finds the pull request of the branch.
func (r *run) readPulls(ctx context.Context, s *state) error {
	pulls, err := r.repo.PullRequests(ctx, s.branch)
	if err != nil {
		return err
	}
	if s.pull = pick(pulls, r.opts.Base); s.pull == nil {
		return nil
	}
	s.marker, s.marked = markerOf(s.pull.Body)
	if turnedDown(*s.pull, s.marker) {
		s.rejected, err = r.rejected(ctx, *s)
	}
	return err
}

// pick chooses the pull request that counts.
func pick(newestFirst []github.PullRequest, base string) *github.PullRequest {
	rank := func(p github.PullRequest) int {
		switch {
		case p.Open && p.Base == base:
			return 3
		case p.Open:
			return 2
		case p.Base == base:
			return 1
		}
		return 0
	}
	var best *github.PullRequest
	for i, p := range newestFirst {
		if rank(p) > 0 && (best == nil || rank(p) > rank(*best)) {
			best = &newestFirst[i]
		}
	}
	return best
}

// turnedDown reports whether a person closed the pull request without merging
// it: relock leaves its reason when it closes one.
func turnedDown(p github.PullRequest, m marker) bool {
	return !p.Open && !p.Merged && m.Closed == ""
}

// rejected returns the digest of a pull request that a person closed. Its
// commit can be read after its branch is gone. Nothing is known to be rejected
// if the commit is not ours.
func (r *run) rejected(ctx context.Context, s state) (string, error) {
	if s.pull.Head == s.head {
		return s.mark.Digest, nil
	}
	c, err := r.repo.Commit(ctx, s.pull.Head)
	if errors.Is(err, github.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	t, ok := parseTrailers(c.Message)
	if !ok || !t.name(s.branch) || t.Tree != c.Tree {
		return "", nil
	}
	return t.Digest, nil
}
