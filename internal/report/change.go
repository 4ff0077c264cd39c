package report

import (
	"fmt"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
)

// Olds holds the version that a change leaves, News the one that it brings. They are
// empty where there is none: a version alone does not say so, since 0.0.0 can be
// locked.
func (c Change) Olds() []provider.Version {
	if c.Kind == diff.Added {
		return nil
	}
	return []provider.Version{c.From}
}

// News is as Olds says.
func (c Change) News() []provider.Version {
	if c.Kind == diff.Removed {
		return nil
	}
	return []provider.Version{c.To}
}

// Resigned reports whether another key signed than before, or none. Nothing is
// said where either is unknown, or where a signature is new.
func (f Facts) Resigned() bool {
	return f.SignerFrom.KeyID != "" && f.SignerFrom.KeyID != f.Signer.KeyID && f.Signer != (provider.Signer{})
}

// Count is a number and its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
