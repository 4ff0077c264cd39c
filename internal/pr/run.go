package pr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
)

// run is one call of Propose.
type run struct {
	repo *github.Repository
	opts Options
	// branches are those with a name of ours, of any base.
	branches []string
	// open counts our open pull requests once it is known; before it is -1.
	open int
	// recent are the newest commits of the base, once they are known.
	recent []github.Commit
	// tree is that of the base, once it is known that the base is at opts.SHA.
	tree string
	// strict says that a ruleset of the base demands branches that have all of it;
	// nil before it was asked for.
	strict *bool
	// updated are the branches that GitHub was asked to update: once a run.
	updated map[string]bool
	// noSwap says that the server cannot replace or delete a branch safely.
	noSwap bool
	// warned says that a dry run has told of another commit than the base's head.
	warned bool
}

func newRun(repo *github.Repository, opts Options) *run {
	opts.Prefix = cmp.Or(opts.Prefix, DefaultPrefix)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &run{repo: repo, opts: opts, open: -1, updated: map[string]bool{}}
}

// full reports whether the limit of open pull requests is reached. They are
// counted only if there are branches enough for so many: one more request.
func (r *run) full(ctx context.Context, limit int) (bool, error) {
	if limit <= 0 || r.open < 0 && len(r.branches) < limit {
		return false, nil
	}
	if r.open < 0 {
		latest, err := r.newest(ctx, r.branches)
		if err != nil {
			return false, err
		}
		r.open = 0
		for _, p := range latest {
			if p.Open {
				r.open++
			}
		}
	}
	return r.open >= limit, nil
}

// opened counts a pull request that this run has opened.
func (r *run) opened(branch string) {
	if r.open >= 0 {
		r.open++
	}
	if !slices.Contains(r.branches, branch) {
		r.branches = append(r.branches, branch)
	}
}

// task is the work on one branch, in as many attempts as it takes.
type task struct {
	*run
	Outcome
	// written is what an earlier attempt has done, or may have done.
	written Operation
	// disabled says that this run has switched auto-merge off.
	disabled bool
	// refused is the head at which the server would not replace or delete the
	// branch, as a rule of the repository may have it.
	refused string
	// surveyed says that the attempt begins with what the survey saw of the branch.
	surveyed bool
	// known reports that the branch is one of ours for a base that this run
	// is about.
	known bool
}

func (r *run) newTask(group, branch string) *task {
	return &task{run: r, Outcome: Outcome{Group: group, Operation: None, Branch: branch}, written: None}
}

// propose brings one proposal to GitHub.
func (r *run) propose(ctx context.Context, p Proposal, head string) Outcome {
	t := r.newTask(p.Group, p.Branch)
	if p.Base != r.opts.Base {
		t.Err = &provider.Error{
			Code:    provider.CodeInternal,
			Message: fmt.Sprintf("a proposal for branch %s in a run over branch %s", p.Base, r.opts.Base),
		}
		return t.Outcome
	}
	t.converge(ctx, head, func(head string) error { return t.proposeOnce(ctx, p, head) })
	if t.Operation == Created {
		r.opened(p.Branch)
	}
	return t.Outcome
}

// retire ends one of our branches that no proposal stands for. It has nothing
// to report of branches that are not ours or for another base.
func (r *run) retire(ctx context.Context, branch, head string) (Outcome, bool) {
	t := r.newTask("", branch)
	t.converge(ctx, head, func(head string) error { return t.retireOnce(ctx, head) })
	return t.Outcome, t.known || t.Err != nil
}

// The bounds of converging. Who loses so many races in a row should say so.
const (
	mostAttempts = 4
	firstPause   = time.Second // before the third attempt; then twice as long
)

// converge makes attempts until one is not refused for something that moved
// meanwhile. Each begins by reading where the branch is now: a ref that exists,
// a head that moved, a duplicate pull request are ordinary answers, and after a
// server error nobody knows what was written.
func (t *task) converge(ctx context.Context, head string, attempt func(head string) error) {
	t.surveyed = t.opts.Survey.heads != nil
	for n := 1; ; n++ {
		if !t.expected(head) {
			t.Reason = movedMeanwhile
			return
		}
		err := attempt(head)
		if err == nil {
			return
		}
		if t.Err = err; n == mostAttempts || !movable(err) {
			return
		}
		if n > 1 {
			if t.repo.Pause(ctx, firstPause<<(n-2)) != nil {
				return
			}
		}
		head, err = t.repo.Head(ctx, t.Branch)
		if err != nil && !errors.Is(err, github.ErrNotFound) {
			return
		}
		t.Err, t.surveyed = nil, false
	}
}

// expected reports whether the branch is where the caller saw it. What this run
// may have pushed itself is no surprise.
func (t *task) expected(head string) bool {
	return t.opts.Head == "" || head == t.opts.Head || t.written != None
}

func movable(err error) bool {
	return errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrUncertain)
}

// see notes what a reader of the outcome can look at.
func (t *task) see(s state) {
	t.HeadSHA = s.head
	if s.open() {
		t.Number, t.URL = s.pull.Number, s.pull.URL
	}
}

// history returns the newest commits of the base, of which there is at least one.
// They are asked for once; from says how.
func (r *run) history(ctx context.Context, from string) ([]github.Commit, error) {
	if len(r.recent) > 0 {
		return r.recent, nil
	}
	recent, err := r.repo.History(ctx, from)
	if err == nil && len(recent) == 0 {
		err = &provider.Error{Code: provider.CodeGitHub, Message: "GitHub lists no commit of " + from}
	}
	r.recent = recent
	return recent, err
}

// checkBase makes sure that the proposals are of the base's present head. Where
// the head is not known yet it is asked for only if something will be written.
func (r *run) checkBase(ctx context.Context, base github.Commit, writes bool) error {
	if base.SHA == "" {
		if !writes || r.tree != "" {
			return nil
		}
		recent, err := r.history(ctx, r.opts.Base)
		if errors.Is(err, github.ErrNotFound) {
			return &provider.Error{
				Code:    provider.CodeGitHub,
				Message: fmt.Sprintf("proposing to branch %s: it is not there any more", r.opts.Base),
				Hint:    "look whether somebody has deleted or renamed it; pull-request.base in the configuration file names the branches",
				Err:     err,
			}
		}
		if err != nil {
			return err
		}
		base = recent[0]
	}
	if base.SHA != r.opts.SHA {
		if err := r.follow(ctx, base.SHA); err != nil {
			return err
		}
	}
	r.tree = base.Tree
	return nil
}

// follow takes the proposals for those of a commit that the base has moved to, if
// they are.
func (r *run) follow(ctx context.Context, sha string) error {
	if r.opts.Holds != nil {
		holds, err := r.opts.Holds(ctx, sha)
		if err != nil {
			return err
		}
		if holds {
			r.opts.Log.Info("the base has moved, but nothing that was read", "from", r.opts.SHA, "to", sha)
			r.opts.SHA = sha
			return nil
		}
	}
	if r.opts.Checkout {
		return &provider.Error{
			Code: provider.CodeGitHub,
			Message: fmt.Sprintf("the checkout is not the head of %s: it is at %s, and the branch at %s",
				r.opts.Base, short(r.opts.SHA), short(sha)),
			Hint: "what is shown is of the checkout; a run proposes from the branch's head",
		}
	}
	return &provider.Error{
		Code: provider.CodeGitHub,
		Message: fmt.Sprintf("branch %s has moved from %s to %s, which was not planned for",
			r.opts.Base, short(r.opts.SHA), short(sha)),
		Hint: "run again; nothing is proposed from another commit than the branch's head",
		Err:  &Moved{SHA: sha},
	}
}

// Moved is why nothing was proposed: the base is at another commit than the
// proposals were made from.
type Moved struct{ SHA string }

func (m *Moved) Error() string { return "the branch is at " + m.SHA }

func short(sha string) string { return sha[:min(len(sha), 7)] }
