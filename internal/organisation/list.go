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

// Organisation is an owner whose repositories a run visits, and the limits of the
// run.
type Organisation struct {
	Owner  string
	Where  []settings.Condition
	MaxNew int // the highest number of new pull requests in all
	// Shard is the run's part of a plan, with the plan's prefix of branches.
	// Without it, GitHub lists the repositories.
	Shard  *Shard
	Prefix string
	// Memory is the path of the memory of earlier runs; empty for none. Settings
	// identifies the settings for all repositories with which the memory was
	// made.
	Memory, Settings string
	// Readers is the number of repositories that are read at once; 0 means the
	// default.
	Readers int
}

// list is the repositories of an owner for a run.
type list struct {
	client *github.Client // reads them
	picked picked
	prefix string // of the branches that are listed
	listed int    // including those that are left out
}

// fleet begins the report on the repositories.
func (l list) fleet(owner string) report.Fleet {
	return report.Fleet{Owner: owner, Listed: l.listed, LeftOut: l.picked.left}
}

// readList returns the list of a shard or, without one, of the owner. The ask
// names the owner.
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

// WithUnlisted adds the repositories that GitHub did not give to an
// organisation's report. Each has failed, or was not reached.
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
