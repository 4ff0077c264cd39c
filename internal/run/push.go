package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Push says to which branch lock files are pushed, from the commit that they
// were read at.
type Push struct {
	Repository string // OWNER/NAME
	Branch     string
	merge      *merge // of the base, which is committed with the lock files; nil: none
	// ready is asked just before something is pushed, and may refuse.
	ready func(context.Context) error
}

// push commits the planned lock files to the branch as a fast-forward: if the
// branch is not where it was read, nothing is pushed.
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
	if m := to.merge; m != nil {
		complete := false
		if files, complete = m.files(files); !complete {
			return p.report, nil // which tells why
		}
	} else if len(files) == 0 {
		return p.report, nil
	}
	repo, err := j.hubs.reach(accessFor(j.env, j.ask, j.settings, to.Repository), to.Repository)
	if err != nil {
		return p.report, err
	}
	if err := to.ready(ctx); err != nil {
		return p.report, err
	}
	merging := ""
	if to.merge != nil {
		merging = "Merge " + to.merge.from + " into " + to.Branch
	}
	read := j.target.remote().Commit
	sha, err := to.commit(ctx, repo, read, files, pr.Message(changed, merging))
	if err != nil {
		return p.report, err
	}
	err = repo.FastForward(ctx, to.Branch, sha)
	if errors.Is(err, github.ErrConflict) && to.moved(ctx, repo, read) {
		return p.report, comment.Refuse(safe.Const("the branch has moved since it was read, and nothing was pushed; look at what is there, then ask again"))
	}
	if err != nil {
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

// moved reports whether the branch is elsewhere than it was read. Where it is not,
// a rule of the repository refuses the push.
func (p *Push) moved(ctx context.Context, repo *github.Repository, read string) bool {
	now, err := repo.Head(ctx, p.Branch)
	return err != nil || now != read
}

// commit stores the files as a commit on the one that they were made from.
func (p *Push) commit(ctx context.Context, repo *github.Repository, read string, files []github.File, message string) (string, error) {
	if m := p.merge; m != nil {
		tree := m.into.Tree
		if len(files) > 0 {
			var err error
			if tree, err = repo.CreateTree(ctx, tree, files); err != nil {
				return "", err
			}
		}
		return repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{read, m.base}})
	}
	parent, err := repo.Commit(ctx, read)
	if err != nil {
		return "", err
	}
	tree, err := repo.CreateTree(ctx, parent.Tree, files)
	if err != nil {
		return "", err
	}
	return repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{parent.SHA}})
}
