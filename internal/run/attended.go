package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
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

// carries reports whether some changes are from a former proposal. Only the run that first
// proposed them knew who signed them, and what else needs a person.
func carries(modules []report.Module) bool {
	return slices.ContainsFunc(modules, func(m report.Module) bool {
		return slices.ContainsFunc(m.Changes, func(c report.Change) bool { return c.FromPull })
	})
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

// facts is a digest of facts in the text of a pull request that no lock file has: changes
// that need a person, and changes that were held back. Dates are not part of it, since
// relock asks for them only for a text that is written.
func facts(modules []report.Module, general []problem.Problem) string {
	h := sha256.New()
	// Each field is written by itself. The digest is in open pull requests: if it changed
	// for the same facts, relock would write each of them again.
	signer := func(s provider.Signer) string {
		return fmt.Sprintf("{%s %s %s %t %t}", s.KeyID, s.Label, s.Fingerprint, s.Expired, s.Ahead)
	}
	write := func(addr provider.Addr, f upgrade.Facts) {
		for _, held := range f.Held {
			fmt.Fprintf(h, "held %s %s %s %s %s\n", addr, held.Version, held.By.Reason, held.By.Rule, held.Term.Constraint)
		}
		fmt.Fprintf(h, "eye %s %v %v %v %s %s\n", addr, f.Missing, f.Warnings, f.Marks, signer(f.Signer), signer(f.SignerFrom))
		if f.FromPull {
			fmt.Fprintf(h, "carried %s\n", addr)
		}
	}
	for _, m := range modules {
		io.WriteString(h, "module "+m.Dir+"\n")
		for _, change := range m.Changes {
			write(change.Addr, change.Facts)
		}
		for _, kept := range m.Kept {
			write(kept.Addr, kept.Facts)
		}
		for _, held := range m.HeldModules {
			fmt.Fprintf(h, "held %s %s %s %s\n", held.Address, held.Version, held.By.Reason, held.By.Rule)
		}
		for _, u := range m.Unread {
			fmt.Fprintf(h, "unread %s %s\n", u.Module, u.Code)
		}
		for _, f := range m.Findings {
			fmt.Fprintf(h, "finding %s %s %s %s\n", f.Code, f.Subject.Addr, f.Subject.Version, f.Subject.Hash)
		}
		for _, d := range m.Diagnostics {
			fmt.Fprintf(h, "diagnostic %s %s %d\n", d.Code, d.Subject.Addr, d.Severity)
		}
	}
	for _, d := range general { // without messages, which may name a port or a time
		fmt.Fprintf(h, "general %s %s %d\n", d.Code, d.Place.File(), d.Severity)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
