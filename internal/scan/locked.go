package scan

import (
	"fmt"
	"maps"
	"slices"

	goversion "github.com/hashicorp/go-version"

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
	moves   bool // versions and branches move, as by init -upgrade
	entries map[modulelock.Key]modulelock.Entry
	grown   int // how often an entry was added
}

// newModuleLock is nil if the root module has no such file, and none is wanted.
func newModuleLock(r Root, opts *Options) *moduleLock {
	if r.ModuleLock == nil && !opts.LockModules {
		return nil
	}
	l := &moduleLock{moves: opts.MoveModules, entries: map[modulelock.Key]modulelock.Entry{}}
	if r.ModuleLock != nil {
		for _, e := range r.ModuleLock.Entries {
			if r.ModuleLock.Disputed[e.Key] == nil { // it is asked for again
				l.entries[e.Key] = e
			}
		}
	}
	return l
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
	if e, ok := l.serving(call, tool); ok && !l.moves {
		q.Pin = pinOf(e)
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

// entryOf is the entry for the package of a call; false if it cannot be locked.
func entryOf(call Call, got fetched, tool provider.ToolName) (modulelock.Entry, bool) {
	a, err := moduleaddr.Parse(call.Source, tool)
	if err != nil || got.hash == "" {
		return modulelock.Entry{}, false
	}
	e := modulelock.Entry{Package: got.repository, Hash: got.hash}
	e.Address, e.Version = a.Label()
	if a.Kind == moduleaddr.Registry {
		e.Version = got.version
	}
	return e, true
}

// stays decides about the answer for a call whose module may move. If the module stays, it
// returns the entry that names it, and why.
func (l *moduleLock) stays(q remoteCall, got fetched) (*modulelock.Entry, problem.Problem) {
	if l == nil || !l.moves || q.Pin != (Pin{}) {
		return nil, problem.Problem{}
	}
	if got.err != nil {
		old, ok := l.serving(q.Call, q.tool)
		if !ok || problem.Coded(got.err, problem.CodeNoVersion) {
			return nil, problem.Problem{}
		}
		return &old, problem.Of(got.err)
	}
	e, lockable := entryOf(q.Call, got, q.tool.Name)
	old, ok := l.entries[e.Key]
	if !lockable || !ok || old.Hash == e.Hash || got.reference.Moves() {
		return nil, problem.Problem{}
	}
	return &old, problem.Problem{
		Code: problem.CodeModuleMoved, Message: fmt.Sprintf("%s was %s, and is %s now", e.Key, old.Hash, e.Hash),
		Hint: "find out who moved it and why, and read what has changed",
	}
}

// record adds the package of a followed call to the lock file, and returns its entry there.
// The problem says why there is none, or what is wrong with it; it has no code otherwise.
func (l *moduleLock) record(q Call, got fetched, tool provider.Tool) (modulelock.Entry, problem.Problem) {
	if l == nil {
		return modulelock.Entry{}, problem.Problem{}
	}
	e, ok := entryOf(q, got, tool.Name)
	if !ok {
		return modulelock.Entry{}, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeModuleOnDisk, Message: "its package is on the disk of this machine",
		}
	}
	old, locked := l.entries[e.Key]
	switch {
	case locked && (!l.moves || old.Hash == e.Hash):
		return old, problem.Problem{} // also if a registry names another repository with the same content
	case got.reference.Ambiguous:
		return e, problem.Problem{
			Code: problem.CodeModuleAmbiguous, Message: "its ref " + e.Version + " is a branch and a tag",
			Hint: "write refs/tags/" + e.Version + " for the tag, or origin/" + e.Version + " for the branch",
		}
	case !l.moves:
		l.add(e)
	}
	return e, problem.Problem{}
}
