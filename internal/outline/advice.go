package outline

import (
	"cmp"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
)

// fewMeasures is how many measures are named in a line.
const fewMeasures = 3

// advice says what would let a provider go on; empty if there is none. Each measure is
// said as far as it is known, and no further. Without places it is the same for all
// root modules that need the same.
func (d Vocabulary) advice(addr provider.Addr, a upgrade.Advice, places bool) safe.Markdown {
	var texts []safe.Markdown
	for _, m := range a.Measures[:min(len(a.Measures), fewMeasures)] {
		texts = append(texts, d.measure(addr, a.Version, m, places))
	}
	if rest := len(a.Measures) - fewMeasures; rest > 0 {
		texts = append(texts, safe.Count(rest, "other place", "other places"))
	}
	text := safe.Join(", and ", texts...)
	switch {
	case text.Empty() || a.Leaves == a.Version:
	case !a.Leaves.IsZero():
		text = text.And("; that leaves %s", d.Version(a.Leaves))
	}
	return text
}

// measure says what one place has to do so that a version is allowed.
func (d Vocabulary) measure(addr provider.Addr, v provider.Version, m upgrade.Measure, places bool) safe.Markdown {
	name := moduleName(m.Call)
	release := safe.Format("%s %s", name, safe.Text(m.Release))
	switch m.Kind {
	case upgrade.MeasureEdit:
		return d.edit(m, places)
	case upgrade.MeasureListed:
		list := safe.Const("by the registry's list")
		if m.ByName {
			list = safe.Format("by the registry's list, which has no source of %s", d.Name(addr))
		}
		return safe.Format("%s, %s allows %s%s", list, release, d.Version(v), d.setVersion(m, places))
	case upgrade.MeasureRead:
		return safe.Format("%s allows %s%s", release, d.Version(v), d.setVersion(m, places))
	case upgrade.MeasureRefuted:
		return safe.Format("%s was read and does not allow %s: %s", release, d.Version(v), d.term(m.Against, nil))
	case upgrade.MeasureUnread:
		return safe.Format("%s could not be read: %s", release, safe.Text(m.Why))
	case upgrade.MeasureUnknown:
		return safe.Format("ask %s what newer releases of %s allow", d.question(addr), name)
	case upgrade.MeasureNone:
		if m.Release != "" {
			return safe.Format("by the registry's list, no release of %s up to %s allows %s", name, safe.Text(m.Release), d.Version(v))
		}
		return safe.Format("no release of %s helps: %s is the newest", name, safe.Text(cmp.Or(m.Call.Version, m.Call.Ref)))
	}
	return safe.Format("nothing in the repository changes %s", d.termOf(m, places))
}

// edit is what becomes of a term of the repository's own.
func (d Vocabulary) edit(m upgrade.Measure, places bool) safe.Markdown {
	if m.Becomes.Op == 0 {
		return safe.Format("%s goes", d.termOf(m, places))
	}
	becomes := m.Term
	becomes.Constraint = m.Becomes
	return safe.Format("%s becomes %s", d.termOf(m, places), d.bound(becomes))
}

func (d Vocabulary) termOf(m upgrade.Measure, places bool) safe.Markdown {
	if places {
		return safe.Format("%s at %s", d.bound(m.Term), d.At(m.Term.Place))
	}
	return d.bound(m.Term)
}

// setVersion is what to write into a call so that it takes a release.
func (d Vocabulary) setVersion(m upgrade.Measure, places bool) safe.Markdown {
	text := `version = "` + m.Release + `"`
	if m.Call.Version == "" {
		text = "ref=" + m.Release
	}
	set := safe.Format(": set %s", safe.Code(text))
	if m.Call.Constraint != "" {
		set = set.And(" in place of %s", safe.Code(`"`+m.Call.Constraint+`"`))
	}
	if places {
		set = set.And(" at %s", d.At(m.Call.Place))
	}
	return set
}

// question is the command that reads what is not known.
func (d Vocabulary) question(addr provider.Addr) safe.Markdown {
	if d.comments {
		return safe.Code("/relock why " + d.Called(addr))
	}
	return safe.Code("relock why " + d.Called(addr))
}

// moduleName is what people call a module: of one in a registry its name, of another its
// source.
func moduleName(c upgrade.HoldingCall) safe.Markdown {
	pkg, _, _ := strings.Cut(c.Source, "//")
	if parts := strings.Split(pkg, "/"); c.Version != "" && len(parts) >= 3 {
		return safe.Text(parts[len(parts)-2])
	}
	return safe.Code(c.Source)
}
