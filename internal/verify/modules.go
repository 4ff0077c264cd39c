package verify

import (
	"cmp"
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
)

// Policy is the rules for verifying root modules. The zero value has the demands that fit
// every repository.
type Policy struct {
	// Only restricts the run to these providers; empty means all.
	Only []provider.Pattern
	// Strict turns findings into errors if only a mirror or a registry confirms a hash.
	Strict bool
	// Severities are the configured severities of findings, by code.
	Severities settings.Severities
	// Platforms are the platforms that every entry must cover. Their packages are looked at
	// first.
	Platforms []provider.Platform
	// Keep names providers whose entries may stay although nothing requires them.
	// KeepUnreferenced allows it for all providers.
	Keep             []provider.Pattern
	KeepUnreferenced bool
	// Signers are the keys that may sign.
	Signers provider.Signers
	// Ledger is the record of earlier runs; nil if there is none.
	Ledger *ledger.Ledger
	// Baseline has the accepted findings; nil if there are none.
	Baseline *ledger.Baseline
	// Recheck is how many packages in the hash cache are downloaded and hashed again. Seed
	// selects them.
	Recheck int
	Seed    string
	// Packages inspects the packages that the entries cover.
	Packages bool
	// Offline says that no question may be asked.
	Offline bool
	// Options are the options that Judge also has.
	Options Options
}

// Verification has the findings about one root module.
type Verification struct {
	Module   scan.RootModule
	Findings []problem.Problem
	// Accepted are the findings that the baseline accepts. Findings does not have them.
	Accepted []ledger.Acceptance
	// Counts has the number of hashes of the lock file for each verdict.
	Counts Counts
	// Unchecked says which parts of the root module could not be judged, and why.
	Unchecked []string
	// Seen are the packages of the verified lists, for a ledger.
	Seen []ledger.Sighting
}

// Prove gives every hash of every lock file its verdict. Results are in the order of
// modules. After ctx is done, each open question leaves its hash unproven. The diagnostics
// are failures of the run: registries that gave no answer at all.
func Prove(ctx context.Context, src Source, modules []scan.RootModule, p Policy) ([]Verification, []problem.Problem) {
	a := newAccountant(ctx, src, p.Options, p.Strict)
	entries := make([][]*accountCase, len(modules))
	for i, m := range modules {
		entries[i] = p.open(a, m)
	}
	if !p.Offline {
		a.account()
	}
	var problems []problem.Problem
	if p.Recheck > 0 && !p.Offline {
		problems = recheck(a, p.Recheck, p.Seed)
	}
	if p.Packages {
		inspector{ask: a.ask, allowance: p.Options.Allowance, platforms: p.Platforms}.look(a.order)
	}
	known := a.index()
	results := make([]Verification, len(modules))
	for i, m := range modules {
		results[i] = p.result(m, entries[i], known)
	}
	return results, append(problems, a.outages()...)
}

// open gives the accountant the entries of a root module. It returns the case of each
// entry, nil for entries that are left out.
func (p *Policy) open(a *accountant, m scan.RootModule) []*accountCase {
	if m.Lock == nil {
		return nil
	}
	cases := make([]*accountCase, len(m.Lock.Locks))
	for i, l := range m.Lock.Locks {
		if !p.about(l.Addr) {
			continue
		}
		c := a.open(i, Suspect{Tool: m.Tool, Lock: l, Path: m.Lock.Path, Covered: p.Platforms, Depth: Everything})
		switch {
		case p.Offline:
			c.reason = ForOffline
		case p.Options.Admits != nil && !p.Options.Admits(string(l.Addr.Host)):
			c.reason = ForHost
		}
		cases[i] = c
	}
	return cases
}

// result judges a root module. known has the hashes of all releases of the run.
func (p *Policy) result(m scan.RootModule, cases []*accountCase, known map[provider.Hash]ask.Question) Verification {
	r := Verification{Module: m, Counts: Counts{}}
	for i, c := range cases {
		if c != nil {
			l := m.Lock.Locks[i]
			judgedEntry{scribe: scribe{lock: l, path: m.Lock.Path, result: &r}, policy: p, of: c, judged: c.proofs(l), known: known}.report()
		}
	}
	compareForm(&r, p)
	for i, f := range r.Findings {
		if f.Severity == problem.SeverityError { // an error has its own message
			f.Severity = SeverityOf(p.Severities, f.Code, p.Strict)
		}
		r.Findings[i] = withHelp(f)
	}
	slices.SortStableFunc(r.Findings, ByEntry)
	r.Findings, r.Accepted = p.Baseline.Accept(r.Findings)
	return r
}

// withHelp is a finding with the hint of its code, unless it has one.
func withHelp(f problem.Problem) problem.Problem {
	meaning, _ := problem.MeaningOf(f.Code)
	f.Hint = cmp.Or(f.Hint, meaning.Next(f))
	return f
}

// about reports whether the run is about a provider.
func (p *Policy) about(addr provider.Addr) bool {
	return len(p.Only) == 0 || slices.ContainsFunc(p.Only, func(some provider.Pattern) bool { return some.Match(addr) })
}

// acceptsReReleased reports whether the release of an entry may have been replaced.
func (p *Policy) acceptsReReleased(l lockfile.Lock) bool {
	return slices.ContainsFunc(p.Options.AcceptReReleased, func(some provider.ReleasePattern) bool { return some.Match(l.Addr, l.Version) })
}

// pinned reports whether the configuration says who may sign a provider.
func (p *Policy) pinned(addr provider.Addr) bool {
	for some := range p.Signers {
		if some.Match(addr) {
			return true
		}
	}
	return false
}

func (r *Verification) add(f problem.Problem) *problem.Problem {
	r.Findings = append(r.Findings, f)
	return &r.Findings[len(r.Findings)-1]
}
