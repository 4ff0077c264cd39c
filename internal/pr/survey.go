package pr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
)

// Survey is what GitHub held for some groups at one time.
type Survey struct {
	// Ignores are what people asked relock to ignore, by group.
	Ignores map[string][]policy.Ignore
	// Pulls are the pull requests that count, by group. If none counts, it is the newest
	// one.
	Pulls map[string]github.PullRequest
	// former are former names of the base, by branch. The base was renamed after relock
	// named the branch.
	former map[string]string
	// heads are the commits of the branches with our prefix; nil if they are not known.
	heads map[string]string
	// newest are the newest pull requests, open or not, by branch.
	newest map[string]github.PullRequest
	// Issues are our own issues that were found; the zero value: none.
	Issues github.OwnIssues
	// whole says that newest has all pull requests of the repository.
	whole bool
}

// Nothing is the survey of a repository whose listing shows no branch of ours. It serves a
// run that has nothing to propose.
func Nothing() Survey { return Survey{heads: map[string]string{}} }

// NothingBut is Nothing with those of our own issues for which is returns true. It makes
// one request.
func NothingBut(ctx context.Context, repo *github.Repository, is func(github.Issue) bool) Survey {
	found := Nothing()
	if _, own, err := repo.LatestAndIssues(ctx, nil, is); err != nil {
		found.Issues.Err = err
	} else {
		found.Issues = own
	}
	return found
}

// Look reads what people asked relock to ignore for each group. That is in the group's
// newest pull request to the base, open or closed. Look makes two requests for all groups,
// and one more for each group with ignores, to see whether the pull request is ours.
// Without a token it assumes so. Propose does not read again what Look has found.
//
// If a group has no pull request, its base may have been renamed. GitHub then moves the
// pull requests to the new name, and the branch keeps its own. Look finds such a pull
// request with two requests a group, until the pull request remembers the former name.
// bases are all branches that have pull requests.
func Look(ctx context.Context, repo *github.Repository, base string, bases []string, prefix string, groups ...string) (Survey, error) {
	return LookWith(ctx, repo, Options{Base: base, Bases: bases, Prefix: prefix}, nil, groups...)
}

// LookWith is Look with the base, the bases and the prefix of the options. It also returns
// our own issues for which is returns true; nil: none. They come with the pull requests.
func LookWith(ctx context.Context, repo *github.Repository, o Options, is func(github.Issue) bool, groups ...string) (Survey, error) {
	base, prefix := o.Base, o.Prefix
	r := newSurveyor(repo, o)
	r.issues = is
	branches := make([]string, len(groups))
	for i, g := range groups {
		branches[i] = Branch(g, base, prefix)
	}
	found := Survey{Ignores: map[string][]policy.Ignore{}, Pulls: map[string]github.PullRequest{}, former: map[string]string{}}
	var err error
	if repo.Anonymous() {
		found.newest, found.whole, err = r.public(ctx)
		if is != nil {
			found.Issues.Err = errors.New("issues are not looked for without a token")
		}
	} else {
		err = r.lookAt(ctx, &found, groups, branches)
	}
	if err != nil {
		return found, err
	}
	for i, g := range groups {
		pull, known := found.newest[branches[i]]
		if known {
			found.Pulls[g] = pull
		}
		m, _ := ParseMarker(pull.Body)
		if len(m.Ignores) == 0 {
			continue
		}
		ours, err := repo.Anonymous(), error(nil)
		if !ours {
			ours, err = r.isOurs(ctx, branches[i], pull)
		}
		if err != nil {
			return found, err
		}
		if ours {
			found.Ignores[g] = m.Ignores
		}
	}
	return found, nil
}

// lookAt reads the branches and the pull requests of the groups. For a group without a pull
// request it replaces the branch by the one with the base's former name.
func (r *surveyor) lookAt(ctx context.Context, found *Survey, groups, branches []string) (err error) {
	found.heads, err = r.repo.Branches(ctx, r.opts.Prefix)
	if err != nil {
		return err
	}
	formers, asked := make([][]string, len(groups)), slices.Clone(branches)
	for i, g := range groups {
		if found.heads[branches[i]] == "" {
			formers[i] = r.formers(g, found.heads)
			asked = append(asked, formers[i]...)
		}
	}
	found.newest, err = r.newest(ctx, asked)
	found.Issues = r.found
	if err != nil {
		return err
	}
	for i := range groups {
		if _, known := found.newest[branches[i]]; known {
			continue
		}
		for _, name := range formers[i] {
			former, err := r.behind(ctx, groups[i], name, found.newest[name])
			if err != nil {
				return err
			}
			if former != "" {
				branches[i], found.former[name] = name, former
				break
			}
		}
	}
	return nil
}

// formers are the branches that a group may have under a former name of the base.
func (r *surveyor) formers(group string, heads map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		rest, ok := strings.CutPrefix(name, r.opts.Prefix+slug(named(group))+"-")
		known := slices.ContainsFunc(r.opts.Bases, func(base string) bool { return Branch(group, base, r.opts.Prefix) == name })
		if ok && len(rest) == 8 && r.named(name) && !known {
			names = append(names, name)
		}
	}
	return names
}

// behind returns the name that the base had when a branch of the group was named and its
// newest pull request opened. It returns none if the pull request is for another base.
func (r *surveyor) behind(ctx context.Context, group, branch string, pull github.PullRequest) (former string, err error) {
	if pull.Number == 0 || pull.Fork || pull.Open && pull.Base != r.opts.Base {
		return "", nil
	}
	// An open pull request is for the base, since GitHub has moved it. A closed one may be
	// for another renamed base.
	if m, _ := ParseMarker(pull.Body); pull.Open && m.FormerBase != "" && Branch(group, m.FormerBase, r.opts.Prefix) == branch {
		return m.FormerBase, nil
	}
	at := state{branch: branch, head: pull.Head}
	if err := r.readBranch(ctx, &at, r.opts.Base); err != nil {
		return "", err
	}
	mark := at.mark // of a branch that somebody else has pushed to as well
	if at.owner == foreign || mark.Group != named(group) || mark.Base == r.opts.Base {
		return "", nil
	}
	renamed, err := r.renamed(ctx, mark.Base, r.opts.Base)
	if err != nil || !renamed {
		return "", err
	}
	return mark.Base, nil
}

// renamed reports whether a branch is gone and has another name now. If it still exists, a
// person has changed the base of the pull request.
func (r *surveyor) renamed(ctx context.Context, old, now string) (bool, error) {
	name, err := r.repo.RenamedTo(ctx, old)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	return err == nil && old != now && name == now, err
}

// Proposal returns the proposal for a group whose branch was named before the base was
// renamed. The branch keeps its name, and the proposal its digest.
func (s Survey) Proposal(p Proposal) Proposal {
	for branch, former := range s.former {
		if strings.HasSuffix(branch, branchName(p.Group, former)) {
			p.Branch, p.former, p.Digest = branch, former, Digest(p.Group, former, p.Files)
		}
	}
	return p
}

// newest reads the pull request of each branch that counts, or else the newest one. Without
// GraphQL it makes one request for each branch. If it fails, nothing is proposed: the
// ignores of people would be unknown.
func (r *surveyor) newest(ctx context.Context, branches []string) (map[string]github.PullRequest, error) {
	var latest map[string][]github.PullRequest
	var err error
	if r.issues != nil {
		latest, r.found, err = r.repo.LatestAndIssues(ctx, branches, r.issues)
	} else {
		latest, err = r.repo.Latest(ctx, branches)
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		r.opts.Log.Debug("asking for pull requests one by one", "error", err)
		latest = map[string][]github.PullRequest{}
		for _, branch := range branches {
			latest[branch], err = r.repo.PullRequests(ctx, branch)
			if err != nil {
				return nil, err
			}
		}
	}
	newest := map[string]github.PullRequest{}
	for branch, pulls := range latest {
		if counts := pick(pulls, r.opts.Base, ""); counts != nil {
			newest[branch] = *counts
		} else if len(pulls) > 0 { // to a base with another name by now
			newest[branch] = pulls[0]
		}
	}
	return newest, nil
}

// public reads the newest pull requests of the repository, and returns those that count, by
// branch. whole is as in Survey.
func (r *surveyor) public(ctx context.Context) (newest map[string]github.PullRequest, whole bool, err error) {
	pulls, whole, err := r.repo.Recent(ctx)
	if err != nil {
		return nil, false, err
	}
	from := map[string][]github.PullRequest{}
	for _, p := range pulls {
		from[p.HeadBranch] = append(from[p.HeadBranch], p)
	}
	newest = map[string]github.PullRequest{}
	for branch, pulls := range from {
		if counts := pick(pulls, r.opts.Base, ""); counts != nil {
			newest[branch] = *counts
		}
	}
	return newest, whole, nil
}

// recall is the survey's pull request of a branch, if it is open and the branch is still at
// its head; else nil.
func (s Survey) recall(branch, base, head string) *github.PullRequest {
	pull, ok := s.newest[branch]
	if !ok || !pull.Open || pull.Fork || pull.Base != base || pull.Head != head {
		return nil
	}
	return &pull
}
