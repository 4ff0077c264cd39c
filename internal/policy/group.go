package policy

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Group is a set of changes that share a pull request.
type Group struct {
	Name  string `key:"name"`
	Where Where
	Place problem.Place
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
		if g.Where.Names(addr) && g.Where.In(dir) {
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

// GroupOfModules returns the key of the group of a root module's modules, where no change
// of a provider decides.
func (b Rulebook) GroupOfModules(dir string) string {
	for _, g := range b.Groups {
		if len(g.Where.Providers) == 0 && g.Where.In(dir) {
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

// MayTake reports whether a group, by its key, could have an unknown provider of
// a root module. It is for root modules whose requirements nobody could read.
func (b Rulebook) MayTake(key, dir string) bool {
	for _, g := range b.Groups {
		if g.Name == key {
			return g.Where.In(dir)
		}
		if len(g.Where.Providers) == 0 && g.Where.In(dir) {
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
