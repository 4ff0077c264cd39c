package scan

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// ModuleVersions is what a module registry lists of a module: its releases, oldest
// first, without prereleases. All calls of the module share it, so it must not be
// changed. What it says of a release that nobody has fetched is the registry's word.
type ModuleVersions struct{ Releases []ModuleRelease }

// ModuleRelease is a release of a module as a registry lists it.
type ModuleRelease struct {
	Version string // as in Package
	// Modules are those in its package; empty where the list has versions alone.
	Modules []ListedModule
}

// ListedModule is a module in a package, as a registry lists it.
type ListedModule struct {
	Path      string // in the package, from the top of the module, which is "."
	Providers []ListedProvider
}

// ListedProvider is what a registry says that a module requires of a provider.
type ListedProvider struct {
	Name   string // that the module has for it
	Source string // its source address; empty where the registry lists names alone
	// Constraints are those of the module, if they are Valid: a registry lists what it is
	// given.
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

// ListedTerms is what a list says that a module requires of a provider.
type ListedTerms struct {
	Constraints provider.Constraints // none, if the module does not name the provider
	// ByName says that the list has the provider's name and no source, so that it is
	// taken for the one that the tools imply by that name.
	ByName bool
}

// Terms returns what the list says that a module in the package requires of a provider;
// false if it does not say, or in no valid form.
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

// means reports whether the provider is meant.
func (p ListedProvider) means(addr provider.Addr, tool provider.ToolName) bool {
	if p.Source == "" {
		implied, err := provider.ImpliedAddr(p.Name, tool)
		return p.Name == addr.Type && err == nil && implied == addr
	}
	return strings.EqualFold(p.Source, addr.String()) ||
		addr.Host == tool.DefaultHost() && strings.EqualFold(p.Source, addr.Namespace+"/"+addr.Type)
}
