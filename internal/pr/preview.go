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

// recall fills in the pull request of the branch, and what its marker says of a refusal.
func recall(s *state, pull *github.PullRequest) {
	s.seen(pull)
	if turnedDown(*pull, s.marker) {
		s.rejected = s.marker.Digest
	}
}
