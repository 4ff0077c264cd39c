package scan

import (
	"slices"

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
	Path      string // in the package of the module; empty for the module at its top
	Providers []ListedProvider
}

// ListedProvider is what a registry says that a module requires of a provider.
type ListedProvider struct {
	Name       string // that the module has for it
	Source     string // its source address; empty where the registry lists names alone
	Constraint string // may be empty, and need not be valid
}

// Above returns the releases above a version, oldest first, and the release of that
// version: without detail, if it is not listed.
func (v *ModuleVersions) Above(version string) (current ModuleRelease, above []ModuleRelease) {
	if v == nil {
		return current, nil
	}
	i := slices.IndexFunc(v.Releases, func(r ModuleRelease) bool { return r.Version == version })
	if i < 0 {
		return current, nil
	}
	return v.Releases[i], v.Releases[i+1:]
}

// ListedTerms is what a list says that a module requires of a provider.
type ListedTerms struct {
	Constraints provider.Constraints // none, if the module does not name the provider
	// ByName says that the list has the provider's name and no source, so that it is
	// taken for the one that the tools imply by that name.
	ByName bool
	// Required says that the module names the provider.
	Required bool
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
		if p.addr(tool) != addr {
			continue
		}
		said.Required, said.ByName = true, said.ByName || p.Source == ""
		if p.Constraint == "" {
			continue
		}
		c, err := provider.ParseConstraints(p.Constraint)
		if err != nil {
			return ListedTerms{}, false
		}
		terms = append(terms, c.Terms()...)
	}
	said.Constraints = provider.NewConstraints(terms...)
	return said, true
}

// addr is the provider that is meant; the zero Addr if that is none.
func (p ListedProvider) addr(tool provider.ToolName) provider.Addr {
	addr, err := provider.ImpliedAddr(p.Name, tool)
	if p.Source != "" {
		addr, err = provider.ParseAddr(p.Source, tool)
	}
	if err != nil {
		return provider.Addr{}
	}
	return addr
}
