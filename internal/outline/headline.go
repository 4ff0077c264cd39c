package outline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// headline sums up the run in one sentence: first what failed, then what changes.
func headline(r report.Report) safe.Markdown {
	failed := failedIn(r)
	first := failed.clause(r)
	switch {
	case r.Verb == verbs.Diff:
		return differences(r).Sentence()
	case len(r.Modules) == 0:
		return withoutModules(r).Sentence()
	case first.Empty():
		return besides(r, failed).Sentence()
	case failed.all() == len(r.Modules) && changing(r) == 0:
		return first.Sentence()
	case r.Verb == verbs.Verify:
		return safe.Format("%s %s", first.Sentence(), besides(r, failed).Sentence())
	}
	return safe.Format("%s; %s", first, besides(r, failed)).Sentence()
}

// withoutModules is a clause about why a report has no root module.
func withoutModules(r report.Report) safe.Markdown {
	switch {
	case r.Touched:
		return safe.Const("the change touches no root module that has a lock file")
	case cutOff(r):
		return safe.Const("the run ended before its root modules were known")
	case len(r.Unlocked) > 0:
		return safe.Const("no root module has a lock file")
	case r.Idle:
		return safe.Const("nothing was asked for")
	case slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool { return d.Code == problem.CodeUnseen }):
		return safe.Const("no lock file was looked at")
	}
	return safe.Const("no root module was found")
}

// closing is the last line of a report: what failed, then counts. It is empty if
// the report says it elsewhere.
func closing(r report.Report) safe.Markdown {
	saysWhyEmpty := func(d problem.Problem) bool {
		return d.Code == problem.CodeNotRootModule || d.Code == problem.CodeUnseen
	}
	var counts, accepted safe.Markdown
	switch {
	case r.Verb == verbs.Diff:
		return differences(r)
	case len(r.Modules) == 0 && !r.Touched && (r.Fleet != nil || cutOff(r)):
		return safe.Markdown{}
	case len(r.Modules) == 0 && !r.Touched && len(r.Unlocked) == 0 && slices.ContainsFunc(r.Diagnostics, saysWhyEmpty):
		counts = safe.Const("no root modules")
	case len(r.Modules) == 0:
		counts = withoutModules(r)
	case r.Verb == verbs.Scan, r.Verb == verbs.Why:
		counts = scannedCounts(r)
	case r.Verb == verbs.Verify:
		counts = safe.JoinSome(", ", safe.Text(r.Counts().String()), SeverityCounts(r))
	default:
		counts = writtenCounts(r)
	}
	if r.Verb == verbs.Check {
		accepted = acceptedCount(r)
	}
	excluded := safe.Some(len(r.Excluded), "excluded", "excluded")
	return safe.JoinSome("; ", failedIn(r).clause(r), safe.JoinSome(", ", counts, accepted, excluded))
}

// besides is a clause about everything in the run that did not fail.
func besides(r report.Report, failed failedModules) safe.Markdown {
	every := safe.Const("every lock file")
	if failed.all() > 0 {
		every = safe.Const("every other lock file")
	}
	modules, remembered := changing(r), rememberedIn(r)
	switch {
	case r.Verb == verbs.Verify:
		return safe.Text(r.Counts().String())
	case modules > 0 && remembered.Empty():
		return changesIn(r, modules, failed)
	case modules > 0:
		return safe.Format("%s; %s", changesIn(r, modules, failed), remembered)
	case !remembered.Empty():
		return remembered
	case cutOff(r) && failed.all() == 0:
		return safe.Const("nothing is changed")
	case r.Failed() && failed.all() == 0:
		return safe.Const("nothing is changed, because of errors")
	case r.Findings() > 0:
		return foundCount(r, true)
	case slices.ContainsFunc(r.Modules, func(m report.Module) bool { return m.Forgiven }):
		return safe.Const("the change makes nothing worse")
	case r.Left() > 0:
		return safe.Format("nothing has to change, but %s not examined", safe.Count(r.Left(), "lock file was", "lock files were"))
	case len(r.Excluded) > 0:
		return safe.Format("%s is up to date, except for %s that the configuration excludes", every, safe.Int(len(r.Excluded)))
	}
	return every.And(" is up to date")
}

// changing counts the root modules whose lock file changes in a known way.
func changing(r report.Report) int {
	return collect.CountIf(r.Modules, func(m report.Module) bool { return (m.Pending && !m.Remembered) || hasChanges(m) })
}

// rememberedIn is a clause about lock files whose changes only an earlier run knew.
func rememberedIn(r report.Report) safe.Markdown {
	r.Modules = collect.Those(r.Modules, func(m report.Module) bool { return m.Pending && m.Remembered })
	if len(r.Modules) == 0 {
		return safe.Markdown{}
	}
	return safe.Format("known from an earlier run: %s", writtenCounts(r))
}

// changesIn is a clause about the changes in a number of root modules.
func changesIn(r report.Report, roots int, failed failedModules) safe.Markdown {
	kinds := map[diff.Kind]bool{}
	var modules collect.Set[string]
	providers, upgraded := map[provider.Addr]bool{}, map[provider.Addr]bool{}
	for _, m := range r.Modules {
		modules.Add(collect.Mapped(m.LockedModules, func(c upgrade.ModuleChange) string { return c.Address })...)
		for _, c := range m.Changes {
			kinds[c.Kind] = true
			providers[c.Addr] = true
			if c.Kind == diff.Upgraded {
				upgraded[c.Addr] = true
			}
		}
	}
	before, where := failed.whereRest(len(r.Modules), roots)
	subject := safe.Count(len(providers), "provider", "providers")
	said := safe.Format("the entries of %s %s%s", subject, tense(r, 2, "changes", "change", "change"), where)
	n := len(modules.List)
	locked := safe.Format("%s %s", safe.Count(n, "locked module", "locked modules"), tense(r, n, "changes", "change", "change"))
	switch {
	case len(providers) == 0 && n > 0:
		return safe.Join("", before, locked, where)
	case len(providers) == 0:
		said = safe.Format("only the formatting %s%s", tense(r, 1, "changes", "change", "change"), where)
	case len(kinds) == 1 && kinds[diff.Upgraded]:
		said = safe.Format("%s %s upgraded%s", subject, tense(r, len(providers), "is", "are", "be"), where)
	case len(kinds) == 1 && kinds[diff.Completed]:
		said = safe.Format("the hashes of %s %s completed%s", subject, tense(r, 2, "is", "are", "be"), where)
	case len(upgraded) > 0 && len(upgraded) < len(providers):
		// The title of a pull request counts the upgraded providers.
		said = safe.Format("%s %s upgraded; in all, the entries of %s %s%s", safe.Count(len(upgraded), "provider", "providers"),
			tense(r, len(upgraded), "is", "are", "be"), subject, tense(r, 2, "changes", "change", "change"), where)
	}
	if n > 0 {
		said = said.And(", and %s", locked)
	}
	return safe.Join("", before, said)
}

// cutOff reports whether the run ended early.
func cutOff(r report.Report) bool {
	return slices.ContainsFunc(r.Diagnostics, func(d problem.Problem) bool { return d.Code == problem.CodeCancelled })
}

func hasChanges(m report.Module) bool { return len(m.Changes)+len(m.LockedModules) > 0 }

// told counts the root modules that the report says something about. About a
// scanned one it always does.
func told(r report.Report) int {
	return collect.CountIf(r.Modules, func(m report.Module) bool {
		return m.Scan != nil || m.Pending || len(m.Changes)+len(m.LockedModules)+len(m.Diagnostics)+len(m.Unread)+len(m.Findings) > 0
	})
}

// tense chooses the verb: for something done, or for something that would be
// done.
func tense(r report.Report, n int, one, many, would string) safe.Markdown {
	switch {
	case r.Verb == verbs.Check || r.DryRun:
		return safe.Format("would %s", safe.Text(would))
	case n == 1:
		return safe.Text(one)
	}
	return safe.Text(many)
}

func differences(r report.Report) safe.Markdown {
	if r.Failed() {
		return safe.Const("the lock files could not be compared")
	}
	providers := collect.Sum(r.Modules, func(m report.Module) int { return len(m.Changes) })
	modules := collect.Sum(r.Modules, func(m report.Module) int { return len(m.LockedModules) })
	differ := safe.JoinSome(" and ",
		safe.Some(providers, "provider differs", "providers differ"),
		safe.Some(modules, "module differs", "modules differ"))
	return cmp.Or(differ, safe.Const("no differences"))
}

// scannedCounts counts the root modules that a scan found, and those with a lock
// file, readable or not.
func scannedCounts(r report.Report) safe.Markdown {
	locked := collect.CountIf(r.Modules, func(m report.Module) bool {
		return m.Scan != nil && (m.Scan.Lock != nil || m.LockUnread())
	})
	all := len(r.Modules) + len(r.Unlocked)
	return safe.Format("%s, %s with a lock file", safe.Count(all, "root module", "root modules"), safe.Int(locked))
}

// writtenCounts counts the lock files by what happened to them, and those with
// findings. A lock file with findings does not count as up to date. Lock files of
// modules are counted if they change, or if there is no other.
func writtenCounts(r report.Report) safe.Markdown {
	counts, ofModules, lockless := map[string]int{}, map[string]int{}, 0
	for _, m := range r.Modules {
		word := ""
		switch {
		case m.Written:
			word = "written"
		case m.Pending:
			word = pendingWord(r, m)
		}
		if len(m.LockedModules) > 0 {
			ofModules[word]++
		}
		switch {
		case word != "" && (len(m.Changes) > 0 || len(m.LockedModules) == 0):
			counts[word]++
		case m.Left && !m.Failed():
			counts["left alone"]++
		case m.HashesOnly && !m.Failed():
			counts["judged by hashes alone"]++
		case m.Failed() || m.Forgiven || len(m.Findings) > 0:
		case m.LockPath != "" || len(m.InUse) > 0 || m.Remembered:
			counts["up to date"]++
		case len(m.LockedModules) > 0:
		case m.ModulesPath != "":
			ofModules["up to date"]++
		default:
			lockless++
		}
	}
	var parts []safe.Markdown
	for _, what := range []string{"written", "proposed", "already proposed", "not proposed", "not written", "would change", "up to date", "left alone", "judged by hashes alone"} {
		switch n := counts[what]; {
		case n > 0 && len(parts) == 0:
			parts = append(parts, safe.Format("%s %s", safe.Count(n, "lock file", "lock files"), safe.Text(what)))
		case n > 0:
			parts = append(parts, safe.Format("%s %s", safe.Int(n), safe.Text(what)))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(ofModules)) {
		parts = append(parts, safe.Format("%s %s", safe.Count(ofModules[what], "lock file of modules", "lock files of modules"), safe.Text(what)))
	}
	parts = append(parts, foundCount(r, len(parts) == 0), safe.Some(lockless, "root module without a lock file", "root modules without a lock file"))
	if r.Verb == verbs.Check {
		undecided := collect.Sum(r.Modules, func(m report.Module) int { return len(m.Undecided) })
		parts = append(parts, safe.Some(undecided, "hash not proven", "hashes not proven"))
	}
	return safe.JoinSome(", ", parts...)
}

// foundCount counts the lock files with findings, and the findings; empty if
// there is none. Pass noun = false if a count of lock files precedes it.
func foundCount(r report.Report, noun bool) safe.Markdown {
	with := collect.CountIf(r.Modules, func(m report.Module) bool { return len(m.Findings) > 0 })
	files := safe.Some(with, "has", "have")
	if noun {
		files = safe.Some(with, "lock file has", "lock files have")
	}
	if with == 0 {
		return files
	}
	return files.And(" %s", safe.Count(r.Findings(), "finding", "findings"))
}

// pendingWord is the word for a changed lock file that was not written.
func pendingWord(r report.Report, m report.Module) string {
	switch {
	case r.DryRun:
		return "would change"
	case r.Verb == verbs.PR:
		return proposed(r.PullRequests, m.Dir)
	case r.Verb == verbs.Upgrade, r.Verb == verbs.Lock:
		return "not written"
	}
	return "would change"
}

// proposed says which pull request has the changes of a root module.
func proposed(pulls []report.PullRequest, dir string) string {
	word := "not proposed"
	for _, p := range pulls {
		in := holds(p, dir)
		switch {
		case in && (p.Operation == "created" || p.Operation == "updated"):
			return "proposed"
		case in && p.Number > 0:
			word = "already proposed"
		}
	}
	return word
}

// holds reports whether a pull request has changes of a root module.
func holds(p report.PullRequest, dir string) bool {
	return slices.ContainsFunc(p.Directories, func(d string) bool { return d == dir || p.Repository+"//"+d == dir })
}

// acceptedCount counts the findings that a baseline accepts; empty without one.
func acceptedCount(r report.Report) safe.Markdown {
	n := collect.Sum(r.Modules, func(m report.Module) int { return len(m.Accepted) })
	return safe.Some(n, "accepted", "accepted")
}

// SeverityCounts counts the findings by severity, and those that a baseline
// accepts.
func SeverityCounts(r report.Report) safe.Markdown {
	n := map[problem.Severity]int{}
	for _, m := range r.Modules {
		for _, f := range m.Findings {
			n[f.Severity]++
		}
	}
	return safe.JoinSome(", ",
		safe.Some(n[problem.SeverityError], "error", "errors"),
		safe.Some(n[problem.SeverityWarning], "warning", "warnings"),
		safe.Some(n[problem.SeverityNote], "note", "notes"),
		acceptedCount(r))
}
