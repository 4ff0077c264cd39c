package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Protection is the set of conditions of a base branch for merges.
type Protection struct {
	// Strict demands that a branch contains the whole base.
	// https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-status-checks-before-merging
	Strict bool
	// Checks demands that checks pass. In a sandbox, PassChecks makes them pass.
	Checks bool
	// Reviews is the number of approvals needed.
	Reviews int
	// DismissStale withdraws approvals when the approved changes have changed.
	DismissStale bool `yaml:"dismiss_stale"`
	// Queue merges pull requests by a merge queue.
	Queue bool `yaml:"merge_queue"`
	// Ruleset means that the conditions are in a ruleset. All readers of the
	// repository may read it; only administrators may read branch protection.
	Ruleset bool
}

// protectionRoutes are the routes of the conditions of base branches.
var protectionRoutes = []route{
	{"GET", "/repos/{owner}/{repo}/rules/branches/{branch...}", http.StatusOK, (*apiCall).branchRules, seeRepository},
	{"PUT", "/repos/{owner}/{repo}/pulls/{number}/update-branch", http.StatusAccepted, (*apiCall).updateBranch, reviewChanges},
}

// protection is the protection of the pull request's base; nil if there is none.
func (r *gitRepository) protection(base string) *Protection {
	if p, ok := r.settings.Protect[base]; ok {
		return &p
	}
	return nil
}

// opinion is a person's latest review that approves or asks for changes.
type opinion struct {
	login   string
	against bool   // it asks for changes
	diff    string // the reviewed changes
}

// state is the review's in GraphQL.
func (o opinion) state() string {
	if o.against {
		return "CHANGES_REQUESTED"
	}
	return "APPROVED"
}

// opinions are the opinions of people who may write, or of all.
func (r *gitRepository) opinions(p *pullRequest, writers bool) []opinion {
	return slices.DeleteFunc(slices.Clone(p.opinions), func(o opinion) bool { return writers && !r.role(o.login).includes(RoleWrite) })
}

// reviewDecision is GitHub's PullRequestReviewDecision. It is null if the base
// demands no review, whatever the reviews say
// [abcxyz/github-metrics-aggregator#224, corveil/crow#153].
func (r *gitRepository) reviewDecision(p *pullRequest) any {
	rules := r.protection(p.base)
	if rules == nil || rules.Reviews == 0 {
		return nil
	}
	counting := r.opinions(p, true)
	switch {
	case slices.ContainsFunc(counting, func(o opinion) bool { return o.against }):
		return "CHANGES_REQUESTED"
	case len(counting) < rules.Reviews:
		return "REVIEW_REQUIRED"
	}
	return "APPROVED"
}

// changes identifies the changes of a pull request since it left its base.
func (r *gitRepository) changes(p *pullRequest) string {
	base, err := r.commit(r.branch(p.base))
	if err != nil {
		return ""
	}
	head, err := r.commit(p.headSHA)
	if err != nil {
		return ""
	}
	fork, ok := r.mergeBase(base, head)
	if !ok {
		return ""
	}
	old, err := r.readTree(fork.TreeHash)
	if err != nil {
		return ""
	}
	now, err := r.readTree(head.TreeHash)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range old.differing(now) {
		fmt.Fprintf(&b, "%s %s %s\n", name, now[name].mode, now[name].hash)
	}
	return b.String()
}

// dismiss withdraws approvals whose changes differ after the head moved. GitHub
// compares the changes of the pull request, so a mere merge of the base keeps
// approvals [strands-labs/robots#2796, measured 2026-08-26]. A rewritten branch
// has another merge base, which counts as a change since 2023 [github.blog
// changelog 2023-06-06].
func (r *gitRepository) dismiss(p *pullRequest, before plumbing.Hash) {
	rules := r.protection(p.base)
	if rules == nil || !rules.DismissStale {
		return
	}
	rewritten, now := !r.contains(p.headSHA, before), r.changes(p)
	p.opinions = slices.DeleteFunc(p.opinions, func(o opinion) bool { return !o.against && (rewritten || o.diff != now) })
}

// mergeState is GitHub's MergeStateStatus. A block hides that a branch is behind
// [github/branch-deploy#97]. A branch is only behind if the base demands
// otherwise.
func (r *gitRepository) mergeState(p *pullRequest) string {
	rules := r.protection(p.base)
	_, err := r.mergeTrees(r.branch(p.base), p.headSHA)
	switch {
	case !p.open:
		return "UNKNOWN"
	case err != nil:
		return "DIRTY"
	case p.draft:
		return "DRAFT"
	case rules == nil:
		return "CLEAN"
	case rules.Reviews > 0 && r.reviewDecision(p) != "APPROVED", rules.Checks && p.checked != p.headSHA:
		return "BLOCKED"
	case rules.Strict && !rules.Queue && !r.contains(p.headSHA, r.branch(p.base)):
		return "BEHIND"
	}
	return "CLEAN"
}

// GitHub's states of a merge before it has computed the state.
const (
	neverComputed = "never" // it never computes it
	stillStale    = "stale" // the last computed state, if there is one
)

// computedState is mergeState as a client sees it. GitHub computes the state when
// somebody asks; the first answer is unknown, or the former state.
// https://docs.github.com/en/rest/guides/using-the-rest-api-to-interact-with-your-git-database#checking-mergeability-of-pull-requests
func (r *gitRepository) computedState(p *pullRequest) string {
	at, late := p.headSHA.String()+r.branch(p.base).String(), r.settings.MergeStates
	if late == neverComputed {
		return "UNKNOWN"
	}
	if p.computed != at { // the next answer has the test merge of these commits, too
		p.computed = at
		defer r.testMerge(p)
		if late == stillStale && p.computedAs != "" {
			return p.computedAs
		}
		return "UNKNOWN"
	}
	p.computedAs = r.mergeState(p)
	return p.computedAs
}

// branchRules are the rules of rulesets for a branch.
func (c *apiCall) branchRules() (any, error) {
	rules := []doc{}
	add := func(kind string, parameters doc) {
		d := doc{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.fullName(), "ruleset_id": 1}
		if parameters != nil {
			d["parameters"] = parameters
		}
		rules = append(rules, d)
	}
	p := c.repo.protection(c.PathValue("branch"))
	if p == nil || !p.Ruleset {
		return rules, nil
	}
	if p.Checks || p.Strict {
		add("required_status_checks", doc{
			"strict_required_status_checks_policy": p.Strict, "required_status_checks": []doc{{"context": "test"}},
		})
	}
	if p.Queue {
		add("merge_queue", doc{
			"check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN", "max_entries_to_build": 5, "max_entries_to_merge": 5,
			"merge_method": "SQUASH", "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
		})
	}
	if p.Reviews > 0 {
		add("pull_request", doc{
			"required_approving_review_count": p.Reviews, "dismiss_stale_reviews_on_push": p.DismissStale,
			"require_code_owner_review": false, "require_last_push_approval": false, "required_review_thread_resolution": false,
		})
	}
	return page(c, rules), nil
}

// updateBranch merges the base into the head of a pull request, some time after
// its answer.
func (c *apiCall) updateBranch() (any, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in struct {
		Expected *string `json:"expected_head_sha"`
	}
	if len(c.body) > 0 {
		if err := c.decode(&in); err != nil {
			return nil, err
		}
	}
	name := plumbing.NewBranchReferenceName(p.head)
	switch {
	case !p.open || !c.mayMove(p.headRepo, name):
		return nil, c.refuse()
	case in.Expected != nil && *in.Expected != p.headSHA.String():
		return nil, unprocessable("expected head sha didn’t match current head ref.")
	case c.repo.contains(p.headSHA, c.repo.branch(p.base)):
		return nil, unprocessable("There are no new commits on the base branch.")
	}
	merged, err := c.hub.mergeOfBase(c.repo, p, c.who.Login)
	if err != nil {
		return nil, unprocessable("merge conflict between base and head")
	}
	update := refUpdate{name: name, after: merged}
	if err := c.mayHold(p.headRepo, update); err != nil {
		return nil, err
	}
	if err := p.headRepo.obeys(update); err != nil {
		return nil, err
	}
	head, by := p.headSHA, c.who.Login
	c.hub.later = append(c.hub.later, func() {
		update.before = &head
		// If anyone moved the branch meanwhile, the update fails.
		_ = c.hub.updateRefs(p.headRepo, by, update)
	})
	return doc{"message": "Updating pull request branch.", "url": c.api(c.repo, "/pulls/%d", p.number)}, nil
}

// mergeOfBase is a commit that merges the base into the head of a pull request.
func (g *GitHub) mergeOfBase(r *gitRepository, p *pullRequest, by string) (plumbing.Hash, error) {
	base := r.branch(p.base)
	tree, err := r.mergeTrees(p.headSHA, base)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	who := g.signature(by)
	hash := r.writeCommit(object.Commit{
		Author: who, Committer: object.Signature{Name: "GitHub", Email: "noreply@github.com", When: who.When},
		Message: fmt.Sprintf("Merge branch '%s' into %s", p.base, p.head), TreeHash: tree,
		ParentHashes: []plumbing.Hash{p.headSHA, base},
	})
	r.signed[hash] = true
	return hash, nil
}

// catchUp does GitHub's work after an answer.
func (g *GitHub) catchUp() {
	todo := g.later
	g.later = nil
	for _, do := range todo {
		do()
	}
}

// advance lets GitHub merge what it has promised to merge, as soon as it may.
func (g *GitHub) advance(r *gitRepository) {
	for _, p := range r.open() {
		if p.autoMerge != nil && r.protection(p.base) != nil && r.mergeState(p) == "CLEAN" {
			if r.protection(p.base).Queue {
				if p.queued == "" {
					_ = g.enqueue(r, p, p.autoMerge.by)
				}
				continue
			}
			_, _ = g.merge(r, p, p.autoMerge.by, strings.ToLower(p.autoMerge.method))
		}
	}
}

// Protect sets the protection of a branch; nil removes it.
func (g *GitHub) Protect(repo, branch string, p *Protection) error {
	return g.Configure(repo, func(s *Settings) {
		s.Protect = maps.Clone(s.Protect)
		if s.Protect == nil {
			s.Protect = map[string]Protection{}
		}
		delete(s.Protect, branch)
		if p != nil {
			s.Protect[branch] = *p
		}
	})
}

// Approve is a review that approves the pull request as it is.
func (g *GitHub) Approve(repo string, number int, by string) error {
	return g.review(repo, number, opinion{login: by})
}

// RequestChanges is a review that asks for changes.
func (g *GitHub) RequestChanges(repo string, number int, by string) error {
	return g.review(repo, number, opinion{login: by, against: true})
}

// review replaces a person's earlier review.
func (g *GitHub) review(repo string, number int, o opinion) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		o.diff = r.changes(p)
		p.opinions = slices.DeleteFunc(p.opinions, func(other opinion) bool { return other.login == o.login })
		p.opinions = append(p.opinions, o)
		p.updated = g.now()
		return nil
	})
}

// EnableAutoMerge promises to merge the pull request once it may be merged.
func (g *GitHub) EnableAutoMerge(repo string, number int, by string) error {
	return g.change(repo, number, func(_ *gitRepository, p *pullRequest) error {
		p.autoMerge = &autoMerge{method: "SQUASH", by: by, enabled: g.now()}
		p.updated = g.now()
		return nil
	})
}

// PassChecks makes the checks of the present head pass.
func (g *GitHub) PassChecks(repo string, number int) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		p.checked = p.headSHA
		return nil
	})
}

// UpdateBranch merges the base into the head, as the button of that name does.
func (g *GitHub) UpdateBranch(repo string, number int, by string) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		if r.contains(p.headSHA, r.branch(p.base)) {
			return fmt.Errorf("pull request %d has all of %s", number, p.base)
		}
		merged, err := g.mergeOfBase(r, p, by)
		if err != nil {
			return err
		}
		return g.updateRefs(p.headRepo, by, refUpdate{name: plumbing.NewBranchReferenceName(p.head), after: merged})
	})
}

// RebaseBranch puts the commits of the head on the base again, as "Update with
// rebase" does. They keep author and message. Merges, and commits that the base
// already has, are left out.
// https://github.blog/changelog/2022-02-03-more-ways-to-keep-your-pull-request-branch-up-to-date/
func (g *GitHub) RebaseBranch(repo string, number int, by string) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		onto := r.branch(p.base)
		if r.contains(p.headSHA, onto) {
			return fmt.Errorf("pull request %d has all of %s", number, p.base)
		}
		tip, err := r.commit(onto)
		if err != nil {
			return err
		}
		head, err := r.commit(p.headSHA)
		if err != nil {
			return err
		}
		own, err := r.log(head, tip)
		if err != nil {
			return err
		}
		tree, at := tip.TreeHash, onto
		for _, c := range slices.Backward(own) {
			if len(c.ParentHashes) != 1 {
				continue
			}
			parent, err := r.commit(c.ParentHashes[0])
			if err != nil {
				return err
			}
			now, err := r.mergeOver(parent.TreeHash, tree, c.TreeHash)
			if err != nil {
				return err
			}
			if now == tree {
				continue
			}
			// GitHub does not document the committer.
			tree, at = now, r.writeCommit(object.Commit{
				Author: c.Author, Committer: g.signature(by), Message: c.Message, TreeHash: now, ParentHashes: []plumbing.Hash{at},
			})
		}
		if at == onto {
			return fmt.Errorf("pull request %d has nothing that %s lacks", number, p.base)
		}
		return g.updateRefs(p.headRepo, by, refUpdate{name: plumbing.NewBranchReferenceName(p.head), after: at, force: true})
	})
}

// change changes an open pull request. GitHub may merge it then.
func (g *GitHub) change(repo string, number int, do func(*gitRepository, *pullRequest) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catchUp()
	r, p, err := g.find(repo, number)
	if err != nil {
		return err
	}
	if !p.open || !p.isPull() {
		return fmt.Errorf("%d is no open pull request", number)
	}
	if err := do(r, p); err != nil {
		return err
	}
	g.advance(r)
	return nil
}
