package upgrade

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Result is the plan for one root module.
type Result struct {
	Module scan.RootModule
	// Partial says that parts of the module tree could not be read, and that the
	// constraints of the old lock file replace them. The Requirements of Module have both.
	Partial bool
	// Left says that the lock file stays as it is, unexamined: only the program that
	// generates the configuration knows what is required.
	Left bool
	// Selections has one element for each required provider and for each entry
	// that the new lock file drops, sorted by address.
	Selections []Selection
	// Old and New are the entries before and after, sorted by address.
	Old, New []lockfile.Lock
	// File is the new content of the lock file, or nil if nothing must be written.
	File []byte
	// ModulesFile is the new content of the lock file of modules, or nil if nothing must be
	// written. Both files are made from one module tree, so either both are written or none.
	ModulesFile []byte
	// LockedModules are the changes that ModulesFile makes.
	LockedModules []ModuleChange
	// Diagnostics are the problems of the plan and of the scan. An error among them makes
	// the run exit with status 1.
	Diagnostics []problem.Problem
	// Findings are locked modules that have moved, and recorded hashes that belong to
	// nothing. Undecided are hashes for which that is not known. Both are sorted by place. A
	// plan finds the modules only.
	Findings, Undecided []problem.Problem
	// Refuted are the hashes in Findings, each with its release. One finding may be about
	// many hashes.
	Refuted []problem.Subject

	allBytes bool // File is what the tools write, byte for byte [terraform 1.11 internal/depsfile/locks_file.go]
	// untouched says that a failure leaves the whole root module as it is.
	untouched bool
}

// Writes reports whether a lock file must be written.
func (r Result) Writes() bool { return r.File != nil || r.ModulesFile != nil }

// Selection is the decision about one provider of one root module. A failed provider is a
// value here, so the other providers continue.
type Selection struct {
	Requirement scan.Requirement
	From        provider.Version // zero if the lock had no entry
	To          provider.Version // zero if the entry is dropped or nothing was selected
	Facts
	// Hashes says which platform each h1 of the new entry belongs to.
	Hashes map[provider.Hash]provider.Platform
	// Replaced says that the packages of the locked version were replaced after it was
	// locked. The new entry has the hashes of the new packages.
	Replaced bool
	Err      error
}

// Facts is what a plan learned about a provider, in addition to the change of its entry.
type Facts struct {
	// Held explains why a newer release was not taken, newest first.
	Held []Held `json:"-"`
	// Coverage are the platforms whose h1 the new entry has, as far as known; sorted.
	Coverage []provider.Platform `json:"platforms"`
	// Missing are the wanted platforms that the release does not serve, sorted.
	Missing []provider.Platform `json:"-"`
	// Since are the first releases that serve the platforms in Missing, if known. They are
	// newer.
	Since map[provider.Platform]provider.Version `json:"-"`
	// Serving is the newest allowed release before this one that serves all wanted
	// platforms. It is set if this release does not; zero if none is known. It is advice:
	// platforms select no version.
	Serving provider.Version `json:"-"`
	Signer  provider.Signer  `json:"-"`
	// SignerFrom signed the list of the release before. FormerSigners fills it if another
	// release was selected. It is zero if it is not known.
	SignerFrom provider.Signer `json:"-"`
	// Published is when the selected release was published; zero if it is not known.
	Published time.Time `json:"-"`
	// Marks are the weaker grounds of some of the hashes, sorted.
	Marks []provider.Mark `json:"marks"`
	// Warnings are the registry's warnings about the provider. They are untrusted text.
	Warnings []string `json:"-"`
	// FromPull says that the new entry is from an open proposal, because a failure hid
	// the answer. Unasked says that it is so because the run was about other providers.
	FromPull, Unasked bool `json:"-"`
}

// Resigned reports whether another key than before signed, or none. It is false
// if either signer is unknown, or if the release before had no signature.
func (f Facts) Resigned() bool {
	return f.SignerFrom.KeyID != "" && f.SignerFrom.KeyID != f.Signer.KeyID && f.Signer != (provider.Signer{})
}

// Held is a newer release that was not selected: the newest of those that one reason holds.
type Held struct {
	Version provider.Version
	By      policy.Hold // the reason or rule
	// Published is when the release was published; zero if it is not known.
	Published time.Time
	// Term excludes the version and decides, if By.Reason is HeldByConstraint: it must
	// change first before any newer version is selected. Others are the other terms that
	// exclude the version.
	Term   scan.Term
	Others []scan.Term
	// Help is the advice to let the provider move on, if By.Reason is HeldByConstraint.
	Help Advice
}

// The reasons that are no rules. Platforms and protocols select no version, as in the
// tools. But a selected release that fails for one of them stays out of the lock file.
const (
	HeldByConstraint policy.Reason = "constraint" // a version constraint of the module tree excludes it
	HeldByPlatform   policy.Reason = "platform"   // it is not published for a platform that must be covered
	HeldByLock       policy.Reason = "lock"       // Options.Newer: versions stay, and this one is only reported
	HeldByProtocol   policy.Reason = "protocol"   // it speaks a plugin protocol that the tool does not [terraform 1.11 internal/getproviders/registry_client.go]
)

func resultOf(root root, cover coverage.Cover, proofs []proven, b behaviour) Result {
	r := Result{
		Module: root.module, Partial: root.basis == onRecords, Left: root.basis == onNothing, Old: entriesBefore(root.module.Lock, proofs),
		Diagnostics: root.diagnostics, Selections: make([]Selection, 0, len(proofs)), allBytes: b.allBytes, untouched: root.undecided,
	}
	entries := map[provider.Addr]lockfile.Lock{}
	for _, p := range proofs {
		r.Selections = append(r.Selections, p.selection)
		r.Diagnostics = append(r.Diagnostics, p.explain()...)
		if p.selection.Err != nil {
			// All or nothing if the provider has no old entry: a lock file without a
			// required provider would be worse than the old one. The same if a merge left
			// two entries: neither could stay.
			choice := p.covered.chosen
			r.untouched = r.untouched || b.allOrNothing || choice.old.Version.IsZero() || choice.wanted.sides != nil
		} else if !p.kept {
			entries[p.covered.chosen.wanted.addr()] = p.entry()
		}
	}
	r.New = r.Old
	for _, kept := range root.kept {
		if kept.Code == problem.CodeModuleMoved {
			r.Findings = append(r.Findings, kept)
		} else {
			r.Diagnostics = append(r.Diagnostics, kept)
		}
	}
	if r.untouched || r.Left {
		return r
	}
	r.Diagnostics = append(r.Diagnostics, r.warnAssumed(cover.Assumed)...)
	r.Diagnostics = append(r.Diagnostics, r.warnWithdrawn(cover)...)
	// An old entry keeps its bytes if its provider failed or was not asked for. An entry
	// that nothing requires stays in four cases; otherwise it is dropped, as in init:
	//
	//   - providers lock keeps it.
	//   - Links share the lock file with other root modules, which may require it.
	//   - Options.Keep names it.
	//   - The run is about other providers.
	//
	// In the first three cases the tools write it again, with its hashes in order
	// [terraform 1.11 internal/depsfile/locks.go].
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
	r.File, r.ModulesFile, r.LockedModules = r.print(), root.modulesFile, root.lockedModules
	return r
}

// entriesBefore are the old entries. For a disputed entry it is the chosen side's.
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
	if slices.Equal(l.Hashes, choice.old.Hashes) { // mostly equal: thousands of root modules then share the hashes
		l.Hashes = choice.old.Hashes
	}
	return l
}

// explain turns a failure, or else the notices, into diagnostics at the place that requires
// the provider. Facts that are no failure (missing platforms, the registry's warnings) stay
// in the selection.
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
		d.Place = cmp.Or(d.Place, w.place())
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}

func (s Selection) compare(t Selection) int { return s.Requirement.Addr.Compare(t.Requirement.Addr) }

// signed reports whether the run has seen the signed list of the selected release.
func (s Selection) signed() bool { return s.Err == nil && s.Signer.KeyID != "" && !s.FromPull }

// former names the package whose list says who signed the release that the selection
// leaves. There is none if the version stays, or if the new release has no known signer.
// The platform is one of the new entry: releases rarely lose a platform.
func (s Selection) former(tool provider.Tool) []ask.Question {
	if s.Err != nil || s.From.IsZero() || s.To.IsZero() || s.From == s.To || len(s.Coverage) == 0 || s.Signer == (provider.Signer{}) {
		return nil
	}
	return []ask.Question{{Tool: tool, Want: provider.Want{Addr: s.Requirement.Addr, Version: s.From, Platform: s.Coverage[0]}}}
}

// warnAssumed warns about new entries whose platforms are taken from other entries. The
// only ground is that the old entries have equally many hashes.
func (r Result) warnAssumed(assumed []provider.Want) []problem.Problem {
	return r.warn(assumed, problem.CodeNoPackage, "keep relock's hash cache between runs, or name the platforms with the setting platforms, and relock assumes nothing",
		"relock assumes that the old entries of %s cover the same platforms as the others, since they have as many hashes")
}

// warnWithdrawn warns about new entries whose platforms nothing proves, because the releases
// of the old entries are withdrawn.
func (r Result) warnWithdrawn(cover coverage.Cover) []problem.Problem {
	return r.warn(cover.Withdrawn, problem.CodeLockedVersion, "if these are not your platforms, name yours with --platform or the setting platforms",
		"nothing says any more which platforms the old entries of %s covered, since these releases are no longer offered: new entries are made for "+
			strings.Join(collect.Mapped(cover.List, provider.Platform.String), ", "))
}

// warn warns about those of these old entries whose providers did not fail. The format names
// them.
func (r Result) warn(entries []provider.Want, code problem.Code, hint, format string) []problem.Problem {
	var names []string
	for _, w := range entries {
		if !slices.ContainsFunc(r.Selections, func(s Selection) bool { return s.Err != nil && s.Requirement.Addr == w.Addr }) {
			names = append(names, fmt.Sprintf("%s %s", w.Addr, w.Version))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []problem.Problem{{
		Severity: problem.SeverityWarning, Code: code, Place: problem.Place{Path: path.Join(r.Module.Dir, lockfile.Name)},
		Message: fmt.Sprintf(format, strings.Join(names, ", ")), Hint: hint,
	}}
}

// print returns the new bytes of the lock file, or nil if it stays as it is. Without Exact,
// a file that differs only in order or comments is left alone, and an empty file is not
// created.
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

// printed is a lock file with these entries.
func (r Result) printed(locks ...lockfile.Lock) []byte {
	return (&lockfile.File{Tool: r.Module.Tool.Name, Keeper: r.Module.Made.Keeper, Locks: locks}).Print()
}

// Only returns the part of the plan for the providers that take selects. Every other entry
// stays as it is in the old lock file, byte for byte, and the part does not mention it.
// File is nil if nothing is left to change, and ModulesFile is. The parts of a plan can be written in any
// order, if each is planned again after another one is written.
//
// If a provider has moved to the registry of the other tool, its old entry is dropped in
// the same part that adds the new one. Changes that belong to no provider, such as the
// order of the entries under Exact, belong to the first entry.
func (r Result) Only(take func(provider.Addr) bool) Result {
	taken := func(addr provider.Addr) bool { return take(r.successor(addr)) }
	takenLock := func(l lockfile.Lock) bool { return taken(l.Addr) }
	takenProblem := func(p problem.Problem) bool { return p.Subject.Addr == provider.Addr{} || taken(p.Subject.Addr) }
	part := r
	part.ModulesFile = nil
	part.Selections = collect.Those(r.Selections, func(s Selection) bool { return taken(s.Requirement.Addr) })
	part.Diagnostics = collect.Those(r.Diagnostics, takenProblem)
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

// ModulesOnly returns the part of the plan that is the lock file of modules alone.
func (r Result) ModulesOnly() Result {
	r.Selections, r.New, r.File = nil, r.Old, nil
	return r
}

// OnlyModules returns the plan with some changes of the lock file of modules.
func (r Result) OnlyModules(take func(ModuleChange) bool) Result {
	part := collect.Those(r.LockedModules, take)
	if len(part) == len(r.LockedModules) {
		return r
	}
	r.LockedModules, r.ModulesFile = part, nil
	old := r.Module.ModuleLock
	now := modulelock.Apply(old, collect.Mapped(part, func(c ModuleChange) modulelock.Change { return c.Change }))
	if !slices.EqualFunc(old.Entries, now.Entries, modulelock.Entry.Equal) {
		r.ModulesFile = now.Print()
	}
	return r
}

// Forced returns the part of the plan that modules force: their lock file, and the entries
// that come, go, or get another version or other constraints. It does not say what holds
// newer releases, which is for other plans. The part has all of the providers that own
// selects; nil: none.
func (r Result) Forced(own func(provider.Addr) bool) Result {
	if own == nil {
		own = func(provider.Addr) bool { return false }
	}
	part := r.Only(func(addr provider.Addr) bool {
		old, was := find(r.Old, addr)
		now, is := find(r.New, addr)
		failed := slices.ContainsFunc(r.Selections, func(s Selection) bool { return s.Requirement.Addr == addr && s.Err != nil })
		return own(addr) || failed || was != is || old.Version != now.Version || !old.Constraints.Equal(now.Constraints)
	})
	part.ModulesFile = r.ModulesFile
	for i, s := range part.Selections {
		if !own(s.Requirement.Addr) {
			part.Selections[i].Held = nil
		}
	}
	return part
}

// changes reports whether the plan changes the meaning of an entry or, under Exact, its
// bytes.
func (r Result) changes(l lockfile.Lock) bool {
	old, was := find(r.Old, l.Addr)
	now, is := find(r.New, l.Addr)
	if r.allBytes && was && is {
		return !bytes.Equal(r.printed(old.Kept()), r.printed(now))
	}
	return was != is || !old.Equal(now)
}

// Accounted returns the plan without the failure of a provider whose recorded hashes match
// no package of its release. Use it if findings report each of those hashes. The entry that
// failed stays as it was.
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

// successor is the address whose new entry replaces one that is dropped: the same name in
// the registry of the other tool. It is addr itself if there is none.
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

func addrOf(l lockfile.Lock) provider.Addr { return l.Addr }

func find(locks []lockfile.Lock, addr provider.Addr) (lockfile.Lock, bool) {
	i := slices.IndexFunc(locks, func(l lockfile.Lock) bool { return l.Addr == addr })
	if i < 0 {
		return lockfile.Lock{}, false
	}
	return locks[i], true
}
