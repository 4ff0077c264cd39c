package pr

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// run is one call of Propose.
type run struct {
	*surveyor
	// branches are the branches with a name of ours, for any base.
	branches []string
	// open is the number of our open pull requests, into every base; -1 until it is known.
	// others are those of them that are into other bases.
	open, others int
	// foreseen are those that a dry run would have opened before it knows open.
	foreseen int
	// waiting are the proposals that wait for room, as far as the survey shows, and openThen
	// is how many pull requests are open then.
	waiting  []Proposal
	openThen int
	// displaced are the branches whose base was renamed to that of the run. Their pull
	// requests are closed last, with a link to the ones in their place. successors are the
	// numbers of those by branch; nil until all proposals are made.
	displaced  []string
	successors map[string]int
	// recent are the newest commits of the base, once they are known.
	recent []github.Commit
	// tree is the tree of opts.SHA, once it is known that the base is there, or has moved in
	// nothing that matters, which is moved.
	tree  string
	moved bool
	// noSwap says that the server cannot replace or delete a branch safely.
	noSwap bool
}

func newRun(repo *github.Repository, opts Options) *run {
	return &run{surveyor: newSurveyor(repo, opts), open: -1}
}

// full reports whether the limit of open pull requests is reached. It counts them only if
// enough branches exist to reach the limit.
func (r *run) full(ctx context.Context, limit int) (bool, error) {
	if limit <= 0 || r.open < 0 && len(r.branches) < limit {
		return false, nil
	}
	err := r.count(ctx)
	return err == nil && r.open >= limit, err
}

// count counts our open pull requests once, with one request.
func (r *run) count(ctx context.Context) error {
	if r.open >= 0 {
		return nil
	}
	latest, err := r.opts.Survey.newest, error(nil) // without a token, that is all there is
	if !r.repo.Anonymous() {
		latest, err = r.newest(ctx, r.branches)
	}
	if err != nil {
		return err
	}
	r.open = r.foreseen
	for _, branch := range r.branches {
		p := latest[branch]
		if p.Open {
			r.open++
		}
		if p.Open && p.Base != r.opts.Base {
			r.others++
		}
	}
	return nil
}

// opened counts a pull request that this run has opened.
func (r *run) opened(branch string) {
	if r.open >= 0 {
		r.open++
	} else if r.opts.DryRun {
		r.foreseen++ // GitHub does not count it
	}
	if !slices.Contains(r.branches, branch) {
		r.branches = append(r.branches, branch)
	}
}

// closed makes room for pull requests that this run has closed, or would close.
func (r *run) closed(ended []Outcome) {
	for _, o := range ended {
		if o.Operation != Closed {
			continue
		}
		if r.open > 0 {
			r.open--
		}
		r.branches = slices.DeleteFunc(r.branches, func(b string) bool { return b == o.Branch })
	}
}

// leave takes open pull requests that are closed last out of what is counted.
func (r *run) leave(branches []string) {
	if r.open > 0 {
		r.open -= len(branches)
	}
	r.branches = slices.DeleteFunc(r.branches, func(b string) bool { return slices.Contains(branches, b) })
}

// regrouped is what the changes of a branch wait for, of which other groups propose a part;
// empty if none of those waits.
func (r *run) regrouped(s state) string {
	for _, p := range r.waiting {
		if slices.ContainsFunc(p.Files, func(f File) bool { return s.files[f.Path] != "" }) {
			return waitsForRoom(r.openThen, cmp.Or(p.Limit, r.opts.Limit))
		}
	}
	return ""
}

// begins reports whether the work on another branch may begin.
func (r *run) begins() bool { return r.opts.Begins == nil || r.opts.Begins() }

// ready asks whether a branch may change now.
func (r *run) ready(ctx context.Context) error {
	if r.opts.Ready == nil {
		return nil
	}
	return r.opts.Ready(ctx)
}

// done passes an outcome to the caller.
func (r *run) done(o Outcome) {
	if r.opts.Done != nil {
		r.opts.Done(o)
	}
}

func (r *run) newTask(group, branch string) *task {
	return &task{run: r, Outcome: Outcome{Group: group, Operation: None, Branch: branch}, written: None}
}

// propose brings one proposal to GitHub.
func (r *run) propose(ctx context.Context, p Proposal, head string) Outcome {
	t := r.newTask(p.Group, p.Branch)
	if p.Alone != "" {
		return r.alone(t, p, head)
	}
	t.converge(ctx, head, func(head string) error { return t.proposeOnce(ctx, p, head) })
	if t.Operation == Created {
		r.opened(p.Branch)
	}
	return t.Outcome
}

// alone is the outcome of a group whose current proposal is left as it is.
func (r *run) alone(t *task, p Proposal, head string) Outcome {
	s := state{head: head}
	if pull, known := r.opts.Survey.newest[p.Branch]; known {
		s.pull = &pull
	}
	t.see(s)
	t.Reason = string(p.Alone)
	return t.Outcome
}

// retire ends one of our branches that no proposal is for. It returns no outcome for
// branches that are not ours or are for another base.
func (r *run) retire(ctx context.Context, branch, head string) (Outcome, bool) {
	t := r.newTask("", branch)
	t.converge(ctx, head, func(head string) error { return ending{t}.once(ctx, head) })
	return t.Outcome, t.known || t.Err != nil
}

// retireAll ends branches of ours that no proposal is for.
func (r *run) retireAll(ctx context.Context, branches []string, heads map[string]string) []Outcome {
	var outcomes []Outcome
	for _, branch := range branches {
		if !r.begins() {
			break // the next run decides whether it must end
		}
		if o, ok := r.retire(ctx, branch, heads[branch]); ok {
			r.done(o)
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// unwantedBranches are those with a name of ours that no proposal is for.
func (r *run) unwantedBranches(proposals []Proposal) []string {
	kept := make(map[string]bool)
	for _, p := range proposals {
		kept[p.Branch] = true
	}
	return slices.DeleteFunc(slices.Clone(r.branches), func(branch string) bool {
		return kept[branch] || r.opts.Only != "" && branch != r.opts.Only || r.elsewhere(branch, proposals)
	})
}

// elsewhere reports whether the name of a branch proves that it is for another of the
// bases. If the name does not, relock reads the branch.
func (r *run) elsewhere(branch string, proposals []Proposal) bool {
	name := strings.TrimPrefix(branch, r.opts.Prefix)
	groups := []string{name[:len(name)-len("-00000000")]} // a plain name is its own slug
	for _, p := range proposals {
		groups = append(groups, p.Group)
	}
	for _, base := range r.opts.Bases {
		is := func(group string) bool { return branchName(group, base) == name }
		if base != r.opts.Base && slices.ContainsFunc(groups, is) {
			return true
		}
	}
	return false
}

// history returns the newest commits of the base; there is at least one. It asks for them
// once, beginning at the commit from.
func (r *run) history(ctx context.Context, from string) ([]github.Commit, error) {
	if len(r.recent) > 0 {
		return r.recent, nil
	}
	recent, err := r.repo.History(ctx, from)
	if err == nil && len(recent) == 0 {
		err = refusal(nil, "", "GitHub lists no commit of %s", from)
	}
	r.recent = recent
	return recent, err
}

// checkBase makes sure that the base has what the proposals were made from: it is at their
// commit, or what matters is the same. A run looks once. If the head is not known yet,
// checkBase asks for it only if something will be written.
func (r *run) checkBase(ctx context.Context, base github.Commit, writes bool) error {
	if r.tree != "" || r.repo.Anonymous() || base.SHA == "" && !writes {
		return nil
	}
	if base.SHA == "" {
		recent, err := r.history(ctx, r.opts.Base)
		if errors.Is(err, github.ErrNotFound) {
			return refusal(err, "look whether somebody has deleted or renamed it; pull-request.base in the configuration file names the branches",
				"proposing to branch %s: it is not there any more", r.opts.Base)
		}
		if err != nil {
			return err
		}
		base = recent[0]
	}
	if base.SHA == r.opts.SHA {
		r.tree = base.Tree
		return nil
	}
	return r.follow(ctx, base.SHA)
}

// follow goes on after the base has moved to another commit, if nothing that matters has
// changed. Branches begin at the commit from which the proposals were made.
func (r *run) follow(ctx context.Context, sha string) error {
	holds := false
	if r.opts.Holds != nil {
		var err error
		holds, err = r.opts.Holds(ctx, sha)
		if err != nil {
			return err
		}
	}
	if !holds {
		return refusal(&Moved{SHA: sha}, "run again", "branch %s has moved from %.7s to %.7s, which was not planned for", r.opts.Base, r.opts.SHA, sha)
	}
	planned, err := r.repo.Commit(ctx, r.opts.SHA)
	if err != nil {
		return err
	}
	r.tree, r.moved = planned.Tree, true
	r.opts.Log.Info("the base has moved, but nothing that matters", "from", r.opts.SHA, "to", sha)
	return nil
}

// Moved is why nothing was proposed: the base is at this commit, and what matters there is
// not what the proposals were made from.
type Moved struct{ SHA string }

func (m *Moved) Error() string { return "the base has moved to " + m.SHA }
