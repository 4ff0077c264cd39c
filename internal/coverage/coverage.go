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

// Renewal is a required provider: what is locked of it, and what is to be locked.
type Renewal struct {
	Addr provider.Addr
	// InLock says that the lock file has an entry. Old is that entry; of a disputed
	// one the side that counts.
	InLock bool
	Old    Locked
	// Sides are the entries of both sides of a merge, if they differ.
	Sides []Locked
	// New is the release that the new entry is about; without a version there is none.
	New provider.Release
	// ByRule are the platforms that a rule names for this provider; mostly empty.
	ByRule []provider.Platform
	// Failed says that no release could be chosen.
	Failed bool
	// Gone says that the locked version stays, and is not offered any more.
	Gone bool
	// Unheard is why it is not known what is offered; nil if that is known.
	Unheard error
	// NotOffered is the error about a locked version that nobody offers. It counts where
	// the release of Old is nil and nothing is unheard.
	NotOffered error
}

// Locked is an entry as a lock file has it.
type Locked struct {
	Version provider.Version
	H1      []provider.Hash
	Release *provider.Release // what is offered of the version; nil if it is not
}

// Evidence is what is known of a package: its hashes, or why they cannot be had.
type Evidence struct {
	Hashes provider.Hashes
	Err    error
}

// Ground is why a new entry must cover its platforms.
type Ground int

// The grounds, with what they mean for an old entry: it is complete if it has so many
// h1 hashes. Which platforms these belong to, only packages say.
const (
	ByRule     Ground = iota // a rule names the platforms of the provider: one h1 for each
	ByName                   // somebody names the platforms of all: one h1 for each
	Served                   // somebody asks for all that a release serves: never complete
	Everywhere               // the lock file covers whatever its releases serve: more than one machine's
	Recovered                // the entries of the lock file cover them: one h1 for each
	Own                      // and this one covers more than the others: one h1 for each
	Unnamed                  // no entry says which platforms are meant: more than one machine's
)

// Demand is what the new entry of a provider must cover.
type Demand struct {
	Why Ground
	// Named are the platforms that are asked for by name; none where the release
	// says which.
	Named []provider.Platform
	// Platforms are those whose packages the entry is made of.
	Platforms []provider.Platform
	// Complete says that the old entry has an h1 for every platform, as far as the
	// number of its hashes says.
	Complete bool
	// Err is why the platforms are not known; nil if they are.
	Err error
}

// Cover is what the new entries of one lock file must cover.
type Cover struct {
	// Assumed are the entries whose old platforms only the number of their hashes says.
	Assumed []provider.Want

	all    bool
	list   []provider.Platform
	auto   bool
	own    map[provider.Addr][]provider.Platform // what an old entry covers besides
	doubts map[provider.Addr]error
}

// Fixed is a cover that somebody asks for: these platforms or, if there are none, all
// that a release serves.
func Fixed(list []provider.Platform) Cover {
	return Cover{all: len(list) == 0, list: list}
}

// Of is the demand on an entry. named says whether an entry of its lock file says which
// platforms are meant, as LockFile.Tells has it.
func (c Cover) Of(e Renewal, named bool) Demand {
	d := Demand{Why: c.why(e, named), Err: c.doubts[e.Addr]}
	switch d.Why {
	case ByRule:
		d.Named = e.ByRule
	case Served, Everywhere:
		d.Platforms = withOthers(servedOf(e.New, provider.DefaultPlatforms), c.own[e.Addr])
	default:
		d.Named = c.list
		if own := c.own[e.Addr]; len(own) > 0 {
			d.Named = slices.SortedFunc(slices.Values(slices.Concat(c.list, own)), provider.Platform.Compare)
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

// why is the reason of a demand.
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

// withOthers are the platforms with those of others that are not among them.
func withOthers(platforms, others []provider.Platform) []provider.Platform {
	all := slices.Clone(platforms)
	for _, p := range others {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// servedOf are the platforms that a release serves and, where that is not all
// that can be said, those that it may serve besides: a mirror says nothing.
func servedOf(r provider.Release, besides []provider.Platform) []provider.Platform {
	if r.Closed() {
		return r.Platforms
	}
	return withOthers(r.Platforms, besides)
}
