package run

import (
	"context"

	"github.com/relock-dev/relock/internal/report"
)

// Run carries out an ask: one repository after the other, and in each one base branch after
// the other. Failures of one root module, provider, pull request or repository are in the
// report. An error means that the ask itself cannot be carried out, and is for the person
// who made it.
//
// After an interrupt, which is the end of ctx, Run asks no further questions. It stops
// writing to GitHub after writingTime. The report then says how far the run has come.
func Run(ctx context.Context, s *Session, a Ask) (report.Report, error) {
	ctx, stop := s.bounds.heed(ctx)
	defer stop()
	visit := Visit{Lookup: &Lookup{several: len(a.targets) > 1}}
	all := a.report()
	for i, t := range a.targets {
		if !t.atHand() && s.bounds.isInterrupted() {
			s.bounds.skip(report.Unbegun{Repositories: len(a.targets) - i})
			break
		}
		r, err := makePlan(ctx, s, a, t, visit).Deliver(ctx)
		if t.atHand() { // the only target
			r.Diagnostics = append(r.Diagnostics, visit.Lookup.Problems()...)
			return s.bounds.counted(r, err)
		}
		all = report.Join(all, r)
	}
	all.Diagnostics = append(all.Diagnostics, visit.Lookup.Problems()...)
	return s.bounds.counted(all, nil)
}
