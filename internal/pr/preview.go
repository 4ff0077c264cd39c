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

// preview is Propose for users without a token. It says what would happen to the proposals,
// and to our pull requests without a proposal, as far as the newest pull requests show.
// Without a token, GitHub answers by REST only, and allows few requests. So preview
// compares no commits, and does not see who has pushed to a branch. It makes two requests,
// and one for each branch whose pull request is older than those in the list.
func (r *run) preview(ctx context.Context, proposals []Proposal, heads map[string]string) []Outcome {
	r.open = 0
	for branch, pull := range r.opts.Survey.newest {
		if pull.Open && r.named(branch) {
			r.open++
		}
	}
	ends := r.foreseeEnds(proposals, heads)
	r.closed(ends)
	var outcomes []Outcome
	for _, p := range proposals {
		t := r.newTask(p.Group, p.Branch)
		if p.Alone != "" {
			outcomes = append(outcomes, r.alone(t, p, heads[p.Branch]))
			continue
		}
		t.Err = r.foresee(ctx, t, p, heads[p.Branch])
		if t.Operation == Created {
			r.opened(p.Branch)
		}
		outcomes = append(outcomes, t.Outcome)
	}
	return append(outcomes, ends...)
}

// foresee decides about a proposal as a run with a token would. It assumes that the branch
// is as its pull request says.
func (r *run) foresee(ctx context.Context, t *task, p Proposal, head string) error {
	s := state{branch: p.Branch, head: head, owner: ours}
	pull, known := r.opts.Survey.newest[p.Branch]
	if !known && head != "" && !r.opts.Survey.whole {
		pulls, err := r.repo.PullRequests(ctx, p.Branch)
		if err != nil {
			return err
		}
		if found := pick(pulls, r.opts.Base); found != nil {
			pull, known = *found, true
		}
	}
	if known {
		believe(&s, &pull)
	}
	s.mark = trailers{Digest: s.marker.Digest, Ground: ground(p.Files)}
	t.see(s)
	todo := decide(p, s, r.opts)
	if todo.err != nil {
		return todo.err
	}
	todo, err := t.limited(ctx, p, todo)
	t.Operation = todo.operation()
	t.wait(todo, s)
	return err
}

// recall fills in the pull request of the branch, and what its marker says of a refusal.
func recall(s *state, pull *github.PullRequest) {
	s.seen(pull)
	if turnedDown(*pull, s.marker) {
		s.rejected = s.marker.Digest
	}
}

// believe fills in the branch from its pull request.
func believe(s *state, pull *github.PullRequest) {
	recall(s, pull)
	s.owner = ours
	if s.marker.Stopped {
		s.owner = touched
	}
}

// foreseeEnds are the outcomes of our open pull requests that have no proposal.
func (r *run) foreseeEnds(proposals []Proposal, heads map[string]string) []Outcome {
	var outcomes []Outcome
	for _, branch := range r.unwantedBranches(proposals) {
		pull, known := r.opts.Survey.newest[branch]
		if _, marked := ParseMarker(pull.Body); !known || !marked || !pull.Open || pull.Base != r.opts.Base {
			continue
		}
		t := r.newTask("", branch)
		s := state{branch: branch, head: heads[branch]}
		believe(&s, &pull)
		t.see(s)
		todo := unwanted(s, r.opts.Base)
		if r.opts.Spare != nil { // without a token, relock cannot read what it proposes
			todo = plan{reason: notSeen}
		}
		t.Operation, t.Reason, t.Waits = todo.operation(), todo.reason, todo.waits
		outcomes = append(outcomes, t.Outcome)
	}
	return outcomes
}
