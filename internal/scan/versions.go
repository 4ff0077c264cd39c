package scan

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// ModuleVersions is a registry's list of a module's releases, oldest first, without
// prereleases. All calls of the module share it, so it must not be changed. For a release
// that was not fetched, the list is the only evidence.
type ModuleVersions struct{ Releases []ModuleRelease }

// ModuleRelease is a release of a module in a registry's list.
type ModuleRelease struct {
	Version string // as in Package
	// Modules are the modules in its package; empty if the list has versions only.
	Modules []ListedModule
}

// ListedModule is a module of a package in a registry's list.
type ListedModule struct {
	Path      string // in the package, from the top of the module, which is "."
	Providers []ListedProvider
}

// ListedProvider is a module's requirement of a provider in a registry's list.
type ListedProvider struct {
	Name   string // in the module
	Source string // its source address; empty if the registry lists only names
	// Constraints are those of the module. They may be invalid: a registry lists what it
	// received.
	Constraints provider.Constraints
	Valid       bool
}

// Above returns the release of a version and those above it, oldest first; false if the
// version is not listed.
func (v *ModuleVersions) Above(version string) (current ModuleRelease, above []ModuleRelease, listed bool) {
	if v == nil {
		return current, nil, false
	}
	i := slices.IndexFunc(v.Releases, func(r ModuleRelease) bool { return r.Version == version })
	if i < 0 {
		return current, nil, false
	}
	return v.Releases[i], v.Releases[i+1:], true
}

// ListedTerms are a module's constraints of a provider in a list.
type ListedTerms struct {
	Constraints provider.Constraints // none, if the module does not name the provider
	// ByName says that the list has the provider's name and no source. The provider is then
	// the one that the tools imply by that name.
	ByName bool
}

// Terms returns the listed constraints of a module in the package on a provider; false if
// the list has none, or they are invalid.
func (r ModuleRelease) Terms(path string, addr provider.Addr, tool provider.ToolName) (ListedTerms, bool) {
	i := slices.IndexFunc(r.Modules, func(m ListedModule) bool { return m.Path == path })
	if i < 0 {
		return ListedTerms{}, false
	}
	var said ListedTerms
	var terms []provider.Term
	for _, p := range r.Modules[i].Providers {
		switch {
		case !p.means(addr, tool):
		case !p.Valid:
			return ListedTerms{}, false
		default:
			said.ByName = said.ByName || p.Source == ""
			terms = append(terms, p.Constraints.Terms()...)
		}
	}
	said.Constraints = provider.NewConstraints(terms...)
	return said, true
}

// means reports whether it is this provider.
func (p ListedProvider) means(addr provider.Addr, tool provider.ToolName) bool {
	if p.Source == "" {
		implied, err := provider.ImpliedAddr(p.Name, tool)
		return p.Name == addr.Type && err == nil && implied == addr
	}
	return strings.EqualFold(p.Source, addr.String()) ||
		addr.Host == tool.DefaultHost() && strings.EqualFold(p.Source, addr.Namespace+"/"+addr.Type)
}
