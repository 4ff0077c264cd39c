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

// runRepository carries an ask out for a repository that is not checked out, by the
// configuration file of its default branch. What goes wrong is in the report: the
// others go on.
func runRepository(ctx context.Context, s *Session, a Ask, t target, visit Visit) report.Report {
	r, err := byOwnFile(ctx, s, a, t, visit)
	for i, m := range r.Modules {
		r.Modules[i] = m.Named(problem.Naming{Repository: t.repository})
	}
	r.Unlocked, r.Excluded = ofRepository(t.repository, r.Unlocked), ofRepository(t.repository, r.Excluded)
	for i, d := range r.Diagnostics {
		if d.Place == (problem.Place{}) && (d.Code == problem.CodeUnlocked || d.Code == problem.CodeUnseen) {
			r.Diagnostics[i].Place = problem.Place{Package: t.repository}
		}
	}
	var wrong problem.Several
	var missing NotFound
	switch {
	case errors.As(err, &missing):
		r.Diagnostics = append(r.Diagnostics, missing...)
	case errors.As(err, &wrong): // in its configuration file
		for _, d := range wrong {
			d.Place.Package = t.repository
			r.Diagnostics = append(r.Diagnostics, d)
		}
	case err != nil:
		r.Diagnostics = append(r.Diagnostics, about(t.repository, err))
	}
	if err != nil {
		visit.Lookup.unread = true
	}
	return r
}

// ofRepository are paths of a repository among those of others.
func ofRepository(repository string, paths []string) []string {
	named := slices.Clone(paths)
	for i, name := range paths {
		named[i] = repository + "//" + name
	}
	return named
}

// byOwnFile carries an ask out by the settings in a repository's own file.
func byOwnFile(ctx context.Context, s *Session, a Ask, t target, visit Visit) (report.Report, error) {
	at, err := openDefault(ctx, s, a, t, visit.Known)
	if err != nil {
		return a.report(), err
	}
	r, err := runBases(ctx, s, a, at, visit)
	r.Diagnostics = append(r.Diagnostics, at.settings.Notices...)
	for i, d := range r.Diagnostics {
		if _, missing := fs.Stat(at.target.remote().FS, d.Place.File()); missing == nil {
			r.Diagnostics[i].Place.Package = t.repository
		}
	}
	return r, err
}

// openDefault reads the default branch of a repository that is not checked out, and the
// settings there.
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

// defaultFiles reads the files of the default branch, and its name. What a list says of the
// repository saves questions.
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

// filesAtBase is the target with the files of one base branch: those at hand, or what GitHub
// has of it.
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

// about is the diagnostic of an error that belongs to one of several.
func about(which string, err error) problem.Problem {
	d := problem.Of(err)
	d.Message = which + ": " + d.Message
	return d
}
