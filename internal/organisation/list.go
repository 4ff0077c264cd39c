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
	MaxNew int            // the highest number of new pull requests over all shards
	Shard  settings.Shard // to which the run is restricted
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
	return report.Fleet{Owner: owner, Listed: l.listed, LeftOut: l.picked.left, Repositories: []report.Outcome{}}
}

// readList lists the repositories of an owner, whom the ask names, and picks among
// them.
func readList(ctx context.Context, s *run.Session, a run.Ask, org Organisation) (list, error) {
	asks := listOptions(org.Where, a.Settings().PullRequest.BranchPrefix)
	client, err := s.Owner(a, asks.Properties)
	if err != nil {
		return list{}, err
	}
	all, err := client.List(ctx, org.Owner, asks)
	return list{client: client, picked: pickAmong(all, org.Where, org.Shard), prefix: a.Settings().PullRequest.BranchPrefix, listed: len(all)}, err
}

// withUnlisted adds the repositories that GitHub did not give to an
// organisation's report. Each has failed, or was not reached.
func withUnlisted(all report.Report, missing []notGiven) report.Report {
	for _, u := range missing {
		if d := u.problem(); !slices.Contains(all.Diagnostics, d) { // those without a name may have the same
			all.Diagnostics = append(all.Diagnostics, d)
		}
		if u.name != "" {
			all.Fleet.Repositories = append(all.Fleet.Repositories, u.outcome())
		}
	}
	slices.SortStableFunc(all.Fleet.Repositories, func(a, b report.Outcome) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
