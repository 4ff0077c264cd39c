package organisation

import (
	"cmp"
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// Organisation is an owner whose repositories a run is about, and what it may do in them.
type Organisation struct {
	Owner  string
	Where  []settings.Condition
	MaxNew int // how many pull requests are opened in all
	// Shard is the part of a plan that the run is about, with the prefix of the branches in
	// the plan. Without it, GitHub lists the repositories.
	Shard  *Shard
	Prefix string
	// Memory is the path of what earlier runs know of the repositories; empty: nothing
	// is remembered. Settings identifies those that hold for all repositories, by which
	// what is known was found.
	Memory, Settings string
	// Readers is how many repositories are read at once; 0: as many as usual.
	Readers int
}

// list is the repositories of an owner that a run is about.
type list struct {
	client *github.Client // reads them
	picked picked
	prefix string // of the branches that are listed
	listed int    // with those that are left out
}

// fleet begins the report on the repositories.
func (l list) fleet(owner string) report.Fleet {
	return report.Fleet{Owner: owner, Listed: l.listed, LeftOut: l.picked.left}
}

// readList returns the list of a shard or, without one, of the owner. The request is one in which
// the owner is named.
func readList(ctx context.Context, s *run.Session, a run.Ask, org Organisation) (list, error) {
	if org.Shard == nil {
		return askList(ctx, s, a, org)
	}
	client, err := s.Owner(a, false)
	l := list{client: client, prefix: org.Prefix, listed: len(org.Shard.Repositories)}
	for _, r := range org.Shard.Repositories {
		l.picked.chosen = append(l.picked.chosen, r.known())
	}
	return l, err
}

// askList lists the repositories of an owner and picks among them.
func askList(ctx context.Context, s *run.Session, a run.Ask, org Organisation) (list, error) {
	asks := listOptions(org.Where, a.Settings().PullRequest.BranchPrefix)
	client, err := s.Owner(a, asks.Properties)
	if err != nil {
		return list{}, err
	}
	all, err := client.List(ctx, org.Owner, asks)
	return list{client: client, picked: pickAmong(all, org.Where), prefix: a.Settings().PullRequest.BranchPrefix, listed: len(all)}, err
}

// WithUnlisted adds to the report of an organisation the repositories that GitHub did not
// give: each has failed, or is not reached.
func WithUnlisted(all report.Report, unlisted []Unlisted) report.Report {
	for _, u := range unlisted {
		if d := u.Problem(); !slices.Contains(all.Diagnostics, d) { // a joined report may be joined again
			all.Diagnostics = append(all.Diagnostics, d)
		}
		state := report.FleetFailed
		if u.Unseen {
			state = report.NotReached
		}
		if u.Name != "" {
			all.Fleet.Repositories = append(all.Fleet.Repositories, report.Outcome{Name: u.Name, State: state})
		}
	}
	slices.SortStableFunc(all.Fleet.Repositories, func(a, b report.Outcome) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
