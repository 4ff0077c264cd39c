package upgrade

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Advice is the smallest known change by which a person lets a provider move on, although
// constraints hold it, or gives it a version, although its constraints exclude each other.
// The change was made in memory, and all providers of the root module were planned with it.
// The zero value is no advice. relock itself changes no configuration.
type Advice struct {
	// Version is the version that is selected after the measures. If none helps, it is the
	// release that was aimed at.
	Version provider.Version
	// Measures are the changes. All of them are required. If Helps is false, they are the
	// reasons why no change is known.
	Measures []Measure
	// Rule holds every newer release. Then there are no measures.
	Rule policy.Hold
}

// Helps reports whether the measures are changes, and not reasons against them.
func (a Advice) Helps() bool {
	return len(a.Measures) > 0 && !slices.ContainsFunc(a.Measures, func(m Measure) bool { return !m.helps() })
}

// Measure is the part of an Advice that concerns one place, or the reason why nothing is
// known for that place.
type Measure struct {
	Kind MeasureKind `json:"kind"`
	// Term excludes the version. If a module has several such terms, it is the first.
	Term scan.Term `json:"term"`
	// Becomes replaces Term in a MeasureEdit. The zero value says that a person must remove
	// Term, and that the line has other terms.
	Becomes provider.Term `json:"becomes"`
	// Call is the module call that must change. MeasureEdit and MeasureFixed have none.
	Call HoldingCall `json:"call,omitzero"`
	// Release is the version of the module, or its ref, that the measure is about.
	Release string `json:"release,omitempty"`
	// CallBecomes replaces the constraint or the ref of the call. It selects Release.
	CallBecomes string `json:"call_becomes,omitempty"`
	// ByName says that the registry's list names the provider, but not its source.
	ByName bool `json:"by_name,omitempty"`
	// Against is the term that excludes the version in the release that was read
	// (MeasureRefuted), or that excludes Term (MeasureClash).
	Against scan.Term `json:"against,omitzero"`
	// Provider is the provider that has no version after the change (MeasureClash).
	Provider provider.Addr `json:"provider,omitzero"`
	// Why says why the release was not read (MeasureUnread).
	Why string `json:"why,omitempty"`
}

// helps reports whether the measure is a change.
func (m Measure) helps() bool {
	return m.Kind == MeasureEdit || m.Kind == MeasureListed || m.Kind == MeasureRead
}

// Change is the text to change, and the new text. If a literal says it, from is on the line
// of At. An empty to means that from goes, and an empty from that the line says nothing yet.
func (m Measure) Change() (from, to string) {
	switch {
	case m.Kind == MeasureEdit && m.Becomes.Op == 0:
		return m.Term.Text(), ""
	case m.Kind == MeasureEdit:
		return m.Term.Text(), m.Becomes.String()
	case m.Call.Version == "":
		return "ref=" + m.Call.Ref, "ref=" + m.CallBecomes
	case m.Call.Constraint == "":
		return "", "version = \"" + m.CallBecomes + "\""
	}
	return m.Call.Constraint, m.CallBecomes
}

// Words say the change without its place, in the form of a hint.
func (m Measure) Words() string {
	from, to := m.Change()
	text := "change `" + from + "` to `" + to + "`"
	switch {
	case to == "":
		text = "remove `" + from + "`"
	case from == "":
		text = "set `" + to + "`"
	}
	if e := m.Expression(); e != "" {
		text += " in the value of `" + e + "`"
	}
	return text
}

// At is the place of the change.
func (m Measure) At() problem.Place {
	if m.Kind == MeasureEdit {
		return m.Term.Place
	}
	return m.Call.Place
}

// Expression is what is written at the place instead of the text; empty if that is there.
func (m Measure) Expression() string {
	if m.Kind == MeasureEdit {
		return m.Term.Expression
	}
	return m.Call.Expression
}

// HoldingCall is a call of a fetched module that a person can change. It is the outermost
// such call on the way to a term.
type HoldingCall struct {
	Module        string `json:"module"` // path of the call, joined by dots
	problem.Place        // Place of its version or, without one, of its source; its keys are in the same JSON object
	Source        string `json:"source"`               // as in scan.Fetched
	Version       string `json:"version"`              // in use; empty if the module comes from no registry
	Constraint    string `json:"constraint"`           // of the call, as evaluated
	Ref           string `json:"ref"`                  // the ref in the source
	Expression    string `json:"expression,omitempty"` // of the version or the source, if it is no literal
}

// MeasureKind says how much is known about a measure.
type MeasureKind string

// The kinds of measures. The first three are changes, the others reasons against one.
const (
	MeasureEdit    MeasureKind = "edit"    // change a term in the repository
	MeasureListed  MeasureKind = "listed"  // the registry's list says that this release of the module allows the version
	MeasureRead    MeasureKind = "read"    // relock read the module tree of the release, and it allows the version
	MeasureRefuted MeasureKind = "refuted" // relock read the module tree of the release, and it excludes the version
	MeasureUnread  MeasureKind = "unread"  // the module tree of the release could not be read
	MeasureUnknown MeasureKind = "unknown" // newer releases exist; only reading them would say more
	MeasureNone    MeasureKind = "none"    // no newer release of the module allows it
	MeasureFixed   MeasureKind = "fixed"   // no file of the repository can change it
	MeasureClash   MeasureKind = "clash"   // after the change, terms of another provider exclude each other
)

// advised adds advice to each provider that constraints hold, and to each whose constraints
// exclude each other. It sends no requests: it uses the releases that the run has asked for,
// and the module lists that it has anyway.
func advised(roots []root, choices [][]chosen, b behaviour) [][]chosen {
	if !b.tellsHeld {
		return choices
	}
	all := slices.Clone(choices)
	for i, r := range roots {
		if slices.ContainsFunc(choices[i], wantsAdvice) {
			all[i] = newAdviser(r, choices[i], b).advise(choices[i])
		}
	}
	return all
}

// wantsAdvice reports whether a change of the configuration could help the provider.
func wantsAdvice(c chosen) bool {
	return problem.Coded(c.err, problem.CodeNoVersion) || slices.ContainsFunc(c.held, func(h Held) bool { return h.By.Reason == HeldByConstraint })
}

// withAdvice is the choice with this advice.
func withAdvice(c chosen, a Advice) chosen {
	if problem.Coded(c.err, problem.CodeNoVersion) {
		if a.Helps() {
			err := &problem.Error{Problem: problem.Of(c.err)}
			err.Problem.Hint = c.wanted.hint(a, err.Problem.Message)
			c.err = err
		}
		return c
	}
	c.held = slices.Clone(c.held)
	for i := range c.held {
		if c.held[i].By.Reason == HeldByConstraint {
			c.held[i].Help = a
		}
	}
	return c
}

// hint is the advice for a problem of the provider. It does not repeat a place that the
// message names.
func (w *wanted) hint(a Advice, message string) string {
	named := strings.FieldsFunc(message, func(r rune) bool { return r == ' ' || r == ',' })
	return strings.Join(collect.Mapped(a.Measures, func(m Measure) string {
		if slices.Contains(named, m.At().String()) {
			return m.Words()
		}
		return m.Words() + w.at(m.At())
	}), ", and ")
}
