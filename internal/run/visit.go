package run

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Visit is what a run over many repositories passes on for one of them.
type Visit struct {
	// Known is the entry of the repository in a list, and Prefix is that of the branches in
	// Known.Heads. Without it, relock asks GitHub.
	Known  *github.Listed
	Prefix string
	// Budget bounds what is opened and written; nil: only the settings do.
	Budget pr.Budget
	// Recorder receives what the plans depend on; nil: it is not recorded.
	Recorder Recorder
	// Lookup collects names in the request that the repository lacks. Repositories that are
	// planned at the same time have one each.
	Lookup *Lookup
	// board is the board of the repository's issue; nil: it has none.
	board *board
}

// Recorder receives what the plans of a repository depend on, apart from its files.
type Recorder interface {
	// Planned is called after each plan, before anything is written. ctx is that
	// of the run's questions.
	Planned(ctx context.Context, b Basis)
}

// Basis is what one plan depends on, apart from the files of the repository.
type Basis struct {
	Branch    string // branch of the plan
	AutoMerge bool   // some pull requests use auto-merge
	Results   []upgrade.Result
	Releases  upgrade.Source // source of the answers in these results
}

// recordPlan passes a plan to the recorder of the visit.
func recordPlan(ctx context.Context, j job, p planned) {
	if j.visit.Recorder == nil {
		return
	}
	b := Basis{Branch: j.target.base, AutoMerge: j.settings.AutoMerges(), Releases: j.source}
	for _, f := range p.found {
		b.Results = append(b.Results, f.result)
	}
	j.visit.Recorder.Planned(ctx, b)
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
