package ruling

import (
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/verify"
)

// ruled is an entry of a lock file to which a rule or a choice of signers applies.
type ruled struct {
	module int // index of its root module
	tool   provider.Tool
	lock   lockfile.Lock
	path   string         // of the lock file
	rules  policy.Applied // From is the version on the base
	former string         // the directory of the lock file on the base
	// changed says that the change adds the entry, or replaces its version.
	changed bool
	// binding says that a breach is as severe as its code, and fails a run.
	binding bool
}

// entriesOf are the entries to which a rule or a choice of signers applies.
func entriesOf(modules []Examined, base *Before, o Options) []ruled {
	var all []ruled
	for i, m := range modules {
		if m.Root.Lock == nil {
			continue
		}
		var before versions
		former := m.Root.Dir
		if base != nil {
			before, former = base.before(m)
		}
		for _, l := range m.Root.Lock.Locks {
			e := ruled{module: i, tool: m.Root.Tool, lock: l, path: m.Root.Lock.Path, rules: o.Rules.About(m.Root.Dir, l.Addr), former: former}
			if !e.rules.Binds() && !o.Signers.Pins(l.Addr) {
				continue
			}
			if base != nil {
				e.rules.From = before.version(e.tool.Name, l.Addr)
				e.changed = e.rules.From != l.Version
			}
			e.binding = e.changed || o.All
			all = append(all, e)
		}
	}
	return all
}

// question is the question about the release of the entry.
func (e ruled) question() ask.Question {
	return ask.Question{Tool: e.tool, Want: provider.Want{Addr: e.lock.Addr, Version: e.lock.Version}}
}

// refusedEntry is an entry that breaks a rule.
type refusedEntry struct {
	entry    ruled
	breach   policy.Breach
	severity problem.Severity
}

// refusals are the rules that the entry breaks. Its age is judged only if its date was
// asked for without an error.
func (e ruled) refusals(date learned[time.Time], o Options) []refusedEntry {
	var all []refusedEntry
	for _, r := range e.rules.Breaches(provider.Release{Version: e.lock.Version, Published: date.value}) {
		if r.Code != problem.CodeTooYoung || date.known() {
			all = append(all, refusedEntry{e, r, o.severity(r.Code, e.binding)})
		}
	}
	return all
}

// severity is the severity of findings with a code. It is at most a warning if they are not
// binding.
func (o Options) severity(code problem.Code, binding bool) problem.Severity {
	severity := verify.SeverityOf(o.Severities, code, o.Strict)
	if !binding {
		return max(severity, problem.SeverityWarning)
	}
	return severity
}
