package run

import (
	"context"
	"log/slog"
	"path"
	"slices"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// order is a command about a pull request's own files, which becomes a request. The
// files choose nothing: neither settings, nor credentials, nor, from a fork, hosts.
type order struct {
	repo       *github.Repository
	repository string // its name
	pull       github.PullRequest
	command    comment.Command
	base       string  // the commit that the base branch is at
	req        Request // by the settings of the base branch
	log        *slog.Logger
}

// directories are those that the settings name for whatever is done.
func (o order) directories() []string {
	var dirs []string
	for _, t := range o.req.Targets {
		dirs = append(dirs, t.Dirs...)
	}
	return dirs
}

// mostChanged bounds the files of a pull request that are looked at to find the
// root modules that it touches.
const mostChanged = 1000

// head is the request for the files of the pull request's head.
func (o order) head(ctx context.Context, verb verbs.Verb) (Request, error) {
	// GitHub keeps the head of each pull request in the repository that it is for.
	remote, err := snapshot(ctx, o.repo, o.pull.Head)
	if err != nil {
		return Request{}, err
	}
	return o.about(ctx, verb, remote)
}

// about is the request of a command about a file tree that the pull request has a
// part in.
func (o order) about(ctx context.Context, verb verbs.Verb, remote *Remote) (_ Request, err error) {
	req := o.req
	target := Target{Repository: o.repository, Files: remote, Dirs: o.directories()}
	req.Verb, req.Head = verb, OwnHead
	if o.pull.Fork {
		req.Head = ForkHead
		req.Hosts = sync.OnceValue(func() []svchost.Hostname { return o.hosts(ctx) })
	}
	req.Plan.Mode = upgrade.Upgrade
	if o.command.Verb == comment.Lock {
		req.Plan.Mode = upgrade.Complete
	}
	req.Named = o.command.Providers // what a setting names need not be in every pull request
	if len(o.command.Providers) > 0 {
		req.Plan.Only = o.command.Providers
	}
	if len(o.command.Platforms) > 0 {
		req.Plan.Platforms = upgrade.Platforms{List: o.command.Platforms, Demanded: true}
	}
	if len(o.command.Dirs) > 0 {
		target.Dirs = o.command.Dirs
	} else if req.Touched, err = o.touched(ctx, verb, remote); err != nil {
		return req, err
	}
	req.Targets = []Target{target}
	return req, nil
}

// hosts are the registries that the base branch uses already: whoever may write
// there has chosen them. Modules that the base fetches are not looked into. None
// is known if the base cannot be read.
func (o order) hosts(ctx context.Context) []svchost.Hostname {
	base, err := snapshot(ctx, o.repo, o.base)
	if err != nil {
		o.log.Warn("the base branch could not be read for the hosts that it uses", "error", err)
		return nil
	}
	options := o.req.Scan
	options.Dirs, options.Create, options.Orphans = nil, true, true
	modules, _, err := rootModules(ctx, base.FS, nil, options)
	if err != nil {
		o.log.Warn("the base branch could not be scanned for the hosts that it uses", "error", err)
		return nil
	}
	var hosts []svchost.Hostname
	for _, m := range modules {
		for _, addr := range (found{module: m}).providers() {
			hosts = append(hosts, addr.Host)
		}
	}
	return hosts
}

// touched returns a test for the root modules that the pull request touches. To be judged
// is what it may touch; to be written, what depends on a file of it by name: a link that
// it adds is no reason to upgrade everything.
func (o order) touched(ctx context.Context, verb verbs.Verb, remote *Remote) (func(scan.RootModule) bool, error) {
	files, complete, err := o.repo.ChangedFiles(ctx, o.pull.Number, mostChanged)
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, comment.Refuse(safe.Format("the pull request changes more than %s files; name the directories", safe.Int(mostChanged)))
	}
	changed := newChanged(changedPathsIn(remote.FS, files))
	if verb == verbs.Upgrade || verb == verbs.Lock {
		return changed.concerns, nil
	}
	return changed.touches, nil
}

// changes reports whether the pull request changes a file.
func (o order) changes(ctx context.Context, name string) (bool, error) {
	files, complete, err := o.repo.ChangedFiles(ctx, o.pull.Number, mostChanged)
	if err == nil && !complete {
		err = comment.Refuse(safe.Format("the pull request changes more than %s files, and %s may be one of them", safe.Int(mostChanged), safe.Code(name)))
	}
	return slices.Contains(files, name), err
}

// repairing is the request to repair the lock files of the head or, if the base had
// to be merged into it, of the merge: then also those that conflict.
func (o order) repairing(ctx context.Context, verb verbs.Verb, merged *merge) (Request, error) {
	if merged == nil {
		return o.head(ctx, verb)
	}
	req, err := o.about(ctx, verb, &Remote{FS: merged.tree, Commit: o.pull.Head})
	if err != nil {
		return req, err
	}
	for name := range merged.merged {
		if t := &req.Targets[0]; len(t.Dirs) > 0 {
			t.Dirs = append(slices.Clip(t.Dirs), path.Dir(name))
		}
	}
	if touched := req.Touched; touched != nil {
		req.Touched = func(m scan.RootModule) bool {
			_, conflicting := merged.merged[path.Join(m.Dir, lockfile.Name)]
			return conflicting || touched(m)
		}
	}
	return req, nil
}
