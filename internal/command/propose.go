package command

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// propose carries out the verb pr: for each repository, and in it for each base
// branch. The files of a branch that is not checked out are read from GitHub.
func propose(ctx context.Context, env Env, s settings, req run.Request) (report.Report, error) {
	notices := s.notices
	if req.Pull.Repository == "" && len(s.Repositories) == 0 {
		// Outside of a workflow nobody names the repository: it is the one of the
		// clone that the first directory is in.
		clone := scanned(env, config.Merge(config.Arguments(req.Dirs)))[0]
		repository, more, err := run.Origin(clone, req.Pull.Hub.API)
		if err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
		req.Pull.Repository, notices = repository, append(notices, more...)
	}
	r, err := during(env, s, req, func(session *run.Session) (report.Report, error) {
		p := proposer{env: env, given: s.given, session: session}
		r, err := p.toAll(ctx, s.Repositories, req)
		r.Diagnostics = append(r.Diagnostics, session.Sought()...)
		if hub := req.Pull.Hub; err == nil && hub.Token == "" && hub.App == nil {
			r.Diagnostics = append(r.Diagnostics, anonymously)
		}
		return r, err
	})
	r.Diagnostics = append(r.Diagnostics, notices...)
	return r, err
}

// anonymously says what a run without a token leaves out.
var anonymously = provider.Diagnostic{
	Code: provider.CodeSettings, Severity: provider.SeverityWarning,
	Message: "there is no token for GitHub: release notes are left out, and it is not seen who has pushed to a branch of relock's",
	Hint:    "set GITHUB_TOKEN, for example to what `gh auth token` prints",
}

// proposer proposes to repositories and their branches in one session.
type proposer struct {
	env     Env
	given   []config.Values // what the settings of each repository are laid under
	session *run.Session
}

// toAll proposes for the repositories that are named, else for the one that
// is checked out.
func (p proposer) toAll(ctx context.Context, repositories []string, req run.Request) (report.Report, error) {
	if len(repositories) == 0 {
		req.Pull.Again = func(files fs.FS) (run.Request, error) {
			s, err := settingsOn(p.env, files, p.given...)
			return withRepository(p.env, request(p.env, run.PR, fromTop(p.env, req.Dirs), s.Config)), err
		}
		// Where the runner does not say which branch is checked out, it is taken for
		// the first base.
		return p.to(ctx, req, cmp.Or(p.env.runtime().Branch(), req.Pull.Base))
	}
	req.Part = len(repositories) > 1
	all := report.Report{Verb: report.VerbPR, DryRun: req.Pull.DryRun}
	for _, repository := range repositories {
		all = all.And(p.remotely(ctx, repository, req))
	}
	return all, nil
}

// to proposes to each base branch of one repository. One that fails does
// not stop the others; where there is but one, its error is returned.
func (p proposer) to(ctx context.Context, req run.Request, here string) (report.Report, error) {
	bases := req.Pull.Bases
	if len(bases) < 2 {
		return p.toBase(ctx, req, here)
	}
	all := report.Report{Verb: report.VerbPR, DryRun: req.Pull.DryRun}
	for _, base := range bases {
		one := req
		one.Pull.Base, one.Part = base, true
		r, err := p.toBase(ctx, one, here)
		if err != nil {
			p.session.Unreadable()
			r.Diagnostics = append(r.Diagnostics, about("branch "+base, err))
		}
		all = all.And(r)
	}
	return all, nil
}

// toBase does so for one base branch, whose files are read from GitHub
// unless they are here.
func (p proposer) toBase(ctx context.Context, req run.Request, here string) (report.Report, error) {
	if req.Pull.Base == "" && here != "" {
		base, err := p.session.DefaultBranch(ctx, req.Pull.Hub, req.Pull.Repository)
		if err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
		req.Pull.Base = base
	}
	if req.Pull.Base != here {
		remote, base, err := p.session.Fetch(ctx, req.Pull.Hub, req.Pull.Repository, req.Pull.Base)
		if err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
		if req.Remote == nil {
			req.Dirs = fromTop(p.env, req.Dirs)
		}
		req.Remote, req.Pull.Base = remote, base
	}
	return p.session.Do(ctx, req)
}

// fromTop names directories of the checkout as they are called in its repository.
func fromTop(env Env, dirs []string) []string {
	if len(dirs) == 0 {
		dirs = []string{"./..."}
	}
	var named []string
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		abs := env.path(name)
		if rel, err := filepath.Rel(run.RepositoryOf(abs), abs); err == nil {
			dir = filepath.ToSlash(rel)
		}
		if search {
			dir += "/..."
		}
		named = append(named, dir)
	}
	return named
}

// remotely does so for a repository that is not checked out, by the
// configuration file of its default branch. What goes wrong is in the report:
// the others go on.
func (p proposer) remotely(ctx context.Context, repository string, req run.Request) report.Report {
	r, err := p.byOwnFile(ctx, repository, req)
	for i, m := range r.Modules {
		r.Modules[i] = m.Shown(func(name string) string { return repository + "//" + name })
	}
	var wrong provider.Problems
	var missing run.NotFound
	switch {
	case errors.As(err, &missing):
		r.Diagnostics = append(r.Diagnostics, missing...)
	case errors.As(err, &wrong): // in its configuration file
		for _, d := range wrong {
			d.File = repository + "//" + d.File
			r.Diagnostics = append(r.Diagnostics, d)
		}
	case err != nil:
		r.Diagnostics = append(r.Diagnostics, about(repository, err))
	}
	if err != nil {
		p.session.Unreadable()
	}
	return r
}

// byOwnFile proposes to a repository by the settings in its own file.
func (p proposer) byOwnFile(ctx context.Context, repository string, req run.Request) (report.Report, error) {
	none := report.Report{Verb: report.VerbPR}
	remote, branch, err := p.session.Fetch(ctx, req.Pull.Hub, repository, "")
	if err != nil {
		return none, err
	}
	s, err := settingsOf(p.env, remote.FS, p.given...)
	if err != nil {
		return none, err
	}
	own := withRepository(p.env, request(p.env, run.PR, req.Dirs, s.Config))
	own.Remote, own.Pull.Repository, own.Part = remote, repository, req.Part
	own.Pull.Again = func(files fs.FS) (run.Request, error) {
		s, err := settingsOf(p.env, files, p.given...)
		return withRepository(p.env, request(p.env, run.PR, req.Dirs, s.Config)), err
	}
	if len(own.Pull.Bases) == 0 {
		own.Pull.Base = branch
	}
	r, err := p.to(ctx, own, branch)
	for i, d := range r.Diagnostics {
		if _, missing := fs.Stat(remote.FS, d.File); missing == nil {
			r.Diagnostics[i].File = repository + "//" + d.File
		}
	}
	return r, err
}

// about is the diagnostic of an error that belongs to one of several.
func about(which string, err error) provider.Diagnostic {
	d := provider.Diagnose(err)
	d.Message = which + ": " + d.Message
	return d
}
