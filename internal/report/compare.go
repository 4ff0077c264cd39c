package report

import (
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/upgrade"
)

// FromLocks compares two contents of one lock file, of providers or of modules. Empty content is a lock file
// without entries.
func FromLocks(name string, before, after []byte) Module {
	if modulelock.Is(name) {
		return fromModuleLocks(name, before, after)
	}
	m := Module{Dir: path.Dir(name), LockPath: name}
	old, problems := lockfile.Parse(before, name)
	m.Diagnostics = problems
	now, problems := lockfile.Parse(after, name)
	m.Diagnostics = append(m.Diagnostics, problems...)
	if old == nil || now == nil {
		if modules := fromModuleLocks(name, before, after); modules.Diagnostics == nil {
			return modules // by another name, as git gives it to a content
		}
		return m
	}
	for _, change := range diff.Locks(old.Locks, now.Locks, nil) {
		m.Changes = append(m.Changes, Change{Change: change})
	}
	return m
}

// fromModuleLocks is FromLocks for a lock file of modules.
func fromModuleLocks(name string, before, after []byte) Module {
	m := Module{Dir: path.Dir(name), LockPath: name}
	old, problems := modulelock.Parse(before, name)
	m.Diagnostics = problems
	now, problems := modulelock.Parse(after, name)
	m.Diagnostics = append(m.Diagnostics, problems...)
	if old != nil && now != nil {
		m.LockedModules = collect.Mapped(modulelock.Compare(old, now), func(c modulelock.Change) upgrade.ModuleChange {
			return upgrade.ModuleChange{Change: c}
		})
	}
	return m
}

// Differences compares lock files by their paths, and leaves out equal ones.
func Differences(before, after map[string][]byte) (differ []Module) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if m := FromLocks(name, before[name], after[name]); len(m.Changes)+len(m.LockedModules)+len(m.Diagnostics) > 0 {
			differ = append(differ, m)
		}
	}
	return differ
}
