package run

import (
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
)

// Visit is what a run over many repositories passes on for one of them.
type Visit struct {
	// Known is the entry of the repository in a list, and Prefix is that of the branches in
	// Known.Heads. Without it, relock asks GitHub.
	Known  *github.Listed
	Prefix string
	// Budget bounds what is opened and written; nil: only the settings do.
	Budget pr.Budget
	// Lookup collects names in the request that the repository lacks. Repositories that are
	// planned at the same time have one each.
	Lookup *Lookup
	// board is the board of the repository's issue; nil: it has none.
	board *board
}

// unmarked reports whether a list shows that the repository has no branch of ours, with the
// prefix of its settings.
func (v Visit) unmarked(base, prefix string) bool {
	return v.Known != nil && v.Known.Heads != nil && len(v.Known.Heads) == 0 && v.Prefix == prefix && base == v.Known.Branch
}

// KeepDone copies what was done to pull requests from an earlier report of the same run.
func KeepDone(r, before report.Report) report.Report {
	for _, done := range before.PullRequests {
		if done.Operation == string(pr.None) {
			continue
		}
		i := slices.IndexFunc(r.PullRequests, func(p report.PullRequest) bool { return p.Branch == done.Branch })
		switch {
		case i < 0:
			r.PullRequests = append(r.PullRequests, done)
		case r.PullRequests[i].Operation == string(pr.None) || done.Operation == string(pr.Created):
			r.PullRequests[i].Operation, r.PullRequests[i].Reason = done.Operation, ""
		}
	}
	return r
}
