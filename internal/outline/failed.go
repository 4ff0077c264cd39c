package outline

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// failureKind is the step at which a root module failed.
type failureKind int

// The failures, in the order of a headline.
const (
	failedNone       failureKind = iota
	failedReading                // its configuration or its lock file
	failedPlanning               // its requirements are known, but no registry has versions that meet them
	failedKeeping                // a locked version is not allowed, and the run keeps versions
	failedGetting                // a provider has no release that meets the constraints and can be used
	failedChecking               // a verification
	failedWriting                // its new lock file
	failedInPart                 // some of its providers
	failedUnfinished             // the run ended before
	lastFailure      = failedUnfinished
)

// failureTexts name the step of a failure: for one root module, for several, and
// for all.
var failureTexts = [lastFailure + 1]struct{ one, several, all safe.Markdown }{
	failedReading:    {one: safe.Const("could not be read"), all: safe.Const("could be read")},
	failedPlanning:   {one: safe.Const("could not be planned"), all: safe.Const("could be planned")},
	failedKeeping:    {one: safe.Const("requires another version of a provider"), several: safe.Const("require other versions of providers")},
	failedGetting:    {one: safe.Const("requires a provider release that it cannot get"), several: safe.Const("require provider releases that they cannot get")},
	failedChecking:   {one: safe.Const("could not be checked"), all: safe.Const("could be checked")},
	failedWriting:    {one: safe.Const("could not be written"), all: safe.Const("could be written")},
	failedInPart:     {one: safe.Const("failed in part")},
	failedUnfinished: {one: safe.Const("was not finished"), several: safe.Const("were not finished"), all: safe.Const("was finished")},
}

// failedModules counts the root modules that failed. It also counts those whose
// lock file changes although they failed.
type failedModules struct {
	of       [lastFailure + 1]int
	changing int
}

func failedIn(r report.Report) failedModules {
	var f failedModules
	for _, m := range r.Modules {
		how := kindOfFailure(r, m)
		f.of[how]++
		if how != failedNone && (m.Pending || hasChanges(m)) {
			f.changing++
		}
	}
	return f
}

func (f failedModules) all() int {
	n := 0
	for _, of := range f.of[failedNone+1:] {
		n += of
	}
	return n
}

// clause says what failed. It is empty if nothing failed, or if the only news is
// that the run ended early.
func (f failedModules) clause(r report.Report) safe.Markdown {
	var parts []safe.Markdown
	for how := failedNone + 1; how <= lastFailure; how++ {
		n, texts := f.of[how], failureTexts[how]
		if n == 0 {
			continue
		}
		said := texts.one
		if n > 1 && !texts.several.Empty() {
			said = texts.several
		}
		switch all := len(r.Modules); {
		case all == 1:
			return safe.Format("the root module %s", said)
		case n == all && !texts.all.Empty():
			return safe.Format("none of the %s %s", safe.Count(all, "root module", "root modules"), texts.all)
		case n == all:
			return safe.Format("all %s %s", safe.Count(all, "root module", "root modules"), said)
		case len(parts) == 0:
			parts = append(parts, safe.Format("%s of %s %s", safe.Int(n), safe.Count(all, "root module", "root modules"), said))
		default:
			parts = append(parts, safe.Format("%s %s", safe.Int(n), said))
		}
	}
	if len(parts) == 0 && cutOff(r) {
		return safe.Const("the run ended before it was done")
	}
	return enumerated(parts)
}

// enumerated joins clauses by commas and a last "and".
func enumerated(parts []safe.Markdown) safe.Markdown {
	if len(parts) < 2 {
		return safe.Join("", parts...)
	}
	last := len(parts) - 1
	return safe.Format("%s and %s", safe.Join(", ", parts[:last]...), parts[last])
}

// whereRest says where something changes: in "the others", or in a number of all
// root modules. before and behind are its words before and after the change.
func (f failedModules) whereRest(all, changing int) (before, behind safe.Markdown) {
	failed := f.all()
	switch {
	case failed == 0 || f.changing > 0 || changing != all-failed:
		if changing == 1 {
			return before, safe.Const(" in the lock file of 1 root module")
		}
		return before, safe.Format(" in the lock files of %s", safe.Count(changing, "root module", "root modules"))
	case changing == 1:
		return safe.Const("in the other one, "), behind
	}
	return safe.Format("in the other %s, ", safe.Int(changing)), behind
}

// kindOfFailure says at which step a root module failed.
func kindOfFailure(r report.Report, m report.Module) failureKind {
	errors := slices.DeleteFunc(slices.Clone(m.Diagnostics), func(p problem.Problem) bool { return p.Severity != problem.SeverityError })
	has := func(is func(problem.Problem) bool) bool { return slices.ContainsFunc(errors, is) }
	switch {
	case m.Verified != nil && m.Verified.Counts[verify.Unproven] > 0 && m.Verified.Counts[verify.Unproven] == m.Verified.Counts.Hashes():
		return failedChecking
	case len(errors) == 0:
		return failedNone
	case has(func(p problem.Problem) bool { return p.Code == problem.CodeCancelled }):
		return failedUnfinished
	case !has(func(p problem.Problem) bool { return !p.Upgradable }):
		return failedKeeping
	case r.Verb != verbs.Verify && !has(func(p problem.Problem) bool { return !p.Upgradable && !lacksRelease(p) }):
		return failedGetting
	case m.Verified != nil && m.Verified.Counts.Hashes() > 0:
		return failedInPart
	case r.Verb == verbs.Verify:
		return failedChecking
	case has(func(p problem.Problem) bool {
		return p.Code == problem.CodeUnwritable || p.Code == problem.CodeFileChanged
	}):
		return failedWriting
	case m.Pending || hasChanges(m):
		return failedInPart
	case r.Verb == verbs.Scan, has(ofFiles):
		return failedReading
	case keptSome(m, errors):
		return failedInPart
	case r.Verb == verbs.Check:
		return failedChecking
	}
	return failedPlanning
}

// ofFiles reports whether a problem is about the files of a root module. Other
// problems are about a provider that it requires.
func ofFiles(p problem.Problem) bool {
	return p.Subject.Addr == (provider.Addr{}) || p.Code == problem.CodeInvalidLock || p.Code == problem.CodeConflict
}

// lacksRelease reports whether a problem is the answer of a registry, and not its silence:
// there is no such release, or it cannot be used. So the root module was checked.
func lacksRelease(p problem.Problem) bool {
	switch p.Code {
	case problem.CodeUnknownProvider, problem.CodeNoVersion, problem.CodeLockedVersion, problem.CodeNoPackage, problem.CodeProtocol,
		problem.CodeBadChecksum, problem.CodeBadSignature, problem.CodeBadPackage, problem.CodeReReleased:
		return !ofFiles(p)
	}
	return false
}

// keptSome reports whether a lock file has an entry without an error.
func keptSome(m report.Module, errors []problem.Problem) bool {
	failed := collect.Mapped(errors, func(p problem.Problem) provider.Addr { return p.Subject.Addr })
	return slices.ContainsFunc(m.InUse, func(u report.Use) bool { return !slices.Contains(failed, u.Addr) })
}
