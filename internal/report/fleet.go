package report

import "github.com/relock-dev/relock/internal/collect"

// Fleet is the result of a run over the repositories of an organisation.
type Fleet struct {
	Owner        string         `json:"owner"`
	Listed       int            `json:"listed"`       // repositories that the token sees
	LeftOut      map[string]int `json:"left_out"`     // of these, by reason
	Repositories []Outcome      `json:"repositories"` // the other ones, by name
	Overview     *Overview      `json:"-"`            // what people see first; nil without one
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
)

// States are all states, in the order of the texts.
var States = []State{Outdated, UpToDate, NotExamined, NoLockFile, FleetFailed, NotReached}

// Count is the number of repositories in a state.
func (f Fleet) Count(s State) int {
	return collect.CountIf(f.Repositories, func(r Outcome) bool { return r.State == s })
}

// Waiting is the number of repositories with pull requests that wait for room.
func (f Fleet) Waiting() int {
	return collect.CountIf(f.Repositories, func(r Outcome) bool { return r.Waits > 0 })
}
