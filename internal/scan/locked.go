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
// init would select.
func (w *walker) question(call Call) remoteCall {
	q := remoteCall{tool: w.tool.Rules(), Call: call}
	if w.lock == nil {
		return q
	}
	q.Hash = true
	if e, ok := w.lock.serving(call, w.tool); ok && !w.lock.moves {
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

// moved decides about the answer for a call whose module may move. If the module stays, it
// returns the question for the package that the lock file names.
func (w *walker) moved(c tfconfig.ModuleCall, q remoteCall, got fetched, to *visit) (again remoteCall, stays bool) {
	if w.lock == nil || !w.lock.moves || q.Pin != (Pin{}) {
		return q, false
	}
	old, ok := w.lock.serving(q.Call, w.tool)
	if got.err != nil {
		if !ok || problem.Coded(got.err, problem.CodeNoVersion) {
			return q, false
		}
		why := problem.Of(got.err)
		w.Kept = append(w.Kept, problem.Problem{
			Code: why.Code, Hint: why.Hint, Host: why.Host, Outage: why.Outage, Place: c.Module.Place,
			Message: fmt.Sprintf("module.%s stays as it is locked: %s", to.path, why.Message),
		})
		q.Pin = pinOf(old)
		return q, true
	}
	e, lockable := entryOf(q.Call, got, w.tool.Name)
	if !lockable {
		return q, false
	}
	old, ok = w.lock.entries[e.Key]
	if !ok || old.Hash == e.Hash || got.reference.Moves() {
		return q, false
	}
	w.Kept = append(w.Kept, problem.Problem{
		Code: problem.CodeModuleMoved, Place: c.Module.Place,
		Message: fmt.Sprintf("module.%s stays as it is locked: %s was %s, and is %s now", to.path, e.Key, old.Hash, e.Hash),
		Hint:    "find out who moved it and why, and read what has changed",
	})
	q.Pin = pinOf(old)
	return q, true
}

// record adds the package of a followed call to the lock file of modules, and returns its
// entry there.
func (w *walker) record(c tfconfig.ModuleCall, got fetched, to *visit) modulelock.Entry {
	if w.lock == nil {
		return modulelock.Entry{}
	}
	e, ok := entryOf(Call{Source: c.Module.Text}, got, w.tool.Name)
	if !ok {
		w.Notes = append(w.Notes, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeModuleOnDisk, Place: c.Module.Place,
			Message: "module." + to.path + " is on the disk of this machine and cannot be locked",
		})
		return modulelock.Entry{}
	}
	old, locked := w.lock.entries[e.Key]
	switch {
	case locked && (!w.lock.moves || old.Hash == e.Hash):
		return old // also if a registry names another repository with the same content
	case got.reference.Ambiguous:
		w.Diags = append(w.Diags, problem.Problem{
			Code: problem.CodeModuleAmbiguous, Place: c.Module.Place,
			Message: fmt.Sprintf("module.%s cannot be locked: its ref %s is a branch and a tag", to.path, e.Version),
			Hint:    "write refs/tags/" + e.Version + " or refs/heads/" + e.Version + " as ref",
		})
	case !w.lock.moves:
		w.lock.add(e)
	}
	return e
}
