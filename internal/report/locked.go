package report

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// LockedUse is an entry of a lock file of modules, and the calls that use it. Without a hash
// it is an entry that the calls need, and that the file lacks or that there is no file for.
type LockedUse struct {
	Address string               `json:"module"`
	Version string               `json:"version"`
	Package string               `json:"package"`
	Hash    string               `json:"hash"`
	Calls   []upgrade.ModuleCall `json:"calls"`
}

// LockedUses are the entries of the lock file of modules of a scanned root module, and those
// that it lacks; sorted. It is nil if there is no such file.
func LockedUses(m scan.RootModule) []LockedUse {
	if m.ModuleLock == nil {
		return nil
	}
	return ModuleUses(m)
}

// ModuleUses are LockedUses, and without a lock file of modules the packages that the calls of
// a root module select today.
func ModuleUses(m scan.RootModule) []LockedUse {
	uses := map[modulelock.Key]*LockedUse{}
	if m.ModuleLock != nil {
		for _, e := range m.ModuleLock.Entries {
			uses[e.Key] = &LockedUse{Address: e.Address, Version: e.Version, Package: e.Package, Hash: e.Hash}
		}
	}
	for _, f := range m.Locked() {
		key := f.Locked
		if m.ModuleLock == nil {
			key = f.Selects(m.Tool.Name)
		}
		if key.Address == "" {
			continue
		}
		if uses[key] == nil {
			uses[key] = &LockedUse{Address: key.Address, Version: key.Version}
		}
		uses[key].Calls = append(uses[key].Calls, upgrade.ModuleCall{Module: f.Module, Place: f.Place})
	}
	return collect.Mapped(slices.SortedFunc(maps.Keys(uses), modulelock.Key.Compare), func(k modulelock.Key) LockedUse { return *uses[k] })
}
