package upgrade

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// modulesAfter are the entries of the lock file of modules that the module tree needs, and
// whether the root module has such a file or gets one. If parts of the tree are unknown, or
// the file is shared, the entries that were there stay: what was not seen may need them.
func modulesAfter(m scan.RootModule) (entries []modulelock.Entry, locks bool) {
	needed := map[modulelock.Key]modulelock.Entry{}
	for _, f := range m.Locked() {
		if f.Hash != "" {
			needed[f.Locked] = modulelock.Entry{Key: f.Locked, Package: f.Repository, Hash: f.Hash}
		}
	}
	if m.ModuleLock == nil {
		return sortedEntries(needed), len(needed) > 0
	}
	if m.Shared || len(m.Tree.Unread)+len(m.Tests.Unread) > 0 || problem.AnyError(m.Tree.Diagnostics) || problem.AnyError(m.Tests.Diagnostics) {
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

// lockModules returns the new bytes of the lock file of modules, or nil if it stays as it
// is, and what changes in it. A file that differs only in its form is left alone.
func lockModules(m scan.RootModule) ([]byte, []ModuleChange) {
	entries, locks := modulesAfter(m)
	if !locks {
		return nil, nil
	}
	old := m.ModuleLock
	if old != nil && old.Conflict == 0 && slices.EqualFunc(old.Entries, entries, modulelock.Entry.Equal) {
		return nil, nil
	}
	now := &modulelock.File{Entries: entries}
	return now.Print(), moduleChanges(m, now)
}

// ModuleChange is a change of locked modules. If it is of the kind Switched, it is about
// the calls alone.
type ModuleChange struct {
	modulelock.Change
	// Calls are those that use the module after the change, in the order in which they were
	// found.
	Calls []ModuleCall `json:"calls,omitempty"`
}

// ModuleCall is a call of a locked module.
type ModuleCall struct {
	Module        string `json:"module"` // the path of the call, joined by dots
	problem.Place        // its keys are those of the call
}

// moduleChanges are the changes of the lock file of modules, with the calls that use each
// module.
func moduleChanges(m scan.RootModule, now *modulelock.File) []ModuleChange {
	old := m.ModuleLock
	if old == nil {
		old = &modulelock.File{}
	}
	changes := collect.Mapped(modulelock.Compare(old, now), func(c modulelock.Change) ModuleChange { return ModuleChange{Change: c} })
	var switched []ModuleChange
	calls := m.Locked()
	for i, was := range scan.Uses(old, calls, m.Tool) {
		f := calls[i]
		call, told := ModuleCall{f.Module, f.Place}, was.Hash == "" || was.Key == f.Locked
		for n := range changes {
			c := &changes[n]
			if f.Hash != "" && c.Hash != "" && (modulelock.Key{Address: c.Address, Version: c.To}) == f.Locked {
				c.Calls = append(c.Calls, call)
				told = told || c.HashFrom != "" && c.From == was.Version
			}
		}
		if told || f.Hash == "" {
			continue
		}
		c := modulelock.ChangeOf(modulelock.Switched, was, modulelock.Entry{Key: f.Locked, Package: f.Repository, Hash: f.Hash})
		n := slices.IndexFunc(switched, func(s ModuleChange) bool { return s.Change == c })
		if n < 0 {
			n, switched = len(switched), append(switched, ModuleChange{Change: c})
		}
		switched[n].Calls = append(switched[n].Calls, call)
	}
	return append(changes, switched...)
}
