package outline

import (
	"cmp"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// counsel says which measures let one provider of a root module reach a version, or why none
// does. It says of each measure only what is known. Places are details: root modules that
// need the same change get the same words.
type counsel struct {
	d       Vocabulary
	addr    provider.Addr
	version provider.Version
	newest  provider.Version // the held release that the reader has just read about
}

// adviceOf says which change would let a provider move, and the places of it; empty if
// constraints do not hold it.
func adviceOf(k report.Kept, d Vocabulary) (said safe.Markdown, places []problem.Place) {
	for _, h := range k.Held {
		if len(h.Help.Measures) == 0 && h.Help.Rule == (policy.Hold{}) {
			continue
		}
		if h.Help.Helps() {
			places = collect.Mapped(h.Help.Measures, upgrade.Measure.At)
		}
		d.named = collect.Mapped(termsOf(k), func(t scan.Term) problem.Place { return t.Place })
		return counsel{d, k.Addr, h.Help.Version, h.Version}.said(h.Help), places
	}
	return safe.Markdown{}, nil
}

// termsOf are the terms that hold a provider, with their places.
func termsOf(k report.Kept) (all []scan.Term) {
	for _, h := range k.Held {
		all = append(append(all, h.Term), h.Others...)
	}
	return collect.Those(all, func(t scan.Term) bool { return t.Place.Path != "" })
}

func (c counsel) said(a upgrade.Advice) safe.Markdown {
	switch {
	case a.Helps():
		return c.changes(a)
	case a.Rule != (policy.Hold{}):
		return safe.Format("no change of a constraint helps: every newer release is held %s", c.d.because(upgrade.Held{By: a.Rule}))
	case a.Measures[0].Kind == upgrade.MeasureUnknown:
		return safe.Format("%s says what newer releases of %s allow", c.question(), moduleName(a.Measures[0].Call))
	}
	if a.Measures[0].Kind == upgrade.MeasureUnread {
		return safe.Format("no change is known to help: %s", c.reason(a.Measures[0]))
	}
	return safe.Format("no single change helps: %s", c.reason(a.Measures[0]))
}

// changes says what to change. All of it must change together.
func (c counsel) changes(a upgrade.Advice) safe.Markdown {
	var texts, grounds []safe.Markdown
	for _, m := range a.Measures {
		texts = append(texts, c.change(m))
		if m.Kind == upgrade.MeasureListed {
			ground := safe.Format("by the registry's list, %s %s allows that, but the list has no ", moduleName(m.Call), safe.Text(m.Release))
			if m.ByName {
				ground = ground.And("source of %s, and no ", c.d.Name(c.addr))
			}
			grounds = append(grounds, ground.And("%s", safe.Code("required_version")))
		}
	}
	it := safe.Const("it")
	if a.Version != c.newest {
		it = c.d.Version(a.Version)
	}
	text := safe.Format("to take %s, ", it)
	if len(a.Measures) > 1 {
		text = text.And("make these changes together: ")
	}
	text = text.And("%s", safe.Join(", and ", texts...))
	return text.AndMaybe(" (%s)", safe.Join("; ", grounds...))
}

// change says how one line must change.
func (c counsel) change(m upgrade.Measure) safe.Markdown {
	return safe.Hint(m.Words()).And("%s", safe.Detail(" at %s", c.d.At(m.At())))
}

// reason says why one place cannot change so that it allows the version.
func (c counsel) reason(m upgrade.Measure) safe.Markdown {
	name := moduleName(m.Call)
	release := safe.Format("%s %s", name, safe.Text(m.Release))
	c.d.origins = nil // the terms may be of another release of the module
	switch m.Kind {
	case upgrade.MeasureRefuted:
		if m.Against == (scan.Term{}) {
			return safe.Format("%s does not require %s", release, c.d.Name(c.addr))
		}
		return safe.Format("%s was read and does not allow %s: %s", release, c.d.Version(c.version), c.term(m.Against))
	case upgrade.MeasureClash:
		after := safe.Markdown{}
		if m.Release != "" {
			after = safe.Format(" with %s", release)
		}
		return safe.Format("no release of %s is left%s, since %s and %s exclude each other", c.d.Name(m.Provider), after, c.term(m.Term), c.term(m.Against))
	case upgrade.MeasureUnread:
		if m.Release == "" {
			return safe.Format("it is not known what newer releases of %s allow: %s", name, safe.Text(m.Why))
		}
		return safe.Format("%s could not be read: %s", release, safe.Text(m.Why))
	case upgrade.MeasureNone:
		if m.Release != "" {
			return safe.Format("by the registry's list, no release of %s up to %s allows %s", name, safe.Text(m.Release), c.d.Version(c.version))
		}
		return safe.Format("%s is the newest release of %s", safe.Text(cmp.Or(m.Call.Version, m.Call.Ref)), name)
	}
	return safe.Format("nothing in the repository changes %s%s", c.d.bound(m.Term), safe.Detail("%s", c.d.where(m.Term)))
}

// term is a term with its place, if that is known.
func (c counsel) term(t scan.Term) safe.Markdown {
	if t.Place == (problem.Place{}) {
		return c.d.bound(t)
	}
	return c.d.bound(t).And("%s", safe.Detail(" at %s", c.d.Place(t)))
}

// question is the command that finds out the unknown part.
func (c counsel) question() safe.Markdown {
	command := "relock why " + c.d.Called(c.addr)
	if c.d.comments {
		command = "/" + command
	}
	return safe.Code(command)
}

// moduleName is the short name of a module: its name in a registry, or its
// source.
func moduleName(c upgrade.HoldingCall) safe.Markdown {
	pkg, _, _ := strings.Cut(c.Source, "//")
	if parts := strings.Split(pkg, "/"); c.Version != "" && len(parts) >= 3 {
		return safe.Text(parts[len(parts)-2])
	}
	return safe.Code(c.Source)
}
