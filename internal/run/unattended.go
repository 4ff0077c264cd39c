package run

import (
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// unattended reports whether changes may be merged without a person: whether the
// rules let each of them, and none needs an eye by our own judgement, which no rule
// outranks.
func unattended(book policy.Rulebook, modules []report.Module) bool {
	for _, m := range modules {
		if len(m.Changes) == 0 {
			continue
		}
		if m.Partial || len(m.Unread)+len(m.Findings) > 0 {
			return false
		}
		for _, c := range m.Changes {
			if needsAnEye(c) || !book.About(m.Dir, c.Addr).MayMerge(c.From, c.To) {
				return false
			}
		}
	}
	return true
}

// needsAnEye reports whether a change is one that a person has to look at.
func needsAnEye(c report.Change) bool {
	switch c.Kind {
	case diff.Downgraded, diff.ReReleased, diff.Signer:
		return true
	case diff.Moved:
		return c.To.Precedence(c.From) < 0
	}
	return c.SignerFrom != (provider.Signer{}) && c.SignerFrom != c.Signer
}
