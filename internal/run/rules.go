package run

import (
	"bytes"
	"context"
	"io/fs"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/ruling"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// judgeRules adds to the findings of check and verify which entries of the lock files the rules
// refuse, whoever wrote them. The rules are those of the base and of the operator on the head of
// a pull request. Rules of comments do not count, since they say what is proposed. The base is
// read only if a rule is about an entry.
func judgeRules(ctx context.Context, j job, p planned) planned {
	if j.settings.Judge == settings.JudgeOff || j.ask.verb != verbs.Check && j.ask.verb != verbs.Verify {
		return p
	}
	all := slices.Concat(p.found, p.hashesOnly)
	opts := rulingOptions(j)
	modules := collect.Mapped(all, func(f found) ruling.Examined { return ruling.Examined{Root: f.module, Files: f.tree.FS()} })
	if !ruling.Concerned(modules, opts) {
		return p
	}
	defer j.clock.stage(stageRules)()
	var files *Remote
	var base *ruling.Before
	var err error
	if p.extent.base != nil {
		files, err = p.extent.base(ctx)
		if err == nil {
			base, err = ruling.ReadBefore(files.FS)
		}
		if err != nil {
			d := problem.Of(err)
			d.Severity, d.Message = problem.SeverityError, "the lock files are not judged by the rules: the base could not be read: "+d.Message
			p.report.Diagnostics = append(p.report.Diagnostics, d)
			return p
		}
	}
	rulings := make([]ruling.Ruling, len(all))
	eachSource(j, all, func(source *registry.Client, indices []int) {
		some := collect.Mapped(indices, func(i int) ruling.Examined { return modules[i] })
		for n, v := range ruling.Make(ctx, source, some, base, opts) {
			rulings[indices[n]] = v
		}
	})
	if at := slices.IndexFunc(rulings, func(v ruling.Ruling) bool { return v.Changed }); at >= 0 {
		rulings[at].Findings = append(rulings[at].Findings, changedRules(j, all[at].tree.FS(), files.FS)...)
	}
	for i, v := range rulings {
		m := &p.report.Modules[i]
		m.Diagnostics = append(withoutRefused(m.Diagnostics), v.Undecided...)
		findings, accepted := j.ask.judged.Baseline.Accept(v.Findings)
		m.Findings = append(withoutMissing(m.Findings, v.Findings), findings...)
		m.Accepted = append(m.Accepted, accepted...)
	}
	return p
}

// rulingOptions are how the settings have lock files judged. verify judges signers by itself,
// of every entry.
func rulingOptions(j job) ruling.Options {
	o := ruling.Options{
		Rules: j.settings.Policy, All: j.settings.Judge == settings.JudgeAll, Severities: j.settings.Severities, Strict: j.settings.Strict, Plan: j.plan,
	}
	o.Rules.Now, o.Plan.Dates = j.env.Now, dateSource(j, nil)
	if j.ask.verb == verbs.Check {
		o.Signers = j.plan.Signers
	}
	return o
}

// withoutMissing are findings but those that say of a provider that must not be locked that it
// is not, and how to lock it.
func withoutMissing(found, refused []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(found), func(f problem.Problem) bool {
		return f.Code == problem.CodeEntryMissing && slices.ContainsFunc(refused, func(r problem.Problem) bool {
			return r.Code == problem.CodeProviderRefused && r.Subject.Addr == f.Subject.Addr
		})
	})
}

// withoutRefused are the problems of a plan but that which says what it leaves alone, since rules
// do not permit it: each is a finding.
func withoutRefused(of []problem.Problem) []problem.Problem {
	return collect.Those(of, func(d problem.Problem) bool { return d.Code != problem.CodeProviderRefused })
}

// changedRules warns where the head of a pull request changes its configuration file together
// with lock files that a rule is about: these are judged by the file of the base.
func changedRules(j job, head, base fs.FS) []problem.Problem {
	if j.ask.head == NoHead {
		return nil
	}
	for _, name := range settings.FileNames {
		now, gone := fs.ReadFile(head, name)
		before, none := fs.ReadFile(base, name)
		if (gone == nil) == (none == nil) && bytes.Equal(now, before) {
			continue
		}
		return []problem.Problem{{
			Code: problem.CodeTamperedBoth, Severity: problem.SeverityWarning, Place: problem.Place{Path: name, Line: 1},
			Message: "this pull request changes the configuration file and lock files, which are judged by the rules of the base",
			Hint:    "change the configuration file in a pull request of its own",
		}}
	}
	return nil
}
