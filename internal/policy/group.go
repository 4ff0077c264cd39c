package policy

import (
	"slices"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Where says what an entry of the configuration file is about. The zero value is
// everything.
type Where struct {
	Providers   []provider.Pattern // empty: all
	Directories []string           // globs; empty: everywhere
}

// Names reports whether a provider is one of those that are named.
func (w Where) Names(addr provider.Addr) bool {
	return len(w.Providers) == 0 || slices.ContainsFunc(w.Providers, func(p provider.Pattern) bool { return p.Match(addr) })
}

// In reports whether a directory is one of those that are named.
func (w Where) In(dir string) bool { return len(w.Directories) == 0 || globs.InAny(w.Directories, dir) }

// Group is a set of changes that share a pull request.
type Group struct {
	Name  string
	Where Where
	Place problem.Place
}

// GroupBy says what changes have in common that share a pull request, where no group is
// about them. The zero value is ByAll.
type GroupBy string

// The ways to group.
const (
	ByAll       GroupBy = "all"
	ByProvider  GroupBy = "provider"
	ByDirectory GroupBy = "directory"
	ByNamespace GroupBy = "namespace"
)

// Rulebook is what a repository is maintained by.
type Rulebook struct {
	// GroupBy is what becomes of a change that no group takes: one pull request for
	// all, or one for each provider, directory or namespace.
	GroupBy GroupBy
	// Groups are tried in order.
	Groups []Group
}

// GroupOf returns the key of the group that a provider of a root module belongs to: its
// name, or what GroupBy makes of the provider. It depends on no version, so that a group
// keeps its branch.
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
