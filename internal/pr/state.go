package pr

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// surveyor reads the state from GitHub.
type surveyor struct {
	repo *github.Repository
	opts Options
	// strict says that a ruleset of the base requires branches to be up to date; nil until
	// relock has asked.
	strict *bool
	// issues are those that are sought with the pull requests; nil: none. found is the
	// result.
	issues *github.Sought
	found  github.OwnIssues
	// updated are the branches that this run has asked GitHub to update. It asks once for
	// each.
	updated map[string]bool
	// early are the branches that were read before the first write. Each serves the first
	// attempt only.
	early map[string]branchRead
}

// branchRead is the answer of readBranch.
type branchRead struct {
	state
	err error
}

func newSurveyor(repo *github.Repository, opts Options) *surveyor {
	opts.Prefix = cmp.Or(opts.Prefix, DefaultPrefix)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &surveyor{repo: repo, opts: opts, updated: map[string]bool{}, early: map[string]branchRead{}}
}

// named reports whether a branch has a name that Branch makes.
func (r *surveyor) named(branch string) bool {
	name, ok := strings.CutPrefix(branch, r.opts.Prefix)
	return ok && branchForm.MatchString(name)
}

// branchForm is the form of names that Branch makes, behind the prefix.
var branchForm = regexp.MustCompile(`^[a-z0-9-]+-[0-9a-f]{8}$`)

// state is what GitHub holds for one of our branches.
type state struct {
	branch string
	head   string // its commit; empty if there is no such branch
	owner  owner
	mark   trailers      // of the head
	base   github.Commit // the head of the base; unknown if there is no branch
	fork   string        // the newest commit of the base that is in the branch
	// contained says that the base has all commits of the branch.
	contained bool
	judged    judged
	files     map[string]string // blobs by path, where the branch differs from fork
	// orphan says that the base is gone, or has another name now.
	orphan bool
	// fresh says that this attempt has read pull, with its place in a queue.
	fresh bool
	// dependents are the numbers of other open pull requests that need the branch: GitHub
	// closes them with the branch. They are read before a branch is deleted, and before a
	// push to a branch whose pull request has ended.
	dependents []int
	// strict says that a ruleset of the base requires branches to be up to date. relock
	// asks for it only if nothing else decides.
	strict bool
	// asked says that this run has asked GitHub to update the branch.
	asked bool

	// pull is the pull request that counts, nil if there is none. That is the open one from
	// the branch to its base, or another open one from the branch, or the newest one to its
	// base.
	pull   *github.PullRequest
	marker Marker // of its body
	marked bool   // whether it has one
	// rejected is the digest of the proposal that a person turned down by closing pull.
	// former are the changes in it, as its commit has them in words.
	rejected, former string
}

// readDependents asks which other pull requests need the branch. It needs GraphQL. A server
// without GraphQL cannot delete the branch either.
func (r *surveyor) readDependents(ctx context.Context, s *state) error {
	number := 0
	if s.pull != nil {
		number = s.pull.Number
	}
	var err error
	s.dependents, err = r.repo.Dependents(ctx, s.branch, number)
	if errors.Is(err, github.ErrUnsupported) {
		return nil
	}
	return err
}

// strangers reports whether the open pull request is somebody else's: a person has opened
// it from the branch to another base.
func (s state) strangers(base string) bool { return s.open() && s.pull.Base != base && !s.marked }

// open reports whether there is an open pull request from the branch.
func (s state) open() bool { return s.pull != nil && s.pull.Open }

// done reports whether our pull request from the branch was merged, and nothing was pushed
// to the branch since. So all commits of people on the branch are merged.
func (s state) done() bool {
	return s.head != "" && s.pull != nil && s.pull.Merged && s.pull.Head == s.head && (s.owner != foreign || s.marked)
}

// read reads the state of a proposal's branch. head is where the branch is; empty: it does
// not exist. If there is nothing to do about a pull request, read does not ask for it
// again. Any event since the survey is no reason to do something.
func (r *surveyor) read(ctx context.Context, p Proposal, head string) (state, error) {
	if r.repo.Anonymous() {
		s, err := r.believed(ctx, p.Branch, head)
		s.mark = trailers{Digest: s.marker.Digest, Ground: ground(p.Files)}
		return s, err
	}
	s := state{branch: p.Branch, head: head}
	if head != "" {
		// A foreign branch whose commits are all in the base may be ours: it was merged
		// with a person's commit on top.
		if err := r.readOnce(ctx, &s); err != nil || s.owner == foreign && !s.contained {
			return s, err
		}
	}
	// A merge of the base may add content to our files. If the blobs are those of the
	// proposal, it added nothing, and no request is needed. Modes are read before anything
	// is done about the branch.
	looked := s
	if s.owner == unsettled && s.adds(p) {
		looked.owner = ours
	}
	if pull := r.opts.Survey.recall(p.Branch, r.opts.Base, head); pull != nil {
		looked.seen(pull)
		if err := r.readLag(ctx, p, &looked); err != nil {
			return looked, err
		}
		if (looked.owner != unsettled || looked.stopped()) && decide(p, looked, r.opts).idle() {
			return looked, nil
		}
	}
	if err := r.readCounting(ctx, &s); err != nil {
		return s, err
	}
	if err := r.decideOwner(ctx, &s); err != nil {
		return s, err
	}
	return s, r.readLag(ctx, p, &s)
}

// readCounting finds the pull request that counts, before something is done about the
// branch. It reads the one of the survey again, if that is still from the branch's head.
func (r *surveyor) readCounting(ctx context.Context, s *state) error {
	pull := r.opts.Survey.recall(s.branch, r.opts.Base, s.head)
	if pull == nil || r.opts.DryRun {
		return r.readPulls(ctx, s, r.opts.Base)
	}
	s.seen(pull)
	err := r.readMerging(ctx, s)
	if errors.Is(err, github.ErrConflict) || err == nil && (s.pull.Head != s.head || s.pull.Base != r.opts.Base) {
		return r.readPulls(ctx, s, r.opts.Base)
	}
	return err
}

// adds reports whether the branch changes exactly the files of a proposal, compared with
// its base. It compares blobs only.
func (s state) adds(p Proposal) bool {
	if s.mark.Digest != p.Digest || len(s.files) != len(p.Files) || len(s.files) >= github.MostCompared {
		return false
	}
	return !slices.ContainsFunc(p.Files, func(f File) bool { return s.files[f.Path] != github.BlobID(f.Content) })
}

// stopped reports whether relock has commented on somebody's commits, and the branch is as
// it was then.
func (s state) stopped() bool {
	return s.marker.Stopped && (s.marker.StoppedAt == "" || s.marker.StoppedAt == s.head)
}

// decideOwner decides about a branch whose newest commits somebody has rewritten or merged.
// It is ours if it holds the content of the base, our files on top, and nothing else.
func (r *surveyor) decideOwner(ctx context.Context, s *state) error {
	if s.owner != unsettled {
		return nil
	}
	own, head, ok := s.judged.own, s.judged.head, !s.stopped() // relock has already commented whose it is
	var err error
	if ok && s.judged.rebased() {
		_, ok, err = s.mark.proposed(ctx, r.repo, s.judged.base(), own.SHA)
	}
	if err == nil && ok && head.SHA != own.SHA {
		ok, err = r.repo.Overlays(ctx, head.SHA, head.Parents[1], s.judged.base(), own.SHA)
	}
	if err != nil {
		return err
	}
	s.owner = touched
	if ok {
		s.owner = ours
	}
	return nil
}

// readLag reads the facts that decide about a branch that proposes what is wanted and is
// behind. A rule that cannot be read requires nothing.
func (r *surveyor) readLag(ctx context.Context, p Proposal, s *state) error {
	when := r.opts.RebaseWhen
	s.asked = r.updated[s.branch]
	if s.asked || when == RebaseConflicted || !s.open() || s.pull.Base != p.Base || s.pull.Queued || !s.current(p) || !s.behind() {
		return nil
	}
	// A second question often gets a better answer. It is skipped if nothing depends on it.
	if s.pull.MergeState == "" || s.pull.MergeState == github.MergeUnknown && s.unsettled(when) {
		if err := r.readMerging(ctx, s); err != nil {
			return err
		}
	}
	if s.pull.MergeState == github.MergeBlocked && when == RebaseBehindBase {
		s.strict = r.demandsUpToDate(ctx)
	}
	return ctx.Err()
}

// readMerging reads an open pull request again before something is done about it, since it
// may be in a merge queue by now. It returns an ErrConflict if the pull request is closed.
func (r *surveyor) readMerging(ctx context.Context, s *state) error {
	if !s.open() || s.fresh {
		return nil
	}
	now, err := r.repo.Merging(ctx, *s.pull)
	if errors.Is(err, github.ErrNotFound) { // this answer is older than the pull request
		return changedMeanwhile("looking at", s.pull.Number)
	}
	if err != nil {
		return err
	}
	if !now.Open {
		return changedMeanwhile("looking at", now.Number)
	}
	s.seen(&now)
	s.fresh = true
	return nil
}

// demandsUpToDate asks once for the rules of the base.
func (r *surveyor) demandsUpToDate(ctx context.Context) bool {
	if r.strict == nil {
		strict, err := r.repo.DemandsUpToDate(ctx, r.opts.Base)
		if err != nil { // an older server without rulesets
			r.opts.Log.Debug("the rules of the base are not known", "error", err)
		}
		r.strict = &strict
	}
	return *r.strict
}

// seen stores the pull request of the branch.
func (s *state) seen(pull *github.PullRequest) {
	s.pull = pull
	s.marker, s.marked = ParseMarker(pull.Body)
}

// readOnce is readBranch, unless the branch was read before the first write.
func (r *surveyor) readOnce(ctx context.Context, s *state) error {
	known, ok := r.early[s.branch]
	delete(r.early, s.branch)
	if !ok || known.head != s.head {
		return r.readBranch(ctx, s, r.opts.Base)
	}
	*s = known.state
	return known.err
}

// readBranch finds out who owns the branch, and what it proposes to the base.
func (r *surveyor) readBranch(ctx context.Context, s *state, base string) error {
	c, err := r.repo.Compare(ctx, base, s.head)
	if errors.Is(err, github.ErrNotFound) {
		// The branch exists. So either the base is missing, or the two have no common
		// commit.
		at, err := r.repo.Head(ctx, base)
		if err != nil {
			return err
		}
		return r.readUnrelated(ctx, s, at)
	}
	if err != nil {
		return err
	}
	s.base, s.fork, s.contained, s.files = c.Base, c.Fork.SHA, c.Total == 0, c.Files
	s.judged = judge(s.branch, c, s.head)
	s.owner, s.mark = s.judged.owner, s.judged.mark
	if s.judged.rewritten && s.judged.own.SHA == s.head {
		s.fork = s.judged.base()
	}
	return nil
}

// readUnrelated is readBranch for a branch that has no common commit with its base. at is
// its head. If the branch is ours, the base was rewritten. If the head has the commit of
// the base after all, GitHub's comparison is outdated, and a later one will be right.
func (r *surveyor) readUnrelated(ctx context.Context, s *state, at string) error {
	recent, err := r.repo.History(ctx, s.head)
	if errors.Is(err, github.ErrNotFound) {
		return nil // the branch is gone by now
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(recent, func(c github.Commit) bool { return c.SHA == at }) {
		return refusal(github.ErrConflict, "", "comparing %s with its base: GitHub does not know its newest commit yet", s.branch)
	}
	s.judged = judge(s.branch, github.Comparison{Own: recent, Total: len(recent)}, s.head)
	s.owner, s.mark = s.judged.owner, s.judged.mark
	if s.judged.rewritten {
		s.fork = s.judged.base()
	}
	return nil
}

// readPulls finds the pull request of the branch to the base.
func (r *surveyor) readPulls(ctx context.Context, s *state, base string) error {
	pulls, err := r.repo.PullRequests(ctx, s.branch)
	if err != nil {
		return err
	}
	pull := pick(pulls, base)
	if pull == nil {
		s.pull, s.marker, s.marked, s.fresh = nil, Marker{}, false, false
		return nil
	}
	s.seen(pull)
	s.fresh = false
	if turnedDown(*s.pull, s.marker) {
		mark, err := r.rejected(ctx, *s)
		s.rejected, s.former = mark.Digest, mark.summary
		return err
	}
	return nil
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

// turnedDown reports whether a person closed the pull request without a merge. relock
// leaves a reason in the marker when it closes one.
func turnedDown(p github.PullRequest, m Marker) bool {
	return !p.Open && !p.Merged && m.Closed == ""
}

// rejected returns the trailers of a pull request that a person closed. Its commits are
// readable after its branch is gone. rejected returns none if no commit is ours.
func (r *surveyor) rejected(ctx context.Context, s state) (trailers, error) {
	if s.pull.Head == s.head {
		return s.mark, nil
	}
	mark, _, err := r.readHead(ctx, s.branch, s.pull.Head)
	return mark, err
}

// mostMerges bounds how many merges of the base readHead follows.
const mostMerges = 20

// readHead finds our newest commit at a head or behind merges. It returns the trailers of
// that commit, and whether it is the head itself. It reads no commit below ours.
func (r *surveyor) readHead(ctx context.Context, branch, sha string) (mark trailers, itself bool, err error) {
	for n := range mostMerges {
		c, err := r.repo.Commit(ctx, sha)
		if errors.Is(err, github.ErrNotFound) {
			return trailers{}, false, nil
		}
		if err != nil {
			return trailers{}, false, err
		}
		if t, ok := parseTrailers(c.Message); ok && t.name(branch) {
			if t.made(c) {
				return t, n == 0, nil
			}
			if len(c.Parents) == 1 { // a rebased commit: its base is unknown
				_, ok, err := t.proposed(ctx, r.repo, c.Parents[0], sha)
				if err != nil || ok {
					return t, false, err
				}
			}
		}
		if len(c.Parents) != 2 {
			break
		}
		sha = c.Parents[0]
	}
	return trailers{}, false, nil
}

// isOurs reports whether a pull request is ours. For a merged one the marker decides, since
// the base may have any of its commits.
func (r *surveyor) isOurs(ctx context.Context, branch string, pull github.PullRequest) (bool, error) {
	if pull.Fork || pull.Merged {
		return !pull.Fork, nil
	}
	s := state{branch: branch, head: pull.Head}
	err := r.readBranch(ctx, &s, pull.Base)
	if errors.Is(err, github.ErrNotFound) { // its base is gone
		mark, _, err := r.readHead(ctx, branch, pull.Head)
		return mark.Digest != "", err
	}
	return s.owner != foreign, err
}
