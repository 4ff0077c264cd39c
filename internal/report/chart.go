package report

import (
	"cmp"
	"slices"
	"strings"
)

// chart is a bar of parts.
type chart []chartPart

// chartPart is a part of one: how many, and where it stands, in percent.
type chartPart struct {
	Label, Class string
	N            int
	X, Width     float64
}

// charted makes a chart of counted labels, in this order, without those that count
// nothing.
func charted(parts ...chartPart) chart {
	parts = slices.DeleteFunc(parts, func(b chartPart) bool { return b.N == 0 })
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

// statesOf counts root modules by the worst that is to say of them.
func statesOf(r Report) chart {
	failed, found, changed, left, fine := 0, 0, 0, 0, 0
	for _, m := range r.Modules {
		switch {
		case m.Failed():
			failed++
		case len(m.Findings) > 0:
			found++
		case m.Pending || len(m.Changes) > 0:
			changed++
		case m.Left:
			left++
		default:
			fine++
		}
	}
	right := "up to date"
	if r.Verb == VerbVerify {
		right = "without findings"
	}
	return charted(
		chartPart{Label: "with errors", Class: "bad", N: failed}, chartPart{Label: "with findings", Class: "major", N: found},
		chartPart{Label: "changing", Class: "minor", N: changed}, chartPart{Label: right, Class: "good", N: fine},
		chartPart{Label: "left alone", Class: "none", N: left},
	)
}

// kindsOf counts changes by what they are, the most of one kind first.
func kindsOf(r Report) chart {
	index := map[string]int{}
	var bars []chartPart
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			label := c.label()
			i, known := index[label]
			if !known {
				i = len(bars)
				index[label] = i
				bars = append(bars, chartPart{Label: label, Class: string(toneOf(c))})
			}
			bars[i].N++
		}
	}
	slices.SortStableFunc(bars, func(a, b chartPart) int { return cmp.Or(b.N-a.N, strings.Compare(a.Label, b.Label)) })
	return charted(bars...)
}
