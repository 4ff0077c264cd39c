package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/ruling"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// judgeRules adds to the findings of check and verify the entries of lock files that rules
// refuse, also entries that relock did not write. Rules in comments do not count, since
// they are about proposals. It reads the base only in two cases: a rule is about an entry,
// or only the base says which rules there are.
func judgeRules(ctx context.Context, j job, p planned) planned {
	if j.ask.verb != verbs.Check && j.ask.verb != verbs.Verify {
		return p
	}
	by, err := p.inForce()
	opts := rulingOptions(j, by)
	unlocked, unread := unlockedBy(ctx, j, p, by)
	err = cmp.Or(err, unread)
	all := slices.Concat(p.all(), unlocked)
	modules := collect.Mapped(all, func(f found) ruling.Examined { return ruling.Examined{Root: f.module, Files: f.tree.FS()} })
	if err == nil && (by.Judge == settings.JudgeOff || !ruling.Concerned(modules, opts)) {
		return p
	}
	defer j.clock.stage(stageRules)()
	var base *ruling.Before
	var files *Remote
	if err == nil && p.extent.base != nil {
		files, err = p.extent.base(ctx)
		if err == nil {
			base, err = ruling.ReadBefore(files.FS)
		}
	}
	if err != nil {
		p.report.Diagnostics = append(p.report.Diagnostics, about("the lock files are not judged by the rules", problem.SeverityError, err))
		return p
	}
	opts.Former = func(dirs []string) []scan.RootModule { return formerRoots(ctx, j, p, files, dirs) }
	rulings := make([]ruling.Ruling, len(all))
	sources, divided := bySource(j, all)
	for at, source := range sources {
		indices := divided[at]
		some := collect.Mapped(indices, func(i int) ruling.Examined { return modules[i] })
		for n, v := range ruling.Make(ctx, source, some, base, opts) {
			rulings[indices[n]] = v
		}
	}
	if at := slices.IndexFunc(rulings, func(v ruling.Ruling) bool { return v.Changed }); at >= 0 {
		rulings[at].Findings = append(rulings[at].Findings, changedRules(j, all[at].tree.FS(), files.FS)...)
	}
	for i, v := range rulings {
		if i >= len(all)-len(unlocked) {
			if len(v.Findings) == 0 {
				continue
			}
			p.report.Modules = append(p.report.Modules, report.Module{Dir: all[i].module.Dir, Tool: all[i].module.Tool}.Named(j.names(all[i].tree)))
		}
		m := &p.report.Modules[min(i, len(p.report.Modules)-1)]
		m.Diagnostics = append(withoutRefused(m.Diagnostics, v.Findings, all[i].module.Lock), v.Undecided...)
		findings, accepted := j.ask.judged.Baseline.Accept(v.Findings)
		m.Findings = append(withoutMissing(m.Findings, v.Findings), findings...)
		m.Accepted = append(m.Accepted, accepted...)
	}
	return p
}

// formerRoots are the root modules in directories of the base; without one, those at hand.
func formerRoots(ctx context.Context, j job, p planned, base *Remote, dirs []string) []scan.RootModule {
	all := p.found
	if base != nil {
		before, err := rootsIn(ctx, j, target{remote: base}, dirs)
		if err != nil {
			return nil
		}
		all = before.found
	}
	roots := collect.Mapped(all, func(f found) scan.RootModule { return f.module })
	return slices.DeleteFunc(roots, func(m scan.RootModule) bool { return !slices.Contains(dirs, m.Dir) })
}

// unlockedBy reads directories without a lock file as root modules, if a rule forbids any
// provider: those in which the change has touched a file. So nobody gets round the rule by
// a new directory, or by removing the lock file.
func unlockedBy(ctx context.Context, j job, p planned, by settings.Settings) ([]found, error) {
	forbids := slices.ContainsFunc(by.Policy.Rules, func(r policy.Rule) bool { return r.Permitted != nil && !*r.Permitted })
	if !forbids || p.extent.differs == nil {
		return nil, nil
	}
	t := p.trees[0]
	var dirs []string
	for dir := range p.extent.differs.dirs {
		if _, err := fs.Stat(t.FS(), path.Join(dir, lockfile.Name)); err == nil {
			continue
		}
		if info, err := fs.Stat(t.FS(), dir); err != nil || !info.IsDir() {
			continue
		}
		if t.remote == nil {
			dir = t.path(dir)
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	there, err := rootsIn(ctx, j, j.target, dirs)
	return slices.DeleteFunc(there.found, func(f found) bool { return f.module.Lock != nil }), err
}

// rulesInForce returns the settings that judge lock files: those of the base, if it is
// known, and of the operator. On the head of a pull request the run already has them,
// unless the operator's file prevents reading the repository's own. Without a base they
// are those of the working tree. A file with a name of its own, which the base lacks, may
// add rules, and excuses nothing; nor do settings at hand if the base's are not known.
func rulesInForce(ctx context.Context, j job, base func(context.Context) (*Remote, error)) (settings.Settings, error) {
	change, operators := j.ask.change, j.settings.File != "" && j.settings.Own == ""
	if base == nil || j.ask.means.Of == nil || change == nil || j.ask.head != NoHead && !operators {
		return j.settings, nil
	}
	files, err := base(ctx)
	if err == nil {
		var by settings.Settings
		by, err = j.ask.means.Of(files.FS)
		if err == nil {
			return by, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	by := j.settings
	by.Exclude, by.Severities, by.AcceptReReleased = nil, settings.Severities{}, nil
	return by, err
}

// rulingOptions are the options for judging lock files by settings. verify judges the
// signer of every entry itself.
func rulingOptions(j job, by settings.Settings) ruling.Options {
	o := ruling.Options{
		Rules: by.Policy, All: by.Judge == settings.JudgeAll, Severities: by.Severities, Strict: by.Strict, Plan: j.plan,
	}
	o.Rules.Now, o.Plan.Dates = j.env.Now, dateSource(j, nil)
	if j.ask.verb == verbs.Check {
		o.Signers = by.Signers
	}
	return o
}

// withoutMissing removes findings that ask to lock a provider which must not be locked.
func withoutMissing(found, refused []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(found), func(f problem.Problem) bool {
		return f.Code == problem.CodeEntryMissing && slices.ContainsFunc(refused, func(r problem.Problem) bool {
			return r.Code == problem.CodeProviderRefused && r.Subject.Addr == f.Subject.Addr
		})
	})
}

// withoutRefused removes problems of a plan that are also findings: providers that rules do
// not permit, and refused keys. If the change leaves an entry as it was, a refused key is a
// warning.
func withoutRefused(of, findings []problem.Problem, lock *lockfile.File) []problem.Problem {
	var kept []problem.Problem
	for _, d := range of {
		found := slices.ContainsFunc(findings, func(f problem.Problem) bool {
			return f.Code == problem.CodeSignerRefused && f.Subject.Addr == d.Subject.Addr
		})
		refusedKey := d.Code == problem.CodeBadSignature && d.About != ""
		if d.Code == problem.CodeProviderRefused || refusedKey && found {
			continue
		}
		if refusedKey && lock != nil {
			if l, locked := lock.Lock(d.Subject.Addr); locked && l.Version == d.Subject.Version {
				d.Severity = problem.SeverityWarning
			}
		}
		kept = append(kept, d)
	}
	return kept
}

// changedRules warns if a change touches the configuration file together with lock files
// that a rule is about. The base's configuration file judges these lock files.
func changedRules(j job, head, base fs.FS) []problem.Problem {
	what := "this pull request"
	if j.ask.head == NoHead {
		what = "this change"
	}
	names := settings.FileNames
	if j.settings.File != "" && j.settings.Own != "" {
		names = []string{j.settings.Own}
	}
	for _, name := range names {
		now, gone := fs.ReadFile(head, name)
		before, none := fs.ReadFile(base, name)
		if none != nil && !errors.Is(none, fs.ErrNotExist) || (gone == nil) == (none == nil) && bytes.Equal(now, before) {
			continue
		}
		return []problem.Problem{{
			Code: problem.CodeTamperedBoth, Severity: problem.SeverityWarning, Place: problem.Place{Path: name, Line: 1},
			Message: what + " changes the configuration file and lock files, which are judged by the rules of the base",
			Hint:    "change the configuration file in a pull request of its own",
		}}
	}
	return nil
}
