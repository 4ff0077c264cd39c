package run

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// downgradeKnown turns problems into warnings if the base has them, too: the author of a
// change need not fix older mistakes. It reads the base only if there are problems, and
// asks no registry.
func downgradeKnown(ctx context.Context, j job, p planned) []problem.Problem {
	var dirs []string
	for i, f := range p.found {
		if m := p.report.Modules[i]; m.Pending || m.Failed() {
			dirs = append(dirs, f.module.Dir)
		}
	}
	if j.ask.verb != verbs.Check || j.ask.change == nil || p.extent.base == nil || len(dirs) == 0 || ctx.Err() != nil {
		return nil
	}
	files, err := p.extent.base(ctx)
	var base planned
	if err == nil {
		base, err = rootsIn(ctx, j, target{remote: files}, dirs)
	}
	if err != nil {
		d := problem.Of(err)
		d.Severity, d.Message = problem.SeverityWarning, "it is not known what was wrong before the change: "+d.Message
		return []problem.Problem{d}
	}
	for i, f := range p.found {
		at := slices.IndexFunc(base.found, func(b found) bool { return b.module.Dir == f.module.Dir && b.module.Lock != nil })
		if at >= 0 {
			downgradeModule(&p.report.Modules[i], f.module, base.found[at].module)
		}
	}
	return nil
}

// rootsIn finds the root modules in directories of other files, by the settings of a job.
func rootsIn(ctx context.Context, j job, files target, dirs []string) (planned, error) {
	a := j.ask.about(files, dirs)
	return findRoots(ctx, newJob(j.Session, a, j.settings, a.targets[0], Visit{}))
}

// sameEntry reports whether the plan of a provider follows from the same: the entry, the terms
// of its requirement, and the rules of the tool.
func sameEntry(head, base scan.RootModule, addr provider.Addr) bool {
	of := func(m scan.RootModule) (l lockfile.Lock, terms []string) {
		if m.Lock != nil {
			l, _ = m.Lock.Lock(addr)
		}
		for _, r := range m.All().Requirements {
			if r.Addr == addr {
				terms = collect.Mapped(r.Terms, func(t scan.Term) string { return t.Constraint.String() })
			}
		}
		return l, slices.Sorted(slices.Values(terms))
	}
	now, wants := of(head)
	before, wanted := of(base)
	return head.Tool == base.Tool && now.Equal(before) && slices.Equal(wants, wanted)
}

// sameTrouble reports whether the root module on the base has a problem of no single provider:
// the same one, or modules that could not be read.
func sameTrouble(head, base scan.RootModule, d problem.Problem) bool {
	before := base.All()
	if d.Code == problem.CodeUnreadModule {
		return !slices.ContainsFunc(head.All().Unread, func(u scan.Unread) bool {
			return !slices.ContainsFunc(before.Unread, func(b scan.Unread) bool { return b.Module == u.Module && b.Reason == u.Reason })
		})
	}
	return slices.ContainsFunc(before.Diagnostics, func(b problem.Problem) bool { return b.Code == d.Code && b.Message == d.Message })
}

// downgradeModule turns problems into warnings if the base has them, too.
func downgradeModule(m *report.Module, head, base scan.RootModule) {
	m.OnBase = m.Pending && !slices.ContainsFunc(m.Changes, func(c report.Change) bool { return !sameEntry(head, base, c.Addr) })
	for i, d := range m.Diagnostics {
		had := sameEntry(head, base, d.Subject.Addr)
		if d.Subject.Addr == (provider.Addr{}) {
			had = sameTrouble(head, base, d)
		}
		if d.Severity == problem.SeverityError && had && !transient(d.Code) {
			m.Diagnostics[i], m.Forgiven = asOnBase(d), true
		}
	}
	if m.OnBase {
		m.Forgiven = true
		at := problem.Place{}
		if lock := head.Lock; lock != nil {
			at.Path = lock.Path
		}
		m.Diagnostics = append(m.Diagnostics, problem.Problem{
			Code: problem.CodeOnBase, Severity: problem.SeverityWarning, Place: at,
			Message: "the lock file was like that before the change, so the check does not fail for it",
			Hint:    "run relock on the base branch",
		})
	}
}

// foundOnBase turns a finding that the base has, too, into a problem of its entry.
func foundOnBase(f problem.Problem) problem.Problem {
	return asOnBase(problem.Problem{
		Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint,
		Place: f.Place.At(f.Place.Line), Subject: problem.Subject{Addr: f.Subject.Addr}, Host: f.Subject.Addr.Host,
	})
}

// asOnBase marks a problem as one that the base has, too.
func asOnBase(d problem.Problem) problem.Problem {
	d.Severity = problem.SeverityWarning
	d.Message += " (it was so before the change)"
	return d
}

// transient reports whether a code is about servers, and not about a repository. Both sides
// have such problems, and they may hide others.
func transient(code problem.Code) bool {
	return slices.Contains([]problem.Code{
		problem.CodeUnreachable, problem.CodeUnauthorized, problem.CodeBadAnswer, problem.CodeGitHub,
		problem.CodeCancelled, problem.CodeInternal,
	}, code)
}
