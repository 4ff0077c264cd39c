package outline

import (
	"cmp"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Stale is a problem of a lock file that a change would fix. Its Message is one
// sentence, its Hint the command. A Place without a path is in the lock file.
type Stale struct {
	problem.Problem
	// Details are all changes that would fix it, a sentence each.
	Details []safe.Markdown
	file    string // the lock file, if it is that of modules
	rank    int    // of equal severity, the lowest rank is the worst
}

// flaw says what is wrong with a lock file that needs a kind of change.
type flaw struct {
	code problem.Code
	lock safe.Markdown // about the file
	rank int
}

// The flaws, by the changes that fix them. The worst have the lowest rank.
var (
	noLockFile = flaw{problem.CodeEntryMissing, safe.Const("there is no lock file"), 1}
	unordered  = flaw{problem.CodeNotNormal, safe.Const("lock file is not in normal form"), 9}
	flaws      = map[diff.Kind]flaw{
		diff.ReReleased:  {problem.CodeReReleased, safe.Const("lock file does not fit the releases"), 0},
		diff.Signer:      {problem.CodeSignerChanged, safe.Const("lock file does not fit the releases"), 0},
		diff.Added:       {problem.CodeEntryMissing, safe.Const("lock file is not complete"), 2},
		diff.Completed:   {problem.CodeIncomplete, safe.Const("lock file is not complete"), 3},
		diff.Downgraded:  {problem.CodeLockedVersion, safe.Const("lock file does not fit the configuration"), 4},
		diff.Upgraded:    {problem.CodeOutdated, safe.Const("lock file is not at the newest releases"), 8},
		diff.Moved:       {problem.CodeMoved, safe.Const("lock file does not fit the configuration"), 5},
		diff.Constrained: {problem.CodeConstraintsDiffer, safe.Const("lock file does not fit the configuration"), 6},
		diff.Removed:     {problem.CodeEntryStale, safe.Const("lock file does not fit the configuration"), 7},
		diff.Normalised:  unordered,
	}
)

// IsStale reports whether a problem that fails a check is shown as a flaw of the
// lock file, with the command that fixes it.
func IsStale(r report.Report, p problem.Problem) bool {
	return r.Verb == verbs.Check && p.Severity == problem.SeverityError && p.Upgradable
}

// StaleIn returns one problem for each pending change of a root module, and for
// each locked version that must move.
func (d Vocabulary) StaleIn(r report.Report, m report.Module) []Stale {
	all := d.mustMove(r, m)
	if !m.Pending {
		return all
	}
	about := problem.Problem{Severity: problem.SeverityError, Hint: stepFor(r, m)}
	if m.OnBase { // the check does not fail for it
		about.Severity = problem.SeverityWarning
	}
	if !hasChanges(m) {
		about.Code, about.Message = unordered.code, unordered.lock.Plain()
		return append(all, Stale{Problem: about, rank: unordered.rank})
	}
	items := d.itemsOf(m)
	for i, c := range m.Changes {
		f := flawOf(c, m)
		s := Stale{Problem: about, Details: items[i : i+1], rank: f.rank}
		s.Code, s.Place = f.code, c.Required
		s.Subject = problem.Subject{Addr: c.Addr, Version: c.From, Versioned: len(c.Olds()) > 0}
		if c.Required.Path == "" {
			s.Place = problem.Place{Line: c.Line}
		}
		s.Message = safe.Format("%s: %s", f.lock, d.lacks(c)).Plain()
		if m.LockPath == "" {
			s.Message = safe.Format("%s: %s is required", f.lock, d.Name(c.Addr)).Plain()
		}
		all = append(all, s)
	}
	return append(all, staleModules(about, m)...)
}

// staleModules returns one problem for each pending change of a locked module.
func staleModules(about problem.Problem, m report.Module) []Stale {
	var all []Stale
	for _, c := range m.LockedModules {
		row := ModuleRows(report.Report{}, report.Module{Names: m.Names, LockedModules: []upgrade.ModuleChange{c}})[0]
		s := Stale{Problem: about, Details: []safe.Markdown{row.item()}, file: path.Join(m.Dir, modulelock.Name), rank: unordered.rank}
		s.Code, s.About = problem.CodeModulesDiffer, c.Address
		s.Message = safe.Format("lock file of modules is not up to date: %s", row.Name).Plain()
		if i := slices.IndexFunc(c.Calls, func(call upgrade.ModuleCall) bool { return call.Package == "" }); i >= 0 {
			s.Place = c.Calls[i].Place
		}
		all = append(all, s)
	}
	return all
}

// mustMove returns one problem for each locked version that must move, though the
// check takes no other version.
func (d Vocabulary) mustMove(r report.Report, m report.Module) []Stale {
	m.OnBase = false // that is about the pending changes
	next, f := stepFor(r, m), flaws[diff.Downgraded]
	var all []Stale
	for _, p := range m.Diagnostics {
		if !IsStale(r, p) {
			continue
		}
		s := Stale{Problem: p, Details: []safe.Markdown{d.Diagnostic(p)}, rank: f.rank}
		s.Message = safe.Format("%s: %s is not allowed", f.lock, safe.Join(" ", d.Name(p.Subject.Addr), d.Version(p.Subject.Version))).Plain()
		s.Hint = next
		all = append(all, s)
	}
	return all
}

func flawOf(c report.Change, m report.Module) flaw {
	f := flaws[c.Kind]
	switch {
	case m.LockPath == "":
		return noLockFile
	case c.Kind == diff.Upgraded && c.Required.Path != "": // the locked version is not allowed
		f.lock, f.rank = flaws[diff.Downgraded].lock, flaws[diff.Downgraded].rank
	case c.Kind == diff.Downgraded && c.Required.Path == "":
		f.lock = flaws[diff.ReReleased].lock
	}
	return f
}

// lacks says what is wrong with the entry that a change is about.
func (d Vocabulary) lacks(c report.Change) safe.Markdown {
	name := d.Name(c.Addr)
	entry := safe.Join(" ", name, d.Version(c.From))
	refused := !c.ConstraintsTo.Empty() && !c.ConstraintsTo.Allows(c.From)
	switch c.Kind {
	case diff.Added:
		return name.And(" is missing")
	case diff.Removed:
		return safe.Format("nothing requires %s", name)
	case diff.Completed:
		if len(c.Platforms) > 0 {
			return safe.Format("%s lacks hashes for %s", entry, d.platforms(c.Platforms))
		}
		return safe.Format("%s lacks %s", entry, safe.Count(len(c.HashesAdded), "hash", "hashes"))
	case diff.Constrained:
		return safe.Format("%s has the constraints %s, and not %s", name, d.constraints(c.ConstraintsFrom), d.constraints(c.ConstraintsTo))
	case diff.Moved:
		return safe.Format("%s has the address %s", name, safe.Code(c.AddrFrom.String()))
	case diff.ReReleased:
		return safe.Format("the packages of %s were replaced", entry)
	case diff.Signer:
		return safe.Format("%s has another signer", entry)
	case diff.Upgraded, diff.Downgraded:
		if refused {
			return safe.Format("%s is not allowed by %s", entry, d.constraints(c.ConstraintsTo))
		}
		if c.Kind == diff.Upgraded {
			return safe.Format("%s is locked, and %s is newer", entry, d.Version(c.To))
		}
		return safe.Format("%s would go down to %s", entry, d.Version(c.To))
	}
	if len(c.HashesRemoved) > 0 {
		return safe.Format("%s has surplus hashes", entry)
	}
	return safe.Format("the entry of %s is written differently", name)
}

// StaleLocks returns one problem for each root module whose lock file a check
// finds pending, the worst first. The worst flaw of a module gives the sentence
// and the place, with the names that people use. Other verbs change or propose
// lock files: for them it returns none.
func StaleLocks(r report.Report) []Stale {
	if r.Verb != verbs.Check {
		return nil
	}
	d := VocabularyOf(r)
	var worst []Stale
	for _, m := range r.Modules {
		all := d.Of(m).StaleIn(r, m)
		if len(all) == 0 {
			continue
		}
		s := slices.MinFunc(all, worseLock)
		s.Place = m.Names.Place(s.Place)
		if s.Place.Path == "" {
			s.Place.Path = cmp.Or(s.file, m.LockPath)
		}
		if more := len(all) - 1; more > 0 {
			s.Message += ", and " + collect.Count(more, "more change", "more changes")
		}
		s.Details = nil
		for _, one := range all {
			name := safe.Code(cmp.Or(one.file, m.LockPath, r.Title(m)))
			s.Details = append(s.Details, collect.Mapped(one.Details, func(item safe.Markdown) safe.Markdown { return safe.Format("%s: %s", name, item) })...)
		}
		worst = append(worst, s)
	}
	slices.SortStableFunc(worst, worseLock)
	return worst
}

func worseLock(a, b Stale) int {
	return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.rank, b.rank))
}

// StepOf says how to fix all lock files that make a check fail, in the form for
// safe.Hint. It is empty if there is no such file, or no command is known.
func StepOf(r report.Report) string {
	if !r.Fails() {
		return ""
	}
	return step(r.Mending.Command(r.FailingDirs()), "", r.Mending.Comment())
}

// stepFor is the step for the lock file of one root module.
func stepFor(r report.Report, m report.Module) string {
	command := r.Mending.Command([]string{m.Dir})
	if m.OnBase {
		return step(command, " on the base branch", "")
	}
	return step(command, "", r.Mending.Comment())
}

// step is the step with its commands. where is the place to run the first one, and
// comment does the same under the pull request; both may be empty.
func step(command, where, comment string) string {
	if command == "" {
		return ""
	}
	text := "run `" + command + "`" + where + " and commit the result"
	if comment != "" {
		text += ", or comment `" + comment + "`"
	}
	return safe.Plain(text)
}
