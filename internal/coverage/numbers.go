package coverage

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// number compares the number of an entry's h1 hashes with the number of known platforms
// that its release serves.
type number struct {
	side        bool // the entry is from the side of a merge that does not count
	fewer, same bool // there are fewer hashes than platforms, or as many
	// loses says that the version moves and that its release serves more than these
	// platforms. So the new entry may lose one.
	loses bool
	// selected says that an earlier entry lacks a platform of its release: somebody has
	// selected platforms. Otherwise the known platforms may be just all that one release
	// serves, and the number proves nothing.
	selected bool
}

// numberOf compares an entry with the platforms that are known so far.
func numberOf(w witness, expected []provider.Platform, selected bool) number {
	return number{
		side: w.side, fewer: len(w.old.H1) < len(expected), same: len(w.old.H1) == len(expected), selected: selected,
		// A source may not list all platforms of a release.
		loses: w.moves && (!w.old.Release.Closed() || len(w.old.Release.Platforms) > len(expected)),
	}
}

// verdict is the decision about an entry from the number of its h1 hashes.
type verdict int

const (
	open     verdict = iota // its packages must show which platforms it covers
	silent                  // it covers some of the platforms and adds none
	agrees                  // it covers these platforms
	provable                // it probably covers these platforms, and a few packages can prove it
)

type numberRow struct {
	name string
	fits func(number) bool
	says verdict
}

// numberTable has the verdicts about the number of an entry's h1 hashes. The first row that
// fits decides. If none fits, the packages must show it.
var numberTable = []numberRow{
	{"the other side of a merge goes, and its platforms must not", func(n number) bool { return n.side }, open},
	{"fewer hashes, and nothing can get lost", func(n number) bool { return n.fewer && !n.loses }, silent},
	{"as many hashes, and nothing can get lost", func(n number) bool { return n.same && !n.loses }, agrees},
	{"as many hashes for selected platforms", func(n number) bool { return n.same && n.selected }, provable},
}

// verdictOf is the verdict of the first row that fits.
func verdictOf(table []numberRow, n number) verdict {
	i := slices.IndexFunc(table, func(r numberRow) bool { return r.fits(n) })
	if i < 0 {
		return open
	}
	return table[i].says
}
