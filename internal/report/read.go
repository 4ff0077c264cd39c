package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/upgrade"
)

// FromJSON returns the report that JSON has written of a run that proposes, with what of
// it JSON has. It serves those who join reports; release notes and texts of pull
// requests stay where they are.
func FromJSON(r io.Reader) (Report, error) {
	var doc struct {
		runJSON
		Modules []planJSON `json:"modules"`
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return Report{}, fmt.Errorf("it is no report: %w", err)
	}
	if doc.FormatVersion != formatVersion || doc.PullRequests == nil {
		return Report{}, errors.New("it is no report of the verb pr, or of another version of relock")
	}
	var c checked
	read := Report{Verb: VerbPR, DryRun: doc.Fleet != nil && doc.Fleet.DryRun, Unlocked: doc.Unlocked, Excluded: doc.Excluded, Fleet: doc.Fleet.fleet(), Stats: doc.Stats}
	read.Diagnostics = c.problems(doc.Errors, doc.Warnings)
	for _, m := range doc.Modules {
		read.Modules = append(read.Modules, c.module(m))
	}
	read.PullRequests = list(*doc.PullRequests, func(p PullRequest) PullRequest {
		p.Body = "" // it stays where it is
		return p
	})
	return read, errors.Join(c.wrong)
}

func (f *fleetJSON) fleet() *Fleet {
	if f == nil {
		return nil
	}
	return &Fleet{f.Owner, f.Listed, f.LeftOut, f.Repositories}
}

// checked reads values, and keeps the first thing that is wrong with any.
type checked struct{ wrong error }

// value is what a text stands for; its zero value for none.
func value[T any](c *checked, text string, parse func(string) (T, error)) T {
	var none T
	if text == "" {
		return none
	}
	v, err := parse(text)
	if err != nil && c.wrong == nil {
		c.wrong = fmt.Errorf("it is no report: %w", err)
	}
	return v
}

func (c *checked) addr(text string) provider.Addr { return value(c, text, provider.ParseFullAddr) }

func (c *checked) version(text *string) provider.Version {
	if text == nil {
		return provider.Version{}
	}
	return value(c, *text, provider.ParseVersion)
}

func (c *checked) day(text *string) time.Time {
	if text == nil {
		return time.Time{}
	}
	return value(c, *text, func(s string) (time.Time, error) { return time.Parse(time.DateOnly, s) })
}

func (c *checked) problems(failures, warnings []problemJSON) []problem.Diagnostic {
	var all []problem.Diagnostic
	add := func(severity problem.Severity, problems []problemJSON) {
		for _, p := range problems {
			all = append(all, problem.Diagnostic{
				Severity: severity, Code: p.Code, Message: p.Message, Place: problem.Place{Path: p.File, Line: p.Line}, Hint: p.Hint,
				Addr: c.addr(p.Provider), Host: value(c, p.Host, svchost.ForComparison),
			})
		}
	}
	add(problem.SeverityError, failures)
	add(problem.SeverityWarning, warnings)
	return all
}

func (c *checked) module(m planJSON) Module {
	read := Module{
		Dir: m.Dir, Tool: provider.Tool{Name: m.Tool, Version: value(c, m.ToolVersion, provider.ParseVersion)}, Assumed: m.Assumed,
		Pending: m.Pending, Written: m.Written, Partial: m.Partial, Left: m.Left, HashesOnly: m.HashesOnly, InUse: m.InUse, Diagnostics: c.problems(m.Errors, m.Warnings),
	}
	for _, u := range m.Unread {
		unread := scan.Unread{Module: u.Module, Source: u.Source, Reason: u.Reason, Cause: u.Cause, Place: problem.Place{Path: u.File, Line: u.Line}}
		if u.Provider != "" {
			unread.Code, unread.Entry = problem.CodeUnknownEntry, &tfconfig.OpenEntry{Name: u.Provider, Expression: u.Expression}
		}
		read.Unread = append(read.Unread, unread)
	}
	for _, f := range m.Findings {
		severity, _ := problem.ParseSeverity(f.Severity)
		read.Findings = append(read.Findings, problem.Finding{
			Severity: severity, Code: f.Code, Addr: c.addr(f.Provider), Version: value(c, f.Version, provider.ParseVersion), OfEntry: f.Version != "", Hash: f.Hash,
			Platform: value(c, f.Platform, provider.ParsePlatform), Place: problem.Place{Path: f.File, Line: f.Line, From: f.Column}, ProvenBy: f.ProvenBy, Message: f.Message, Hint: f.Hint,
		})
	}
	facts := map[provider.Addr]*Facts{}
	for _, change := range m.Changes {
		read.Changes = append(read.Changes, c.change(change))
	}
	for i := range read.Changes {
		facts[read.Changes[i].Addr] = &read.Changes[i].Facts
	}
	c.kept(m, &read, facts)
	return read
}

// kept adds what is said of providers that do not change, and of what changes that
// stands beside the change.
func (c *checked) kept(m planJSON, read *Module, changed map[provider.Addr]*Facts) {
	kept := map[provider.Addr]int{} // how they stand in read.Kept, counted from 1
	of := func(addr provider.Addr, at provider.Version) *Facts {
		if kept[addr] == 0 {
			read.Kept = append(read.Kept, Kept{Addr: addr, Version: at})
			kept[addr] = len(read.Kept)
		}
		return &read.Kept[kept[addr]-1].Facts
	}
	for _, h := range m.Held {
		if addr := c.addr(h.Provider); changed[addr] == nil {
			f := of(addr, value(c, h.At, provider.ParseVersion))
			f.Held = append(f.Held, c.held(h.heldJSON))
		}
	}
	for _, missing := range m.Missing {
		addr := c.addr(missing.Provider)
		f := changed[addr]
		if f == nil {
			f = of(addr, value(c, missing.Version, provider.ParseVersion))
		}
		f.Missing, f.Serving = missing.Platforms, c.version(missing.ServedBy)
	}
	slices.SortFunc(read.Kept, func(a, b Kept) int { return a.Addr.Compare(b.Addr) })
}

func (c *checked) change(j changeJSON) Change {
	return Change{
		Change: diff.Change{
			Addr: c.addr(j.Provider), AddrFrom: c.addr(j.ProviderFrom), Kind: diff.Kind(j.Kind), Bump: j.Bump, From: c.version(j.From), To: c.version(j.To),
			ConstraintsFrom: value(c, j.ConstraintFrom, provider.ParseConstraints), ConstraintsTo: value(c, j.Constraints, provider.ParseConstraints),
			Platforms: j.Completed, HashesAdded: j.HashesAdded, HashesRemoved: j.HashesRemoved,
		},
		Facts: Facts{
			Coverage: j.Platforms, Signer: orZero(j.Signer), SignerFrom: orZero(j.SignerFrom), Published: c.day(j.Released), Marks: j.Marks,
			Held: list(j.Held, c.held),
		},
	}
}

// orZero is what a pointer points to; the zero value for nil.
func orZero[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}

func (c *checked) held(h heldJSON) upgrade.Held {
	return upgrade.Held{
		Version: value(c, h.Version, provider.ParseVersion), Reason: h.Reason, Published: c.day(h.Released), Rule: h.Rule, Eligible: c.day(h.Eligible),
		Term:   c.term(termJSON{Text: h.Constraint, Module: h.Module, File: h.File, Line: h.Line}),
		Others: list(h.Also, c.term),
	}
}

func (c *checked) term(t termJSON) scan.Term {
	read := scan.Term{Module: t.Module, Place: problem.Place{Path: t.File, Line: t.Line}}
	if terms := value(c, t.Text, provider.ParseConstraints).Terms(); len(terms) == 1 {
		read.Constraint = terms[0]
	}
	if repository, path, ok := strings.Cut(t.File, "//"); ok {
		read.Place = problem.Place{Path: path, Package: repository, Line: t.Line}
	}
	return read
}
