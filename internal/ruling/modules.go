package ruling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Modules are the entries of the lock file of modules of a root module.
type Modules struct {
	Dir, Path string
	Tool      provider.Tool
	Entries   []modulelock.Entry
	// Before are the entries that the file had. Compared says that they are known. Otherwise
	// nothing counts as changed.
	Before   []modulelock.Entry
	Compared bool
}

// ModuleDates say when registries published versions of modules.
type ModuleDates interface {
	// Published returns the date of a version, or the zero time if its registry states none.
	Published(ctx context.Context, tool provider.Tool, address, version string) (time.Time, error)
}

// Judge compares the entries with the rules, as Make does those of providers. The first entry
// of a module is what init selects, so a change may add it in any version. It asks for dates
// of binding entries only; nil dates may not be asked for. undecided are the errors about
// entries that could not be judged.
func (m Modules) Judge(ctx context.Context, dates ModuleDates, o Options) (findings, undecided []problem.Problem) {
	for _, e := range m.Entries {
		rules, from := o.Rules.AboutModule(m.Dir, e.Address), m.from(e)
		changed := m.Compared && !slices.ContainsFunc(m.Before, e.Equal)
		binding, first := changed || o.All, changed && from == "" && !o.All
		var date learned[time.Time]
		if binding && !first && rules.NeedsDate(from, e.Version) {
			date = m.date(ctx, dates, e)
		}
		if date.err != nil {
			d := problem.Of(date.err)
			d.Severity, d.Place, d.About = problem.SeverityError, problem.Place{Path: m.Path, Line: e.Line()}, e.Key.String()
			d.Message = undecidedText(e.Key.String(), "it is not known when it was published", d.Message)
			undecided = append(undecided, d)
		}
		for _, b := range rules.Breaches(from, e.Version, date.value) {
			if b.Code == problem.CodeProviderRefused || !first && (b.Code != problem.CodeTooYoung || date.known()) {
				findings = append(findings, m.finding(e, b, o.severity(b.Code, binding)))
			}
		}
	}
	return findings, undecided
}

// date asks when the version of an entry was published.
func (m Modules) date(ctx context.Context, dates ModuleDates, e modulelock.Entry) learned[time.Time] {
	if dates == nil {
		return learned[time.Time]{asked: true, err: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "nobody is asked with --offline"}}}
	}
	at, err := dates.Published(ctx, m.Tool, e.Address, e.Version)
	return learned[time.Time]{at, true, err}
}

// from is the newest version that the module had before; empty without one.
func (m Modules) from(e modulelock.Entry) string {
	newest := ""
	for _, old := range m.Before {
		was, err := provider.ParseVersion(old.Version)
		best, none := provider.ParseVersion(newest)
		if old.Address == e.Address && err == nil && (none != nil || was.Compare(best) > 0) {
			newest = old.Version
		}
	}
	return newest
}

// finding says which rule refuses an entry, and what to do.
func (m Modules) finding(e modulelock.Entry, b policy.Breach, severity problem.Severity) problem.Problem {
	hint := map[problem.Code]string{
		problem.CodeProviderRefused: "permitted: true",
		problem.CodeVersionRefused:  "allow-versions: \"" + e.Version + "\"",
		problem.CodeTooYoung:        "minimum-age: 0d",
	}
	return problem.Problem{
		Code: b.Code, Severity: severity, Place: problem.Place{Path: m.Path, Line: e.Line()}, About: e.Key.String(),
		Message: refusal(b, e.Address, e.Key.String()),
		Hint:    moduleHelp(e.Address, hint[b.Code]),
	}
}

// moduleHelp is the hint that a later rule lets a module be locked.
func moduleHelp(address, property string) string {
	return fmt.Sprintf("use another module or version, or add a later rule in a pull request of its own: `{modules: [%q], %s}`", address, property)
}
