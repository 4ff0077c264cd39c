package conversation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/verbs"
)

// A merge is made on a branch of its own. The name of the branch and the trailer of its
// commits mark it as relock's. Only such branches are deleted later.
const (
	mergeBranches  = "relock-merge/"
	mergeTrailer   = "Relock-Temporary"
	deletingBranch = "a branch on which a base was merged could not be deleted"
)

// mergedHead is the head of a pull request with its base merged into it. Lock files that both
// have changed may have conflict markers.
type mergedHead struct {
	base run.MergedBase
	// tree has the lock files as they are merged, and conflicts names them.
	tree      *filetree.Tree
	conflicts map[string]bool
}

// baseMerge merges the base of a pull request into its head.
type baseMerge struct{ *premises }

// threeWay are the three commits of a merge: the one where base and head parted, and their
// present ones.
type threeWay struct{ fork, base, head side }

// merge merges the base into the head of the pull request if both have changed a lock file
// since they parted, in different ways. Otherwise it returns nil. GitHub merges all other
// files, on a temporary branch. The lock files of that branch are already the base's, so
// that they do not conflict.
func (r baseMerge) merge(ctx context.Context) (*mergedHead, error) {
	if r.pull.Fork {
		return nil, nil // GitHub would merge in a repository where the head is no branch
	}
	compared, err := r.repo.Compare(ctx, r.pull.Base, r.pull.Head)
	if err != nil || compared.Fork.SHA == compared.Base.SHA {
		return nil, err
	}
	s, err := r.sides(ctx, compared.Fork.SHA, compared.Base.SHA)
	if err != nil {
		return nil, err
	}
	names := s.disagreed()
	if len(names) == 0 {
		return nil, nil
	}
	into, err := r.rest(ctx, compared.Base.SHA, s.ofBase(names))
	if err != nil {
		return nil, err
	}
	rest, err := run.ReadCommit(ctx, r.repo, into.SHA)
	if err != nil {
		return nil, err
	}
	m := &mergedHead{base: run.MergedBase{Base: r.pull.Base, Commit: compared.Base.SHA, Tree: into.Tree}, conflicts: map[string]bool{}}
	merged := map[string][]byte{}
	for _, name := range names {
		lock, err := s.unite(rest, name)
		if err != nil {
			return nil, err
		}
		if lock == nil {
			continue
		}
		m.base.Locks = append(m.base.Locks, *lock)
		if !lock.Gone {
			merged[name], m.conflicts[name] = lock.Content, true
		}
	}
	m.tree, err = filetree.Overlay(rest, merged)
	return m, err
}

// sides reads the lock files of the commits of the merge.
func (r baseMerge) sides(ctx context.Context, fork, base string) (threeWay, error) {
	var all [3]side
	for i, sha := range []string{fork, base, r.pull.Head} {
		var err error
		all[i], err = readSide(ctx, r.repo, sha)
		if err != nil {
			return threeWay{}, err
		}
	}
	return threeWay{fork: all[0], base: all[1], head: all[2]}, nil
}

// disagreed are the lock files that both sides have changed since the fork, in different
// ways.
func (s threeWay) disagreed() []string {
	same := func(a, b side, name string) bool {
		x, inA := a.locks[name]
		y, inB := b.locks[name]
		return inA == inB && bytes.Equal(x, y)
	}
	names := maps.Clone(s.base.locks)
	maps.Copy(names, s.head.locks)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return same(s.base, s.head, name) || same(s.base, s.fork, name) || same(s.head, s.fork, name)
	})
}

// ofBase are lock files with the content and mode that the base has.
func (s threeWay) ofBase(names []string) []github.File {
	files := make([]github.File, len(names))
	for i, name := range names {
		content, there := s.base.locks[name]
		files[i] = github.File{Path: name, Mode: github.ModeOf(s.base.files, name), Content: content, Gone: !there}
	}
	return files
}

// unite makes one lock file of both sides; nil if the base's file stays. A lock file that
// only one side removed is removed if the merged tree has no configuration beside it.
// Otherwise it stays as the other side has it.
func (s threeWay) unite(merged fs.FS, name string) (*github.File, error) {
	base, inBase := s.base.locks[name]
	head, inHead := s.head.locks[name]
	lock := &github.File{Path: name, Mode: s.mode(name)}
	switch {
	case inBase && inHead:
		merge := lockfile.Merge
		if modulelock.Is(name) {
			merge = modulelock.Merge
		}
		content, _, wrong := merge(s.fork.locks[name], head, base, name)
		if len(wrong) > 0 {
			return nil, comment.Refuse(safe.Text(wrong[0].String()))
		}
		lock.Content = content
	case tfconfig.ConfiguredIn(merged, path.Dir(name)):
		lock.Content = slices.Concat(base, head) // one of them is empty
	case inBase:
		lock.Mode, lock.Gone = "100644", true
	default:
		return nil, nil
	}
	return lock, nil
}

// mode is the mode that git would give a lock file: the head's if the head changed it,
// otherwise the base's.
func (s threeWay) mode(name string) string {
	_, inBase := s.base.locks[name]
	_, inHead := s.head.locks[name]
	ofHead := github.ModeOf(s.head.files, name)
	if inHead && (!inBase || ofHead != github.ModeOf(s.fork.files, name)) {
		return ofHead
	}
	return github.ModeOf(s.base.files, name)
}

// rest lets GitHub merge a commit of the base into the head, on a temporary branch that has
// the base's lock files.
func (r baseMerge) rest(ctx context.Context, base string, locks []github.File) (into github.Commit, err error) {
	if err := r.right.confirm(ctx); err != nil {
		return into, err
	}
	r.sweep(ctx)
	message := fmt.Sprintf("Merge the rest of %s\n\n%s: #%d", r.pull.Base, mergeTrailer, r.pull.Number)
	head, err := r.repo.Commit(ctx, r.pull.Head)
	if err != nil {
		return into, err
	}
	tree, err := r.repo.CreateTree(ctx, head.Tree, locks)
	if err != nil {
		return into, err
	}
	at, err := r.repo.CreateCommit(ctx, github.Commit{Message: message, Tree: tree, Parents: []string{head.SHA}})
	if err != nil {
		return into, err
	}
	branch := r.prefix() + r.pull.Head[:8]
	if err := r.repo.CreateBranch(ctx, branch, at); err != nil {
		return into, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if err := r.repo.DeleteBranch(ctx, branch, cmp.Or(into.SHA, at)); err != nil {
			r.sweep(ctx) // it may be gone, or at a merge whose answer was lost
		}
	}()
	into, err = r.repo.Merge(ctx, branch, base, message)
	switch {
	case errors.Is(err, github.ErrConflict):
		return into, comment.Refuse(safe.Format("the pull request conflicts with %s in more than lock files, and nothing was pushed. %s",
			safe.Code(r.pull.Base), r.locally(locks)))
	case errors.Is(err, github.ErrForbidden), errors.Is(err, github.ErrNotFound):
		return into, comment.Refuse(safe.Format("the pull request conflicts with %s in lock files, and GitHub refuses the merge: %s. "+
			"It may do so where the base has changed workflows and the token may not write any "+
			"(workflows: write, which only an App or a person can have). %s",
			safe.Code(r.pull.Base), safe.Text(err.Error()), r.locally(locks)))
	case err != nil:
		return into, err
	case into.SHA == "":
		return into, comment.Refuse(safe.Const("the base has been merged meanwhile; look at what is there, then ask again"))
	}
	return into, nil
}

// locally says how a person makes the merge.
func (r baseMerge) locally(locks []github.File) safe.Markdown {
	dirs := make([]string, len(locks))
	for i, l := range locks {
		dirs[i] = path.Dir(l.Path)
	}
	return byHand("git fetch origin "+safe.ShellWord(r.pull.Base), "git merge FETCH_HEAD", report.CommandLine(verbs.Lock, report.Asked{}, dirs))
}

// prefix is the start of the names of the pull request's merge branches.
func (r baseMerge) prefix() string { return fmt.Sprintf("%s%d-", mergeBranches, r.pull.Number) }

// sweep deletes the merge branches of the pull request whose commits say that they are
// ours. A failure is only logged: the next merge sweeps again, and so does a repeated job.
func (r baseMerge) sweep(ctx context.Context) {
	branches, err := r.repo.Branches(ctx, r.prefix())
	if err != nil {
		r.log.Warn(deletingBranch, "error", err)
		return
	}
	for branch, sha := range branches {
		commit, err := r.repo.Commit(ctx, sha)
		if err == nil && !strings.HasSuffix(strings.TrimSpace(commit.Message), fmt.Sprintf("%s: #%d", mergeTrailer, r.pull.Number)) {
			continue // it is not ours
		}
		if err == nil {
			err = r.repo.DeleteBranch(ctx, branch, sha)
		}
		if err != nil {
			r.log.Warn(deletingBranch, "branch", branch, "error", err)
		}
	}
}
