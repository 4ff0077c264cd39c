package outline

import (
	"cmp"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
)

// fewMeasures is the number of measures that one line names.
const fewMeasures = 3

// counsel says which measures would let one provider of a root module reach a
// version. It says of each measure only what is known. Places are details: root
// modules that need the same change get the same words.
type counsel struct {
	d       Vocabulary
	addr    provider.Addr
	version provider.Version
}

// adviceOf says which change would let a provider move; empty if no change is
// known.
func adviceOf(k report.Kept, d Vocabulary) safe.Markdown {
	for _, h := range k.Held {
		if len(h.Help.Measures) > 0 {
			return counsel{d, k.Addr, h.Help.Version}.said(h.Help)
		}
	}
	return safe.Markdown{}
}

func (c counsel) said(a upgrade.Advice) safe.Markdown {
	var texts []safe.Markdown
	for _, m := range a.Measures[:min(len(a.Measures), fewMeasures)] {
		texts = append(texts, c.measure(m))
	}
	if rest := len(a.Measures) - fewMeasures; rest > 0 {
		texts = append(texts, safe.Count(rest, "other place", "other places"))
	}
	text := safe.Join(", and ", texts...)
	if a.Leaves != a.Version && !a.Leaves.IsZero() {
		text = text.And("; that leaves %s", c.d.Version(a.Leaves))
	}
	return text
}

// measure says how one place must change so that it allows the version.
func (c counsel) measure(m upgrade.Measure) safe.Markdown {
	name := moduleName(m.Call)
	release := safe.Format("%s %s", name, safe.Text(m.Release))
	switch m.Kind {
	case upgrade.MeasureEdit:
		return c.edit(m)
	case upgrade.MeasureListed:
		list := safe.Const("by the registry's list")
		if m.ByName {
			list = safe.Format("by the registry's list, which has no source of %s", c.d.Name(c.addr))
		}
		return safe.Format("%s, %s allows %s%s", list, release, c.d.Version(c.version), c.setVersion(m))
	case upgrade.MeasureRead:
		return safe.Format("%s allows %s%s", release, c.d.Version(c.version), c.setVersion(m))
	case upgrade.MeasureRefuted:
		c.d.origins = nil // the term is of another release of the module
		return safe.Format("%s was read and does not allow %s: %s", release, c.d.Version(c.version), c.d.bound(m.Against).And(" at %s", c.d.Place(m.Against)))
	case upgrade.MeasureUnread:
		if m.Release == "" {
			return safe.Format("it is not known what newer releases of %s allow: %s", name, safe.Text(m.Why))
		}
		return safe.Format("%s could not be read: %s", release, safe.Text(m.Why))
	case upgrade.MeasureUnknown:
		return safe.Format("ask %s what newer releases of %s allow", c.question(), name)
	case upgrade.MeasureNone:
		if m.Release != "" {
			return safe.Format("by the registry's list, no release of %s up to %s allows %s", name, safe.Text(m.Release), c.d.Version(c.version))
		}
		return safe.Format("no release of %s helps: %s is the newest", name, safe.Text(cmp.Or(m.Call.Version, m.Call.Ref)))
	}
	return safe.Format("nothing in the repository changes %s", c.termOf(m))
}

// edit says how to change a term of this repository.
func (c counsel) edit(m upgrade.Measure) safe.Markdown {
	if m.Becomes.Op == 0 {
		return safe.Format("%s goes", c.termOf(m))
	}
	becomes := m.Term
	becomes.Constraint = m.Becomes
	return safe.Format("%s becomes %s", c.termOf(m), c.d.bound(becomes))
}

func (c counsel) termOf(m upgrade.Measure) safe.Markdown {
	return c.d.bound(m.Term).And("%s", safe.Detail(" at %s", c.d.At(m.Term.Place)))
}

// setVersion says which version argument lets a call take a release.
func (c counsel) setVersion(m upgrade.Measure) safe.Markdown {
	text := `version = "` + m.Release + `"`
	if m.Call.Version == "" {
		text = "ref=" + m.Release
	}
	set := safe.Format(": set %s", safe.Code(text))
	if m.Call.Constraint != "" {
		set = set.And(" in place of %s", safe.Code(`"`+m.Call.Constraint+`"`))
	}
	return set.And("%s", safe.Detail(" at %s", c.d.At(m.Call.Place)))
}

// question is the command that finds out the unknown part.
func (c counsel) question() safe.Markdown {
	if c.d.comments {
		return safe.Code("/relock why " + c.d.Called(c.addr))
	}
	return safe.Code("relock why " + c.d.Called(c.addr))
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
