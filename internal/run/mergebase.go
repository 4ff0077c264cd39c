package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/verbs"
)

// The branch that a merge is made on and its commits say whose they are: only those
// are removed if a run has left them behind.
const (
	mergeBranches  = "relock-merge/"
	mergeTrailer   = "Relock-Temporary"
	deletingBranch = "a branch of an earlier merge could not be deleted"
)

// merge is the base of a pull request merged into its head, but for the lock files
// that both have changed.
type merge struct {
	from    string // the branch
	base    string // the commit that it is at
	into    github.Commit
	tree    *filetree.Tree
	merged  map[string][]byte // what becomes of the lock files, perhaps with markers, by path
	modes   map[string]string // git's, of those
	without []string          // lock files that go
}

// baseMerge merges the base of a pull request.
type baseMerge struct {
	repo *github.Repository
	pull github.PullRequest
	log  *slog.Logger
}

// merge merges the base into the head of the pull request where both have
// changed a lock file since they parted; nil where they have not. GitHub merges
// everything else, on a branch of its own whose lock files are already the base's,
// so that they do not conflict.
func (r baseMerge) merge(ctx context.Context) (*merge, error) {
	if r.pull.Fork {
		return nil, nil // GitHub would merge in a repository where the head is no branch
	}
	compared, err := r.repo.Compare(ctx, r.pull.Base, r.pull.Head)
	if err != nil || compared.Fork.SHA == compared.Base.SHA {
		return nil, err
	}
	var trees [3]fs.FS
	var locks [3]map[string][]byte
	for i, sha := range []string{compared.Fork.SHA, compared.Base.SHA, r.pull.Head} {
		tree, err := r.repo.Snapshot(ctx, sha, lockfile.Is)
		if err != nil {
			return nil, err
		}
		if locks[i], err = lockFiles(tree); err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	names := disagreed(locks[0], locks[1], locks[2])
	if len(names) == 0 {
		return nil, nil
	}
	m := &merge{from: r.pull.Base, base: compared.Base.SHA, merged: map[string][]byte{}, modes: map[string]string{}}
	for _, name := range names {
		m.modes[name] = mergedMode(name, trees, locks)
	}
	rest := make([]github.File, len(names))
	for i, name := range names {
		content, there := locks[1][name]
		rest[i] = github.File{Path: name, Mode: github.ModeOf(trees[1], name), Content: content, Gone: !there}
	}
	if err := r.rest(ctx, m, rest); err != nil {
		return nil, err
	}
	snapshot, err := r.repo.Snapshot(ctx, m.into.SHA, reads)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := m.unite(snapshot, name, locks); err != nil {
			return nil, err
		}
	}
	m.tree, err = filetree.Overlay(snapshot, m.merged)
	return m, err
}

// disagreed are the lock files that are changed from the fork on both sides, and
// not alike.
func disagreed(fork, base, head map[string][]byte) []string {
	same := func(a, b map[string][]byte, name string) bool {
		x, inA := a[name]
		y, inB := b[name]
		return inA == inB && bytes.Equal(x, y)
	}
	names := maps.Clone(base)
	maps.Copy(names, head)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return same(base, head, name) || same(base, fork, name) || same(head, fork, name)
	})
}

// unite makes one lock file of both sides. One that a single side has removed goes
// where the merged tree has no configuration beside it, and else stays as the other
// side has it.
func (m *merge) unite(tree fs.FS, name string, locks [3]map[string][]byte) error {
	base, inBase := locks[1][name]
	head, inHead := locks[2][name]
	switch {
	case inBase && inHead:
		content, _, wrong := lockfile.Merge(locks[0][name], head, base, name)
		if len(wrong) > 0 {
			return comment.Refuse(safe.Text(wrong[0].String()))
		}
		m.merged[name] = content
	case tfconfig.ConfiguredIn(tree, path.Dir(name)):
		m.merged[name] = slices.Concat(base, head) // one of them is nothing
	case inBase:
		m.without = append(m.without, name)
	}
	return nil
}

// mergedMode is the mode that git would give a lock file: that of the head if it has
// changed it, and else the base's.
func mergedMode(name string, trees [3]fs.FS, locks [3]map[string][]byte) string {
	_, inBase := locks[1][name]
	if _, inHead := locks[2][name]; inHead && (!inBase || github.ModeOf(trees[2], name) != github.ModeOf(trees[0], name)) {
		return github.ModeOf(trees[2], name)
	}
	return github.ModeOf(trees[1], name)
}

// rest lets GitHub merge the base into the head with the base's lock files.
func (r baseMerge) rest(ctx context.Context, m *merge, locks []github.File) (err error) {
	prefix := fmt.Sprintf("%s%d-", mergeBranches, r.pull.Number)
	r.sweep(ctx, prefix)
	message := fmt.Sprintf("Merge the rest of %s\n\n%s: #%d", r.pull.Base, mergeTrailer, r.pull.Number)
	head, err := r.repo.Commit(ctx, r.pull.Head)
	if err != nil {
		return err
	}
	tree, err := r.repo.CreateTree(ctx, head.Tree, locks)
	if err != nil {
		return err
	}
	at, err := r.repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{head.SHA}})
	if err != nil {
		return err
	}
	branch := prefix + r.pull.Head[:8]
	if err := r.repo.CreateBranch(ctx, branch, at); err != nil {
		return err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if m.into.SHA != "" {
			at = m.into.SHA
		}
		if err := r.repo.DeleteBranch(ctx, branch, at); err != nil {
			r.log.Warn("the branch of a merge could not be deleted; the next run tries again", "branch", branch, "error", err)
		}
	}()
	m.into, err = r.repo.Merge(ctx, branch, m.base, message)
	switch {
	case errors.Is(err, github.ErrConflict):
		return comment.Refuse(safe.Format("the pull request conflicts with %s in more than lock files, and nothing was pushed. %s",
			safe.Code(r.pull.Base), r.locally(locks)))
	case err != nil && problem.Coded(err, problem.CodeGitHub) && !errors.Is(err, github.ErrUncertain):
		return comment.Refuse(safe.Format("the pull request conflicts with %s in lock files, and GitHub refuses the merge: %s. "+
			"It may do so where the base has changed workflows and the token may not write any "+
			"(workflows: write, which only an App or a person can have). %s",
			safe.Code(r.pull.Base), safe.Text(err.Error()), r.locally(locks)))
	case err != nil:
		return err
	case m.into.SHA == "":
		return comment.Refuse(safe.Const("the base has been merged meanwhile; look at what is there, then ask again"))
	}
	return nil
}

// locally says how a person makes the merge.
func (r baseMerge) locally(locks []github.File) safe.Markdown {
	dirs := make([]string, len(locks))
	for i, l := range locks {
		dirs[i] = path.Dir(l.Path)
	}
	return byHand("git fetch origin "+report.ShellWord(r.pull.Base), "git merge FETCH_HEAD", report.CommandLine(verbs.Lock, report.Asked{}, dirs))
}

// sweep deletes the branches of merges whose names begin so, as far as their
// commits say that they are ours. It is a courtesy: what is left is swept by the
// next run.
func (r baseMerge) sweep(ctx context.Context, prefix string) {
	branches, err := r.repo.Branches(ctx, prefix)
	if err != nil {
		r.log.Warn(deletingBranch, "error", err)
		return
	}
	for branch, sha := range branches {
		commit, err := r.repo.Commit(ctx, sha)
		if err == nil && !strings.HasSuffix(strings.TrimSpace(commit.Message), fmt.Sprintf("%s: #%d", mergeTrailer, r.pull.Number)) {
			continue // somebody's own
		}
		if err == nil {
			err = r.repo.DeleteBranch(ctx, branch, sha)
		}
		if err != nil {
			r.log.Warn(deletingBranch, "branch", branch, "error", err)
		}
	}
}

// files completes what is pushed with the lock files of the merge that the plan
// leaves alone. It returns false where one is left with a conflict.
func (m *merge) files(planned []github.File) ([]github.File, bool) {
	for i, f := range planned {
		planned[i].Mode = cmp.Or(m.modes[f.Path], f.Mode)
	}
	for name, content := range m.merged {
		if slices.ContainsFunc(planned, func(f github.File) bool { return f.Path == name }) {
			continue
		}
		if f, _ := lockfile.Parse(content, name); f == nil {
			return nil, false
		}
		planned = append(planned, github.File{Path: name, Mode: m.modes[name], Content: content})
	}
	for _, name := range m.without {
		planned = append(planned, github.File{Path: name, Mode: "100644", Gone: true})
	}
	slices.SortFunc(planned, func(a, b github.File) int { return strings.Compare(a.Path, b.Path) })
	return planned, true
}
