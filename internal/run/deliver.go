package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// Destination is where changed lock files go: Disk, Push or Pulls.
type Destination interface{ destination() }

// Disk is where the files of a Checkout were read.
type Disk struct{}

// Pulls are pull requests for the target's base.
type Pulls struct {
	// Only, Seen, Rebase, Recreate and Ready are as in pr.Options. Seen is Head there.
	Only, Seen       string
	Rebase, Recreate bool
	Ready            func(context.Context) error
}

func (Disk) destination()  {}
func (*Push) destination() {}
func (Pulls) destination() {}

// writers bounds how many lock files are written at once. Each write waits for the disk,
// which handles many at a time.
const writers = 16

// write puts every new lock file on disk. A failed write is a problem of its root module
// only.
func write(j job, p planned) report.Report {
	defer j.clock.stage(stageWrite)()
	var g errgroup.Group
	g.SetLimit(writers)
	for i, f := range p.found {
		g.Go(func() error {
			m := &p.report.Modules[i]
			switch {
			case !j.bounds.saves() && f.result.Writes():
				m.Diagnostics = append(m.Diagnostics, problem.Problem{Code: problem.CodeCancelled, Message: errInterrupted.Error()})
			case f.result.Writes():
				writeOne(f, m)
			case j.bounds.saves():
				file.Sweep(f.tree.path(f.module.Dir)) // a killed run may have left temporary files
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in the report
	return p.report
}

// writeOne writes the changed lock files of a root module. That of modules comes first: if
// the other one cannot be written, the next run makes it from the modules that are locked.
func writeOne(f found, m *report.Module) {
	write := func(base string, content, old []byte, missing bool) bool {
		name := path.Join(f.module.Dir, base)
		if content == nil {
			return true
		}
		err := WriteLock(f.tree.path(name), content, &file.Was{Missing: missing, Content: old})
		if err != nil {
			m.Diagnostics = append(m.Diagnostics, Unwritten("lock file", name, err))
		}
		return err == nil
	}
	providers, modules := sourcesOf(f)
	m.Written = write(modulelock.Name, f.result.ModulesFile, modules, f.module.ModuleLock == nil) &&
		write(lockfile.Name, f.result.File, providers, f.module.Lock == nil)
}

// Unwritten is the problem of a file that relock did not write.
func Unwritten(what, name string, err error) problem.Problem {
	if errors.Is(err, file.ErrChanged) {
		return problem.Problem{
			Code: problem.CodeFileChanged, Message: "the " + what + " changed while relock ran, and stays as it is now",
			Place: problem.Place{Path: name}, Hint: "run again",
		}
	}
	return problem.Problem{
		Code: problem.CodeUnwritable, Message: fmt.Sprintf("the %s could not be written: %v", what, file.Cause(err)),
		Place: problem.Place{Path: name}, Hint: "check the directory, its permissions and the space on its disk: nothing was changed",
	}
}

// WriteLock replaces a lock file in one step: a reader sees the old bytes or the new bytes,
// also after a crash. It keeps the mode of an existing file, and does not replace a link.
// If the file is neither as it was nor as it should be, the error is file.ErrChanged. A nil
// was replaces any content.
func WriteLock(name string, content []byte, was *file.Was) error {
	mode := fs.FileMode(0o644)
	info, err := os.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		return &fs.PathError{Op: "replace", Path: name, Err: errLinkedLock}
	}
	if err == nil {
		mode = info.Mode().Perm()
	}
	return file.Replace(name, content, file.Options{Mode: mode, Durable: true, Was: was})
}

// ErrMoved is why nothing is pushed to a branch that has moved since it was read.
var ErrMoved = errors.New("the branch has moved since it was read, and nothing was pushed; look at what is there, then ask again")

// Push is a branch as a destination of lock files, and the commit that they were read at.
type Push struct {
	Repository string // OWNER/NAME
	Branch     string
	// Merged is committed together with the lock files; nil: nothing.
	Merged *MergedBase
	// Ready is called just before the branch is moved. Its error becomes that of the push.
	Ready func(context.Context) error
}

// MergedBase is the base of a branch merged into it.
type MergedBase struct {
	Base   string // the base's name
	Commit string // that the base is at
	Tree   string // git's id of the merged tree
	// Locks replace the lock files of the merge that the plan does not change. They may
	// have conflict markers.
	Locks []github.File
}

// push commits the planned lock files to the branch as a fast-forward. If the branch has
// moved since it was read, the error is ErrMoved, and nothing is pushed.
func push(ctx context.Context, j job, p planned, to *Push) (report.Report, error) {
	var files []github.File
	var changed []pr.Changed
	for _, f := range p.found {
		if !f.result.Writes() {
			continue
		}
		for _, lock := range lockFiles(f) {
			files = append(files, github.File{Path: lock.Path, Mode: cmp.Or(lock.Mode, "100644"), Content: lock.Content})
		}
		changed = append(changed, changedOf(f))
	}
	merging := ""
	if to.Merged != nil {
		all, complete := to.Merged.with(files)
		if !complete {
			return p.report, nil // the report says why
		}
		files, merging = all, "Merge "+to.Merged.Base+" into "+to.Branch
	} else if len(files) == 0 {
		return p.report, nil
	}
	repo, err := j.clients.reach(accessFor(j.env, j.ask, j.settings, to.Repository), to.Repository)
	if err != nil {
		return p.report, err
	}
	read := j.target.remote.Commit
	sha, err := to.commit(ctx, repo, read, files, pr.Message(changed, merging))
	if err != nil {
		return p.report, err
	}
	if err := to.Ready(ctx); err != nil {
		return p.report, err
	}
	if err := to.forward(ctx, repo, read, sha); err != nil {
		return p.report, err
	}
	p.report.Pushed = sha
	if j.env.Did != nil {
		j.env.Did(fmt.Sprintf("pushed %s to branch %s of %s", sha, to.Branch, to.Repository))
	}
	for i := range p.report.Modules {
		p.report.Modules[i].Written = p.report.Modules[i].Pending
	}
	return p.report, nil
}

// with adds to the planned lock files those of the merge that the plan does not change. It
// returns false if one of them has a conflict.
func (m *MergedBase) with(planned []github.File) ([]github.File, bool) {
	files := slices.Clone(planned)
	for _, merged := range m.Locks {
		i := slices.IndexFunc(files, func(f github.File) bool { return f.Path == merged.Path })
		if i >= 0 {
			files[i].Mode = cmp.Or(merged.Mode, files[i].Mode)
			continue
		}
		if !parses(merged) {
			return nil, false
		}
		files = append(files, merged)
	}
	slices.SortFunc(files, func(a, b github.File) int { return strings.Compare(a.Path, b.Path) })
	return files, true
}

// parses reports whether a lock file of either kind has no conflict and no mistake.
func parses(f github.File) bool {
	if modulelock.Is(f.Path) {
		lock, _ := modulelock.Parse(f.Content, f.Path)
		return lock != nil
	}
	lock, _ := lockfile.Parse(f.Content, f.Path)
	return lock != nil
}

// forward moves the branch from the read commit to a new one. If GitHub refuses, either the
// branch has moved, which is ErrMoved, or a rule of the repository forbids it. After an
// unclear answer it reads the branch, and tries again if the branch has not moved.
func (p *Push) forward(ctx context.Context, repo *github.Repository, read, sha string) error {
	err := repo.FastForward(ctx, p.Branch, sha)
	uncertain := errors.Is(err, github.ErrUncertain)
	if !uncertain && !errors.Is(err, github.ErrConflict) {
		return err
	}
	now, lookErr := repo.Head(ctx, p.Branch)
	switch {
	case lookErr == nil && now == sha:
		return nil
	case lookErr == nil && now == read && uncertain:
		return repo.FastForward(ctx, p.Branch, sha)
	case lookErr == nil && now == read, uncertain:
		return err
	}
	return ErrMoved
}

// commit stores the files as a commit on top of the one that was read.
func (p *Push) commit(ctx context.Context, repo *github.Repository, read string, files []github.File, message string) (string, error) {
	commit := github.Commit{Message: message, Parents: []string{read}}
	if p.Merged != nil {
		commit.Tree, commit.Parents = p.Merged.Tree, []string{read, p.Merged.Commit}
	} else {
		parent, err := repo.Commit(ctx, read)
		if err != nil {
			return "", err
		}
		commit.Tree = parent.Tree
	}
	if len(files) > 0 { // otherwise only the merge is pushed
		tree, err := repo.CreateTree(ctx, commit.Tree, files)
		if err != nil {
			return "", err
		}
		commit.Tree = tree
	}
	return repo.CreateCommit(ctx, commit)
}
