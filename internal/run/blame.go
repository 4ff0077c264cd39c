package run

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// baseLocks has the lock files of the base that are judged themselves. A hash of an excluded
// file is not known: one change would put it there, and the next one would copy it.
type baseLocks struct {
	contents map[string][]byte
	known    lockfile.Known
	files    fs.FS             // the base's; nil if they were not read
	by       settings.Settings // that judge
}

// same reports whether the base has a lock file with the same content at its path.
func (b baseLocks) same(lock *lockfile.File) bool {
	return lock != nil && bytes.Equal(b.contents[lock.Path], lock.Source)
}

// below counts the judged lock files below a directory, also those of modules.
func (b baseLocks) below(dir string) (n int) {
	if b.files == nil {
		return 0
	}
	_ = fs.WalkDir(b.files, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && locksAnything(name) && !excludes(b.by, path.Dir(name)) {
			n++
		}
		return err // the base may have no such directory
	})
	return n
}

// has reports whether a finding about a lock file is about nothing that the base lacks. A
// finding about an entry is about all its hashes, or those that are refuted.
func (b baseLocks) has(d problem.Problem, f found) bool {
	if f.module.Lock == nil {
		return false
	}
	of, about := lockfile.Pinned{Addr: d.Subject.Addr, Version: d.Subject.Version}, []provider.Hash{d.Subject.Hash}
	switch {
	case d.Code == problem.CodeReReleased:
		for _, s := range f.result.Refuted {
			if s.Addr == of.Addr && s.Version == of.Version {
				about = append(about, s.Hash)
			}
		}
	case d.Subject.Hash == "":
		l, _ := f.module.Lock.Lock(of.Addr)
		about = lockfile.Claims(l)
	}
	return b.known.Has(of, about)
}

// locks reports whether the base locks the module of a finding as the change does.
func (b baseLocks) locks(d problem.Problem, f found) bool {
	if b.files == nil || f.module.ModuleLock == nil || excludes(b.by, f.module.Dir) {
		return false
	}
	return slices.ContainsFunc(entriesIn(b.files, path.Join(f.module.Dir, modulelock.Name)), func(e modulelock.Entry) bool {
		now, ok := f.module.ModuleLock.Entry(e.Key)
		return e.Key.String() == d.About && ok && now.Equal(e)
	})
}

// blameChange divides the findings of a check into those that the change has added, which
// are errors, and those that the base has, which are warnings. An added hash that is not
// proven is an error, too. Without a base, as on a person's command line, everything counts
// as added; then an h1 that only a download could prove is no error.
func blameChange(ctx context.Context, j job, p planned) planned {
	if ctx.Err() != nil {
		return p
	}
	submodules := changedSubmodules(p.inventory)
	var base baseLocks
	var err error
	if p.extent.base != nil && (len(submodules) > 0 || slices.ContainsFunc(p.all(), found.mayBlame)) {
		base, err = readLocks(ctx, p.inventory)
	}
	if err != nil {
		p.report.Diagnostics = append(p.report.Diagnostics,
			about("it is not known what the change adds: the base could not be read", problem.SeverityError, err))
	}
	alone := j.ask.change == nil && p.extent.base == nil
	for _, all := range [][]found{p.found, p.alone} {
		for i, f := range all {
			if alone {
				all[i].result = f.withoutDownloads()
				continue
			}
			same := !f.added || base.same(f.module.Lock)
			all[i] = f.blamed(p.inForce, func(d problem.Problem) bool { return base.explains(d, f, same) })
			if name := f.lockPath(); f.added && worktree.Within(name, toolCaches) {
				all[i].result.Findings = append(all[i].result.Findings, lockInToolCache(name))
			}
		}
	}
	for _, dir := range submodules {
		if n := base.below(dir); n > 0 {
			m := scan.RootModule{Root: scan.Root{Dir: dir, Alone: true}}
			p.alone = append(p.alone, found{tree: p.trees[0], module: m, result: upgrade.Result{Module: m, Findings: []problem.Problem{replacedBySubmodule(dir, n)}}})
		}
	}
	return p
}

// explains reports whether a finding was there before the change. same says that the base has
// the lock file of providers.
func (b baseLocks) explains(d problem.Problem, f found, same bool) bool {
	if d.Code == problem.CodeModuleMoved {
		return b.locks(d, f)
	}
	return same || b.has(d, f)
}

// mayBlame reports whether the lock file has anything for which it matters what the base
// has.
func (f found) mayBlame() bool {
	moved := slices.ContainsFunc(f.result.Findings, func(d problem.Problem) bool { return d.Code == problem.CodeModuleMoved })
	return moved || f.added && (len(f.result.Findings)+len(f.result.Undecided) > 0 || f.module.Lock != nil && slices.ContainsFunc(f.module.Lock.Locks, isBare))
}

func isBare(l lockfile.Lock) bool { return len(l.Hashes) == 0 }

// lockPath is the path of the lock file.
func (f found) lockPath() string {
	if lock := f.module.Lock; lock != nil {
		return lock.Path
	}
	return path.Join(f.module.Dir, lockfile.Name)
}

// changedSubmodules are the submodules of the tree that the change adds or moves. git lists
// no other directory as changed.
func changedSubmodules(s inventory) (dirs []string) {
	if s.extent.differs == nil {
		return nil
	}
	files := s.trees[0].FS()
	for name := range s.extent.differs.files {
		if info, err := fs.Lstat(files, name); err == nil && info.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// replacedBySubmodule is the finding that a change puts a submodule in the place of lock
// files.
func replacedBySubmodule(dir string, n int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeHashUnproven, Severity: problem.SeverityError, Place: problem.Place{Path: dir},
		Message: fmt.Sprintf("a submodule takes the place of %s of the base, and nothing proves what it has instead", collect.Count(n, "lock file", "lock files")),
		Hint:    "keep the lock files in this repository",
	}
}

// readLocks reads the lock files of the base.
func readLocks(ctx context.Context, s inventory) (b baseLocks, err error) {
	by, err := s.inForce()
	if err != nil {
		return b, err
	}
	files, err := s.extent.base(ctx)
	if err != nil {
		return b, err
	}
	b.files, b.by = files.FS, by
	b.contents, err = judgedLocks(files.FS, by)
	b.known = lockfile.Known{}
	for name, content := range b.contents {
		if lock, _ := lockfile.Parse(content, name); lock != nil {
			for _, l := range lock.Locks {
				b.known.Add(l)
			}
		}
	}
	return b, err
}

// judgedLocks reads the lock files of a file tree, except for those that the settings of the
// base exclude.
func judgedLocks(files fs.FS, by settings.Settings) (map[string][]byte, error) {
	contents, err := lockfile.Contents(files)
	maps.DeleteFunc(contents, func(name string, _ []byte) bool { return excludes(by, path.Dir(name)) })
	return contents, err
}

// blamed is the root module with its findings as errors or, if the base has the same, as
// warnings.
func (f found) blamed(inForce func() (settings.Settings, error), onBase func(problem.Problem) bool) found {
	r := f.result
	var findings, undecided []problem.Problem
	for _, d := range r.Findings {
		if onBase(d) {
			r.Diagnostics, f.forgiven = append(slices.Clip(r.Diagnostics), asOnBase(problem.Problem{
				Severity: d.Severity, Code: d.Code, Message: d.Message, Hint: d.Hint,
				Place: d.Place.At(d.Place.Line), Subject: problem.Subject{Addr: d.Subject.Addr}, Host: d.Subject.Addr.Host,
			})), true
		} else {
			findings = append(findings, d)
		}
	}
	if f.added && f.module.Lock != nil {
		for _, l := range f.module.Lock.Locks {
			if d := verify.Unhashed(l, f.module.Lock.Path); isBare(l) && !onBase(d) {
				findings = append(findings, d)
			}
		}
	}
	for _, d := range r.Undecided {
		if !f.added || onBase(d) {
			undecided = append(undecided, d)
			continue
		}
		by, _ := inForce() // in error, none is less severe
		d.Severity = verify.SeverityOf(by.Severities, d.Code, by.Strict)
		findings = append(findings, d)
	}
	slices.SortStableFunc(findings, verify.ByEntry)
	r.Findings, r.Undecided = findings, undecided
	f.result = r
	return f
}

// withoutDownloads is the result of a run without a base. An h1 that only a download could
// prove stays undecided. Any other hash that is not proven is a finding.
func (f found) withoutDownloads() upgrade.Result {
	r := f.result
	var undecided []problem.Problem
	for _, d := range r.Undecided {
		if d.Subject.Hash.Scheme() == provider.SchemeH1 {
			undecided = append(undecided, d)
		} else {
			r.Findings = append(slices.Clip(r.Findings), d)
		}
	}
	r.Undecided = undecided
	return r
}

// lockInToolCache is the finding about a lock file that a change adds or changes in a
// tool's own directory.
func lockInToolCache(name string) problem.Problem {
	meaning, _ := problem.MeaningOf(problem.CodeLockInCache)
	p := problem.Problem{
		Code: problem.CodeLockInCache, Severity: meaning.Severity, Place: problem.Place{Path: name, Line: 1},
		Message: "the change adds or changes a lock file in a directory that the tools fill by themselves",
	}
	p.Hint = meaning.Next(p)
	return p
}

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
		return []problem.Problem{about("it is not known what was wrong before the change", problem.SeverityWarning, err)}
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
