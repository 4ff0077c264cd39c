package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Carrier decides alone which parts of an open proposal are dropped. It keeps the entries
// that the run has not seen. The plan replaces the rest.
type Carrier struct {
	options Options
	roots   map[string]Result // the plans of all root modules that the run has read, by directory
	refuted func(lockfile.Lock) bool
	base    fs.FS
	missed  func(dir string) bool
}

// NewCarrier returns the carrier of a run with the plans of all root modules that it has
// read. opts are those of the plans. base has the files that the proposals are for. missed
// reports whether the run did not look at the lock file of a directory in which it found no
// root module, although the base may want it.
func NewCarrier(results []Result, opts Options, base fs.FS, missed func(dir string) bool) Carrier {
	k := Carrier{options: opts, roots: map[string]Result{}, refuted: refutedBy(results), base: base, missed: missed}
	for _, r := range results {
		k.roots[r.Module.Dir] = r
	}
	return k
}

// Proposed is a lock file of an open proposal.
type Proposed struct {
	Path string
	// Old is the content that the proposal replaces, nil if there was no file.
	Old, New []byte
}

// Misfit is why an open proposal must stay as it is. The zero value is that it need not.
type Misfit int

// The reasons.
const (
	OtherFile   Misfit = iota + 1 // it has a file that is no lock file
	BaseUnread                    // a lock file of the base cannot be read
	BaseChanged                   // the base has other entries by now than the proposal replaces
)

// Carriage says what happened to the entries of an open proposal that the new plan could
// not decide.
type Carriage struct {
	Misfit Misfit
	// FromPull says that the plan takes some entries from the proposal, since it did not
	// see the answers.
	FromPull bool
	// Overtaken are the providers whose proposed entry no longer fits: the lock file's
	// entry is not the one that the proposal replaces.
	Overtaken []provider.Addr
	// Refused are the proposed entries that the requirements, the rules or the findings of
	// the run forbid. The old entries stay. A Lock without a version means that the
	// proposal removes the entry.
	Refused []lockfile.Lock
}

// Notices says which entries of a lock file the proposal loses.
func (b Carriage) Notices(name string) []problem.Problem {
	return collect.Mapped(b.Refused, func(l lockfile.Lock) problem.Problem {
		what := l.Addr.String()
		if !l.Version.IsZero() {
			what += " " + l.Version.String()
		}
		return problem.Problem{
			Code: problem.CodePolicy, Severity: problem.SeverityWarning, Place: problem.Place{Path: name},
			Message: fmt.Sprintf("the pull request no longer keeps %s: the requirements, the rules or a finding of this run are against it", what),
		}
	})
}

// Carry adds a group's open proposal for a root module to the group's part of its plan.
func (k Carrier) Carry(group string, part Result, f Proposed) (Result, Carriage) {
	if k.unreadable(part.Module, f.Path) { // a person decides about its content
		return part, Carriage{Misfit: BaseChanged}
	}
	entries, ok := k.entries(f)
	if !ok {
		return part, Carriage{Misfit: OtherFile}
	}
	entries.take = k.of(group, f)
	with, became := part.carry(entries, k.options)
	if len(became.Overtaken) > 0 {
		became.Misfit = BaseChanged
	}
	return with, became
}

// Unseen is the plan of a root module that the run has not read: the files of its directory
// in the group's open proposal, if the base wants them and has not got them. It writes
// nothing if nothing is kept.
func (k Carrier) Unseen(group string, files ...Proposed) (Result, Carriage) {
	dir := path.Dir(files[0].Path)
	if _, read := k.roots[dir]; read || !k.missed(dir) {
		return Result{}, Carriage{}
	}
	return k.AsProposed(group, files...)
}

// AsProposed is the plan of a root module as the group's open proposal has it: the files of
// its directory that the base has not got.
func (k Carrier) AsProposed(group string, files ...Proposed) (r Result, became Carriage) {
	m := scan.RootModule{Root: scan.Root{Dir: path.Dir(files[0].Path)}}
	var modules []byte
	var lock *Proposed
	for _, f := range files {
		now, err := k.baseFile(f.Path)
		switch {
		case err != nil:
			return Result{}, Carriage{Misfit: BaseUnread}
		case bytes.Equal(now, f.New):
		case !bytes.Equal(now, f.Old):
			return Result{}, Carriage{Misfit: BaseChanged}
		case modulelock.Is(f.Path):
			modules = f.New
			if f.Old != nil {
				m.ModuleLock, _ = modulelock.Parse(f.Old, f.Path)
			}
		default:
			lock = &f
		}
	}
	r.Module = m
	if lock != nil {
		entries, ok := k.entries(*lock)
		if !ok {
			return Result{}, Carriage{Misfit: OtherFile}
		}
		entries.take = k.of(group, *lock)
		after, _ := lockfile.Parse(lock.New, lock.Path)
		m.Tool.Name = after.Tool
		if lock.Old != nil {
			m.Lock, _ = lockfile.Parse(lock.Old, lock.Path)
		}
		r, became = unreadRoot(m, entries, lock.New, k.options)
	}
	r.ModulesFile = modules
	return r, became
}

// ModulesUnseen reports whether the plan of a root module leaves its modules as they are for
// want of an answer, or since the run is about some providers.
func (k Carrier) ModulesUnseen(r Result) bool {
	m := r.Module
	return len(k.options.Only) > 0 || len(m.Tree.Unread)+len(m.Tests.Unread) > 0 || slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool {
		return d.Severity == problem.SeverityError && d.Subject.Addr == (provider.Addr{}) && d.Code != problem.CodeModuleMoved
	})
}

// Covers reports whether the run has decided about everything that the files propose and
// the base lacks.
func (k Carrier) Covers(files []Proposed) bool {
	return !slices.ContainsFunc(files, func(f Proposed) bool {
		plan, read := k.roots[path.Dir(f.Path)]
		switch {
		case read && modulelock.Is(f.Path):
			return k.ModulesUnseen(plan)
		case read:
			return !k.covers(plan, f)
		}
		if !k.missed(path.Dir(f.Path)) {
			return false
		}
		now, err := k.baseFile(f.Path)
		return err != nil || !bytes.Equal(now, f.New)
	})
}

// baseFile is the content of a file on the base, empty if there is none.
func (k Carrier) baseFile(name string) ([]byte, error) {
	content, err := fs.ReadFile(k.base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// covers reports whether the plan of a root module decides about all entries that a file
// proposes and the base lacks.
func (k Carrier) covers(plan Result, f Proposed) bool {
	entries, ok := k.entries(f)
	if !ok {
		return false
	}
	entries.take = func(provider.Addr) bool { return true }
	_, became := plan.carry(entries, k.options)
	return !became.FromPull && len(became.Overtaken)+len(became.Refused) == 0
}

// unreadable reports whether the lock file on the base cannot be read, or has a merge
// conflict.
func (k Carrier) unreadable(m scan.RootModule, name string) bool {
	if m.Lock != nil {
		return m.Lock.Conflict > 0
	}
	_, err := fs.Lstat(k.base, name)
	return err == nil
}

// of selects the providers of a group in the root module with a lock file.
func (k Carrier) of(group string, f Proposed) func(provider.Addr) bool {
	return func(addr provider.Addr) bool { return k.options.Policy.GroupOf(path.Dir(f.Path), addr) == group }
}

// entries reads the entries that a file proposes. It reports whether old and new are lock
// files.
func (k Carrier) entries(f Proposed) (proposedEntries, bool) {
	before, problems := lockfile.Parse(f.Old, f.Path)
	after, more := lockfile.Parse(f.New, f.Path)
	if len(problems)+len(more) > 0 {
		return proposedEntries{}, false
	}
	return proposedEntries{before: before.Locks, after: after.Locks, refuted: k.refuted}, true
}

// proposedEntries are an earlier plan's proposal for the entries of a root module, which is
// still open.
type proposedEntries struct {
	// before are the entries that the proposal started from. after are the entries that it
	// proposes. Both were read from files.
	before, after []lockfile.Lock
	// take selects the providers that the proposal is about.
	take func(provider.Addr) bool
	// refuted reports whether the run has found a hash of the entry to be false.
	refuted func(lockfile.Lock) bool
}

// Failed reports whether something failed, so that the plan knows less than it could.
func (r Result) Failed() bool {
	return r.untouched || slices.ContainsFunc(r.Selections, func(s Selection) bool { return s.Err != nil })
}

// carry returns the plan with the proposed entries for the providers that failed, and for
// those that Options.Only leaves out. So an outage or a narrower run does not withdraw a
// proposed change. A proposed entry is carried over only if nothing that it depends on has
// changed:
//
//   - The lock file still has the entry that the proposed one replaces.
//   - The requirements and the rules allow its version.
//   - Nothing that the run has learned speaks against it.
//
// opts are those of the plan. If a failure left the whole root module as it is, carry takes
// the whole proposal. Under Exact and Strict, and if an entry would be missing, it takes
// all of the proposal or none.
func (r Result) carry(proposal proposedEntries, opts Options) (with Result, became Carriage) {
	c := entryCarrier{proposal: proposal, result: r, behaviour: opts.behaviour()}
	entries, selections := map[provider.Addr]lockfile.Lock{}, map[provider.Addr]Selection{}
	for _, s := range r.Selections {
		selections[s.Requirement.Addr] = s
	}
	locks := r.New
	if r.untouched {
		locks = collect.Mapped(locks, lockfile.Lock.Kept)
	}
	for _, l := range locks {
		entries[l.Addr] = l
	}
	for _, addr := range c.unseen() {
		old, _ := find(r.Old, addr)
		l, fate := c.carry(addr)
		became.note(fate, lockfile.Lock{Addr: addr, Version: l.Version})
		if fate >= overtaken && r.untouched && (c.behaviour.allOrNothing || old.Version.IsZero()) {
			became.FromPull = false
			return r, became
		}
		if fate != carriable {
			continue
		}
		entries[addr] = l
		if l.Version.IsZero() {
			delete(entries, addr)
		}
		if !l.Equal(old) {
			required := selections[addr].Requirement
			required.Addr = addr
			selections[addr] = Selection{
				Requirement: required, From: old.Version, To: l.Version, Err: selections[addr].Err,
				Facts: Facts{FromPull: true, Unasked: !selected(c.behaviour.options.Only, addr)},
			}
		}
	}
	if !became.FromPull {
		return r, became
	}
	with = r
	with.New = slices.SortedFunc(maps.Values(entries), lockfile.Lock.Compare)
	with.Selections = slices.SortedFunc(maps.Values(selections), Selection.compare)
	with.File = with.print()
	return with, became
}

// unreadRoot returns the plan of a root module that the run has not read. It takes the open
// proposal as it is, except for entries that the rules forbid or that the run has refuted.
// Only the directory of m is known. The old lock file must be the one that the proposal
// replaces.
func unreadRoot(m scan.RootModule, proposal proposedEntries, content []byte, opts Options) (Result, Carriage) {
	r := Result{Module: m, Old: proposal.before, File: content}
	c := entryCarrier{proposal: proposal, result: r, behaviour: opts.behaviour()}
	became := Carriage{}
	for _, addr := range c.all() {
		old, before := find(c.proposal.before, addr)
		l, after := find(c.proposal.after, addr)
		if before == after && l.Equal(old) {
			r.New = append(r.New, l)
			continue
		}
		if after && c.condemned(old, l) {
			became.note(barred, l)
			if before {
				r.New = append(r.New, old.Kept())
			}
			continue
		}
		became.note(carriable, l)
		if after {
			r.New = append(r.New, l)
		}
		r.Selections = append(r.Selections, Selection{
			Requirement: scan.Requirement{Addr: addr}, From: old.Version, To: l.Version, Facts: Facts{FromPull: true, Unasked: true},
		})
	}
	if len(became.Refused) > 0 {
		r.File = r.print()
	}
	return r, became
}

// note records what happens to an entry.
func (b *Carriage) note(f fate, l lockfile.Lock) {
	switch f {
	case carriable:
		b.FromPull = true
	case overtaken:
		b.Overtaken = append(b.Overtaken, l.Addr)
	case barred:
		b.Refused = append(b.Refused, l)
	}
}

// entryCarrier decides which proposed entries can be carried over.
type entryCarrier struct {
	proposal  proposedEntries
	behaviour behaviour
	result    Result
}

// fate is what happens to one entry of an open proposal.
type fate int

const (
	nothing   fate = iota // the proposal does not change the entry
	carriable             // the proposed entry still fits
	overtaken             // the lock file has another entry by now
	barred                // something speaks against the proposed entry
)

// all are the providers of the proposal, sorted.
func (c entryCarrier) all() []provider.Addr {
	addrs := collect.Mapped(slices.Concat(c.proposal.before, c.proposal.after), addrOf)
	slices.SortFunc(addrs, provider.Addr.Compare)
	return slices.Compact(addrs)
}

// unseen are the providers of the proposal that the plan could not decide about.
func (c entryCarrier) unseen() []provider.Addr {
	var addrs collect.Set[provider.Addr]
	proposal := Result{Old: c.proposal.before, New: c.proposal.after}
	add := func(addr provider.Addr) {
		if c.proposal.take(proposal.successor(addr)) {
			addrs.Add(addr)
		}
	}
	for _, addr := range c.all() {
		if c.result.untouched || !selected(c.behaviour.options.Only, addr) {
			add(addr)
		}
	}
	for _, s := range c.result.Selections {
		if s.Err != nil {
			add(s.Requirement.Addr)
		}
	}
	return addrs.List
}

// carry decides about one entry. If the proposal removes the entry, the returned Lock has
// no version.
func (c entryCarrier) carry(addr provider.Addr) (lockfile.Lock, fate) {
	was, before := find(c.proposal.before, addr)
	l, after := find(c.proposal.after, addr)
	old, now := find(c.result.Old, addr)
	tree := c.result.Module.Tree
	required := requirementFor(tree.Requirements, addr)
	switch proposed := before != after || after && !l.Equal(was); {
	case !proposed, after == now && l.Equal(old):
		return l, nothing
	case before != now || before && !was.Equal(old):
		return l, overtaken
	case !after && required != nil, after && !c.allowed(required, old, l):
		return l, barred
	case !after:
		return l, carriable
	}
	constraints := l.Constraints
	if required != nil && len(tree.Unread) == 0 && !problem.AnyError(tree.Diagnostics) && !c.behaviour.allBytes {
		constraints = stated(*required, old)
	}
	return lockfile.New(addr, l.Version, constraints, l.Hashes), carriable
}

// allowed reports whether a proposed entry may still replace the old one. The known
// requirements, the current rules and what the run has learned decide. The age of a release
// is not checked again: the rules let it through before.
func (c entryCarrier) allowed(required *scan.Requirement, old, l lockfile.Lock) bool {
	allows := func(v provider.Version) bool { return required == nil || required.Constraints().Allows(v) }
	stays := !old.Version.IsZero() && allows(old.Version)
	down := stays && l.Version.Precedence(old.Version) < 0
	if !stays {
		old.Version = provider.Version{}
	}
	switch {
	case !allows(l.Version), c.condemned(old, l):
		return false
	case down && !c.behaviour.options.AllowDowngrade && !c.behaviour.lowers:
		return false
	}
	// Some errors are answers, not outages: the release is not offered, or its packages are
	// wrong. An error about another version says nothing about this one.
	var e *problem.Error
	i := slices.IndexFunc(c.result.Selections, func(s Selection) bool { return s.Requirement.Addr == l.Addr })
	if i < 0 || !errors.As(c.result.Selections[i].Err, &e) {
		return true
	}
	switch e.Problem.Code {
	case problem.CodeNoVersion, problem.CodeLockedVersion:
		return false
	case problem.CodeBadChecksum, problem.CodeBadSignature, problem.CodeBadPackage, problem.CodeReReleased,
		problem.CodeNoPackage, problem.CodeProtocol:
		return !e.Problem.Subject.Version.IsZero() && e.Problem.Subject.Version != l.Version
	}
	return true
}

// condemned reports whether a proposed entry must not replace the old one, whatever is
// required. The rules forbid its version, no plan can have made its hashes, or the run has
// found a false hash.
func (c entryCarrier) condemned(old, l lockfile.Lock) bool {
	rules := c.behaviour.options.Policy.About(c.result.Module.Dir, l.Addr)
	rules.From = old.Version
	// No plan adds a malformed hash.
	malformed := func(h provider.Hash) bool { return !h.WellFormed() && !slices.Contains(old.Hashes, h) }
	held := rules.Judge(provider.Release{Version: l.Version}).Reason
	return held != "" && held != policy.HeldByAge || len(l.Hashes) == 0 || slices.ContainsFunc(l.Hashes, malformed) || c.proposal.refuted != nil && c.proposal.refuted(l)
}

// refutedBy returns a function that reports whether the run found a hash of an entry to be
// false. A hash is false if it belongs to nothing. It is also false if another root
// module's signed list of that release does not have it.
func refutedBy(results []Result) func(lockfile.Lock) bool {
	type recorded struct {
		addr    provider.Addr
		version provider.Version
		hash    provider.Hash // empty: the list of the release was seen
	}
	found, listed := map[recorded]bool{}, map[recorded]bool{}
	for _, r := range results {
		for _, h := range r.Refuted {
			found[recorded{h.Addr, h.Version, h.Hash}] = true
		}
		for _, s := range collect.Those(r.Selections, Selection.signed) {
			l, _ := find(r.New, s.Requirement.Addr)
			for _, h := range slices.Concat(l.Hashes, []provider.Hash{""}) {
				listed[recorded{l.Addr, l.Version, h}] = true
			}
		}
	}
	return func(l lockfile.Lock) bool {
		return slices.ContainsFunc(l.Hashes, func(h provider.Hash) bool {
			r := recorded{l.Addr, l.Version, h}
			known := listed[recorded{l.Addr, l.Version, ""}]
			return found[r] || known && h.Scheme() == provider.SchemeZH && !listed[r]
		})
	}
}
