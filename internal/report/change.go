package report

import (
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
)

// Olds holds the version before a change, News the version after it. They are
// empty if there is none. The zero Version cannot say that, since 0.0.0 can be
// locked.
func (c Change) Olds() []provider.Version {
	if c.Kind == diff.Added {
		return nil
	}
	return []provider.Version{c.From}
}

// News holds the version after a change; see Olds.
func (c Change) News() []provider.Version {
	if c.Kind == diff.Removed {
		return nil
	}
	return []provider.Version{c.To}
}
