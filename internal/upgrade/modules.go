package upgrade

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// modulesAfter are the entries of the lock file of modules that the module tree needs, and
// whether the root module has such a file or gets one. If parts of the tree are unknown,
// the entries that were there stay: what was not seen may need them.
func modulesAfter(m scan.RootModule) (entries []modulelock.Entry, locks bool) {
	needed := map[modulelock.Key]modulelock.Entry{}
	for _, f := range slices.Concat(m.Tree.Fetched, m.Tests.Fetched) {
		if f.Hash != "" {
			needed[f.Locked] = modulelock.Entry{Key: f.Locked, Package: f.Repository, Hash: f.Hash}
		}
	}
	if m.ModuleLock == nil {
		return sortedEntries(needed), len(needed) > 0
	}
	if len(m.Tree.Unread)+len(m.Tests.Unread) > 0 || problem.AnyError(m.Tree.Diagnostics) || problem.AnyError(m.Tests.Diagnostics) {
		for _, old := range m.ModuleLock.Entries {
			if _, again := needed[old.Key]; !again {
				needed[old.Key] = old
			}
		}
	}
	return sortedEntries(needed), true
}

func sortedEntries(entries map[modulelock.Key]modulelock.Entry) []modulelock.Entry {
	return slices.SortedFunc(maps.Values(entries), func(a, b modulelock.Entry) int { return a.Key.Compare(b.Key) })
}

// printModules returns the new bytes of the lock file of modules, or nil if it stays as it
// is. A file that differs only in its form is left alone.
func printModules(m scan.RootModule) []byte {
	entries, locks := modulesAfter(m)
	if !locks {
		return nil
	}
	old := m.ModuleLock
	if old != nil && old.Conflict == 0 && slices.EqualFunc(old.Entries, entries, modulelock.Entry.Equal) {
		return nil
	}
	return (&modulelock.File{Entries: entries}).Print()
}
