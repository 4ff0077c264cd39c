package policy

import (
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Group is a set of changes that share a pull request.
type Group struct {
	Name  string `key:"name"`
	Where Where
	// Modules are patterns of module packages. A group that has some is about these alone,
	// and a group that has none is about providers alone.
	Modules []string `key:"modules"`
	Place   problem.Place
}

// GroupBy says which changes outside all groups share a pull request. The zero
// value is ByAll.
type GroupBy string

// The ways to group.
const (
	ByAll       GroupBy = "all"
	ByProvider  GroupBy = "provider"
	ByDirectory GroupBy = "directory"
	ByNamespace GroupBy = "namespace"
)

// GroupOf returns the key of the group of a root module's provider: the group's
// name, or a key by GroupBy. It does not depend on a version, so a group keeps
// its branch.
func (b Rulebook) GroupOf(dir string, addr provider.Addr) string {
	for _, g := range b.Groups {
		if len(g.Modules) == 0 && g.Where.Names(addr) && g.Where.In(dir) {
			return g.Name
		}
	}
	switch b.GroupBy {
	case ByProvider:
		return addr.String()
	case ByDirectory:
		return dir
	case ByNamespace:
		return addr.Host.ForDisplay() + "/" + addr.Namespace
	}
	return string(ByAll)
}

// GroupOfModule returns the key of the group of a module package of a root module, by its
// address in a lock file of modules: the group's name, or a key by GroupBy. Modules have no
// namespace, so by provider or by namespace they share one.
func (b Rulebook) GroupOfModule(dir, address string) string {
	for _, g := range b.Groups {
		if MatchesAny(g.Modules, address) && g.Where.In(dir) {
			return g.Name
		}
	}
	switch b.GroupBy {
	case ByDirectory:
		return dir
	case ByProvider, ByNamespace:
		return "modules"
	}
	return string(ByAll)
}

// OfModules reports whether a key is that of a group of modules.
func (b Rulebook) OfModules(key string) bool {
	return slices.ContainsFunc(b.Groups, func(g Group) bool { return g.Name == key && len(g.Modules) > 0 })
}

// MayTake reports whether a group, by its key, could have an unknown provider of
// a root module. It is for root modules whose requirements nobody could read.
func (b Rulebook) MayTake(key, dir string) bool {
	for _, g := range b.Groups {
		if g.Name == key {
			return g.Where.In(dir)
		}
		if len(g.Where.Providers)+len(g.Modules) == 0 && g.Where.In(dir) {
			return false // that group has all providers that no group before it has
		}
	}
	switch b.GroupBy {
	case ByProvider, ByNamespace:
		return true
	case ByDirectory:
		return key == dir
	}
	return key == string(ByAll)
}
