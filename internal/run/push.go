package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
)

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
		if f.result.File == nil {
			continue
		}
		file := lockFile(f)
		files = append(files, github.File{Path: file.Path, Mode: cmp.Or(file.Mode, "100644"), Content: file.Content})
		changed = append(changed, pr.Changed{Dir: f.module.Dir, Tool: f.module.Tool, Changes: changesOf(f.result)})
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
		if f, _ := lockfile.Parse(merged.Content, merged.Path); f == nil {
			return nil, false
		}
		files = append(files, merged)
	}
	slices.SortFunc(files, func(a, b github.File) int { return strings.Compare(a.Path, b.Path) })
	return files, true
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
