package conversation

import (
	"context"
	"log/slog"
	"maps"
	"path"
	"slices"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// order is a command about a pull request's own files, which becomes an ask. The
// files choose nothing: neither settings, nor credentials, nor, from a fork, hosts.
type order struct {
	repo       *github.Repository
	repository string // its name
	pull       github.PullRequest
	command    comment.Command
	base       string    // the commit that the base branch is at
	means      run.Means // with the settings of the base branch
	log        *slog.Logger
}

// mostChanged bounds the files of a pull request that are looked at to find the
// root modules that it touches.
const mostChanged = 1000

// files are those of the pull request's head. GitHub keeps the head of each pull request
// in the repository that it is for.
func (o order) files(ctx context.Context) (*run.Remote, error) {
	return run.Snapshot(ctx, o.repo, o.pull.Head)
}

// head is the pull request's head with its files, or with those that a merge makes of them.
func (o order) head(ctx context.Context, files *run.Remote) run.PullHead {
	hosts := sync.OnceValue(func() []svchost.Hostname { return o.hosts(ctx) })
	return run.PullHead{Repository: o.repository, Files: files, Fork: o.pull.Fork, Hosts: hosts}
}

// wanted is what the command names. Without directories it is about the root modules that
// the pull request touches, in those that the settings name.
func (o order) wanted(ctx context.Context, verb verbs.Verb, files *run.Remote) (run.Wanted, error) {
	w := run.Wanted{Mode: upgrade.Upgrade, Dirs: o.command.Dirs, Providers: o.command.Providers, Platforms: o.command.Platforms}
	if o.command.Verb == comment.Lock {
		w.Mode = upgrade.Complete
	}
	if len(w.Dirs) > 0 {
		return w, nil
	}
	w.Dirs = o.means.Settings.Directories
	var err error
	w.Touched, err = o.touched(ctx, verb, files)
	return w, err
}

// looking asks what a verb says of the head.
func (o order) looking(ctx context.Context, verb verbs.Verb, by run.JudgedBy) (run.Ask, error) {
	files, err := o.files(ctx)
	if err != nil {
		return run.Ask{}, err
	}
	w, err := o.wanted(ctx, verb, files)
	return run.ToLook(o.means, verb, o.head(ctx, files), w, by), err
}

// repairing asks for the lock files of the head to be repaired or, if the base had to be
// merged into it, for those of the merge: then also those that conflict. Without a branch
// to push to it asks what would change.
func (o order) repairing(ctx context.Context, verb verbs.Verb, merged *merge, to *run.Push) (run.Ask, error) {
	var files *run.Remote
	var err error
	if merged != nil {
		files = &run.Remote{FS: merged.tree, Commit: o.pull.Head}
	} else {
		files, err = o.files(ctx)
	}
	if err != nil {
		return run.Ask{}, err
	}
	w, err := o.wanted(ctx, verb, files)
	if err != nil {
		return run.Ask{}, err
	}
	if merged != nil {
		w = merged.wanted(w)
	}
	if to == nil {
		return run.ToLook(o.means, verbs.Check, o.head(ctx, files), w, run.JudgedBy{}), nil
	}
	return run.ToRepair(o.means, verb, o.head(ctx, files), w, to), nil
}

// hosts are the registries that the base branch uses already: whoever may write
// there has chosen them. None is known if the base cannot be read.
func (o order) hosts(ctx context.Context) []svchost.Hostname {
	base, err := run.Snapshot(ctx, o.repo, o.base)
	if err != nil {
		o.log.Warn("the base branch could not be read for the hosts that it uses", "error", err)
		return nil
	}
	hosts, err := run.HostsIn(ctx, base, o.means.Settings)
	if err != nil {
		o.log.Warn("the base branch could not be scanned for the hosts that it uses", "error", err)
		return nil
	}
	return hosts
}

// touched returns a test for the root modules that the pull request touches. To be judged
// is what it may touch; to be written, what depends on a file of it by name: a link that
// it adds is no reason to upgrade everything.
func (o order) touched(ctx context.Context, verb verbs.Verb, remote *run.Remote) (func(scan.RootModule) bool, error) {
	files, complete, err := o.repo.ChangedFiles(ctx, o.pull.Number, mostChanged)
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, comment.Refuse(safe.Format("the pull request changes more than %s files; name the directories", safe.Int(mostChanged)))
	}
	if verb == verbs.Upgrade || verb == verbs.Lock {
		return run.ConcernedBy(remote, files), nil
	}
	return run.TouchedBy(remote, files), nil
}

// changes reports whether the pull request changes a file.
func (o order) changes(ctx context.Context, name string) (bool, error) {
	files, complete, err := o.repo.ChangedFiles(ctx, o.pull.Number, mostChanged)
	if err == nil && !complete {
		err = comment.Refuse(safe.Format("the pull request changes more than %s files, and %s may be one of them", safe.Int(mostChanged), safe.Code(name)))
	}
	return slices.Contains(files, name), err
}

// wanted adds to what a command names the lock files that conflict.
func (m *merge) wanted(w run.Wanted) run.Wanted {
	if len(w.Dirs) > 0 {
		w.Dirs = slices.Clone(w.Dirs)
		for _, name := range slices.Sorted(maps.Keys(m.conflicts)) {
			w.Dirs = append(w.Dirs, path.Dir(name))
		}
	}
	touched := w.Touched
	if touched != nil {
		w.Touched = func(root scan.RootModule) bool {
			return m.conflicts[path.Join(root.Dir, lockfile.Name)] || touched(root)
		}
	}
	return w
}
