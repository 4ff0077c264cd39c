package conversation

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// request makes an ask of a command about a pull request, with the settings of its base
// branch. The files of the pull request choose no settings and no credentials. Those of a
// fork choose no hosts.
type request struct {
	*premises
	command comment.Command
}

// mostChanged bounds the files of a pull request that are looked at to find the
// root modules that it touches.
const mostChanged = 1000

// tested are the commits that a command looks at: the test merge and its base. An event of
// the pull request judges the test merge, too. GitHub may have made none of the present
// head and base, as in a conflict. Then commit is the head, and base is empty.
func (q request) tested(ctx context.Context) (commit, base string, err error) {
	if q.pull.Tested == "" {
		return q.pull.Head, "", nil
	}
	merge, err := q.repo.Commit(ctx, q.pull.Tested)
	if err != nil && !errors.Is(err, github.ErrNotFound) {
		return "", "", err
	}
	if !slices.Equal(merge.Parents, []string{q.base, q.pull.Head}) {
		return q.pull.Head, "", nil
	}
	return merge.SHA, q.base, nil
}

// head is the pull request's head with its files, or with the files of a merge.
func (q request) head(ctx context.Context, files *run.Remote) run.PullHead {
	hosts := sync.OnceValue(func() []svchost.Hostname { return q.hosts(ctx) })
	return run.PullHead{Repository: q.event.Repository, Files: files, Fork: q.pull.Fork, Hosts: hosts, Base: q.leftBase}
}

// leftBase reads the files of the commit where the pull request left its base branch. Newer
// commits of the base are no change of the pull request.
func (q request) leftBase(ctx context.Context) (*run.Remote, error) {
	d, err := q.repo.Difference(ctx, q.base, q.pull.Head)
	if err != nil {
		return nil, err
	}
	return run.Snapshot(ctx, q.repo, d.MergeBase)
}

// wanted is what the command names. Without directories, these are the root modules that
// the pull request touches, within the directories of the settings.
//
// A command that judges is about all that the change may touch. One that writes is about
// what depends on a changed file by name: an added link is no reason to upgrade everything.
func (q request) wanted(ctx context.Context, verb verbs.Verb) (run.Wanted, error) {
	w := run.Wanted{Mode: upgrade.Upgrade, Dirs: q.command.Dirs, Providers: q.command.Providers, Platforms: q.command.Platforms, Modules: q.command.Modules}
	if q.command.Verb == comment.Lock {
		w.Mode = upgrade.Complete
	}
	if len(w.Dirs) > 0 {
		return w, nil
	}
	w.Dirs = q.means.Settings.Directories
	files, complete, err := q.repo.ChangedFiles(ctx, q.pull.Number, mostChanged)
	if err == nil && !complete {
		err = comment.Refuse(safe.Format("the pull request changes more than %s files; name the directories", safe.Int(mostChanged)))
	}
	w.Changed = &run.PullFiles{Files: files, ByName: verb == verbs.Upgrade || verb == verbs.Lock}
	return w, err
}

// looking makes the ask for a verb about the test merge or, if GitHub has none, about the
// head.
func (q request) looking(ctx context.Context, verb verbs.Verb, by run.JudgedBy) (run.Ask, error) {
	commit, base, err := q.tested(ctx)
	if err != nil {
		return run.Ask{}, err
	}
	files, err := run.Snapshot(ctx, q.repo, commit)
	if err != nil {
		return run.Ask{}, err
	}
	head := q.head(ctx, files)
	if base != "" {
		head.Base = func(ctx context.Context) (*run.Remote, error) { return run.Snapshot(ctx, q.repo, base) }
	}
	w, err := q.wanted(ctx, verb)
	return run.ToLook(q.means, verb, head, w, by), err
}

// repairing makes the ask for a repair of the head's lock files. If the base was merged, it
// repairs those of the merge, including the ones that conflict. Without a branch to push
// to, it asks what would change.
func (q request) repairing(ctx context.Context, verb verbs.Verb, merged *mergedHead, to *run.Push) (run.Ask, error) {
	var files *run.Remote
	var err error
	if merged != nil {
		files = &run.Remote{FS: merged.tree, Commit: q.pull.Head}
	} else {
		files, err = run.Snapshot(ctx, q.repo, q.pull.Head)
	}
	if err != nil {
		return run.Ask{}, err
	}
	w, err := q.wanted(ctx, verb)
	if err != nil {
		return run.Ask{}, err
	}
	if merged != nil {
		w = merged.wanted(w)
	}
	if to == nil {
		return run.ToLook(q.means, verbs.Check, q.head(ctx, files), w, run.JudgedBy{}), nil
	}
	return run.ToRepair(q.means, verb, q.head(ctx, files), w, to), nil
}

// hosts are the registries that the base branch uses already: people who may write there have
// chosen them. None is known if the base cannot be read.
func (q request) hosts(ctx context.Context) []svchost.Hostname {
	base, err := run.Snapshot(ctx, q.repo, q.base)
	if err != nil {
		q.log.Warn("the base branch could not be read for the hosts that it uses", "error", err)
		return nil
	}
	hosts, err := run.HostsIn(ctx, base, q.means.Settings)
	if err != nil {
		q.log.Warn("the base branch could not be scanned for the hosts that it uses", "error", err)
		return nil
	}
	return hosts
}

// changes reports whether the pull request changes a file.
func (q request) changes(ctx context.Context, name string) (bool, error) {
	files, complete, err := q.repo.ChangedFiles(ctx, q.pull.Number, mostChanged)
	if err == nil && !complete {
		err = comment.Refuse(safe.Format("the pull request changes more than %s files, and %s may be one of them", safe.Int(mostChanged), safe.Code(name)))
	}
	return slices.Contains(files, name), err
}

// wanted adds the lock files that conflict to what a command names. A command that names
// nothing is about them anyway, since the pull request changes each.
func (m *mergedHead) wanted(w run.Wanted) run.Wanted {
	if len(w.Dirs) > 0 {
		w.Dirs = slices.Clone(w.Dirs)
		for _, name := range slices.Sorted(maps.Keys(m.conflicts)) {
			w.Dirs = append(w.Dirs, path.Dir(name))
		}
	}
	return w
}
