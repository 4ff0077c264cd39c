package report

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/verbs"
)

// Fleet is the result of a run over the repositories of an organisation.
type Fleet struct {
	Owner        string
	Listed       int            // repositories that the token sees
	LeftOut      map[string]int // of these, by reason
	Repositories []Outcome      // the other ones, by name
}

// Outcome is the result for one repository.
type Outcome struct {
	Name         string `json:"name"` // OWNER/NAME
	State        State  `json:"state"`
	Modules      int    `json:"modules"`        // root modules
	Pending      int    `json:"pending"`        // of these, whose lock file differs from what it should be
	Left         int    `json:"left"`           // of these, whose lock file was not examined
	PullRequests int    `json:"pull_requests"`  // that were created, updated or closed
	Waits        int    `json:"waits,omitzero"` // pull requests for which there is no room yet
	Requests     int64  `json:"requests"`       // that were made at its turn
}

// State is the result for a repository in a word.
type State string

// The states of repositories.
const (
	UpToDate    State = "up to date"   // each lock file
	NotExamined State = "not examined" // some lock files; all others are up to date
	Outdated    State = "outdated"     // whether or not pull requests could be opened
	NoLockFile  State = "no lock file"
	FleetFailed State = "failed" // completely or in part
	NotReached  State = "not reached"
	Planned     State = "planned"
	NoResult    State = "no result" // its shard has reported nothing about it
)

// States are all states, in the order of the texts.
var States = []State{Outdated, UpToDate, NotExamined, NoLockFile, FleetFailed, NotReached, Planned, NoResult}

// Count is the number of repositories in a state.
func (f Fleet) Count(s State) int {
	return collect.CountIf(f.Repositories, func(r Outcome) bool { return r.State == s })
}

// Waiting is the number of repositories with pull requests that wait for room.
func (f Fleet) Waiting() int {
	return collect.CountIf(f.Repositories, func(r Outcome) bool { return r.Waits > 0 })
}

// OfShards joins the reports of the shards of a run. planned are all repositories
// of the run. Each shard counts only for its own repositories.
func OfShards(planned Fleet, shards ...Report) Report {
	all := Join(shards...)
	all.Verb, all.Stats = verbs.PR, Stats{}
	told := map[string]Outcome{}
	for _, r := range shards {
		all.DryRun = all.DryRun || r.DryRun
		all.Stats.Requests += r.Stats.Requests
		all.Stats.Bytes += r.Stats.Bytes
		all.Stats.Packages += r.Stats.Packages
		all.Stats.Cached += r.Stats.Cached
		all.Stats.PeakBytes = max(all.Stats.PeakBytes, r.Stats.PeakBytes)
		if r.Fleet == nil {
			continue
		}
		for _, f := range r.Fleet.Repositories {
			if before, twice := told[f.Name]; !twice || before.State == NotReached {
				told[f.Name] = f
			}
		}
	}
	all.Fleet = &planned
	var missing []string
	for i, f := range planned.Repositories {
		if of, ok := told[f.Name]; ok {
			planned.Repositories[i] = of
			continue
		}
		planned.Repositories[i].State = NoResult
		missing = append(missing, f.Name)
	}
	if len(missing) > 0 {
		all.Diagnostics = append(all.Diagnostics, problem.Problem{
			Code:    problem.CodeCancelled,
			Message: fmt.Sprintf("there is no result for %s: %s", Count(len(missing), "repository", "repositories"), strings.Join(missing, ", ")),
			Hint:    "run the jobs of their shards again; relock closed nothing there",
		})
	}
	return all
}
