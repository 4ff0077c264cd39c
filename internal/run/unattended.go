package run

import (
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// unattended reports whether changes may be merged without a person: whether the
// rules let each of them, and none needs an eye by our own judgement, which no rule
// outranks.
func (p Pull) unattended(modules []report.Module) bool {
	for _, m := range modules {
		if len(m.Changes) == 0 {
			continue
		}
		if m.Partial || len(m.Unread)+len(m.Findings) > 0 {
			return false
		}
		for _, c := range m.Changes {
			if needsAnEye(c) || !p.mayMerge(m.Dir, c.Change) {
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

// mayMerge is what the rules say of a change, of several that match the last. One of no version, as of hashes, is no
// update: only rules for every change are about it.
func (p Pull) mayMerge(dir string, c diff.Change) bool {
	may := true
	for _, r := range p.Merging {
		where := policy.Where{Providers: r.Providers, Directories: r.Directories}
		of := len(r.Updates) == 0 || c.From != c.To && !c.From.IsZero() && !c.To.IsZero() && slices.Contains(r.Updates, provider.BumpBetween(c.From, c.To))
		if r.AutoMerge != nil && of && where.Names(c.Addr) && where.In(dir) {
			may = *r.AutoMerge
		}
	}
	return may
}
