package run

import (
	"context"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// The stages of a run in its statistics. The time for planning does not include the
// questions to registries.
const (
	stageScan     = "scan"
	stageVersions = "versions"
	stageHashes   = "hashes"
	stagePlan     = "plan"
	stageSigners  = "signers"
	stageAccount  = "account"
	stageVerify   = "verify"
	stageRules    = "rules"
	stageDiff     = "diff"
	stageWrite    = "write"
	stagePropose  = "propose"
)

// clock is how long the stages of a run took.
type clock struct {
	ended []report.Stage
	// versions and hashes are the questions to registries.
	versions, hashes span
}

// stage begins a stage. The function that it returns ends it.
func (c *clock) stage(name string) (end func()) {
	began := time.Now()
	return func() { c.ended = append(c.ended, report.Stage{Name: name, Took: report.Elapsed(time.Since(began))}) }
}

// times are the stages. The questions are taken out of planning.
func (c *clock) times() []report.Stage {
	var all []report.Stage
	for _, s := range c.ended {
		if s.Name == stagePlan {
			versions, hashes := report.Elapsed(c.versions.total), report.Elapsed(c.hashes.total)
			all = append(all, report.Stage{Name: stageVersions, Took: versions}, report.Stage{Name: stageHashes, Took: hashes})
			s.Took -= versions + hashes
		}
		all = append(all, s)
	}
	return all
}

// span is the time during which at least one question was open.
type span struct {
	mu    sync.Mutex
	open  int
	since time.Time
	total time.Duration
}

// begin opens a question. The function that it returns closes it.
func (s *span) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	if s.open == 1 {
		s.since = time.Now()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if s.open == 0 {
			s.total += time.Since(s.since)
		}
	}
}

// timed is a source that measures the time of its answers.
type timed struct {
	upgrade.Source
	clock *clock
}

// Versions implements upgrade.Source.
func (t timed) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	defer t.clock.versions.begin()()
	return t.Source.Versions(ctx, tool, addr)
}

// Hashes implements upgrade.Source.
func (t timed) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	defer t.clock.hashes.begin()()
	return t.Source.Hashes(ctx, tool, want)
}
