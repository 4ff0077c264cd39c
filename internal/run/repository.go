package run

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// runRepository carries out an ask for a repository that is not checked out, with the
// configuration file of its default branch. Failures are in the report, so that other
// repositories continue.
func runRepository(ctx context.Context, s *Session, a Ask, t target, visit Visit) report.Report {
	return beginRepository(ctx, s, a, t, visit).finish(ctx)
}

// Undelivered is a repository that was read and planned. Its plan is delivered later, once.
type Undelivered struct {
	name  string
	visit Visit
	begun basesBegun
	err   error // why there is no plan
}

// beginRepository reads a repository, and plans for its first base branch.
func beginRepository(ctx context.Context, s *Session, a Ask, t target, visit Visit) Undelivered {
	u := Undelivered{name: t.repository, visit: visit, begun: basesBegun{ask: a}}
	at, err := openDefault(ctx, s, a, t, visit.Known)
	if err != nil {
		u.err = err
		return u
	}
	u.begun = beginBases(ctx, s, a, at, visit)
	return u
}

// Failed reports whether the repository could not be read or planned for as a whole.
func (u Undelivered) Failed() bool {
	return u.err != nil || u.begun.first.err != nil || u.begun.first.planned.report.Failed()
}

// Rejection is why GitHub refused to show the repository, and the line of the report about
// that. ok is false for other failures, and if there is none.
func (u Undelivered) Rejection() (rejection github.Rejection, line problem.Problem, ok bool) {
	rejection, ok = github.RejectionOf(u.err)
	if !ok {
		return rejection, line, false
	}
	return rejection, about(u.name, u.err), true
}

// finish delivers what was planned.
func (u Undelivered) finish(ctx context.Context) report.Report {
	r, err := u.begun.ask.report(), u.err
	if err == nil {
		r, err = u.begun.finish(ctx)
		r.Diagnostics = append(r.Diagnostics, u.begun.at.settings.Notices...)
		for i, d := range r.Diagnostics {
			if _, missing := fs.Stat(u.begun.at.target.remote().FS, d.Place.File()); missing == nil {
				r.Diagnostics[i].Place.Package = u.name
			}
		}
	}
	for i, m := range r.Modules {
		r.Modules[i] = m.Named(problem.Naming{Repository: u.name})
	}
	r.Unlocked, r.Excluded = ofRepository(u.name, r.Unlocked), ofRepository(u.name, r.Excluded)
	for i, d := range r.Diagnostics {
		if d.Place == (problem.Place{}) && (d.Code == problem.CodeUnlocked || d.Code == problem.CodeUnseen) {
			r.Diagnostics[i].Place = problem.Place{Package: u.name}
		}
	}
	var wrong problem.Several
	var missing NotFound
	switch {
	case errors.As(err, &missing):
		r.Diagnostics = append(r.Diagnostics, missing...)
	case errors.As(err, &wrong): // in its configuration file
		for _, d := range wrong {
			d.Place.Package = u.name
			r.Diagnostics = append(r.Diagnostics, d)
		}
	case err != nil:
		r.Diagnostics = append(r.Diagnostics, about(u.name, err))
	}
	if err != nil {
		u.visit.Lookup.unread = true
	}
	return r
}

// withoutTree is the same without the file trees, except for the files that delivering
// reads.
func (u Undelivered) withoutTree() Undelivered {
	if u.err != nil {
		return u
	}
	at, first := &u.begun.at.target, u.begun.first
	named := slices.Concat(first.planned.report.Diagnostics, u.begun.at.settings.Notices)
	whole := at.remote()
	part := whole.part(named)
	if read := first.job.target.remote(); read == whole {
		u.begun.first = first.inPlaceOf(whole, part)
	} else if read != nil {
		u.begun.first = first.inPlaceOf(read, read.part(named))
	}
	if !slices.Contains(u.begun.bases[1:], u.begun.at.branch) { // a further base reads the tree
		at.files = part
	}
	return u
}

// ofRepository are the paths that belong to a repository.
func ofRepository(repository string, paths []string) []string {
	named := slices.Clone(paths)
	for i, name := range paths {
		named[i] = repository + "//" + name
	}
	return named
}

// openDefault reads the default branch of a repository that is not checked out, and its
// settings.
func openDefault(ctx context.Context, s *Session, a Ask, t target, known *github.Listed) (opened, error) {
	asking, stop := s.bounds.asking(ctx)
	defer stop()
	remote, branch, err := defaultFiles(asking, s, a, t.repository, known)
	if err != nil {
		return opened{}, err
	}
	own, err := a.means.Of(remote.FS)
	t.files, t.base = remote, branch
	return opened{t, own, branch}, err
}

// defaultFiles reads the files of the default branch, and its name. A list of repositories
// may answer some of that.
func defaultFiles(ctx context.Context, s *Session, a Ask, repository string, known *github.Listed) (*Remote, string, error) {
	access := accessFor(s.env, a, a.means.Settings)
	if known == nil {
		return s.clients.fetch(ctx, access, repository, "")
	}
	repo, err := s.clients.reach(access, repository)
	if err != nil {
		return nil, "", err
	}
	tree := ""
	if known.Compact {
		tree = known.Tree
	}
	remote, err := snapshotOf(ctx, repo, known.Head, tree)
	return remote, known.Branch, err
}

// filesAtBase is the target with the files of one base branch. It reads them from GitHub if
// they are not there yet.
func filesAtBase(ctx context.Context, s *Session, a Ask, at opened, base string) (target, error) {
	asking, stop := s.bounds.asking(ctx)
	defer stop()
	t, access := at.target, accessFor(s.env, a, at.settings)
	t.base = base
	if base == "" && at.branch != "" {
		var err error
		t.base, err = s.clients.defaultBranch(asking, access, t.repository)
		if err != nil {
			return t, err
		}
	}
	if t.base == at.branch {
		return t, nil
	}
	remote, name, err := s.clients.fetch(asking, access, t.repository, t.base)
	if err != nil {
		return t, err
	}
	t.base = name
	return t.at(s.env.WorkDir, remote), nil
}

// about is the diagnostic of an error of one of several things.
func about(which string, err error) problem.Problem {
	d := problem.Of(err)
	d.Message = which + ": " + d.Message
	return d
}
