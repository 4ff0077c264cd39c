package outline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// Chart is a bar that is divided into parts.
type Chart []ChartPart

// ChartPart is a part of a bar: a count, and its position in percent.
type ChartPart struct {
	Label, Class string
	N            int
	X, Width     float64
}

// Charted makes a chart of counted labels, in this order. It leaves out labels
// that count 0.
func Charted(parts ...ChartPart) Chart {
	parts = slices.DeleteFunc(parts, func(b ChartPart) bool { return b.N == 0 })
	total, x := 0, 0.0
	for _, b := range parts {
		total += b.N
	}
	for i := range parts {
		parts[i].X, parts[i].Width = x, 100*float64(parts[i].N)/float64(total)
		x += parts[i].Width
	}
	return parts
}

// StatesOf counts root modules by their worst state.
func StatesOf(r report.Report) Chart {
	failed, found, changed, left, fine := 0, 0, 0, 0, 0
	for _, m := range r.Modules {
		switch {
		case m.Failed():
			failed++
		case len(m.Findings) > 0:
			found++
		case m.Pending || hasChanges(m):
			changed++
		case m.Left:
			left++
		default:
			fine++
		}
	}
	right := "up to date"
	if r.Verb == verbs.Verify {
		right = "without findings"
	}
	return Charted(
		ChartPart{Label: "with errors", Class: "bad", N: failed}, ChartPart{Label: "with findings", Class: "major", N: found},
		ChartPart{Label: "changing", Class: "minor", N: changed}, ChartPart{Label: right, Class: "good", N: fine},
		ChartPart{Label: "left alone", Class: "none", N: left},
	)
}

// KindClass is the class of a kind of changes on a page, where each kind of upgrade has a
// colour of its own.
func KindClass(kind string, tone Tone) string {
	switch provider.Bump(kind) {
	case provider.BumpPatch, provider.BumpMinor, provider.BumpMajor:
		return kind
	}
	return string(tone)
}

// KindsOf counts changes by kind, the most frequent kind first.
func KindsOf(r report.Report) Chart {
	var kinds collect.Groups[string, report.Change]
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			kinds.Add(Vocabulary{}.Label(c), c)
		}
	}
	bars := collect.Mapped(kinds.Keys, func(label string) ChartPart {
		all := kinds.Of[label]
		return ChartPart{Label: label, Class: KindClass(label, ToneOf(all[0])), N: len(all)}
	})
	slices.SortStableFunc(bars, func(a, b ChartPart) int { return cmp.Or(b.N-a.N, strings.Compare(a.Label, b.Label)) })
	return Charted(bars...)
}
