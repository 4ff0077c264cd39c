package coverage

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// LockFile is a lock file, in the order of its root module's requirements.
type LockFile struct {
	Tool     provider.Tool
	Renewals []Renewal
}

// Renewal is a required provider: its locked entry, and the release of its new entry.
type Renewal struct {
	Addr provider.Addr
	// InLock says that the lock file has an entry. Old is that entry. For a disputed entry
	// it is the chosen side.
	InLock bool
	Old    Locked
	// Sides are the entries of both sides of a merge, if they differ.
	Sides []Locked
	// New is the release of the new entry. Without a version there is no new entry.
	New provider.Release
	// ByRule are the platforms that a rule names for this provider. Most providers have
	// none.
	ByRule []provider.Platform
	// Failed says that no release could be chosen.
	Failed bool
	// Gone says that the locked version stays although it is no longer offered.
	Gone bool
	// Unheard says why the offered releases are not known; nil if they are.
	Unheard error
	// Withdrawn says that every method has listed what it offers, without the locked
	// version. NotOffered is the error about a version that only some have listed. Both
	// count only if Old has no release and Unheard is nil.
	Withdrawn  bool
	NotOffered error
}

// Locked is an entry of a lock file.
type Locked struct {
	Version provider.Version
	H1      []provider.Hash
	Release *provider.Release // the offered release of the version; nil if it is not offered
}

// Evidence is what is known about a package: its hashes, or why they are not available.
type Evidence struct {
	Hashes provider.Hashes
	Err    error
}

// Ground is the reason why a new entry must cover its platforms.
type Ground int

// The grounds. After each colon: how many h1 hashes make an old entry complete. Only the
// packages say which platform an h1 belongs to.
const (
	ByRule     Ground = iota // a rule names the platforms of the provider: one h1 for each
	ByName                   // a person names the platforms of all providers: one h1 for each
	Served                   // a person asks for all platforms that a release serves: never complete
	Everywhere               // the lock file covers all platforms of its releases: two
	Recovered                // the entries of the lock file cover these platforms: one h1 for each
	Own                      // this entry covers more platforms than the others: one h1 for each
	Unnamed                  // no entry says which platforms are meant: two
)

// Demand says what the new entry of a provider must cover.
type Demand struct {
	Why Ground
	// Named are the platforms that are known by name. It is empty if the release decides.
	Named []provider.Platform
	// Platforms are the platforms whose packages the entry is made from.
	Platforms []provider.Platform
	// Complete says that the old entry has enough h1 hashes for every platform. Only their
	// number is compared.
	Complete bool
	// Err says why the platforms are not known; nil if they are.
	Err error
}

// Cover says what the new entries of one lock file must cover.
type Cover struct {
	// Assumed are the entries whose old platforms are guessed from the number of their
	// hashes.
	Assumed []provider.Want
	// Withdrawn are the entries of withdrawn releases, which new entries replace. Their old
	// platforms are unknown, so List is used for them.
	Withdrawn []provider.Want
	// List are the platforms of entries that have none of their own. It is empty if each
	// release decides.
	List []provider.Platform

	all    bool
	auto   bool
	own    map[provider.Addr][]provider.Platform // platforms that one old entry covers beyond the list
	doubts map[provider.Addr]error
}

// Fixed is a cover that a person asks for: these platforms or, if the list is empty, all
// that a release serves.
func Fixed(list []provider.Platform) Cover {
	return Cover{all: len(list) == 0, List: list}
}

// Of is the demand on an entry. named is the result of LockFile.Tells for its lock file.
func (c Cover) Of(e Renewal, named bool) Demand {
	d := Demand{Why: c.why(e, named), Err: c.doubts[e.Addr]}
	switch d.Why {
	case ByRule:
		d.Named = e.ByRule
	case Served, Everywhere:
		d.Platforms = withOthers(servedOf(e.New, provider.DefaultPlatforms), c.own[e.Addr])
	default:
		d.Named = c.List
		if own := c.own[e.Addr]; len(own) > 0 {
			d.Named = slices.SortedFunc(slices.Values(slices.Concat(c.List, own)), provider.Platform.Compare)
		}
	}
	if d.Platforms == nil {
		d.Platforms = d.Named
	}
	switch d.Why {
	case Served:
	case Everywhere, Unnamed:
		d.Complete = len(e.Old.H1) > 1
	default:
		d.Complete = len(e.Old.H1) >= len(d.Named)
	}
	return d
}

// why is the ground of the demand on an entry.
func (c Cover) why(e Renewal, named bool) Ground {
	switch {
	case len(e.ByRule) > 0:
		return ByRule
	case c.all && c.auto:
		return Everywhere
	case c.all:
		return Served
	case !c.auto:
		return ByName
	case !named:
		return Unnamed
	case len(c.own[e.Addr]) > 0:
		return Own
	}
	return Recovered
}

// withOthers are the platforms, followed by those of others that are missing.
func withOthers(platforms, others []provider.Platform) []provider.Platform {
	all := slices.Clone(platforms)
	for _, p := range others {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// servedOf are the platforms that a release serves. If that list may not be whole, as from
// a mirror, possible ones are added.
func servedOf(r provider.Release, besides []provider.Platform) []provider.Platform {
	if r.Closed() {
		return r.Platforms
	}
	return withOthers(r.Platforms, besides)
}
