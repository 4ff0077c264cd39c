package run

import (
	"context"
	"runtime/metrics"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
)

// walk goes through the rooms in order. When the time for asking is over, or an
// interrupt comes, what is known is carried through to the end.
func (c *corridor) walk(ctx context.Context) error {
	defer func() { c.report.Stats = c.stats() }()
	asking, stop := c.bounds.asking(ctx)
	defer stop()
	err := c.learn(asking)
	c.tellEnd(asking)
	if err != nil && asking.Err() != nil {
		return nil // it is told, and nothing is known that could be written
	}
	if err != nil {
		return err
	}
	acting, stop := finishing(ctx, asking)
	defer stop()
	switch d := c.target.Destination.(type) {
	case Disk:
		c.write()
	case *Push:
		return c.push(acting, d)
	case Pulls:
		c.propose(acting, asking, d)
	}
	return nil
}

// learn finds the root modules and plans them.
func (c *corridor) learn(ctx context.Context) error {
	if err := c.scan(ctx); err != nil {
		return err
	}
	if err := c.honour(); err != nil {
		return err
	}
	if c.req.Verb == Scan {
		c.tellOutages()
		for _, f := range c.found {
			c.report.Modules = append(c.report.Modules, report.FromScan(f.module).Shown(c.show(f.tree)))
		}
		return nil
	}
	if _, pulls := c.target.Destination.(Pulls); pulls {
		if err := c.prepare(ctx); err != nil {
			return err
		}
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	c.forgive(ctx)
	return nil
}

// corridor is one run on its way.
type corridor struct {
	*Session
	req     Request
	target  Target
	trees   []tree
	found   []found
	source  *registry.Client
	modules *module.Client
	report  report.Report
	stages  []report.Stage // those that have ended
	asked   asked
	lost    map[wish]provider.Diagnostic // directories that were named and are not there

	// For the verb PR.
	hub       hub
	repo      *github.Repository
	proposing proposing
	changed   *changed
	before    func(ctx context.Context) (*Remote, error) // what the change is based on; nil: that is not known
	plans     int                                        // how often the request was planned, this time included
}

// stats says what the run cost.
func (c *corridor) stats() report.Stats {
	s := c.client.Stats()
	peak := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(peak)
	packages, cached := 0, 0
	for _, source := range c.sources {
		packages, cached = packages+source.Packages(), cached+source.Cached()
	}
	return report.Stats{
		Requests: s.Requests, Bytes: s.Bytes,
		Packages: int64(packages), Cached: int64(cached),
		PeakBytes: int64(peak[0].Value.Uint64()), Stages: c.times(),
	}
}
