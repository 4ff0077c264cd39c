package command

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// propose carries out the verb pr: for each repository, and in it for each base
// branch. The files of a branch that is not checked out are read from GitHub.
func (c *cli) propose(ctx context.Context, cfg config.Config, dirs []string, strongest ...config.Values) (report.Report, error) {
	req := c.withRepository(c.request(run.PR, dirs, cfg))
	if req.Pull.Repository == "" && len(cfg.Repositories) == 0 {
		if err := c.byRemote(&req); err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
	}
	return c.during(cfg, req, func(s *run.Session) (report.Report, error) {
		r, err := c.proposeToAll(ctx, s, cfg.Repositories, req, strongest)
		r.Diagnostics = append(r.Diagnostics, s.Sought()...)
		if hub := req.Pull.Hub; err == nil && hub.Token == "" && hub.App == nil {
			r.Diagnostics = append(r.Diagnostics, anonymously)
		}
		return r, err
	})
}

// anonymously says what a run without a token leaves out.
var anonymously = provider.Diagnostic{
	Code: provider.CodeSettings, Severity: provider.SeverityWarning,
	Message: "there is no token for GitHub: release notes are left out, and it is not seen who has pushed to a branch of relock's",
	Hint:    "set GITHUB_TOKEN, for example to what `gh auth token` prints",
}

// byRemote takes the repository of the request from the remotes of the clone that
// its first directory is in: outside of a workflow nobody names it.
func (c *cli) byRemote(req *run.Request) error {
	at := c.scanned(config.Merge(config.Arguments(req.Dirs)))
	repository, notices, err := run.Origin(at[0], req.Pull.Hub.API)
	req.Pull.Repository = repository
	c.notices = append(c.notices, notices...)
	return err
}

// proposeToAll does so for the repositories that are named, else for the one that
// is checked out.
func (c *cli) proposeToAll(ctx context.Context, s *run.Session, repositories []string, req run.Request, strongest []config.Values) (report.Report, error) {
	if len(repositories) == 0 {
		req.Pull.Again = func(files fs.FS) (run.Request, error) {
			cfg, err := c.settingsOn(files, strongest...)
			return c.withRepository(c.request(run.PR, c.fromTop(req.Dirs), cfg)), err
		}
		return c.proposeTo(ctx, s, req, c.branch(req))
	}
	req.Part = len(repositories) > 1
	all := report.Report{Verb: report.VerbPR, DryRun: req.Pull.DryRun}
	for _, repository := range repositories {
		all = all.And(c.proposeRemotely(ctx, s, repository, req, strongest))
	}
	return all, nil
}

// branch is the branch that is checked out, as far as the runner says; else the
// checkout is taken for the first base.
func (c *cli) branch(req run.Request) string {
	return cmp.Or(action.New(c.env.Getenv, c.env.Stdout).Branch(), req.Pull.Base)
}

// proposeTo proposes to each base branch of one repository. One that fails does
// not stop the others; where there is but one, its error is returned.
func (c *cli) proposeTo(ctx context.Context, s *run.Session, req run.Request, here string) (report.Report, error) {
	bases := req.Pull.Bases
	if len(bases) < 2 {
		return c.proposeToBase(ctx, s, req, here)
	}
	all := report.Report{Verb: report.VerbPR, DryRun: req.Pull.DryRun}
	for _, base := range bases {
		one := req
		one.Pull.Base, one.Part = base, true
		r, err := c.proposeToBase(ctx, s, one, here)
		if err != nil {
			s.Unreadable()
			r.Diagnostics = append(r.Diagnostics, about("branch "+base, err))
		}
		all = all.And(r)
	}
	return all, nil
}

// proposeToBase does so for one base branch, whose files are read from GitHub
// unless they are here.
func (c *cli) proposeToBase(ctx context.Context, s *run.Session, req run.Request, here string) (report.Report, error) {
	if req.Pull.Base == "" && here != "" {
		base, err := s.DefaultBranch(ctx, req.Pull.Hub, req.Pull.Repository)
		if err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
		req.Pull.Base = base
	}
	if req.Pull.Base != here {
		remote, base, err := s.Fetch(ctx, req.Pull.Hub, req.Pull.Repository, req.Pull.Base)
		if err != nil {
			return report.Report{Verb: report.VerbPR}, err
		}
		if req.Remote == nil {
			req.Dirs = c.fromTop(req.Dirs)
		}
		req.Remote, req.Pull.Base = remote, base
	}
	return s.Do(ctx, req)
}

// fromTop names directories of the checkout as they are called in its repository.
func (c *cli) fromTop(dirs []string) []string {
	if len(dirs) == 0 {
		dirs = []string{"./..."}
	}
	var named []string
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		abs := filepath.FromSlash(name)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(c.env.WorkDir, abs)
		}
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

// proposeRemotely does so for a repository that is not checked out, by the
// configuration file of its default branch. What goes wrong is in the report:
// the others go on.
func (c *cli) proposeRemotely(ctx context.Context, s *run.Session, repository string, req run.Request, strongest []config.Values) report.Report {
	r, err := c.proposeByOwnFile(ctx, s, repository, req, strongest)
	for i, m := range r.Modules {
		r.Modules[i] = m.Shown(func(name string) string { return repository + "//" + name })
	}
	var wrong problems
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
		s.Unreadable()
	}
	return r
}

func (c *cli) proposeByOwnFile(ctx context.Context, s *run.Session, repository string, req run.Request, strongest []config.Values) (report.Report, error) {
	none := report.Report{Verb: report.VerbPR}
	remote, branch, err := s.Fetch(ctx, req.Pull.Hub, repository, "")
	if err != nil {
		return none, err
	}
	cfg, err := c.settingsOf(remote.FS, strongest...)
	if err != nil {
		return none, err
	}
	own := c.withRepository(c.request(run.PR, req.Dirs, cfg))
	own.Remote, own.Pull.Repository, own.Part = remote, repository, req.Part
	own.Pull.Again = func(files fs.FS) (run.Request, error) {
		cfg, err := c.settingsOf(files, strongest...)
		return c.withRepository(c.request(run.PR, req.Dirs, cfg)), err
	}
	if len(own.Pull.Bases) == 0 {
		own.Pull.Base = branch
	}
	r, err := c.proposeTo(ctx, s, own, branch)
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
