package scan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
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
	rules   policy.ModuleRules
	entries map[modulelock.Key]modulelock.Entry
	grown   int // how often an entry was added
	// disputed are the sides of a merge that differ. The first one is in entries until it is
	// known what the package is now.
	disputed map[modulelock.Key][]modulelock.Entry
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
	keep := func(why problem.Problem) {
		why.Place, why.Message = at, "the source stays as it is locked: "+why.Message
		made.Kept = append(made.Kept, why)
	}
	var p Package
	s := l.settled(l.question(call, tool), func(q remoteCall) (fetched, bool) {
		var err error
		p, err = source.Fetch(ctx, q.tool, q.Call)
		return answerOf(p, err), true
	})
	made.Held = append(made.Held, s.held...)
	got := s.got
	if s.kept.Code != "" {
		keep(s.kept)
	}
	if got.err != nil {
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
func (l *moduleLock) mayMove(address string) bool {
	return l.moves != nil && l.moves(l.dir, address) && l.forbids(address) == nil
}

// forbids is the rule that forbids to lock a package; nil if none does.
func (l *moduleLock) forbids(address string) *policy.Rule {
	return l.rules.Rulebook.AboutModule(l.dir, address).Forbids()
}

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

// settled is the package of a call that the lock file of modules and the rules accept.
type settled struct {
	question remoteCall
	got      fetched
	known    bool            // got is the answer to the question
	kept     problem.Problem // why the module stays as it is locked; without a code if it does not
	held     []HeldModule
}

// HeldModule is a version or a commit of a locked module that rules hold. Without a reason,
// a rule demands an age of it, and nothing states its date.
type HeldModule struct {
	modulelock.Key
	Hash      string
	At        string // the version or ref that is used
	Published time.Time
	By        policy.Hold
}

// settled asks about a call until the answer is one that the module may have: at most once
// for each newer version, and for its date if a rule demands an age.
func (l *moduleLock) settled(q remoteCall, ask func(remoteCall) (fetched, bool)) settled {
	s := settled{question: q}
	for {
		s.got, s.known = ask(s.question)
		if !s.known {
			return s
		}
		next := l.again(q, &s)
		if next == s.question {
			break
		}
		s.question = next
	}
	if problem.Coded(s.got.err, problem.CodeModuleMoved) && s.kept.Code == "" {
		s.kept = l.gone(q, s.got.err)
	}
	if e, ok := entryOf(s.question.Call, s.got, q.tool.Name); ok {
		for i := range s.held {
			s.held[i].At = e.Version
		}
	}
	return s
}

// again decides about the answer for a call whose module may move. If the module stays as it
// is locked, or goes less far, it returns the question for the package to use, and notes why.
// The first question, and the one of an accepted answer, are returned as they are.
func (l *moduleLock) again(first remoteCall, s *settled) remoteCall {
	q, got := s.question, s.got
	if l == nil || q.Pin != (Pin{}) {
		return q
	}
	serving, serves := l.serving(first.Call, q.tool)
	if l.moves == nil || serves && !l.mayMove(serving.Address) {
		return l.settle(s)
	}
	stay := func(e modulelock.Entry, why problem.Problem) remoteCall {
		first.Pin, s.kept = pinOf(e), why
		return first
	}
	if got.err != nil {
		if !serves || problem.Coded(got.err, problem.CodeNoVersion) {
			return q
		}
		return stay(serving, problem.Of(got.err))
	}
	e, lockable := entryOf(q.Call, got, q.tool.Name)
	old, locked := l.entries[e.Key]
	switch {
	case !lockable || locked && old.Hash == e.Hash:
		return q
	case !locked || got.reference.Moves():
		if !serves {
			return q
		}
		return l.obey(first, s, serving, e)
	case l.rules.Follows(l.dir, e.Address):
		return q
	}
	return stay(old, movedModule(e.Key, old.Hash, e.Hash))
}

// settle decides about a disputed entry. If the package is neither side of the merge now, and
// should not have moved, the first side stays.
func (l *moduleLock) settle(s *settled) remoteCall {
	q := s.question
	e, lockable := entryOf(q.Call, s.got, q.tool.Name)
	sides := l.disputed[e.Key]
	known := slices.ContainsFunc(sides, func(side modulelock.Entry) bool { return side.Hash == e.Hash })
	if s.got.err != nil || !lockable || sides == nil || known || s.got.reference.Moves() || l.rules.Follows(l.dir, e.Address) {
		return q
	}
	q.Pin = pinOf(sides[0])
	s.kept = movedModule(e.Key, sides[0].Hash+" and "+sides[1].Hash+" on the sides of the merge", e.Hash)
	return q
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

// obey decides whether rules hold the new version or commit of a package. Of a registry module
// it then tries the newest version below that they do not hold: never one below the locked one.
// A registry without a date for one version is not asked for those of others.
func (l *moduleLock) obey(first remoteCall, s *settled, serving, e modulelock.Entry) remoteCall {
	q, rules := s.question, l.rules.Rulebook.AboutModule(l.dir, e.Address)
	held := HeldModule{Key: e.Key, Hash: e.Hash, At: serving.Version, Published: s.got.published}
	held.By = rules.Judge(serving.Version, e.Version, held.Published)
	ages := (held.By.Reason == "" || held.By.Reason == policy.HeldByAge) && rules.WantsAge(serving.Version, e.Version)
	undated := held.Published.IsZero()
	switch {
	case ages && undated && !q.Dated && s.got.version != "":
		q.Dated = true
		return q
	case held.By.Reason != "" || ages && undated:
		s.held = append(s.held, held)
	}
	if held.By.Reason == "" {
		return q
	}
	_, above, _ := s.got.versions.Above(serving.Version)
	if i := slices.IndexFunc(above, func(r ModuleRelease) bool { return r.Version == e.Version }); i >= 0 {
		above = above[:i]
	}
	if ages && undated {
		above = nil
	}
	for _, release := range slices.Backward(above) {
		if allowed, err := goversion.NewConstraint(first.Version); first.Versioned && (err != nil || !allowed.Check(goversion.Must(goversion.NewVersion(release.Version)))) {
			continue
		}
		if by := rules.Judge(serving.Version, release.Version, time.Time{}); by.Reason == "" || by.Reason == policy.HeldByAge {
			first.Version, first.Versioned = release.Version, true
			return first
		}
	}
	first.Pin = pinOf(serving)
	return first
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
	disputed, forbids := locked && l.disputed[e.Key] != nil, l.forbids(e.Address)
	switch {
	case !locked && forbids != nil:
		return modulelock.Entry{}, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeProviderRefused, Message: "the rule " + forbids.Origin() + " does not permit it",
		}
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
