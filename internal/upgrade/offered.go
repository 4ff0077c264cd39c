package upgrade

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// offered is what is offered of a provider, as far as that is known.
type offered struct {
	releases []provider.Release
	methods  methods // that were asked
	err      error
	dates    map[provider.Version]date // that were asked for
}

// date is when a release was published, which is zero if nobody knows it, or why
// nobody could be asked.
type date struct {
	at  time.Time
	err error
}

// mostUndated is how many releases of a provider are asked about in vain. Where
// no dates can be had at all, the others need not be asked.
const mostUndated = 10

// release is what is offered of a version; nil if it is not.
func (o offered) release(v provider.Version) *provider.Release {
	return provider.Offer{Releases: o.releases}.Release(v)
}

// dated is what is offered, with the date of a release. Choices that are made keep what
// they were made from.
func (o offered) dated(v provider.Version, d date) offered {
	o.releases, o.dates = slices.Clone(o.releases), maps.Clone(o.dates)
	o.release(v).Published, o.dates[v] = d.at, d
	return o
}

// inVain counts the releases whose date nobody knows who was asked.
func (o offered) inVain() int {
	return collect.CountIf(slices.Collect(maps.Values(o.dates)), func(d date) bool { return d.err == nil && d.at.IsZero() })
}

// methods are the installation methods that were asked which versions of a
// provider there are. A version is not offered if none of them lists it and each
// of them has listed something: one that answers 404 may have lost what it had.
type methods []provider.Method

// allListed reports whether each of them has listed what it offers.
func (m methods) allListed() bool { return m.unlisted() == "" }

// unlisted names those that have not.
func (m methods) unlisted() string { return m.names(func(a provider.Method) bool { return !a.Listed }) }

// notOffered is the error about a locked version that none of them lists.
func (m methods) notOffered(addr provider.Addr, locked provider.Version) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeLockedVersion, Host: m.host(addr), Subject: problem.Subject{Addr: addr, Version: locked, Versioned: true},
			Message: fmt.Sprintf("the locked version %s of %s is no longer offered%s", locked, addr, m.answered("by")),
			Hint:    "run relock upgrade to select another version",
		},
	}
}

// host is that of the one mirror that has answered, if it alone has, and else
// that of the provider's registry: nobody is blamed who has said nothing.
func (m methods) host(addr provider.Addr) svchost.Hostname {
	answered := collect.Those(m, func(a provider.Method) bool { return a.Listed })
	if len(answered) == 1 && answered[0].Mirror {
		return answered[0].Host
	}
	return addr.Host
}

// answered says who has, behind a preposition, where that is not the registry alone.
func (m methods) answered(preposition string) string {
	names := m.names(func(a provider.Method) bool { return a.Listed })
	if names == "" || !slices.ContainsFunc(m, func(a provider.Method) bool { return a.Mirror }) {
		return ""
	}
	return " " + preposition + " the " + names
}

func (m methods) names(which func(provider.Method) bool) string {
	return strings.Join(collect.Mapped(collect.Those(m, which), func(a provider.Method) string { return a.Name }), " or the ")
}
