package coverage

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// number is what the number of an entry's h1 hashes is compared with: how many of them
// the platforms give it that are known by then.
type number struct {
	side        bool // the entry is of the side of a merge that does not count
	fewer, same bool // its hashes are fewer than those, or as many
	// loses says that the version moves, and that its release serves more than these
	// platforms: the entry may lose one that it covers.
	loses bool
	// selected says that an entry before it does without a platform of its release, so
	// that somebody has selected platforms. Else the known ones may be all that some
	// release serves, and the number says nothing.
	selected bool
}

// numberOf compares an entry with the platforms that are covered by then.
func numberOf(w witness, expected []provider.Platform, selected bool) number {
	return number{
		side: w.side, fewer: len(w.old.H1) < len(expected), same: len(w.old.H1) == len(expected), selected: selected,
		// A source may not say what is served.
		loses: w.moves && (!w.old.Release.Closed() || len(w.old.Release.Platforms) > len(expected)),
	}
}

// verdict is what the number of an entry's h1 hashes decides.
type verdict int

const (
	open     verdict = iota // its packages must say which platforms the entry covers
	silent                  // it covers some of the platforms, and says nothing else
	agrees                  // it covers these platforms
	provable                // it likely does, and packages prove it, if they are not too many
)

// numberRow is a row of the table of numbers.
type numberRow struct {
	name string
	fits func(number) bool
	says verdict
}

// numbers is the table of what the number of an entry's h1 hashes decides. The first
// row that fits does; where none fits, the packages must say it.
var numberTable = []numberRow{
	{"the other side of a merge goes, and its platforms must not", func(n number) bool { return n.side }, open},
	{"fewer hashes, and nothing can get lost", func(n number) bool { return n.fewer && !n.loses }, silent},
	{"as many hashes, and nothing can get lost", func(n number) bool { return n.same && !n.loses }, agrees},
	{"as many hashes for selected platforms", func(n number) bool { return n.same && n.selected }, provable},
}

// verdictOf decides by a table.
func verdictOf(table []numberRow, n number) verdict {
	i := slices.IndexFunc(table, func(r numberRow) bool { return r.fits(n) })
	if i < 0 {
		return open
	}
	return table[i].says
}
