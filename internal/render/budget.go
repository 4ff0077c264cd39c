package render

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/safe"
)

// part is a section of a Markdown report: only a head, or a head and items. A
// part that may have items is left out if it has none.
type part struct {
	head  safe.Markdown
	items []safe.Markdown // each complete, with a newline at its end
	what  safe.Markdown   // the noun for an item; empty for a part without items
	rank  int             // of importance: a lower one gets room first
	share int             // percent of the room that no other part may take
}

// add adds an item in its written form, whose length counts.
func (p *part) add(item safe.Markdown) { p.items = append(p.items, item.Written()) }

// bound is the highest length of a text.
type bound struct {
	bytes int           // 0: no limit
	of    safe.Markdown // whose limit it is
	whole safe.Markdown // where the whole text is
}

// assemble joins the parts in order. If they exceed the bound, it drops items
// from the end of parts that have used up their share, the least important part
// first. A line gives the number of dropped items, and where to find them.
func assemble(parts []part, within bound) safe.Markdown {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return len(p.items) == 0 && (p.head.Empty() || !p.what.Empty()) })
	kept := fit(parts, within)
	var texts []safe.Markdown
	for i, p := range parts {
		text := safe.Join("", p.head, safe.Join("", p.items[:kept[i]]...), p.cut(kept[i], within))
		texts = append(texts, text.Line())
	}
	return safe.Join("\n", texts...)
}

// fit returns the number of items of each part that fit.
func fit(parts []part, within bound) []int {
	kept := make([]int, len(parts))
	room, limit := within.bytes, within.bytes
	order := make([]int, len(parts))
	for i, p := range parts {
		order[i] = i
		// The room for the line about a cut is set aside for each part that may
		// need it.
		room -= p.head.Len() + p.cut(0, within).Len() + len("\n")
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].rank, parts[b].rank) })
	take := func(i, most int) {
		for _, item := range parts[i].items[kept[i]:] {
			size := item.Len()
			if limit > 0 && (size > room || size > most) {
				break
			}
			room, most = room-size, most-size
			kept[i]++
		}
	}
	whole := room
	for _, i := range order {
		take(i, whole*parts[i].share/100)
	}
	for _, i := range order {
		take(i, room)
	}
	return kept
}

// cut is the line about dropped items; empty if there are none.
func (p part) cut(kept int, within bound) safe.Markdown {
	var text safe.Markdown
	switch left := len(p.items) - kept; left {
	case 0:
		return safe.Markdown{}
	case 1:
		text = safe.Format("\n1 more %s is not shown, to stay within %s.", p.what, within.of)
	default:
		text = safe.Format("\n%s more %ss are not shown, to stay within %s.", safe.Int(left), p.what, within.of)
	}
	return text.AndMaybe(" %s", within.whole).And("\n")
}
