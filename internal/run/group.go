package run

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Grouping sorts changes into pull requests.
type Grouping struct {
	// By is what becomes of a change that no named group takes: one group for
	// all, or one for each provider, directory or namespace. Empty: ByAll.
	By GroupBy
	// Named are tried in order.
	Named []Group
}

// GroupBy says what changes have in common that share a pull request.
type GroupBy string

// The ways to group.
const (
	ByAll       GroupBy = "all"
	ByProvider  GroupBy = "provider"
	ByDirectory GroupBy = "directory"
	ByNamespace GroupBy = "namespace"
)

// Group is a set of changes with a name.
type Group struct {
	Name        string
	Providers   []provider.Pattern // empty: all
	Directories []string           // globs; empty: everywhere
	// Presentation is that of its pull request.
	Presentation pr.Presentation
}

// presentation is that of the pull request of a group by its key.
func (p Pull) presentation(key string) pr.Presentation {
	for _, n := range p.Grouping.Named {
		if n.Name == key {
			return n.Presentation
		}
	}
	return p.Presentation
}

// of returns the key of the group that a provider of a root module belongs to.
// It depends on no version, so that a group keeps its branch.
func (g Grouping) of(dir string, addr provider.Addr) string {
	for _, n := range g.Named {
		if n.takes(dir, addr) {
			return n.Name
		}
	}
	switch g.By {
	case ByProvider:
		return addr.String()
	case ByDirectory:
		return dir
	case ByNamespace:
		return addr.Host.ForDisplay() + "/" + addr.Namespace
	}
	return string(ByAll)
}

func (g Group) takes(dir string, addr provider.Addr) bool {
	named := len(g.Providers) == 0 || slices.ContainsFunc(g.Providers, func(p provider.Pattern) bool { return p.Match(addr) })
	return named && (len(g.Directories) == 0 || scan.InAny(g.Directories, dir))
}

// groups lists the keys of all groups that the root modules can have changes
// for: whatever is planned, it is about providers that are required or locked.
func (g Grouping) groups(found []found) []string {
	keys := map[string]bool{}
	for _, f := range found {
		for _, addr := range f.providers() {
			keys[g.of(f.module.Dir, addr)] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
