package run

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
)

// mostPlans bounds how often one request is planned while its base moves. A run takes
// minutes. If relevant files of the base change twice in that time, the user must know.
const mostPlans = 3

// mayRepeat reports whether all may be planned again for another commit.
func mayRepeat(j job) bool { return j.plans < mostPlans }

// holds reports whether another commit of the base has the same content for everything that
// was read. It compares equal questions once. It compares no commit that GitHub does not
// know, such as a local one.
func (p proposing) holds(found []found) func(ctx context.Context, sha string) (bool, error) {
	known, noticed := map[string]bool{}, noticedBy(found)
	return func(ctx context.Context, sha string) (bool, error) {
		if holds, ok := known[sha]; ok {
			return holds, nil
		}
		paths, err := p.repo.ChangedPaths(ctx, p.head, sha)
		if errors.Is(err, github.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		known[sha] = !slices.ContainsFunc(paths, noticed)
		return known[sha], nil
	}
}

// noticedBy returns a function that reports whether a changed path may matter to a run with
// these root modules. If a configuration reads a directory, every file in it matters.
func noticedBy(found []found) func(filetree.ChangedPath) bool {
	read := map[string]bool{}
	for _, f := range found {
		for _, name := range f.module.Files {
			read[name] = true
		}
	}
	return func(p filetree.ChangedPath) bool { return matters(p) || read[p.Path] || read[path.Dir(p.Path)+"/"] }
}

// matters reports whether a changed path may matter to a run. A link or a submodule may
// replace any file, and a directory is a module.
func matters(p filetree.ChangedPath) bool {
	return !p.File || scan.Notices(p.Path) || slices.Contains(settings.FileNames, p.Path)
}

// replan is the job for the commit that the base has moved to, with its configuration file
// and without a checkout. If the base has not moved, it is the same job again.
func replan(ctx context.Context, j job, from proposing, moved string) (job, error) {
	own, t := j.settings, j.target
	if moved == from.head { // the base has not moved, but a group's pull request has
		j.env.Log.Info("a pull request has changed meanwhile: planning again")
	} else {
		remote, err := Snapshot(ctx, from.repo, moved)
		if err != nil {
			return j, err
		}
		own, err = j.ask.means.Of(remote.FS)
		if err != nil {
			return j, err
		}
		t = t.at(j.env.WorkDir, remote)
		j.env.Log.Info("the base has moved: planning again", "from", from.head, "to", remote.Commit)
	}
	next := newJob(j.Session, j.ask, own, t, j.visit)
	next.plans = j.plans + 1
	return next, nil
}

// KeepDone copies what was done to pull requests from an earlier report of the same run.
func KeepDone(r, before report.Report) report.Report {
	for _, done := range before.PullRequests {
		if done.Operation == string(pr.None) {
			continue
		}
		i := slices.IndexFunc(r.PullRequests, func(p report.PullRequest) bool { return p.Branch == done.Branch })
		switch {
		case i < 0:
			r.PullRequests = append(r.PullRequests, done)
		case r.PullRequests[i].Operation == string(pr.None) || done.Operation == string(pr.Created):
			r.PullRequests[i].Operation, r.PullRequests[i].Reason = done.Operation, ""
		}
	}
	return r
}
