package run

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// explainAll makes the report of why: what root modules require, what holds back the
// providers in question, and which change would release them.
func explainAll(ctx context.Context, j job, p planned) planned {
	p.options = planOptions(j, p)
	all := withPlugins(j, p.found)
	explained := make([]upgrade.Result, len(all))
	sources, divided := bySource(j, all)
	for at, source := range sources {
		indices := divided[at]
		reader := newRereader(j, p, indices)
		for n, r := range upgrade.Examine(ctx, source, modulesAt(all, indices), p.options, reader) {
			explained[indices[n]] = r
		}
	}
	p = describeAll(j, p)
	for i, r := range explained {
		m := &p.report.Modules[i]
		m.Diagnostics = append(m.Diagnostics, r.Diagnostics...)
		for _, s := range r.Selections {
			if len(s.Held) > 0 {
				m.Kept = append(m.Kept, report.Kept{Addr: s.Requirement.Addr, Version: s.To, Facts: upgrade.Facts{Held: s.Held}})
			}
		}
	}
	return p
}

// mostRead is how many module packages are fetched for each module that holds back a
// provider: its other release, and a module that this calls, or a second release.
const mostRead = 2

// rereader reads root modules again with other releases of modules. It implements
// upgrade.Rereader.
type rereader struct {
	job     job
	planned planned
	indices []int // indexes in planned.found of the root modules in question
	mu      sync.Mutex
	// fetched are the calls whose packages the run has fetched. left is how many more it
	// may fetch.
	fetched map[upgrade.ToolCall]bool
	left    int
	// holders are the calls that were replaced by others.
	holders map[upgrade.ToolCall]bool
}

func newRereader(j job, p planned, indices []int) *rereader {
	r := &rereader{job: j, planned: p, indices: indices, fetched: map[upgrade.ToolCall]bool{}, holders: map[upgrade.ToolCall]bool{}}
	for _, f := range p.found {
		for _, call := range f.module.All().Fetched {
			r.fetched[upgrade.ToolCall{Tool: f.module.Tool.Name, Call: call.Call}] = true
		}
	}
	return r
}

// Latest implements upgrade.Rereader.
func (r *rereader) Latest(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Call, string, error) {
	if r.job.settings.Offline {
		return scan.Call{}, "", nil
	}
	return r.job.modules.Latest(ctx, tool, call)
}

// Reread implements upgrade.Rereader. It reads each file tree again in the same way.
func (r *rereader) Reread(ctx context.Context, modules []scan.RootModule, call upgrade.ToolCall, instead scan.Call) []scan.RootModule {
	if !r.holders[call] {
		r.holders[call], r.left = true, r.left+mostRead
	}
	var source scan.Source
	if there := fetching(r.job); there != nil {
		source = substituted{there, r, call, instead}
	}
	again := make([]scan.RootModule, len(modules))
	for _, t := range r.planned.trees {
		wanted := map[string]int{}
		for n, i := range r.indices {
			if r.planned.found[i].tree.name() == t.name() && has(modules[n], call) {
				wanted[modules[n].Dir] = n
			}
		}
		if len(wanted) == 0 {
			continue
		}
		opts := scanOptions(r.job, r.planned.extent, t)
		opts.Wanted = func(m scan.RootModule) bool { _, ok := wanted[m.Dir]; return ok }
		read, _, err := rootModules(ctx, t.FS(), unitOptions(r.job, source, opts))
		if err != nil {
			continue // root modules without a directory
		}
		for _, m := range read {
			if n, ok := wanted[m.Dir]; ok {
				again[n] = markUncontacted(r.job, m)
			}
		}
	}
	return again
}

// has reports whether a root module has a call.
func has(m scan.RootModule, call upgrade.ToolCall) bool {
	return m.Tool.Name == call.Tool && slices.ContainsFunc(m.All().Fetched, func(f scan.Fetched) bool { return f.Call == call.Call })
}

// mayFetch reports whether the package of a call may be fetched, and counts new packages.
func (r *rereader) mayFetch(call upgrade.ToolCall) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.fetched[call] && r.left > 0 {
		r.fetched[call], r.left = true, r.left-1
	}
	return r.fetched[call]
}

// substituted is a Source that replaces a call by another one. The reader's bound applies.
type substituted struct {
	scan.Source
	reader  *rereader
	call    upgrade.ToolCall
	instead scan.Call
}

// Fetch implements scan.Source.
func (s substituted) Fetch(ctx context.Context, tool provider.Tool, call scan.Call) (scan.Package, error) {
	if s.call == (upgrade.ToolCall{Tool: tool.Name, Call: call}) {
		call = s.instead
	}
	if !s.reader.mayFetch(upgrade.ToolCall{Tool: tool.Name, Call: call}) {
		return scan.Package{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeUnreadModule, Message: fmt.Sprintf("no more than %d module packages are fetched for each module that holds a provider", mostRead),
		}}
	}
	return s.Source.Fetch(ctx, tool, call)
}
