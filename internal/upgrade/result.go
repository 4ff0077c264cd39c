package upgrade

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Result is the plan for one root module.
type Result struct {
	Module scan.RootModule
	// Partial says that the module tree could not be read in whole, and that
	// the constraints of the old lock file stand in for the rest: Requirements
	// of Module are what is known and those.
	Partial bool
	// Left says that the lock file stays as it is, unexamined: what is required is
	// known to nobody but the program that makes the configuration.
	Left bool
	// Selections has one element for each required provider and for each entry
	// that the new lock file drops, sorted by address.
	Selections []Selection
	// Old and New are the entries before and after, sorted by address.
	Old, New []lockfile.Lock
	// File is the new content of the lock file; nil if nothing is to be written.
	File []byte
	// Diagnostics are the problems met, those of the scan included. An error
	// among them makes the run exit with status 1.
	Diagnostics []problem.Problem
	// Findings are recorded hashes that belong to nothing, and Undecided those of
	// which that is not known, sorted by place; a plan leaves both empty.
	Findings, Undecided []problem.Problem
	// Refuted are the hashes that Findings speak of, each with its release: one finding may
	// speak of many.
	Refuted []problem.Subject

	allBytes bool // File is what the tools write, byte for byte [terraform 1.11 internal/depsfile/locks_file.go]
	// untouched says that a failure leaves the whole root module as it is.
	untouched bool
}

// Selection is the decision about one provider of one root module. A provider
// that failed is a value here: its siblings go on.
type Selection struct {
	Requirement scan.Requirement
	From        provider.Version // zero if the lock had no entry
	To          provider.Version // zero if the entry goes or nothing was selected
	// Held explains why a newer release was not taken, newest first.
	Held []Held
	// Platforms are those whose h1 the new entry holds, sorted.
	Platforms []provider.Platform
	// Missing are wanted platforms that the release does not serve, sorted.
	Missing []provider.Platform
	// Since are the first releases that serve those of Missing, as far as known: they are
	// newer.
	Since map[provider.Platform]provider.Version
	// Serving is the newest allowed release before it that serves all wanted
	// platforms, where this one does not; zero if none is known. It is advice:
	// platforms select no version.
	Serving provider.Version
	// Hashes says which platform each h1 of the new entry belongs to.
	Hashes map[provider.Hash]provider.Platform
	Signer provider.Signer
	// SignerFrom is who signed the list of the release From; FormerSigners
	// fills it where another release was selected. Zero if it is not known.
	SignerFrom provider.Signer
	// Published is when the selected release was; zero if it is not known.
	Published time.Time
	// Replaced says that the packages of the locked version were replaced after it
	// was locked, and that the new entry holds other hashes all the same.
	Replaced bool
	// Marks are the weaker grounds that some of the hashes rest on, sorted.
	Marks []provider.Mark
	// Warnings are the registry's words about the provider, untrusted.
	Warnings []string
	Err      error
	// FromPull says that the new entry is that of a standing proposal: Err or a
	// problem of the whole root module kept the run from knowing better, or it was not
	// asked to: then it is Unasked as well.
	FromPull, Unasked bool
}

// Held is a release that was not selected though it is newer: the newest of
// those that one reason holds.
type Held struct {
	Version provider.Version
	By      policy.Hold // what holds it
	// Published is when the version was; zero if it is not known.
	Published time.Time
	// Term is the term that decides, if By.Reason is HeldByConstraint: to get any
	// further than the selected version, it has to change first. Others are the
	// further terms that exclude the version.
	Term   scan.Term
	Others []scan.Term
	// Help is what lets the provider go on, if By.Reason is HeldByConstraint.
	Help Advice
}

// The reasons that are no rules. Platforms and protocols select no version, as they
// select none in the tools; but a selected release that fails for one of them stays out
// of the lock file.
const (
	HeldByConstraint policy.Reason = "constraint" // a version constraint of the module tree excludes it
	HeldByPlatform   policy.Reason = "platform"   // it is not published for a platform that must be covered
	HeldByLock       policy.Reason = "lock"       // Options.Newer: versions stay, and this one is only told
	HeldByProtocol   policy.Reason = "protocol"   // it speaks a plugin protocol that the tool does not [terraform 1.11 internal/getproviders/registry_client.go]
)

// resultOf builds the result of a root module.
func resultOf(root root, assumed []provider.Want, proofs []proven, b behaviour) Result {
	r := Result{
		Module: root.module, Partial: root.basis == onRecords, Left: root.basis == onNothing, Old: entriesBefore(root.module.Lock, proofs),
		Diagnostics: root.diagnostics, Selections: make([]Selection, 0, len(proofs)), allBytes: b.allBytes, untouched: root.undecided,
	}
	entries := map[provider.Addr]lockfile.Lock{}
	for _, p := range proofs {
		r.Selections = append(r.Selections, p.selection)
		r.Diagnostics = append(r.Diagnostics, p.explain()...)
		if p.selection.Err != nil {
			// Always where there is no old entry to fall back to, since a lock file that lacks
			// a required provider would be worse than the old one, or where there are two of
			// which none could be kept.
			choice := p.covered.chosen
			r.untouched = r.untouched || b.allOrNothing || choice.old.Version.IsZero() || choice.wanted.sides != nil
		} else if !p.kept {
			entries[p.covered.chosen.wanted.addr()] = p.entry()
		}
	}
	r.New = r.Old
	if r.untouched || r.Left {
		return r
	}
	r.Diagnostics = append(r.Diagnostics, r.warnAssumed(assumed)...)
	// An old entry whose provider failed or was not asked for keeps its bytes. One that
	// nothing requires stays where providers lock keeps it, where links share the lock file
	// with root modules that may, where it is named to be kept,
	// or where the run is about other providers; otherwise it goes, as with init. Where it
	// stays the tools write it anew, with its hashes in order [terraform 1.11
	// internal/depsfile/locks.go].
	r.New = make([]lockfile.Lock, 0, max(len(r.Old), len(entries)))
	for _, l := range r.Old {
		_, again := entries[l.Addr]
		required := requirementFor(r.Module.Tree.Requirements, l.Addr) != nil || slices.Contains(root.left, l.Addr)
		stays := b.keepsUnreferenced || r.Module.Shared || matches(b.options.Keep, l.Addr)
		switch {
		case again:
		case required || !selected(b.options.Only, l.Addr), stays && !b.allBytes:
			r.New = append(r.New, l.Kept())
		case stays:
			r.New = append(r.New, l)
		default:
			r.Selections = append(r.Selections, Selection{Requirement: scan.Requirement{Addr: l.Addr}, From: l.Version})
		}
	}
	r.New = slices.AppendSeq(r.New, maps.Values(entries))
	slices.SortFunc(r.New, lockfile.Lock.Compare)
	slices.SortFunc(r.Selections, Selection.compare)
	r.File = r.print()
	return r
}

// entriesBefore are the old entries: of a disputed one that of the side that counts.
func entriesBefore(f *lockfile.File, proofs []proven) []lockfile.Lock {
	if f == nil {
		return nil
	}
	if len(f.Disputed) == 0 {
		return f.Locks
	}
	old := slices.Clone(f.Locks)
	for i, l := range old {
		if j := slices.IndexFunc(proofs, func(p proven) bool { return p.covered.chosen.old.Addr == l.Addr }); j >= 0 {
			old[i] = proofs[j].covered.chosen.old
		}
	}
	return old
}

// entry is the new entry of the provider.
func (p proven) entry() lockfile.Lock {
	choice, w := p.covered.chosen, p.covered.chosen.wanted
	l := lockfile.New(w.addr(), choice.to, w.records, p.hashes)
	if slices.Equal(l.Hashes, choice.old.Hashes) { // mostly: of thousands of root modules these are shared
		l.Hashes = choice.old.Hashes
	}
	return l
}

// explain turns a failure, or else the notices, into diagnostics at the place
// that requires the provider. What is no failure (missing platforms, the
// registry's warnings) stays a fact of the selection.
func (p proven) explain() []problem.Problem {
	w := p.covered.chosen.wanted
	causes, severity := p.notices, problem.SeverityWarning
	if p.selection.Err != nil {
		causes, severity = []error{p.selection.Err}, problem.SeverityError
	}
	var diagnostics []problem.Problem
	for _, cause := range causes {
		d := problem.Of(cause)
		d.Severity, d.Subject.Addr = severity, w.addr()
		if terms := w.requirement.Terms; d.Place == (problem.Place{}) && len(terms) > 0 {
			d.Place = terms[0].Place
		}
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}

// compare sorts by address.
func (s Selection) compare(t Selection) int { return s.Requirement.Addr.Compare(t.Requirement.Addr) }

// signed reports whether the run has seen the signed list of the selected release.
func (s Selection) signed() bool { return s.Err == nil && s.Signer.KeyID != "" && !s.FromPull }

// former names the package whose list tells who signed the release that the
// selection leaves; none if it stays, or if nobody is known to have signed the
// new one. The platform is one of the new entry's: releases rarely lose any.
func (s Selection) former(tool provider.Tool) []ask.Question {
	if s.Err != nil || s.From.IsZero() || s.To.IsZero() || s.From == s.To || len(s.Platforms) == 0 || s.Signer == (provider.Signer{}) {
		return nil
	}
	return []ask.Question{{Tool: tool, Want: provider.Want{Addr: s.Requirement.Addr, Version: s.From, Platform: s.Platforms[0]}}}
}

// warnAssumed says which new entries have the platforms of others though only the
// number of their old hashes tells that they had the same.
func (r Result) warnAssumed(assumed []provider.Want) []problem.Problem {
	var names []string
	for _, w := range assumed {
		if !slices.ContainsFunc(r.Selections, func(s Selection) bool { return s.Err != nil && s.Requirement.Addr == w.Addr }) {
			names = append(names, fmt.Sprintf("%s %s", w.Addr, w.Version))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []problem.Problem{{
		Severity: problem.SeverityWarning, Code: problem.CodeNoPackage, Place: problem.Place{Path: path.Join(r.Module.Dir, lockfile.Name)},
		Message: fmt.Sprintf("relock assumes that the old entries of %s cover the same platforms as the others, since they have as many hashes", strings.Join(names, ", ")),
		Hint:    "keep relock's hash cache between runs, or name the platforms with the setting platforms, and relock assumes nothing",
	}}
}

// print returns the new bytes of the lock file, or nil if it is to stay as it
// is. Without Exact only facts count: a file in another order or with comments
// is left alone, and an empty one is not created.
func (r Result) print() []byte {
	conflicted := r.Module.Lock != nil && r.Module.Lock.Conflict > 0
	if !r.allBytes && !conflicted && slices.EqualFunc(r.Old, r.New, lockfile.Lock.Equal) {
		return nil
	}
	printed := r.printed(r.New...)
	if r.allBytes && r.Module.Lock != nil && bytes.Equal(printed, r.Module.Lock.Source) {
		return nil
	}
	return printed
}

// printed is a lock file of these entries.
func (r Result) printed(locks ...lockfile.Lock) []byte {
	return (&lockfile.File{Tool: r.Module.Tool.Name, Keeper: r.Module.Made.Keeper, Locks: locks}).Print()
}

// Only returns the part of the plan that is about the providers that take
// selects: what else the plan changes stays as it is in the old lock file, byte
// for byte, and is not told of. File is nil if nothing is left to change. The
// parts of a plan can be written one after the other, in any order, if each is
// planned anew once another one is written.
//
// An entry that goes because its provider has moved to the registry of the other
// tool goes with the entry that takes its place. What is no provider's, such as
// the order of the entries under Exact, is the first entry's.
func (r Result) Only(take func(provider.Addr) bool) Result {
	taken := func(addr provider.Addr) bool { return take(r.successor(addr)) }
	takenLock := func(l lockfile.Lock) bool { return taken(l.Addr) }
	takenProblem := func(p problem.Problem) bool { return taken(p.Subject.Addr) }
	part := r
	part.Selections = collect.Those(r.Selections, func(s Selection) bool { return taken(s.Requirement.Addr) })
	part.Diagnostics = collect.Those(r.Diagnostics, func(d problem.Problem) bool { return d.Subject.Addr == provider.Addr{} || takenProblem(d) })
	part.Findings, part.Undecided = collect.Those(r.Findings, takenProblem), collect.Those(r.Undecided, takenProblem)
	part.Refuted = collect.Those(r.Refuted, func(h problem.Subject) bool { return taken(h.Addr) })
	changed := collect.Those(slices.Concat(r.New, r.Old), r.changes)
	switch {
	case r.File == nil:
		return part
	case len(changed) == 0 && len(r.New) > 0 && !takenLock(r.New[0]), len(changed) > 0 && !slices.ContainsFunc(changed, takenLock):
		part.New, part.File = r.Old, nil
		return part
	}
	part.New = collect.Those(r.New, takenLock)
	for _, l := range r.Old {
		if !takenLock(l) {
			part.New = append(part.New, l.Kept())
		}
	}
	slices.SortFunc(part.New, lockfile.Lock.Compare)
	part.File = r.printed(part.New...)
	return part
}

// changes reports whether the plan changes an entry: what it says or, under Exact, how it
// is written.
func (r Result) changes(l lockfile.Lock) bool {
	old, was := find(r.Old, l.Addr)
	now, is := find(r.New, l.Addr)
	if r.allBytes && was && is {
		return !bytes.Equal(r.printed(old.Kept()), r.printed(now))
	}
	return was != is || !old.Equal(now)
}

// Accounted returns the plan without the failure of a provider whose recorded hashes match
// no package of its release: findings say that of each hash. What the failure kept back
// stays out of the plan.
func (r Result) Accounted(addr provider.Addr) Result {
	r.Selections, r.Diagnostics = slices.Clone(r.Selections), slices.Clone(r.Diagnostics)
	for i, s := range r.Selections {
		if s.Requirement.Addr == addr && problem.Coded(s.Err, problem.CodeReReleased) {
			r.Selections[i].Err = nil
			failure := problem.Of(s.Err)
			r.Diagnostics = slices.DeleteFunc(r.Diagnostics, func(d problem.Problem) bool {
				return d.Severity == problem.SeverityError && d.Code == failure.Code && d.Subject.Addr == addr && d.Message == failure.Message
			})
		}
	}
	return r
}

// successor is the address whose entry takes the place of one that goes: the
// same name in the registry of the other tool. It is addr itself if there is none.
func (r Result) successor(addr provider.Addr) provider.Addr {
	twin, ok := addr.Twin()
	if !ok {
		return addr
	}
	_, was := find(r.Old, addr)
	_, is := find(r.New, addr)
	_, twinWas := find(r.Old, twin)
	_, twinIs := find(r.New, twin)
	if was && !is && twinIs && !twinWas {
		return twin
	}
	return addr
}

// addrOf is the provider of an entry.
func addrOf(l lockfile.Lock) provider.Addr { return l.Addr }

func find(locks []lockfile.Lock, addr provider.Addr) (lockfile.Lock, bool) {
	i := slices.IndexFunc(locks, func(l lockfile.Lock) bool { return l.Addr == addr })
	if i < 0 {
		return lockfile.Lock{}, false
	}
	return locks[i], true
}
