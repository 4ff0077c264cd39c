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

// offered are the known releases that are offered of a provider.
type offered struct {
	releases []provider.Release
	methods  methods // the methods that were asked
	err      error
	dates    map[provider.Version]date // the dates that were asked for
}

// date is when a release was published: zero if no source knows it. err says why no source
// could be asked.
type date struct {
	at  time.Time
	err error
}

// mostUndated is how many releases of a provider are asked about without a date in return.
// If a source has no dates at all, the other releases need no question.
const mostUndated = 10

// release is the offered release of a version, or nil.
func (o offered) release(v provider.Version) *provider.Release {
	return provider.Offer{Releases: o.releases}.Release(v)
}

// dated is a copy with the date of a release. Earlier choices keep the value that they were
// made from.
func (o offered) dated(v provider.Version, d date) offered {
	o.releases, o.dates = slices.Clone(o.releases), maps.Clone(o.dates)
	o.release(v).Published, o.dates[v] = d.at, d
	return o
}

// inVain counts the releases that were asked about and have no known date.
func (o offered) inVain() int {
	return collect.CountIf(slices.Collect(maps.Values(o.dates)), func(d date) bool { return d.err == nil && d.at.IsZero() })
}

// methods are the installation methods that were asked for the versions of a provider. A
// version is not offered only if each of them has listed something, and no list has it. A
// method that answers 404 may have lost its list.
type methods []provider.Method

// allListed reports whether each method has listed what it offers.
func (m methods) allListed() bool { return m.unlisted() == "" }

// unlisted names the methods that have listed nothing.
func (m methods) unlisted() string { return m.names(func(a provider.Method) bool { return !a.Listed }) }

// notOffered is the error about a locked version that no method lists.
func (m methods) notOffered(addr provider.Addr, locked provider.Version) *problem.Error {
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeLockedVersion, Host: m.host(addr), Subject: problem.Subject{Addr: addr, Version: locked, Versioned: true},
			Message: fmt.Sprintf("the locked version %s of %s is no longer offered%s", locked, addr, m.answered("by")),
			Hint:    "run `relock upgrade` to select another version",
		},
	}
}

// host is the mirror's host if one mirror alone has answered. Otherwise it is the host of
// the provider's registry. So the error names no host that did not answer.
func (m methods) host(addr provider.Addr) svchost.Hostname {
	answered := collect.Those(m, func(a provider.Method) bool { return a.Listed })
	if len(answered) == 1 && answered[0].Mirror {
		return answered[0].Host
	}
	return addr.Host
}

// answered names the methods that have answered, after a preposition. It is empty if that
// is the registry alone.
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
