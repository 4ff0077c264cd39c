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

// Survey is what was there for some groups when it was looked at.
type Survey struct {
	// Ignores are what people asked relock to ignore, by group.
	Ignores map[string][]policy.Ignore
	// Pulls are the pull requests that count, or else the newest ones, by group.
	Pulls map[string]github.PullRequest
	// former are the names that the base had when branches of ours were named, by
	// branch: it was renamed since.
	former map[string]string
	// heads are the commits of the branches with our prefix; nil if they are not known.
	heads map[string]string
	// newest are the newest pull requests, open or not, by branch.
	newest map[string]github.PullRequest
	// Issues are those of our own that were looked for; the zero value is none.
	Issues github.OwnIssues
	// whole says that the repository has no others, of any branch.
	whole bool
}

// Nothing is the survey of a repository that has no branch of ours, by what somebody
// has listed. It serves a run that has nothing to propose.
func Nothing() Survey { return Survey{heads: map[string]string{}} }

// NothingBut is Nothing with the issues of our own for which is holds: one request.
func NothingBut(ctx context.Context, repo *github.Repository, is func(github.Issue) bool) Survey {
	found := Nothing()
	if _, own, err := repo.LatestAndIssues(ctx, nil, is); err != nil {
		found.Issues.Err = err
	} else {
		found.Issues = own
	}
	return found
}

// Look finds out what people asked relock to ignore for each group: it is in
// the newest pull request of the group to the base, closed ones included. It is
// two requests for all of them, and one more for each that ignores something, to
// see whether it is ours: without a token it is taken for ours. Propose need not ask
// again for what it found.
//
// Where a group has none, a branch of the group may be named for a base that was
// renamed since, and whose pull requests GitHub has taken along: its pull request is
// the group's. That costs two requests for each, until the pull request remembers it.
// The bases are all that there are pull requests for.
func Look(ctx context.Context, repo *github.Repository, base string, bases []string, prefix string, groups ...string) (Survey, error) {
	return LookWith(ctx, repo, Options{Base: base, Bases: bases, Prefix: prefix}, nil, groups...)
}

// LookWith is Look, by the base, the bases and the prefix of the options, with the issues of
// our own for which is holds; nil if relock looks for none. They come with the pull requests.
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

// lookAt asks for the branches and the pull requests of the groups. For a group without
// one it puts in place of its branch that which has the former name of the base.
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

// formers are the branches that a group may have under another name of the base.
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

// behind returns the name that the base had when a branch of the group was named, and
// its newest pull request made; none if that is for another base.
func (r *surveyor) behind(ctx context.Context, group, branch string, pull github.PullRequest) (former string, err error) {
	if pull.Number == 0 || pull.Fork || pull.Open && pull.Base != r.opts.Base {
		return "", nil
	}
	// An open one is for the base, as GitHub has taken it along; a closed one may be for
	// another base that was renamed.
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

// renamed reports whether a branch is gone and has another name now. Where it is
// there, a person has changed the base of a pull request.
func (r *surveyor) renamed(ctx context.Context, old, now string) (bool, error) {
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

// newest asks for the pull request of each branch that counts, or else the newest one;
// where GraphQL does not answer, with a request for each. What people ignore must be
// known: to propose it all the same would be to disregard them.
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
		} else if len(pulls) > 0 { // to a base that has another name by now
			newest[branch] = pulls[0]
		}
	}
	return newest, nil
}

// public asks for the newest pull requests of the repository, and returns that which
// counts for each branch. whole is as in Survey.
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

// recall is what the survey has of a branch that is still at the head of its
// open pull request; nil if there is none.
func (s Survey) recall(branch, base, head string) *github.PullRequest {
	pull, ok := s.newest[branch]
	if !ok || !pull.Open || pull.Fork || pull.Base != base || pull.Head != head {
		return nil
	}
	return &pull
}
