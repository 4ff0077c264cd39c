package run

import (
	"context"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Visit is what a run over many repositories gives for one of them.
type Visit struct {
	// Known is what a list says of the repository, and Prefix that of the branches in
	// Known.Heads. It saves questions. Without it, GitHub is asked.
	Known  *github.Listed
	Prefix string
	// Budget bounds what is opened and written; nil: the settings alone do.
	Budget pr.Budget
	// Recorder gets what the plans depend on; nil: they are not recorded.
	Recorder Recorder
	// Lookup collects what the request names and the repository lacks. Repositories that are
	// planned for at once have one each.
	Lookup *Lookup
	// board is for the issue of the repository; nil: it has none.
	board *board
}

// Recorder gets what the plans of a repository depend on in addition to its files.
type Recorder interface {
	// Planned is called after each plan, before anything of it is written. The context is
	// that in which the run asks.
	Planned(ctx context.Context, b Basis)
}

// Basis is what one plan depends on in addition to the files of the repository.
type Basis struct {
	Branch    string // that the plan is for
	AutoMerge bool   // some pull requests are to merge by themselves
	Results   []upgrade.Result
	Releases  upgrade.Source // has answered for these results
}

// recordPlan hands a plan to the recorder of the visit.
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

// unmarked reports whether a list has shown that the repository has no branch of ours with
// the prefix that its settings name.
func (v Visit) unmarked(base, prefix string) bool {
	return v.Known != nil && v.Known.Heads != nil && len(v.Known.Heads) == 0 && v.Prefix == prefix && base == v.Known.Branch
}
