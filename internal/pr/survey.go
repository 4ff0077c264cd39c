package pr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// Survey is what was there for some groups when it was looked at.
type Survey struct {
	// Ignores are what people told relock to ignore, by group.
	Ignores map[string][]Ignore
	// former are the names that the base had when branches of ours were named, by
	// branch: it was renamed since.
	former map[string]string
	// newest are the newest pull requests, open or not, by branch.
	newest map[string]github.PullRequest
	// whole says that the repository has no others, of any branch.
	whole bool
}

// Look finds out what people told relock to ignore for each group: it stands in
// the newest pull request of the group to the base, closed ones included. It is
// one request for all of them, and one more for each that ignores something, to
// see whether it is ours: without a token it is taken for ours. Propose need not ask
// again for what it found.
//
// Where a group has none, a branch of the group may be named for a base that was
// renamed since, and whose pull requests GitHub has taken along: its pull request is
// the group's. The bases are all that there are pull requests for.
func Look(ctx context.Context, repo *github.Repository, base string, bases []string, prefix string, groups ...string) (Survey, error) {
	r := newRun(repo, Options{Base: base, Bases: bases, Prefix: prefix})
	branches := make([]string, len(groups))
	for i, g := range groups {
		branches[i] = Branch(g, base, prefix)
	}
	found := Survey{Ignores: map[string][]Ignore{}, former: map[string]string{}}
	var err error
	if repo.Anonymous() {
		found.newest, found.whole, err = r.public(ctx)
	} else {
		found.newest, err = r.newest(ctx, branches)
		if err == nil {
			err = r.lookBehind(ctx, &found, groups, branches)
		}
	}
	if err != nil {
		return found, err
	}
	for i, g := range groups {
		pull := found.newest[branches[i]]
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

// lookBehind finds the branches that groups without a pull request have under the
// former name of the base, and puts them in place of theirs.
func (r *run) lookBehind(ctx context.Context, found *Survey, groups, branches []string) error {
	var lacking []int
	for i := range groups {
		if _, known := found.newest[branches[i]]; !known {
			lacking = append(lacking, i)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	heads, err := r.repo.Branches(ctx, r.opts.Prefix)
	if err != nil {
		return err
	}
	for _, i := range lacking {
		if heads[branches[i]] != "" {
			continue
		}
		branch, pull, base, err := r.behind(ctx, groups[i], slices.Sorted(maps.Keys(heads)))
		if err != nil {
			return err
		}
		if branch != "" {
			branches[i], found.newest[branch], found.former[branch] = branch, pull, base
		}
	}
	return nil
}

// behind looks for a branch of a group that is named for a base that is called like
// that of the run now, and returns its pull request and the name that the base had.
func (r *run) behind(ctx context.Context, group string, branches []string) (branch string, pull github.PullRequest, former string, err error) {
	ours := func(name string) bool {
		rest, ok := strings.CutPrefix(name, r.opts.Prefix+slug(named(group))+"-")
		known := slices.ContainsFunc(r.opts.Bases, func(base string) bool { return Branch(group, base, r.opts.Prefix) == name })
		return ok && len(rest) == 8 && r.named(name) && !known
	}
	branches = slices.DeleteFunc(branches, func(name string) bool { return !ours(name) })
	if len(branches) == 0 {
		return "", pull, "", nil
	}
	newest, err := r.newest(ctx, branches)
	if err != nil {
		return "", pull, "", err
	}
	for _, name := range branches {
		pull, ok := newest[name]
		if !ok || pull.Fork || pull.Open && pull.Base != r.opts.Base {
			continue
		}
		at := state{branch: name, head: pull.Head}
		if err := r.readBranch(ctx, &at, r.opts.Base); err != nil {
			return "", pull, "", err
		}
		mark := at.mark // of a branch that somebody else has pushed to as well
		if at.owner == foreign || mark.Group != named(group) || mark.Base == r.opts.Base {
			continue
		}
		renamed, err := r.renamed(ctx, mark.Base, r.opts.Base)
		if err != nil {
			return "", pull, "", err
		}
		if renamed {
			return name, pull, mark.Base, nil
		}
	}
	return "", pull, "", nil
}

// renamed reports whether a branch is gone and has another name now. Where it is
// there, a person has changed the base of a pull request.
func (r *run) renamed(ctx context.Context, old, now string) (bool, error) {
	name, err := r.repo.RenamedTo(ctx, old)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	return err == nil && old != now && name == now, err
}

// Proposal is the proposal for a group whose base had another name when its branch
// was made: that keeps its name, and so does what identifies the proposal.
func (s Survey) Proposal(p Proposal) Proposal {
	for branch, former := range s.former {
		if strings.HasSuffix(branch, branchName(p.Group, former)) {
			p.Branch, p.former, p.Digest = branch, former, Digest(p.Group, former, p.Files)
		}
	}
	return p
}

// newest asks for the newest pull request of each branch; where GraphQL does not
// answer, with a request for each. What people ignore must be known: to propose
// it all the same would be to disregard them.
func (r *run) newest(ctx context.Context, branches []string) (map[string]github.PullRequest, error) {
	latest, err := r.repo.Latest(ctx, branches)
	if err == nil || ctx.Err() != nil {
		return latest, err
	}
	r.opts.Log.Debug("asking for pull requests one by one", "error", err)
	latest = map[string]github.PullRequest{}
	for _, branch := range branches {
		pulls, err := r.repo.PullRequests(ctx, branch)
		if err != nil {
			return nil, err
		}
		if len(pulls) > 0 {
			latest[branch] = pulls[0]
		}
	}
	return latest, nil
}

// public asks for the newest pull requests of the repository, and returns that which
// counts for each branch. whole is as in Survey.
func (r *run) public(ctx context.Context) (newest map[string]github.PullRequest, whole bool, err error) {
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

// recall is what the survey has of a branch that is still at the head of its
// open pull request; nil if there is none.
func (s Survey) recall(branch, base, head string) *github.PullRequest {
	pull, ok := s.newest[branch]
	if !ok || !pull.Open || pull.Fork || pull.Base != base || pull.Head != head {
		return nil
	}
	return &pull
}
