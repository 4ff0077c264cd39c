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
// it is an entry that the calls need, and that the file lacks.
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
	uses := map[modulelock.Key]*LockedUse{}
	for _, e := range m.ModuleLock.Entries {
		uses[e.Key] = &LockedUse{Address: e.Address, Version: e.Version, Package: e.Package, Hash: e.Hash}
	}
	for _, f := range m.Locked() {
		if f.Hash == "" {
			continue
		}
		if uses[f.Locked] == nil {
			uses[f.Locked] = &LockedUse{Address: f.Locked.Address, Version: f.Locked.Version}
		}
		uses[f.Locked].Calls = append(uses[f.Locked].Calls, upgrade.ModuleCall{Module: f.Module, Place: f.Place})
	}
	return collect.Mapped(slices.SortedFunc(maps.Keys(uses), modulelock.Key.Compare), func(k modulelock.Key) LockedUse { return *uses[k] })
}
