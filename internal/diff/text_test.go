package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// String returns the change in one line, for golden files: what people read of one is
// in package report.
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
