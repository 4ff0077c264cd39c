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
	fork   string        // the newest commit of the base that the branch contains
	// contained says that the base has all commits of the branch.
	contained bool

	// pull is the open pull request from the branch to its base, else any open
	// one from the branch, else the newest to its base; nil if there is none.
	pull   *github.PullRequest
	marker Marker // of its body
	marked bool   // whether it has one
	// rejected is the digest that a person turned down by closing pull.
	rejected string
}

// open reports whether there is an open pull request from the branch.
func (s state) open() bool { return s.pull != nil && s.pull.Open }

// done reports whether the branch is that of a merged pull request of ours, and
// nothing was pushed to it since: whoever had commits on it has them merged.
func (s state) done() bool {
	return s.head != "" && s.pull != nil && s.pull.Merged && s.pull.Head == s.head && (s.owner != foreign || s.marked)
}

// read finds out about the branch of a proposal, which stands at head or, if
// that is empty, does not exist. A pull request that the survey has seen is not
// asked for again if nothing is to be done about it: whatever became of it since
// then is no reason to do something.
func (r *run) read(ctx context.Context, p Proposal, head string) (state, error) {
	s := state{branch: p.Branch, head: head}
	if head != "" {
		// A foreign branch whose commits the base has may be ours, merged with a
		// person's commit on top.
		if err := r.readBranch(ctx, &s, r.opts.Base); err != nil || s.owner == foreign && !s.contained {
			return s, err
		}
	}
	if pull := r.opts.Survey.recall(p.Branch, r.opts.Base, head); pull != nil {
		s.seen(pull)
		if decide(p, s, r.opts).idle() {
			return s, nil
		}
	}
	return s, r.readPulls(ctx, &s, r.opts.Base)
}

// seen notes the pull request of the branch.
func (s *state) seen(pull *github.PullRequest) {
	s.pull = pull
	s.marker, s.marked = ParseMarker(pull.Body)
}

// readBranch finds out whose the branch is and what it proposes to the base.
func (r *run) readBranch(ctx context.Context, s *state, base string) error {
	c, err := r.repo.Compare(ctx, base, s.head)
	if errors.Is(err, github.ErrNotFound) {
		// The branch has been seen, so either the base is missing or the two
		// have no commit in common.
		if _, err := r.repo.Head(ctx, base); err != nil {
			return err
		}
		s.owner = foreign
		return nil
	}
	if err != nil {
		return err
	}
	s.base, s.fork, s.contained = c.Base, c.Fork.SHA, c.Total == 0
	s.owner, s.mark = judge(s.branch, c, s.head)
	return nil
}

// readPulls finds the pull request of the branch to the base.
func (r *run) readPulls(ctx context.Context, s *state, base string) error {
	pulls, err := r.repo.PullRequests(ctx, s.branch)
	if err != nil {
		return err
	}
	pull := pick(pulls, base)
	if pull == nil {
		s.pull, s.marker, s.marked = nil, Marker{}, false
		return nil
	}
	s.seen(pull)
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
func turnedDown(p github.PullRequest, m Marker) bool {
	return !p.Open && !p.Merged && m.Closed == ""
}

// rejected returns the digest of a pull request that a person closed. Its
// commit can be read after its branch is gone. Nothing is known to be rejected
// if the commit is not ours.
func (r *run) rejected(ctx context.Context, s state) (string, error) {
	if s.pull.Head == s.head {
		return s.mark.Digest, nil
	}
	mark, _, err := r.readHead(ctx, s.branch, s.pull.Head)
	return mark.Digest, err
}

// readHead returns the trailers of one commit and reports whether it is ours.
// What is below it is not looked at.
func (r *run) readHead(ctx context.Context, branch, sha string) (trailers, bool, error) {
	c, err := r.repo.Commit(ctx, sha)
	if errors.Is(err, github.ErrNotFound) {
		return trailers{}, false, nil
	}
	if err != nil {
		return trailers{}, false, err
	}
	t, ok := parseTrailers(c.Message)
	if !ok || !t.name(branch) || t.Tree != c.Tree {
		return trailers{}, false, nil
	}
	return t, true, nil
}
