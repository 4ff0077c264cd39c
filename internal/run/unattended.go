package run

import (
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// unattended reports whether changes may be merged without a person. The rules must allow
// each of them, and relock's own judgement, too. No rule overrides that.
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

// failedOf counts the root modules of a group that failed in this run. The group's changes
// in them are unknown, so a person must look at its changes elsewhere. about has, for each
// root module, the group's part of the report.
func failedOf(book policy.Rulebook, key string, all []found, about []report.Module) int {
	n := 0
	for i, f := range all {
		if about[i].Failed() && inGroup(book, key, f) {
			n++
		}
	}
	return n
}

// inGroup reports whether a group has a provider of a root module. If no provider is known,
// it reports whether the group could have one.
func inGroup(book policy.Rulebook, key string, f found) bool {
	keys := groupKeys(book, []found{f})
	if len(keys) == 0 {
		return book.MayTake(key, f.module.Dir)
	}
	return slices.Contains(keys, key)
}

// needsAnEye reports whether a person must look at a change.
func needsAnEye(c report.Change) bool {
	switch c.Kind {
	case diff.Downgraded, diff.ReReleased, diff.Signer:
		return true
	case diff.Moved:
		return c.To.Precedence(c.From) < 0
	}
	return c.SignerFrom != (provider.Signer{}) && c.SignerFrom != c.Signer
}
