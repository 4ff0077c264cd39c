// Package diff compares the entries of two lock files. It returns typed changes, and
// package report puts them into words.
//
// It compares only facts: the version, constraints and set of hashes of each provider. The
// formatting does not matter, but if only that has changed, the change is Rewritten. No
// lock file says who signed a release. The callers that ask the registry make such changes.
package diff

import "github.com/relock-dev/relock/internal/provider"

// Kind says what happened to a provider's lock entry. The set is closed.
type Kind string

// The kinds, in the order in which reports list them.
const (
	Downgraded  Kind = "downgraded"  // another version, an older one
	ReReleased  Kind = "re-released" // the same version with other bytes
	Signer      Kind = "signer"      // the same version, signed by another key or by none
	Removed     Kind = "removed"     // no configuration requires it any more
	Moved       Kind = "moved"       // the same provider under another registry's address
	Upgraded    Kind = "upgraded"    // another version, a newer one
	Added       Kind = "added"       // an entry that was not there
	Completed   Kind = "completed"   // the same version, more hashes
	Constrained Kind = "constrained" // the same version and hashes, other constraints
	Normalised  Kind = "normalised"  // the same facts in other bytes, or surplus hashes dropped
)

// Change is the difference of one provider's entries in two lock files.
type Change struct {
	Addr provider.Addr `json:"provider"`
	Kind Kind          `json:"kind"`
	// AddrFrom is the address that the provider had, if it moved.
	AddrFrom provider.Addr    `json:"provider_from,omitzero"`
	From     provider.Version `json:"-"`    // zero if added
	To       provider.Version `json:"-"`    // zero if removed
	Bump     provider.Bump    `json:"bump"` // between From and To; none if added or removed
	// ConstraintsFrom and ConstraintsTo differ if the configuration changed.
	ConstraintsFrom provider.Constraints `json:"constraints_from"`
	ConstraintsTo   provider.Constraints `json:"constraints"`
	// HashesAdded and HashesRemoved are the hash sets' differences, sorted.
	HashesAdded   []provider.Hash `json:"hashes_added"`
	HashesRemoved []provider.Hash `json:"hashes_removed"`
	// Platforms are those whose packages gained a hash, as far as known; sorted.
	Platforms []provider.Platform `json:"completed_platforms"`
}
