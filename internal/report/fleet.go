package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fleet is what became of the repositories of an organisation.
type Fleet struct {
	Owner        string
	Listed       int            // repositories that the token sees
	LeftOut      map[string]int // of these, by reason
	Repositories []Fate         // the others, by name
}

// Fate is what became of one repository.
type Fate struct {
	Name         string // OWNER/NAME
	State        State
	Modules      int   // root modules
	Pending      int   // of these, whose lock file differs from what it should be
	PullRequests int   // that were created, updated or closed
	Requests     int64 // that were made at its turn
}

// State says in a word what became of a repository.
type State string

// The states of repositories.
const (
	UpToDate    State = "up to date"
	Outdated    State = "outdated" // whether or not pull requests could be opened
	NoLockFile  State = "no lock file"
	FleetFailed State = "failed" // wholly or in part
	NotReached  State = "not reached"
)

// states are all of them, in the order in which people are told.
var states = []State{Outdated, UpToDate, NoLockFile, FleetFailed, NotReached}

// count is how many repositories are in a state.
func (f Fleet) count(s State) int {
	n := 0
	for _, r := range f.Repositories {
		if r.State == s {
			n++
		}
	}
	return n
}

// sentence says how many repositories there are, and what became of them.
func (f Fleet) sentence() string {
	var parts []string
	for _, s := range states {
		if n := f.count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	var left []string
	for _, reason := range slices.Sorted(maps.Keys(f.LeftOut)) {
		left = append(left, fmt.Sprintf("%d %s", f.LeftOut[reason], reason))
	}
	text := fmt.Sprintf("%s: %s", f.Owner, count(len(f.Repositories), "repository", "repositories"))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if len(left) > 0 {
		text += "; left out: " + strings.Join(left, ", ")
	}
	return text
}

type fleetJSON struct {
	Owner        string         `json:"owner"`
	Listed       int            `json:"listed"`
	LeftOut      map[string]int `json:"left_out"`
	Repositories []fateJSON     `json:"repositories"`
}

type fateJSON struct {
	Name         string `json:"name"`
	State        State  `json:"state"`
	Modules      int    `json:"modules"`
	Pending      int    `json:"pending"`
	PullRequests int    `json:"pull_requests"`
	Requests     int64  `json:"requests"`
}

func fleetOf(f *Fleet) *fleetJSON {
	if f == nil {
		return nil
	}
	left := map[string]int{}
	maps.Copy(left, f.LeftOut)
	return &fleetJSON{f.Owner, f.Listed, left, list(f.Repositories, func(r Fate) fateJSON { return fateJSON(r) })}
}
