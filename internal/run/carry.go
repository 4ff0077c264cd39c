package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// carrier decides alone which parts of a current proposal are dropped. It keeps the entries
// that this run has not seen. The plan replaces the rest.
type carrier struct {
	p       *proposer
	refuted func(lockfile.Lock) bool
	known   map[string]standing
	// modules are the indexes of the found root modules, by directory.
	modules map[string]int
	// notices are what a person should know about a group: what could not be read, and
	// which entries were not carried over.
	notices map[string][]problem.Problem
	// over has, by branch, how much of a proposal is carried over.
	over map[string]report.CarriedOver
}

// standing is the current proposal of a group, or the reason why it could not be read.
type standing struct {
	pr.Standing
	err   error
	alone pr.LeftAlone // why the proposal cannot be used
}

func newCarrier(p *proposer) *carrier {
	k := &carrier{p: p, refuted: upgrade.Refuted(resultsOf(p.found)), known: map[string]standing{}, modules: map[string]int{}, over: map[string]report.CarriedOver{}, notices: map[string][]problem.Problem{}}
	for i, f := range p.found {
		k.modules[f.module.Dir] = i
	}
	return k
}

// standing reads the current proposal of a group, once.
func (k *carrier) standing(ctx context.Context, group string) standing {
	s, known := k.known[group]
	if !known {
		at := k.p.proposing
		s.Standing, s.err = at.survey.Standing(ctx, at.repo, group, at.base, k.p.settings.PullRequest.BranchPrefix)
		switch {
		case s.err != nil, s.Head != "" && at.client.Anonymous():
			s.alone = pr.NotRead
		case s.Head != "" && s.Files == nil:
			s.alone = pr.NotReadable
		}
		k.known[group] = s
	}
	return s
}

// leaveAlone stores why the current proposal of a group stays as it is.
func (k *carrier) leaveAlone(group string, why pr.LeftAlone) {
	s := k.known[group]
	s.alone = why
	k.known[group] = s
}

// carry adds the group's current proposal to an incomplete part of a plan. It reports
// whether the result has anything that the run was not asked about.
func (k *carrier) carry(ctx context.Context, group string, part upgrade.Result) (with upgrade.Result, unasked bool) {
	if !part.Failed() && len(k.p.unseen.only) == 0 {
		return part, false
	}
	name := path.Join(part.Module.Dir, lockfile.Name)
	s := k.standing(ctx, group)
	i := slices.IndexFunc(s.Files, func(f pr.File) bool { return f.Path == name })
	if i < 0 {
		return part, false
	}
	if k.unreadable(part.Module, name) { // a person decides about its content
		k.leaveAlone(group, pr.Overtaken)
		return part, false
	}
	stands, ok := k.entries(group, s.Files[i])
	if !ok {
		k.leaveAlone(group, pr.NotReadable)
		return part, false
	}
	with, became := part.Carry(stands, k.p.options)
	if len(became.Overtaken) > 0 {
		k.leaveAlone(group, pr.Overtaken)
	}
	k.addRefused(group, part.Module.Dir, became.Refused)
	return with, slices.ContainsFunc(with.Selections, func(s upgrade.Selection) bool { return s.Unasked })
}

// entries reads the entries that a file proposes. It reports whether old and new are lock
// files.
func (k *carrier) entries(group string, f pr.File) (upgrade.Standing, bool) {
	before, problems := lockfile.Parse(f.Old, f.Path)
	after, more := lockfile.Parse(f.Content, f.Path)
	if len(problems)+len(more) > 0 {
		return upgrade.Standing{}, false
	}
	dir := path.Dir(f.Path)
	return upgrade.Standing{
		Before: before.Locks, After: after.Locks, Refuted: k.refuted,
		Take: func(addr provider.Addr) bool { return k.p.plan.Policy.GroupOf(dir, addr) == group },
	}, true
}

// addRefused adds notices about entries that the run has not seen, and that are not carried
// over.
func (k *carrier) addRefused(group, dir string, refused []lockfile.Lock) {
	for _, l := range refused {
		what := l.Addr.String()
		if !l.Version.IsZero() {
			what += " " + l.Version.String()
		}
		k.notices[group] = append(k.notices[group], problem.Problem{
			Code: problem.CodePolicy, Severity: problem.SeverityWarning, Place: problem.Place{Path: path.Join(dir, lockfile.Name)},
			Message: fmt.Sprintf("the pull request no longer keeps %s: the requirements, the rules or a finding of this run are against it", what),
		})
	}
}

// unreadable reports whether the lock file on the base cannot be read, or has a merge
// conflict.
func (k *carrier) unreadable(m scan.RootModule, name string) bool {
	if m.Lock != nil {
		return m.Lock.Conflict > 0
	}
	_, err := fs.Lstat(k.p.trees[0].FS(), name)
	return err == nil
}

// keptFile is a lock file that the run did not look at. It stays in the pull request.
type keptFile struct {
	file pr.File
	of   found
}

// unseenFiles are lock files of the current proposal that the run did not look at, and that
// the base lacks.
func (k *carrier) unseenFiles(ctx context.Context, group string) []keptFile {
	var all []keptFile
	for _, f := range k.standing(ctx, group).Files {
		dir := path.Dir(f.Path)
		cause, missing := k.p.causeOf(dir)
		if _, seen := k.modules[dir]; seen || !missing || cause.wantedByBase() {
			continue
		}
		now, err := k.p.baseBlob(f.Path)
		switch {
		case err != nil:
			k.leaveAlone(group, pr.NotRead)
			continue
		case now == blobID(f.Content):
			continue
		case now != blobID(f.Old):
			k.leaveAlone(group, pr.Overtaken)
			continue
		}
		stands, ok := k.entries(group, f)
		if !ok {
			k.leaveAlone(group, pr.NotReadable)
			continue
		}
		lock, _ := lockfile.Parse(f.Content, f.Path)
		m := scan.RootModule{Root: scan.Root{Dir: dir}}
		m.Tool.Name = lock.Tool
		if f.Old != nil {
			m.Lock, _ = lockfile.Parse(f.Old, f.Path)
		}
		result, became := upgrade.Unseen(m, stands, f.Content, k.p.options)
		k.addRefused(group, dir, became.Refused)
		if result.File != nil {
			f.Content = result.File
			all = append(all, keptFile{f, found{tree: k.p.trees[0], module: m, result: result}})
		}
	}
	return all
}

// causeOf returns why the run did not look at the lock file of a directory in which it
// found no root module.
func (p *proposer) causeOf(dir string) (unseenCause, bool) {
	if cause, missing := p.unseen.causeOf(dir); missing {
		return cause, true
	}
	return notReadable, p.failedOutsideRoots() // the directory of the failure is unknown
}

// failedOutsideRoots reports whether something failed outside of all root modules.
func (p *proposer) failedOutsideRoots() bool {
	return slices.ContainsFunc(p.report.Diagnostics, func(d problem.Problem) bool {
		return d.Severity == problem.SeverityError && d.Code != problem.CodeUnlocked
	})
}

// narrowed reports whether the run may have missed root modules, or asked about some
// providers only.
func (p *proposer) narrowed() bool { return p.unseen.narrowed() || p.failedOutsideRoots() }

// baseBlob is git's id of a file on the base; empty if the base lacks the file.
func (p *proposer) baseBlob(name string) (string, error) {
	content, err := fs.ReadFile(p.trees[0].FS(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return blobID(content), err
}

// blobID is git's id of a content; empty for an empty file.
func blobID(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	return github.BlobID(content)
}

// mustStay reports whether a pull request without a proposal stays open. It stays if it
// proposes something that the run did not see, and that the base lacks.
func (k *carrier) mustStay(group string, files []pr.File) bool {
	for key := range k.known { // the proposal was compared with all that the run saw
		if pr.New(key, "", "", nil).Group == group {
			return false
		}
	}
	for _, f := range files {
		if i, found := k.modules[path.Dir(f.Path)]; found {
			if !k.coversAll(k.p.found[i].result, f) {
				return true
			}
			continue
		}
		cause, missing := k.p.causeOf(path.Dir(f.Path))
		if !missing || cause.wantedByBase() {
			continue
		}
		if now, err := k.p.baseBlob(f.Path); err != nil || now != blobID(f.Content) {
			return true
		}
	}
	return false
}

// coversAll reports whether the plan of a root module decides about all entries that a file
// proposes and the base lacks.
func (k *carrier) coversAll(plan upgrade.Result, f pr.File) bool {
	stands, ok := k.entries("", f)
	if !ok {
		return false
	}
	stands.Take = func(provider.Addr) bool { return true }
	_, became := plan.Carry(stands, k.p.options)
	return !became.FromPull && len(became.Overtaken)+len(became.Refused) == 0
}
