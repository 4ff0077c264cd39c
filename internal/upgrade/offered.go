package upgrade

import (
	"fmt"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// methods are the installation methods that were asked which versions of a
// provider there are. A version is not offered if none of them lists it and each
// of them has listed something: one that answers 404 may have lost what it had.
type methods []provider.Method

// complete reports whether each of them has listed what it offers.
func (m methods) complete() bool { return m.unlisted() == "" }

// registry reports whether the provider's own registry has.
func (m methods) registry() bool {
	return slices.ContainsFunc(m, func(a provider.Method) bool { return a.Listed && !a.Mirror })
}

// unlisted names those that have not.
func (m methods) unlisted() string { return m.names(func(a provider.Method) bool { return !a.Listed }) }

// notOffered is the error about a locked version that none of them lists.
func (m methods) notOffered(addr provider.Addr, locked provider.Version) *provider.Error {
	return &provider.Error{
		Code: provider.CodeLockedVersion, Host: m.host(addr), Addr: addr, Version: locked,
		Message: fmt.Sprintf("the locked version %s of %s is no longer offered%s", locked, addr, m.by()),
		Hint:    "run relock upgrade to select another version",
	}
}

// host is that of the one mirror that has answered, if it alone has, and else
// that of the provider's registry: nobody is blamed who has said nothing.
func (m methods) host(addr provider.Addr) svchost.Hostname {
	answered := slices.DeleteFunc(slices.Clone(m), func(a provider.Method) bool { return !a.Listed })
	if len(answered) == 1 && answered[0].Mirror {
		return answered[0].Host
	}
	return addr.Host
}

// by says who has answered, where that is not the registry alone.
func (m methods) by() string { return m.following(" by the ") }

// of is by in other words.
func (m methods) of() string { return m.following(" of the ") }

func (m methods) following(preposition string) string {
	if !slices.ContainsFunc(m, func(a provider.Method) bool { return a.Mirror }) {
		return ""
	}
	names := m.names(func(a provider.Method) bool { return a.Listed })
	if names == "" {
		return ""
	}
	return preposition + names
}

func (m methods) names(which func(provider.Method) bool) string {
	var names []string
	for _, a := range m {
		if which(a) {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or the ")
}
