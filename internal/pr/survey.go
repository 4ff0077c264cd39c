package pr

import (
	"context"
	"errors"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
)

// Survey is what GitHub held for some groups at one time.
type Survey struct {
	// Ignores are what people asked relock to ignore, by group.
	Ignores map[string][]policy.Ignore
	// Pulls are the pull requests that count, by group.
	Pulls map[string]github.PullRequest
	// heads are the commits of the branches with our prefix; nil if they are not known.
	heads map[string]string
	// newest are the newest pull requests, open or not, by branch.
	newest map[string]github.PullRequest
	// asked are the branches whose pull requests were asked for.
	asked map[string]bool
	// Issues are our own issues that were found; the zero value: none.
	Issues github.OwnIssues
	// whole says that newest has all pull requests of the repository.
	whole bool
}

// Nothing is the survey of a repository whose listing shows no branch of ours. It serves a
// run that has nothing to propose.
func Nothing() Survey { return Survey{heads: map[string]string{}} }

// NothingBut is Nothing with the issues that are sought. It makes one request.
func NothingBut(ctx context.Context, repo *github.Repository, sought github.Sought) Survey {
	found := Nothing()
	if _, own, err := repo.LatestAndIssues(ctx, nil, sought); err != nil {
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
func Look(ctx context.Context, repo *github.Repository, base, prefix string, groups ...string) (Survey, error) {
	return LookWith(ctx, repo, Options{Base: base, Prefix: prefix}, nil, groups...)
}

// LookWith is Look with the base and the prefix of the options. It also returns the issues
// that are sought; nil: none. They come with the pull requests.
func LookWith(ctx context.Context, repo *github.Repository, o Options, sought *github.Sought, groups ...string) (Survey, error) {
	r := newSurveyor(repo, o)
	r.issues = sought
	found := Survey{Ignores: map[string][]policy.Ignore{}, Pulls: map[string]github.PullRequest{}, asked: map[string]bool{}}
	branches := make([]string, len(groups))
	for i, g := range groups {
		branches[i] = Branch(g, o.Base, o.Prefix)
		found.asked[branches[i]] = true
	}
	var err error
	if repo.Anonymous() {
		found.newest, found.whole, err = r.public(ctx)
		if sought != nil {
			found.Issues.Err = errors.New("issues are not looked for without a token")
		}
	} else {
		found.heads, err = r.repo.Branches(ctx, r.opts.Prefix)
		if err == nil {
			found.newest, err = r.newest(ctx, branches)
		}
		found.Issues = r.found
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

// newest reads the pull request of each branch that counts, or else the newest one. Without
// GraphQL it makes one request for each branch. If it fails, nothing is proposed: the
// ignores of people would be unknown.
func (r *surveyor) newest(ctx context.Context, branches []string) (map[string]github.PullRequest, error) {
	var latest map[string][]github.PullRequest
	var err error
	if r.issues != nil {
		latest, r.found, err = r.repo.LatestAndIssues(ctx, branches, *r.issues)
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
	return r.counting(latest), nil
}

// counting are the pull requests that count, by branch.
func (r *surveyor) counting(of map[string][]github.PullRequest) map[string]github.PullRequest {
	counting := map[string]github.PullRequest{}
	for branch, pulls := range of {
		if counts := pick(pulls, r.opts.Base); counts != nil {
			counting[branch] = *counts
		}
	}
	return counting
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
	return r.counting(from), whole, nil
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
