package organisation

import (
	"cmp"
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/run"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/report"
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
}

// list is the repositories of an owner that a run is about.
type list struct {
	client *github.Client // reads them
	Picked
	prefix string // of the branches that are listed
	listed int    // with those that are left out
}

// fleet begins the report on the repositories.
func (l list) fleet(owner string) report.Fleet {
	return report.Fleet{Owner: owner, Listed: l.listed, LeftOut: l.Left}
}

// readList returns the list of a shard or, without one, of the owner. The request is one in which
// the owner is named.
func readList(ctx context.Context, s *run.Session, req run.Request, org Organisation) (list, error) {
	if org.Shard == nil {
		return askList(ctx, s, req, org)
	}
	client, err := s.Owner(req.Hub, false)
	l := list{client: client, prefix: org.Prefix, listed: len(org.Shard.Repositories)}
	for _, r := range org.Shard.Repositories {
		l.Chosen = append(l.Chosen, r.Listed())
	}
	return l, err
}

// askList lists the repositories of an owner and picks among them.
func askList(ctx context.Context, s *run.Session, req run.Request, org Organisation) (list, error) {
	asks := Asks(org.Where, req.Pull.BranchPrefix)
	client, err := s.Owner(req.Hub, asks.Properties)
	if err != nil {
		return list{}, err
	}
	all, err := client.List(ctx, org.Owner, asks)
	return list{client: client, Picked: Pick(all, org.Where), prefix: req.Pull.BranchPrefix, listed: len(all)}, err
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
			all.Fleet.Repositories = append(all.Fleet.Repositories, report.Fate{Name: u.Name, State: state})
		}
	}
	slices.SortStableFunc(all.Fleet.Repositories, func(a, b report.Fate) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// spare is the part of the requests of an hour, one in so many, that shards leave to
// others who use the same App or token.
const spare = 10

// PlanShards plans a run over the repositories of an owner in shards. What is left of the
// hour's requests is divided between them, and so is what may be made in an hour.
func PlanShards(ctx context.Context, s *run.Session, req run.Request, org Organisation, by Sharing) (Division, error) {
	req.Hub.Owner = org.Owner
	asking, stop := s.Asking(ctx)
	defer stop()
	l, err := askList(asking, s, req, org)
	if err != nil {
		return Division{}, err
	}
	by.MaxNew, by.Requests, by.Contents = org.MaxNew, l.client.Left()*(spare-1)/spare, github.ContentsAnHour*(spare-1)/spare
	return Division{
		Owner: org.Owner, Prefix: l.prefix, Listed: l.listed, LeftOut: l.Left,
		Unlisted: l.Unlisted, Shards: Divide(l.Chosen, by),
	}, nil
}
