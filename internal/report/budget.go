package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// part is a section of a Markdown report: a head alone, or a head and items. A
// section of items is left out if it has none.
type part struct {
	head  string
	items []string // each whole in itself, ending in a newline
	what  string   // the noun for an item; empty for a head alone
	rank  int      // of importance: a lower one gets room first
	share int      // of the room, in percent, that no other part takes
}

// size is that of the whole part, in bytes.
func (p part) size() int {
	n := len(p.head)
	for _, item := range p.items {
		n += len(item)
	}
	return n
}

// bound is how long a text may be.
type bound struct {
	bytes int    // 0: no limit
	of    string // whose limit it is
	whole string // where the whole is
}

// assemble joins the parts in their order. If they exceed the bound, items are left
// out from the end of parts that have had their share, the least important first; a
// line says how many, and where they are.
func assemble(parts []part, within bound) safe.Markdown {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.what != "" && len(p.items) == 0 })
	kept := fit(parts, within)
	var texts []string
	for i, p := range parts {
		texts = append(texts, p.head+strings.Join(p.items[:kept[i]], "")+p.cut(kept[i], within))
	}
	for i, t := range texts {
		texts[i] = strings.TrimRight(t, "\n") + "\n"
	}
	return safe.Ours(strings.Join(texts, "\n"))
}

// fit returns how many items of each part there is room for.
func fit(parts []part, within bound) []int {
	kept := make([]int, len(parts))
	room, limit := within.bytes, within.bytes
	order := make([]int, len(parts))
	for i, p := range parts {
		order[i] = i
		// The line about a cut is set aside for each part that may need one.
		room -= len(p.head) + len(p.cut(0, within)) + len("\n")
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].rank, parts[b].rank) })
	take := func(i, most int) {
		for _, item := range parts[i].items[kept[i]:] {
			if limit > 0 && (len(item) > room || len(item) > most) {
				break
			}
			room, most = room-len(item), most-len(item)
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

// cut is the line about items that were left out; empty if there are none.
func (p part) cut(kept int, within bound) string {
	left := len(p.items) - kept
	if left == 0 {
		return ""
	}
	verb := "are"
	if left == 1 {
		verb = "is"
	}
	text := "\n" + count(left, "more "+p.what, "more "+p.what+"s") + " " + verb + " not shown, to stay within " + within.of + "."
	if within.whole != "" {
		text += " " + within.whole
	}
	return text + "\n"
}
