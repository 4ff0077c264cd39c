package pr

import (
	"cmp"
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/github"
)

// makeTexts returns the proposals with the texts that this run will write, as far as the
// survey and the branches show. It changes nothing on GitHub. If a proposal waits for room,
// its text is not made, and the run remembers what waits.
func (r *run) makeTexts(ctx context.Context, proposals []Proposal, heads map[string]string) []Proposal {
	made, open := slices.Clone(proposals), 0
	for _, p := range proposals {
		if r.opts.Survey.recall(p.Branch, r.opts.Base, heads[p.Branch]) != nil {
			open++ // it stays open
		}
	}
	for i, p := range made {
		if p.Alone != "" || !r.begins() {
			continue
		}
		step, limit := r.expect(ctx, p, heads[p.Branch]).pull, cmp.Or(p.Limit, r.opts.Limit)
		if step == openPull && limit > 0 && len(r.opts.Bases) > 1 && open+len(r.branches) >= limit {
			_ = r.count(ctx) // limited asks again, and reports a failure
		}
		waits := limit > 0 && open+r.others >= limit && !r.opts.Past.has(p) && !r.opts.Again.has(p)
		if step == openPull && waits {
			r.waiting = append(r.waiting, p)
			continue
		}
		if step == openPull {
			open++
		}
		if p.Write != nil && !r.opts.DryRun && (step == openPull || step == editPull) {
			made[i].Body, made[i].Write = p.Write(), nil
		}
	}
	r.openThen = open + r.others
	if r.opts.Written != nil {
		r.opts.Written()
	}
	return made
}

// expect is the plan for a proposal before anything is written. It reads the branch, and
// takes the pull request from the survey.
func (r *run) expect(ctx context.Context, p Proposal, head string) plan {
	s := state{branch: p.Branch, head: head}
	if head != "" {
		err := r.readBranch(ctx, &s, r.opts.Base)
		r.early[p.Branch] = branchRead{s, err}
	}
	if s.owner == unsettled && s.adds(p) {
		s.owner = ours
	}
	if pull, known := r.opts.Survey.newest[p.Branch]; known && !pull.Fork {
		recall(&s, &pull)
	}
	return decide(p, s, r.opts)
}

// believed is the state of a branch for users without a token: as its newest pull request
// says. Without a token, GitHub answers by REST only, and allows few requests. So relock
// compares no commits, and does not see who has pushed to a branch. It makes a request only
// for a branch whose pull request is older than those in the survey.
func (r *surveyor) believed(ctx context.Context, branch, head string) (state, error) {
	s := state{branch: branch, head: head, owner: ours, fresh: true}
	pull, known := r.opts.Survey.newest[branch]
	if !known && head != "" && !r.opts.Survey.whole {
		pulls, err := r.repo.PullRequests(ctx, branch)
		if err != nil {
			return s, err
		}
		if found := pick(pulls, r.opts.Base); found != nil {
			pull, known = *found, true
		}
	}
	if known {
		recall(&s, &pull)
	}
	if s.marker.Stopped {
		s.owner = touched
	}
	return s, nil
}

// recall fills in the pull request of the branch, and what its marker says of a refusal.
func recall(s *state, pull *github.PullRequest) {
	s.seen(pull)
	if turnedDown(*pull, s.marker) {
		s.rejected = s.marker.Digest
	}
}
