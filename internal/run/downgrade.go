package run

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// downgradeKnown turns problems into warnings if the base has them, too: the author of a
// change need not fix older mistakes. It reads the base only if there are problems, and
// plans only the affected root modules.
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
	base, err := planBase(ctx, j, p.extent, dirs)
	if err != nil {
		d := problem.Of(err)
		d.Severity, d.Message = problem.SeverityWarning, "it is not known what was wrong before the change: "+d.Message
		return []problem.Problem{d}
	}
	for i, f := range p.found {
		at := slices.IndexFunc(base.found, func(b found) bool { return b.module.Dir == f.module.Dir })
		if at >= 0 {
			m := &p.report.Modules[i]
			downgradeModule(m, base.report.Modules[at], alike{f, base.found[at]})
		}
	}
	return nil
}

// planBase plans the given root modules as the request does, on the base. It needs their
// lock files there. Its report is not shown.
func planBase(ctx context.Context, j job, narrowed extent, dirs []string) (planned, error) {
	files, err := narrowed.base(ctx)
	if err != nil {
		return planned{}, err
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := fs.Stat(files.FS, path.Join(dir, lockfile.Name))
		return err != nil
	})
	if len(dirs) == 0 {
		return planned{}, nil
	}
	base, p, err := rootsIn(ctx, j, files, dirs)
	if err != nil {
		return p, err
	}
	return planAll(ctx, base, p), nil
}

// rootsIn finds the root modules in directories of other files, by the settings of a job.
func rootsIn(ctx context.Context, j job, files Files, dirs []string) (job, planned, error) {
	a := j.ask.about(files, dirs)
	other := newJob(j.Session, a, j.settings, a.targets[0], Visit{})
	p, err := findRoots(ctx, other)
	return other, p, err
}

// alike compares a root module with the same one on the base.
type alike struct{ now, before found }

// entry reports whether a provider's entry is unchanged, and its planned entry, too.
func (a alike) entry(addr provider.Addr) bool {
	same := func(now, before []lockfile.Lock) bool {
		return len(diff.Locks(only(before, addr), only(now, addr), nil)) == 0
	}
	return same(a.now.result.Old, a.before.result.Old) && same(a.now.result.New, a.before.result.New)
}

func only(locks []lockfile.Lock, addr provider.Addr) []lockfile.Lock {
	return slices.DeleteFunc(slices.Clone(locks), func(l lockfile.Lock) bool { return l.Addr != addr })
}

// downgradeModule turns problems into warnings if the base has them, too.
func downgradeModule(m *report.Module, before report.Module, a alike) {
	m.OnBase = m.Pending && !slices.ContainsFunc(m.Changes, func(c report.Change) bool { return !a.entry(c.Addr) })
	for i, d := range m.Diagnostics {
		had := slices.ContainsFunc(before.Diagnostics, func(b problem.Problem) bool {
			return b.Severity == problem.SeverityError && b.Code == d.Code && b.Subject.Addr == d.Subject.Addr && b.Message == d.Message
		})
		if d.Severity == problem.SeverityError && had && !transient(d.Code) && (d.Subject.Addr == provider.Addr{} || a.entry(d.Subject.Addr)) {
			m.Diagnostics[i], m.Forgiven = asOnBase(d), true
		}
	}
	if m.OnBase {
		m.Forgiven = true
		at := problem.Place{}
		if lock := a.now.module.Lock; lock != nil {
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
