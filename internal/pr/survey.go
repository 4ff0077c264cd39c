package pr

import (
	"context"

	"github.com/relock-dev/relock/internal/github"
)

// Survey is what was there for some groups when it was looked at.
type Survey struct {
	// Ignores are what people told relock to ignore, by group.
	Ignores map[string][]Ignore
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
func Look(ctx context.Context, repo *github.Repository, base, prefix string, groups ...string) (Survey, error) {
	r := newRun(repo, Options{Base: base, Prefix: prefix})
	branches := make([]string, len(groups))
	for i, g := range groups {
		branches[i] = Branch(g, base, prefix)
	}
	found := Survey{Ignores: map[string][]Ignore{}}
	var err error
	if repo.Anonymous() {
		found.newest, found.whole, err = r.public(ctx)
	} else {
		found.newest, err = r.newest(ctx, branches)
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
		if counts := pick(pulls, r.opts.Base); counts != nil {
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
