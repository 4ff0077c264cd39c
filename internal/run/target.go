package run

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/worktree"
)

// Target is a file tree, what of it a run is about, and where the lock files go that
// it changes.
type Target struct {
	// Repository is its name on a GitHub server, OWNER/NAME; empty if nothing names
	// one.
	Repository string
	// Base is the branch that the files are of or that pull requests are for; empty:
	// the default branch.
	Base string
	// Files are a Checkout or a Remote. Without any they are read from GitHub, and
	// the settings by Request.Configure from the default branch.
	Files Files
	// Dirs are directories as given on the command line: relative to the working
	// directory or absolute, DIR/... for a search. In a Remote they are relative to
	// its top.
	Dirs []string
	// Destination is where changed lock files go; nil writes nothing.
	Destination Destination
}

// Files are where a target's files are read.
type Files interface {
	// trees are the file trees that hold the directories.
	trees(workDir string, dirs []string) ([]tree, error)
}

// Checkout is what is known of files on disk besides where they are.
type Checkout struct {
	Branch string // that is checked out; empty if nobody says so
	Commit string // of the checkout, for one that has no .git
}

func (Checkout) trees(workDir string, dirs []string) ([]tree, error) { return trees(workDir, dirs) }

// Remote is the file tree of a commit on GitHub, read without a checkout.
type Remote struct {
	FS     fs.FS // an fs.ReadLinkFS of the whole repository
	Commit string
}

func (r *Remote) trees(_ string, dirs []string) ([]tree, error) {
	t, err := r.in(dirs)
	return []tree{t}, err
}

// remote is the commit of the target's files; nil if they are on disk.
func (t Target) remote() *Remote {
	r, _ := t.Files.(*Remote)
	return r
}

// Destination is where changed lock files go: Disk, Push or Pulls.
type Destination interface{ destination() }

// Disk is where the files of a Checkout were read.
type Disk struct{}

// Pulls are pull requests for the target's base.
type Pulls struct {
	// Only, Seen, Rebase and Recreate are as in pr.Options, where Seen is Head.
	Only, Seen       string
	Rebase, Recreate bool
}

// told reports whether the report tells all that is needed of the selections.
func (t Target) told() bool {
	_, disk := t.Destination.(Disk)
	return disk || t.Destination == nil
}

func (Disk) destination()  {}
func (*Push) destination() {}
func (Pulls) destination() {}

// Configure makes a request by the configuration file that is in a file tree, if
// any is. Its targets are not looked at. Its errors are for people.
type Configure func(files fs.FS) (Request, error)

// Do carries out a request, one target after the other. Whatever goes wrong with one
// root module, provider, pull request or repository is in the report. An error means
// that the request itself cannot be carried out: it is for the person who made it.
//
// An interrupt, the end of ctx, ends what is asked at once, and what is written to GitHub
// after writingTime. The report then says how far the request has come.
func (s *Session) Do(ctx context.Context, req Request) (report.Report, error) {
	return s.Whole(ctx, func(ctx context.Context) (report.Report, error) { return s.do(ctx, req) })
}

// Whole is for what takes several requests: an interrupt ends it as it ends Do.
func (s *Session) Whole(ctx context.Context, do func(ctx context.Context) (report.Report, error)) (report.Report, error) {
	ctx, stop := s.bounds.heed(ctx)
	defer stop()
	return s.bounds.counted(do(ctx))
}

func (s *Session) do(ctx context.Context, req Request) (report.Report, error) {
	if len(req.Targets) == 1 && req.Targets[0].Files != nil {
		return s.atBases(ctx, req, req.Targets[0])
	}
	visit := Visit{Lookup: &Lookup{several: len(req.Targets) > 1}}
	all := report.Report{Verb: req.Verb, DryRun: req.Pull.DryRun}
	for i, t := range req.Targets {
		if s.bounds.isInterrupted() {
			s.bounds.skip(report.Unbegun{Repositories: len(req.Targets) - i})
			break
		}
		all = report.Join(all, s.elsewhere(ctx, req, t, visit))
	}
	all.Diagnostics = append(all.Diagnostics, visit.Lookup.Problems()...)
	return all, nil
}

// atBases proposes to each base branch that the settings name, if any are pull
// requests: the files of one that is not checked out are read from GitHub. One that
// fails does not stop the others; where there is but one, its error is returned.
func (s *Session) atBases(ctx context.Context, req Request, t Target) (report.Report, error) {
	checkout, here := t.Files.(Checkout)
	if _, pulls := t.Destination.(Pulls); !pulls || !here {
		return s.toTarget(ctx, req, t, Visit{})
	}
	visit := Visit{Lookup: &Lookup{}}
	// Where the runner does not say which branch is checked out, it is taken for the
	// first base.
	r, err := s.toBases(ctx, req, t, cmp.Or(checkout.Branch, t.Base), visit)
	r.Diagnostics = append(r.Diagnostics, visit.Lookup.Problems()...)
	return r, err
}

// toBases does so for a target whose files are those of a branch.
func (s *Session) toBases(ctx context.Context, req Request, t Target, branch string, visit Visit) (report.Report, error) {
	if len(req.Pull.Base) < 2 {
		return s.toBase(ctx, req, t, branch, visit)
	}
	visit.Lookup.several = true
	all := report.Report{Verb: req.Verb, DryRun: req.Pull.DryRun}
	for _, base := range req.Pull.Base {
		if s.bounds.isInterrupted() {
			break
		}
		t.Base = base
		r, err := s.toBase(ctx, req, t, branch, visit)
		if err != nil {
			visit.Lookup.unread = true
			r.Diagnostics = append(r.Diagnostics, about("branch "+base, err))
		}
		all = report.Join(all, r)
	}
	return all, nil
}

// toBase does so for one base branch.
func (s *Session) toBase(ctx context.Context, req Request, t Target, branch string, visit Visit) (report.Report, error) {
	none := report.Report{Verb: req.Verb}
	asking, stop := s.bounds.asking(ctx)
	defer stop()
	if t.Base == "" && branch != "" {
		base, err := s.hubs.defaultBranch(asking, req.Hub, t.Repository)
		if err != nil {
			return none, err
		}
		t.Base = base
	}
	if t.Base != branch {
		remote, base, err := s.hubs.fetch(asking, req.Hub, t.Repository, t.Base)
		if err != nil {
			return none, err
		}
		t = t.at(s.env.WorkDir, remote)
		t.Base = base
	}
	return s.toTarget(ctx, req, t, visit)
}

// toTarget carries a request out for a target with files, again for each commit that
// its base has moved to meanwhile.
func (s *Session) toTarget(ctx context.Context, req Request, t Target, visit Visit) (report.Report, error) {
	j := jobFor(s, req, t, visit)
	p, moved, err := work(ctx, j)
	for err == nil && moved != "" && !s.bounds.isInterrupted() {
		before := p
		if j, err = anew(ctx, j, before.proposing, moved); err != nil {
			return before.report, err
		}
		p, moved, err = work(ctx, j)
		p.report = KeepDone(p.report, before.report)
	}
	if err == nil && moved != "" {
		p.report.Diagnostics = append(p.report.Diagnostics, report.Interruption)
	}
	return p.report, err
}

// Visit carries a request out for one repository that is not checked out, by the
// configuration file of its default branch. The one target of the request says which
// directories, and where the lock files go. What goes wrong is in the report. The clients
// of the repository go afterwards: there may be thousands.
func (s *Session) Visit(ctx context.Context, req Request, repository string, visit Visit) report.Report {
	t := req.Targets[0]
	t.Repository, t.Files, t.Base = repository, nil, ""
	visit.Lookup.several = true
	s.env.Log.Info("looking at a repository", "repository", repository)
	defer s.hubs.forget(repository)
	return s.elsewhere(ctx, req, t, visit)
}

// elsewhere carries a request out for a repository that is not checked out, by the
// configuration file of its default branch. What goes wrong is in the report: the
// others go on.
func (s *Session) elsewhere(ctx context.Context, req Request, t Target, visit Visit) report.Report {
	r, err := s.byOwnFile(ctx, req, t, visit)
	for i, m := range r.Modules {
		r.Modules[i] = m.Named(problem.Naming{Repository: t.Repository})
	}
	r.Unlocked, r.Excluded = ofRepository(t.Repository, r.Unlocked), ofRepository(t.Repository, r.Excluded)
	for i, d := range r.Diagnostics {
		if d.Place == (problem.Place{}) && (d.Code == problem.CodeUnlocked || d.Code == problem.CodeUnseen) {
			r.Diagnostics[i].Place = problem.Place{Package: t.Repository}
		}
	}
	var wrong problem.Several
	var missing NotFound
	switch {
	case errors.As(err, &missing):
		r.Diagnostics = append(r.Diagnostics, missing...)
	case errors.As(err, &wrong): // in its configuration file
		for _, d := range wrong {
			d.Place.Package = t.Repository
			r.Diagnostics = append(r.Diagnostics, d)
		}
	case err != nil:
		r.Diagnostics = append(r.Diagnostics, about(t.Repository, err))
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

// byOwnFile carries a request out by the settings in a repository's own file.
func (s *Session) byOwnFile(ctx context.Context, req Request, t Target, visit Visit) (report.Report, error) {
	none := report.Report{Verb: req.Verb}
	remote, branch, err := s.files(ctx, req, t.Repository, visit.Known)
	if err != nil {
		return none, err
	}
	own, err := req.Configure(remote.FS)
	if err != nil {
		return none, err
	}
	own.Configure, own.Hub.Owner = req.Configure, req.Hub.Owner
	t.Files, t.Base = remote, branch
	if len(own.Pull.Base) > 0 {
		t.Base = own.Pull.Base[0]
	}
	r, err := s.toBases(ctx, own, t, branch, visit)
	r.Diagnostics = append(r.Diagnostics, own.Notices...)
	for i, d := range r.Diagnostics {
		if _, missing := fs.Stat(remote.FS, d.Place.File()); missing == nil {
			r.Diagnostics[i].Place.Package = t.Repository
		}
	}
	return r, err
}

// files reads the default branch of a repository that is not checked out.
func (s *Session) files(ctx context.Context, req Request, repository string, known *github.Listed) (*Remote, string, error) {
	ctx, stop := s.bounds.asking(ctx)
	defer stop()
	if known == nil {
		return s.hubs.fetch(ctx, req.Hub, repository, "")
	}
	repo, err := s.hubs.reach(req.Hub, repository)
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

// about is the diagnostic of an error that belongs to one of several.
func about(which string, err error) problem.Problem {
	d := problem.Of(err)
	d.Message = which + ": " + d.Message
	return d
}

// at is the target with the files of a commit. Directories of a checkout get the
// names that they have in its repository.
func (t Target) at(workDir string, remote *Remote) Target {
	if t.remote() == nil {
		t.Dirs = fromTop(workDir, t.Dirs)
	}
	t.Files = remote
	return t
}

// fromTop names directories of the checkout as they are called in its repository.
func fromTop(workDir string, dirs []string) []string {
	if len(dirs) == 0 {
		dirs = []string{everything}
	}
	var named []string
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		abs := file.Absolute(workDir, name)
		if rel, err := filepath.Rel(worktree.RootOf(abs), abs); err == nil {
			dir = filepath.ToSlash(rel)
		}
		if search {
			dir += "/..."
		}
		named = append(named, dir)
	}
	return named
}
