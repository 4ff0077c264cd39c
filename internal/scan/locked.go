package scan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// readModuleLock parses a lock file of modules that was read with an error or without one.
func readModuleLock(name string, src []byte, err error, mergeBase func(string) []byte) (*modulelock.File, []problem.Problem) {
	if err == nil && len(src) > lockfile.MaxSize {
		err = lockfile.ErrTooLarge
	}
	if err != nil {
		var unread tfconfig.Mistakes
		unread.Unreadable("file", problem.Place{Path: name}, err)
		return nil, unread.Diags
	}
	var base func() []byte
	if mergeBase != nil {
		base = func() []byte { return mergeBase(name) }
	}
	locked, problems := modulelock.Read(src, name, base)
	if locked != nil {
		problems = append(problems, locked.Warnings...)
		if d, conflicted := locked.Conflicted(); conflicted {
			problems = append(problems, d)
		}
	}
	return locked, problems
}

// moduleLock is the lock file of modules of a root module while its module tree is read.
// Which call uses which entry is not recorded: a call of a registry module takes the newest
// entry that it allows, as if the registry offered no other version. So an entry that one
// call adds may serve others, too.
type moduleLock struct {
	dir     string
	moves   func(dir, address string) bool // as Options.Moves
	rules   ModuleRules
	entries map[modulelock.Key]modulelock.Entry
	grown   int // how often an entry was added
	// disputed are the sides of a merge that differ. The first one is in entries until it is
	// known what the package is now.
	disputed map[modulelock.Key][]modulelock.Entry
}

// ModuleRules are the rules about locked modules.
type ModuleRules interface {
	// Follows reports whether a root module follows a tag or a version that has moved.
	Follows(dir string, k modulelock.Key) bool
	// Holds returns the rule, for people, that holds a package of a root module at a version
	// or a commit; empty: none does.
	Holds(dir, address, from, to string) string
}

// newModuleLock is nil if the root module has no such file, and none is wanted.
func newModuleLock(r Root, opts *Options) *moduleLock {
	if r.ModuleLock == nil && !opts.LockModules {
		return nil
	}
	l := &moduleLock{dir: r.Dir, moves: opts.Moves, rules: opts.ModuleRules, entries: map[modulelock.Key]modulelock.Entry{}}
	if r.ModuleLock != nil {
		l.disputed = r.ModuleLock.Disputed
		for _, e := range r.ModuleLock.Entries {
			l.entries[e.Key] = e
		}
	}
	for _, reading := range append(slices.Clip(r.Readings), r) {
		for _, f := range reading.Made.Fetched.Sources {
			l.add(modulelock.Entry{Key: f.Locked, Package: f.Repository, Hash: f.Hash})
		}
	}
	return l
}

// FetchSource fetches the module from which another program makes the configuration of a root
// module, and puts it into Made.Fetched if a lock file of modules has it, or gets it. Errors
// are those of Source.Fetch.
func FetchSource(ctx context.Context, r *Root, source Source, opts *Options, call Call, tool provider.Tool, at problem.Place) (Package, error) {
	l, made := newModuleLock(*r, opts), &r.Made.Fetched
	keep := func(how string, why problem.Problem) {
		why.Place, why.Message = at, "the source"+how+why.Message
		made.Kept = append(made.Kept, why)
	}
	q := l.question(call, tool)
	fetch := func() (p Package, got fetched) {
		p, err := source.Fetch(ctx, q.tool, q.Call)
		return p, answerOf(p, err)
	}
	p, got := fetch()
	next, why, again := l.again(q, got)
	if again {
		keep(howKept(next), why)
		q = next
		p, got = fetch()
	}
	if got.err != nil {
		if problem.Coded(got.err, problem.CodeModuleMoved) && !again {
			keep(howKept(q), l.gone(q, got.err))
		}
		return p, got.err
	}
	e, unlocked := l.record(call, got, tool)
	if unlocked.Code != "" {
		unlocked.Place, unlocked.Message = at, "the source cannot be locked: "+unlocked.Message
		made.Diagnostics = append(made.Diagnostics, unlocked)
	}
	if e.Hash != "" {
		made.Sources = append(made.Sources, Fetched{
			Locked: e.Key, Repository: e.Package, Hash: e.Hash, Moves: got.reference.Moves(), Place: at, Call: call, Version: got.version, ID: p.ID, Dir: p.Dir,
			Source: moduleaddr.Shown(call.Source), Ref: moduleaddr.Ref(call.Source), Versions: got.versions,
		})
	}
	return p, nil
}

// howKept says how a call keeps its module by another question.
func howKept(next remoteCall) string {
	if next.Pin == (Pin{}) {
		return " goes less far: "
	}
	return " stays as it is locked: "
}

// Uses are the entries of a lock file of modules that calls use, in the order of the calls.
// An entry is zero if a call uses none. f may be nil.
func Uses(f *modulelock.File, calls []Fetched, tool provider.Tool) []modulelock.Entry {
	uses := make([]modulelock.Entry, len(calls))
	l := newModuleLock(Root{ModuleLock: f}, &Options{LockModules: true})
	for i, c := range calls {
		uses[i], _ = l.serving(c.Call, tool)
	}
	return uses
}

// RemoteModules are the addresses of the packages that a root module calls and that can be
// locked, as far as known; sorted. It also has packages that were not fetched.
func RemoteModules(m RootModule) []string {
	all := m.All()
	sources := collect.Mapped(m.Locked(), func(f Fetched) string { return f.Call.Source })
	for _, u := range all.Unread {
		if !u.OfEntry() {
			sources = append(sources, u.Source)
		}
	}
	addresses := map[string]bool{}
	for _, source := range sources {
		a, err := moduleaddr.Parse(source, m.Tool.Name)
		if label, _ := a.Label(); err == nil && label != "" {
			addresses[label] = true
		}
	}
	return slices.Sorted(maps.Keys(addresses))
}

// serving is the entry that a call uses.
func (l *moduleLock) serving(call Call, tool provider.Tool) (modulelock.Entry, bool) {
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	if err != nil {
		return modulelock.Entry{}, false
	}
	address, ref := a.Label()
	if a.Kind != moduleaddr.Registry {
		e, ok := l.entries[modulelock.Key{Address: address, Version: ref}]
		return e, ok
	}
	var allowed goversion.Constraints
	if call.Versioned {
		allowed, err = goversion.NewConstraint(call.Version)
		if err != nil {
			return modulelock.Entry{}, false
		}
	}
	var locked []string
	for _, k := range slices.SortedFunc(maps.Keys(l.entries), modulelock.Key.Compare) {
		if k.Address == address {
			locked = append(locked, k.Version)
		}
	}
	version, _ := SelectModule(locked, allowed, tool)
	e, ok := l.entries[modulelock.Key{Address: address, Version: version}]
	return e, ok
}

// mayMove reports whether a package moves as by init -upgrade.
func (l *moduleLock) mayMove(address string) bool { return l.moves != nil && l.moves(l.dir, address) }

// add records the package of a call, unless there is an entry for it.
func (l *moduleLock) add(e modulelock.Entry) {
	if _, ok := l.entries[e.Key]; !ok {
		l.entries[e.Key] = e
		l.grown++
	}
}

// question is the question to a Source about a call: what the lock file has for it, or what
// init would select. l may be nil.
func (l *moduleLock) question(call Call, tool provider.Tool) remoteCall {
	q := remoteCall{tool: tool.Rules(), Call: call}
	if l == nil {
		return q
	}
	q.Hash = true
	e, ok := l.serving(call, tool)
	switch {
	case !ok || l.mayMove(e.Address):
	case l.disputed[e.Key] == nil:
		q.Pin = pinOf(e)
	case call.Versioned:
		q.Version = "= " + e.Version
	}
	return q
}

func pinOf(e modulelock.Entry) Pin {
	p := Pin{Package: e.Package, Hash: e.Hash}
	if a, err := moduleaddr.Parse(e.Address, ""); err == nil && a.Kind == moduleaddr.Registry {
		p.Version = e.Version
	}
	return p
}

// OnMachine reports whether a call names a directory or an archive on the disk of this machine.
func OnMachine(call Call, tool provider.Tool) bool {
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	return err == nil && a.Kind == moduleaddr.Remote && a.Package.Getter == "file"
}

// entryOf is the entry for the package of a call; false if it cannot be locked.
func entryOf(call Call, got fetched, tool provider.ToolName) (modulelock.Entry, bool) {
	k := keyOf(call, got.version, tool)
	if k.Address == "" || got.hash == "" {
		return modulelock.Entry{}, false
	}
	return modulelock.Entry{Key: k, Package: got.repository, Hash: got.hash}, true
}

// keyOf is the key of the entry for a call that selects a version; zero if there can be none.
func keyOf(call Call, version string, tool provider.ToolName) modulelock.Key {
	a, err := moduleaddr.Parse(call.Source, tool)
	if err != nil {
		return modulelock.Key{}
	}
	address, ref := a.Label()
	if a.Kind == moduleaddr.Registry {
		ref = version
	}
	return modulelock.Key{Address: address, Version: ref}
}

// Selects is the key of the entry that a lock file of modules would have for a call.
func (f Fetched) Selects(tool provider.ToolName) modulelock.Key {
	return keyOf(f.Call, f.Version, tool)
}

// again decides about the answer for a call whose module may move. If the module stays as it
// is locked, or goes less far, it returns the question for the package to use, and why.
func (l *moduleLock) again(q remoteCall, got fetched) (next remoteCall, why problem.Problem, again bool) {
	if l == nil || q.Pin != (Pin{}) {
		return q, problem.Problem{}, false
	}
	serving, serves := l.serving(q.Call, q.tool)
	if l.moves == nil || serves && !l.mayMove(serving.Address) {
		return l.settle(q, got)
	}
	if got.err != nil {
		if !serves || problem.Coded(got.err, problem.CodeNoVersion) {
			return q, problem.Problem{}, false
		}
		q.Pin = pinOf(serving)
		return q, problem.Of(got.err), true
	}
	e, lockable := entryOf(q.Call, got, q.tool.Name)
	old, locked := l.entries[e.Key]
	switch {
	case !lockable || locked && old.Hash == e.Hash:
		return q, problem.Problem{}, false
	case !locked || got.reference.Moves():
		if !serves {
			return q, problem.Problem{}, false
		}
		return l.held(q, got, serving, e)
	case l.rules != nil && l.rules.Follows(l.dir, e.Key):
		return q, problem.Problem{}, false
	}
	q.Pin = pinOf(old)
	return q, movedModule(e.Key, old.Hash, e.Hash), true
}

// settle decides about a disputed entry. If the package is neither side of the merge now, and
// should not have moved, the first side stays.
func (l *moduleLock) settle(q remoteCall, got fetched) (next remoteCall, why problem.Problem, again bool) {
	e, lockable := entryOf(q.Call, got, q.tool.Name)
	sides := l.disputed[e.Key]
	known := slices.ContainsFunc(sides, func(side modulelock.Entry) bool { return side.Hash == e.Hash })
	if got.err != nil || !lockable || sides == nil || known || got.reference.Moves() || l.rules != nil && l.rules.Follows(l.dir, e.Key) {
		return q, problem.Problem{}, false
	}
	q.Pin = pinOf(sides[0])
	return q, movedModule(e.Key, sides[0].Hash+" and "+sides[1].Hash+" on the sides of the merge", e.Hash), true
}

// gone is the finding about a call whose package has other content than the locked one, and
// cannot be had as it was.
func (l *moduleLock) gone(q remoteCall, now error) problem.Problem {
	e, _ := l.serving(q.Call, q.tool)
	return movedModule(e.Key, e.Hash, cmp.Or(string(problem.Of(now).Subject.Hash), "nothing that has a hash"))
}

// movedModule is the finding about a package that was something else when it was locked.
func movedModule(k modulelock.Key, was, is string) problem.Problem {
	return problem.Problem{
		Code: problem.CodeModuleMoved, About: k.String(), Message: fmt.Sprintf("%s was %s, and is %s now", k, was, is),
		Hint: k.MovedHint(),
	}
}

// held decides whether rules hold the new version or commit of a package. Of a registry
// module it takes the newest version that they do not hold.
func (l *moduleLock) held(q remoteCall, got fetched, serving, e modulelock.Entry) (next remoteCall, why problem.Problem, again bool) {
	holds := func(version string) string {
		if l.rules == nil {
			return ""
		}
		return l.rules.Holds(l.dir, e.Address, serving.Version, version)
	}
	rule := holds(e.Version)
	if rule == "" {
		return q, problem.Problem{}, false
	}
	why = problem.Problem{Severity: problem.SeverityNote, Code: problem.CodePolicy, Message: fmt.Sprintf("%s holds %s", rule, e.Key)}
	_, above, _ := got.versions.Above(serving.Version)
	for _, release := range slices.Backward(above) {
		if allowed, err := goversion.NewConstraint(q.Version); q.Versioned && (err != nil || !allowed.Check(goversion.Must(goversion.NewVersion(release.Version)))) {
			continue
		}
		if holds(release.Version) == "" {
			q.Version, q.Versioned = release.Version, true
			return q, why, true
		}
	}
	q.Pin = pinOf(serving)
	return q, why, true
}

// record adds the package of a followed call to the lock file, and returns its entry there.
// The problem says why there is none, or what is wrong with it; it has no code otherwise.
func (l *moduleLock) record(q Call, got fetched, tool provider.Tool) (modulelock.Entry, problem.Problem) {
	if l == nil {
		return modulelock.Entry{}, problem.Problem{}
	}
	e, ok := entryOf(q, got, tool.Name)
	switch {
	case !ok && OnMachine(q, tool):
		return modulelock.Entry{}, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeModuleOnDisk, Message: "its package is on the disk of this machine",
		}
	case !ok: // it was read from where init has put it, by a run that asks nobody
		e, _ = l.serving(q, tool)
		return e, problem.Problem{}
	}
	old, locked := l.entries[e.Key]
	disputed := locked && l.disputed[e.Key] != nil
	switch {
	case locked && !disputed && (!l.mayMove(e.Address) || old.Hash == e.Hash):
		return old, problem.Problem{} // also if a registry names another repository with the same content
	case got.reference.Ambiguous:
		return e, problem.Problem{
			Code: problem.CodeModuleAmbiguous, Message: "its ref " + e.Version + " is a branch and a tag",
			Hint: "write refs/tags/" + e.Version + " for the tag, or origin/" + e.Version + " for the branch",
		}
	case disputed:
		l.entries[e.Key] = e
	case !l.mayMove(e.Address):
		l.add(e)
	}
	return e, problem.Problem{}
}
