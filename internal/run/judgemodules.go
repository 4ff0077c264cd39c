package run

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/ruling"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// judgedFile is a lock file of modules that is judged: its bytes as they were found by its
// name, whatever the configuration beside it says.
type judgedFile struct {
	tree    tree
	name    string
	content []byte
	err     error // of reading it
	byRules bool  // rules alone judge it
}

// judgeModules adds the findings about entries of lock files of modules: in verify about all
// of them, and in a check of a change about those that the change has added or changed. A
// check of no change has the plan for those of root modules, and judges all others.
func judgeModules(ctx context.Context, j job, p planned) planned {
	if len(p.moduleLocks) == 0 {
		return p
	}
	defer j.clock.stage(stageVerify)()
	for _, l := range p.moduleLocks {
		p = judgeModuleLock(ctx, j, p, l)
	}
	return p
}

// judgeModuleLock adds the findings about a lock file of modules.
func judgeModuleLock(ctx context.Context, j job, p planned, l judgedFile) planned {
	all, name := p.all(), l.name
	i := slices.IndexFunc(all, func(f found) bool { return f.tree.root == l.tree.root && f.module.Dir == path.Dir(name) })
	var of scan.RootModule
	if i >= 0 {
		of = all[i].module
	} else {
		of = scan.RootModule{Root: scan.Root{Dir: path.Dir(name), Tool: provider.Newest(provider.Terraform)}}
	}
	var lock *modulelock.File
	var problems []problem.Problem
	var before []modulelock.Entry
	by, unread := p.inForce() // in error, nothing is less severe
	err := l.err
	if err == nil {
		lock, problems = modulelock.Parse(l.content, name)
		if l.byRules {
			problems = nil // the root module has them
		}
		before, err = entriesBefore(ctx, j, p, by, name)
	}
	if err != nil || unread != nil {
		problems = append(problems, about("the entries of "+name+" are not judged", problem.SeverityError, cmp.Or(err, unread)))
	}
	if err != nil {
		lock = nil
	}
	var entries []verify.LockedModule
	if lock != nil && !l.byRules {
		entries = comparedModules(j, of, lock, before, by)
	}
	var source verify.ModuleSource = j.modules
	if j.settings.Offline {
		source = nil
	}
	findings, counts := verify.JudgeModules(ctx, source, entries, j.settings.Jobs)
	for n, f := range findings {
		findings[n].Severity = verify.SeverityOf(by.Severities, f.Code, by.Strict)
	}
	if lock != nil && unread == nil && by.Judge != settings.JudgeOff {
		refused, undecided := refusedModules(ctx, j, p.extent, ruling.Modules{Dir: of.Dir, Path: name, Tool: of.Tool, Entries: lock.Entries, Before: before}, by)
		findings, problems = append(findings, refused...), append(problems, undecided...)
	}
	if j.ask.verb == verbs.Check && j.ask.change != nil && worktree.Within(name, toolCaches) {
		findings = append(findings, lockInToolCache(name))
	}
	findings, accepted := j.ask.judged.Baseline.Accept(findings)
	if j.ask.verb != verbs.Verify {
		counts = nil
	}
	if len(findings)+len(accepted)+len(problems)+len(counts) == 0 {
		return p
	}
	if i < 0 {
		i = len(p.report.Modules)
		p.report.Modules = append(p.report.Modules, report.Module{Dir: of.Dir, Tool: of.Tool}.Named(j.names(l.tree)))
	}
	m := &p.report.Modules[i]
	if of.ModuleLock == nil || !problem.AnyError(of.Problems) { // else the root module has them
		had := func(d problem.Problem) bool { return slices.Contains(m.Diagnostics, d) }
		m.Diagnostics = append(slices.Clip(m.Diagnostics), slices.DeleteFunc(problems, had)...)
	}
	if len(counts) > 0 {
		m.Verified = cmp.Or(m.Verified, &report.Verified{Counts: verify.Counts{}})
		m.Verified.Counts.Add(counts)
	}
	m.Findings = append(m.Findings, findings...)
	m.Accepted = append(m.Accepted, accepted...)
	return p
}

// comparedModules are the entries of a lock file of modules that are compared with what their
// packages are: in verify all of them, else those that were not there before.
func comparedModules(j job, of scan.RootModule, lock *modulelock.File, before []modulelock.Entry, by settings.Settings) []verify.LockedModule {
	rules := policy.ModuleRules{Rulebook: by.Policy} // a word of a person is about proposals
	used := map[modulelock.Key]bool{}
	for _, call := range of.Locked() {
		used[call.Locked] = true
	}
	var entries []verify.LockedModule
	for _, e := range lock.Entries {
		if j.ask.verb == verbs.Verify || !slices.ContainsFunc(before, e.Equal) {
			entries = append(entries, verify.LockedModule{Entry: e, Path: lock.Path, Tool: of.Tool, Moving: rules.Follows(of.Dir, e.Address), Used: used[e.Key]})
		}
	}
	return entries
}

// refusedModules are the entries of a lock file of modules that rules refuse, and the errors
// about those that could not be judged.
func refusedModules(ctx context.Context, j job, e extent, m ruling.Modules, by settings.Settings) (findings, undecided []problem.Problem) {
	m.Compared = e.base != nil
	var dates ruling.ModuleDates = j.modules
	if j.settings.Offline {
		dates = nil
	}
	return m.Judge(ctx, dates, rulingOptions(j, by))
}

// entriesBefore are the entries that the base has in a lock file of modules. verify compares
// with nothing, except by rules about modules. A file that the base excludes has none, as in
// baseLocks.
func entriesBefore(ctx context.Context, j job, p planned, by settings.Settings, name string) ([]modulelock.Entry, error) {
	ruled := slices.ContainsFunc(by.Policy.Rules, func(r policy.Rule) bool { return len(r.Modules) > 0 })
	if j.ask.verb == verbs.Verify && !ruled || p.extent.base == nil || excludes(by, path.Dir(name)) {
		return nil, nil
	}
	files, err := p.extent.base(ctx)
	if err != nil {
		return nil, err
	}
	return entriesIn(files.FS, name), nil
}

// entriesIn are the entries of a lock file of modules in a file tree; none if it has no such
// file, or one that cannot be read.
func entriesIn(files fs.FS, name string) []modulelock.Entry {
	src, err := fs.ReadFile(files, name)
	if err != nil {
		return nil
	}
	lock, _ := modulelock.Parse(src, name)
	if lock == nil {
		return nil
	}
	return lock.Entries
}
