package report

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/upgrade"
)

// SortedNotes puts the notes that a reviewer must read first.
func SortedNotes(r Report) []notes.Notes {
	sorted := slices.Clone(r.Notes)
	slices.SortStableFunc(sorted, func(a, b notes.Notes) int {
		return cmp.Or(
			cmp.Compare(urgency(b), urgency(a)),
			a.Addr.Compare(b.Addr), cmp.Compare(a.Module, b.Module), a.From.Compare(b.From),
		)
	})
	return sorted
}

// urgency ranks notes by how much a reviewer needs to read them.
func urgency(n notes.Notes) int {
	urgency := 0
	if provider.BumpBetween(n.From, n.To) == provider.BumpMajor {
		urgency += 2
	}
	if len(BreakingSections(n)) > 0 {
		urgency++
	}
	return urgency
}

// BreakingSections are the breaking changes of an upgrade, the newest release
// first.
func BreakingSections(n notes.Notes) []notes.Section {
	var all []notes.Section
	for _, rel := range n.Releases {
		for _, s := range rel.Sections {
			if s.Kind == notes.Breaking {
				all = append(all, s)
			}
		}
	}
	return all
}

// Taking are the root modules that take an upgrade.
func Taking(r Report, n notes.Notes) []string {
	var dirs []string
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			if n.Module == "" && c.Addr == n.Addr && c.From == n.From && c.To == n.To {
				dirs = append(dirs, r.Title(m))
			}
		}
		if slices.ContainsFunc(m.LockedModules, func(c upgrade.ModuleChange) bool {
			from, to, ok := c.Upgrade()
			return ok && c.Address == n.Module && from == n.From && to == n.To
		}) {
			dirs = append(dirs, r.Title(m))
		}
	}
	return dirs
}
