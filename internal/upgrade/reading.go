package upgrade

import (
	"slices"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// mostRereads is how often root modules are read again: first with one candidate for each
// module, then with the newest release of each module whose candidate does not help.
const mostRereads = 2

// examine reads the releases of modules that could help the held providers, and adds the
// findings to their advice.
func examine(modules []scan.RootModule, choices [][]chosen, b behaviour, world rereading) {
	e := trials{modules: modules, behaviour: b, instead: map[ToolCall]readRelease{}}
	for i, choice := range choices {
		for _, c := range choice {
			e.open = append(e.open, openIn(i, c)...)
		}
	}
	for range mostRereads {
		if !e.propose(world) {
			break
		}
		e.judge(world.again(modules, e.calls()))
	}
}

// trials are the module releases to read, and the advice that depends on them.
type trials struct {
	modules   []scan.RootModule
	behaviour behaviour
	open      []openAdvice
	instead   map[ToolCall]readRelease
}

// openAdvice is the advice for a provider of a root module, with the holder of each
// measure.
type openAdvice struct {
	module  int
	choice  chosen
	advice  *Advice
	holders []holder
}

// readRelease is a release of a module that is read instead of the one in use.
type readRelease struct {
	call    scan.Call
	release string
	number  *goversion.Version // nil: the module comes from no registry
}

// openIn is the advice for a provider, or none if no constraint holds it.
func openIn(module int, c chosen) []openAdvice {
	for i := range c.held {
		if a := &c.held[i].Help; len(a.Measures) > 0 {
			return []openAdvice{{module, c, a, c.wanted.holders(a.Version)}}
		}
	}
	return nil
}

// calls are the replacement of each call.
func (e *trials) calls() map[ToolCall]scan.Call {
	calls := map[ToolCall]scan.Call{}
	for key, c := range e.instead {
		calls[key] = c.call
	}
	return calls
}

// propose notes which release of each module is read next. If one call has several
// candidates, it is the newest. propose reports whether there is a release that has not
// been read.
func (e *trials) propose(world rereading) bool {
	further := false
	for _, o := range e.open {
		for i := range o.advice.Measures {
			m, h := &o.advice.Measures[i], o.holders[i]
			if h.call == nil {
				continue
			}
			key := ToolCall{h.wanted.tool.Name, h.call.Call}
			before, tried := e.instead[key]
			next, why := nextRelease(world, *m, h)
			switch {
			case why != "":
				m.Kind, m.Why = MeasureUnread, why
			case next.release == "":
				if m.Kind == MeasureUnknown {
					m.Kind = MeasureNone
				}
			case !tried, next.number != nil && before.number != nil && next.number.GreaterThan(before.number):
				e.instead[key], further = next, true
			}
		}
	}
	return further
}

// nextRelease is the release of a module that is read next, or none if all are read. why
// says what prevents an answer.
func nextRelease(world rereading, m Measure, h holder) (_ readRelease, why string) {
	_, above, listed := h.call.Versions.Above(h.call.Version)
	release := ""
	switch {
	case m.Kind == MeasureListed:
		release = m.Release
	case m.Kind != MeasureUnknown && m.Kind != MeasureRefuted:
		return readRelease{}, ""
	case listed && len(above) > 0:
		release = above[len(above)-1].Version
	case h.call.Versions != nil:
		return readRelease{}, "its registry does not list the version in use"
	default:
		call, release, err := world.latest(h.wanted.tool, h.call.Call)
		if err != nil {
			return readRelease{}, problem.Of(err).Message
		}
		switch {
		case release == "":
			return readRelease{}, "it comes from no registry, and no ref with a version says which release is in use"
		case call == h.call.Call:
			return readRelease{}, ""
		}
		return readRelease{call: call, release: release}, ""
	}
	number, err := goversion.NewVersion(release)
	if err != nil {
		return readRelease{}, "its registry lists no version of that name"
	}
	call := h.call.Call
	call.Version, call.Versioned = "= "+release, true
	return readRelease{call, release, number}, ""
}

// judge records for each measure what reading its release has shown, and which version
// remains after all measures.
func (e *trials) judge(reread []scan.RootModule) {
	for _, o := range e.open {
		now := root{}
		if reread[o.module].Dir != "" {
			now = want(reread[o.module], e.behaviour)
		}
		addr := o.choice.wanted.addr()
		var terms []scan.Term
		if r := requirementFor(now.module.Tree.Requirements, addr); r != nil {
			terms = r.Terms
		}
		left := o.choice.wanted.requirement.Terms
		for i := range o.advice.Measures {
			m, h := &o.advice.Measures[i], o.holders[i]
			if h.call == nil {
				left = h.taken(*m, left)
				continue
			}
			read, ok := e.instead[ToolCall{h.wanted.tool.Name, h.call.Call}]
			if !ok {
				continue
			}
			below := func(t scan.Term) bool { return isBelow(t.Module, h.call.Module) }
			m.Release, m.ByName = read.release, false
			m.Kind, m.Why, m.Against = findingOf(e.modules[o.module], now, h.call.Module, collect.Those(terms, below), o.advice.Version)
			if m.Kind == MeasureRead {
				left = append(collect.Those(left, func(t scan.Term) bool { return !below(t) }), collect.Those(terms, below)...)
			}
		}
		o.advice.Leaves = reached(o.choice, scan.Requirement{Terms: left}.Constraints())
	}
}

// findingOf is the finding about a module in a tree with another release of it. terms are
// those of the module and of the ones that it calls.
func findingOf(before scan.RootModule, now root, module string, terms []scan.Term, v provider.Version) (kind MeasureKind, why string, against scan.Term) {
	if now.module.Dir == "" {
		return MeasureUnread, "the root module could not be read again", against
	}
	for _, u := range now.module.Tree.Unread {
		if isBelow(u.Module, module) {
			return MeasureUnread, u.Reason, against
		}
	}
	for _, d := range now.module.Tree.Diagnostics {
		if d.Severity == problem.SeverityError && !slices.Contains(before.Tree.Diagnostics, d) {
			return MeasureUnread, d.Message, against
		}
	}
	for _, t := range terms {
		if excludes(t, v) {
			return MeasureRefuted, "", t
		}
	}
	return MeasureRead, "", against
}
