package run

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/provider"
)

// Grouping sorts changes into pull requests.
type Grouping struct {
	// By is what becomes of a change that no named group takes: one group for
	// all, or one for each provider, directory or namespace. Empty: ByAll.
	By GroupBy
	// Named are tried in order.
	Named []config.Group
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

// settings are those of the pull request of a group by its key.
func (p Pull) settings(key string) config.PullRequest {
	for _, n := range p.Grouping.Named {
		if n.Name == key {
			return n.PullRequest
		}
	}
	return p.PullRequest
}

// of returns the key of the group that a provider of a root module belongs to.
// It depends on no version, so that a group keeps its branch.
func (g Grouping) of(dir string, addr provider.Addr) string {
	for _, n := range g.Named {
		if isAbout(n.Providers, n.Directories, dir, addr) {
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

// isAbout reports whether a provider of a root module is one of those that an entry
// of the configuration file names: empty lists are all, and everywhere.
func isAbout(providers []provider.Pattern, dirs []string, dir string, addr provider.Addr) bool {
	named := len(providers) == 0 || slices.ContainsFunc(providers, func(p provider.Pattern) bool { return p.Match(addr) })
	return named && (len(dirs) == 0 || globs.InAny(dirs, dir))
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
