// Package diff compares the entries of two lock files: typed changes, and one
// line of English for each.
//
// It sees facts only: version, constraints and set of hashes of each provider.
// How they are written plays no part, except that Rewritten stands for a file
// of which nothing else can be told. Who signed a release is in no lock file;
// changes of that kind are made by those who asked the registry.
package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

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
	Addr provider.Addr
	Kind Kind
	// AddrFrom is the address that the provider had, if it moved.
	AddrFrom provider.Addr
	From     provider.Version // zero if added
	To       provider.Version // zero if removed
	Bump     provider.Bump    // between From and To; none if added or removed
	// ConstraintsFrom and ConstraintsTo differ if the configuration changed.
	ConstraintsFrom, ConstraintsTo provider.Constraints
	// HashesAdded and HashesRemoved are the hash sets' differences, sorted.
	HashesAdded, HashesRemoved []provider.Hash
	// Platforms are those whose packages gained a hash, as far as known; sorted.
	Platforms []provider.Platform
}

// String returns the change in one line, as in "hashicorp/aws 5.31.0 -> 5.34.0
// (minor)". Public registries are not named.
func (c Change) String() string {
	name := c.Addr.Short()
	switch c.Kind {
	case Added:
		return fmt.Sprintf("%s %s added", name, c.To)
	case Removed:
		return fmt.Sprintf("%s %s removed", name, c.From)
	case Upgraded, Downgraded:
		return name + " " + c.versions()
	case Moved:
		return fmt.Sprintf("%s %s moved from %s to %s", name, c.versions(), c.AddrFrom.Host.ForDisplay(), c.Addr.Host.ForDisplay())
	case ReReleased:
		return fmt.Sprintf("%s %s re-released: no checksum of a package is as before", name, c.To)
	case Signer:
		return fmt.Sprintf("%s %s signed by another key or by none", name, c.To)
	}
	return fmt.Sprintf("%s %s: %s", name, c.To, cmp.Or(c.details(), "written in normal form"))
}

// versions returns one version, or both with what lies between them.
func (c Change) versions() string {
	switch order := c.From.Compare(c.To); {
	case order < 0:
		return fmt.Sprintf("%s -> %s (%s)", c.From, c.To, c.Bump)
	case order > 0:
		return fmt.Sprintf("%s -> %s (%s, downgraded)", c.From, c.To, c.Bump)
	}
	return c.To.String()
}

// details lists what changed within one version.
func (c Change) details() string {
	var parts []string
	if n := len(c.HashesAdded); n > 0 {
		parts = append(parts, hashes(n)+" added"+c.platforms())
	}
	if n := len(c.HashesRemoved); n > 0 {
		parts = append(parts, hashes(n)+" removed")
	}
	if !c.ConstraintsFrom.Equal(c.ConstraintsTo) {
		parts = append(parts, "constraints "+quoted(c.ConstraintsFrom)+" -> "+quoted(c.ConstraintsTo))
	}
	return strings.Join(parts, ", ")
}

func (c Change) platforms() string {
	if len(c.Platforms) == 0 {
		return ""
	}
	names := make([]string, len(c.Platforms))
	for i, p := range c.Platforms {
		names[i] = p.String()
	}
	return " for " + strings.Join(names, " ")
}

func quoted(c provider.Constraints) string {
	if c.Empty() {
		return "none"
	}
	return `"` + c.String() + `"`
}

func hashes(n int) string {
	if n == 1 {
		return "1 hash"
	}
	return fmt.Sprintf("%d hashes", n)
}
