package command

import (
	"context"
	"errors"
	"io/fs"

	"github.com/relock-dev/relock/internal/organisation"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// propose carries out the verb pr: for the repositories that are named, else for the
// one that is checked out.
func propose(ctx context.Context, env Env, from settings.Sources, s settings.Settings, req run.Request) (report.Report, error) {
	org, err := organisationOf(env, from, s)
	if err != nil {
		return report.Report{Verb: verbs.PR}, err
	}
	req, notices, err := targeted(env, from, s, req)
	if err != nil {
		return report.Report{Verb: verbs.PR}, err
	}
	if s.Organisation.Pause && org != nil {
		return report.Report{Verb: verbs.PR, Diagnostics: append(notices, paused(s))}, nil
	}
	if !s.DryRun {
		env.Trail.willWrite()
	}
	r, err := during(env, s, req, func(session *run.Session) (report.Report, error) {
		r, err := carriedOut(ctx, session, req, org)
		if hub := req.Hub; err == nil && hub.Token == "" && hub.App == nil {
			r.Diagnostics = append(r.Diagnostics, anonymously)
		}
		return r, err
	})
	r.Diagnostics = append(r.Diagnostics, notices...)
	return r, err
}

// carriedOut carries a request out for its targets or, with an organisation, for the repositories
// of an owner.
func carriedOut(ctx context.Context, session *run.Session, req run.Request, org *organisation.Organisation) (report.Report, error) {
	if org != nil {
		return organisation.Run(ctx, session, req, *org)
	}
	return session.Do(ctx, req)
}

// organisationOf is which repositories of an owner a run is about; nil if it is about others.
func organisationOf(env Env, from settings.Sources, s settings.Settings) (*organisation.Organisation, error) {
	if err := ofOne(s); err != nil {
		return nil, err
	}
	if s.Organisation.Plan != "" || s.Organisation.Shard != "" {
		org, err := ofShard(env, from, s)
		return &org, err
	}
	if s.Organisation.Owner == "" {
		return nil, nil
	}
	org := ofOwner(from, s)
	return &org, nil
}

// ofOne refuses settings that name repositories in two ways, or conditions on none.
func ofOne(s settings.Settings) error {
	switch {
	case s.Organisation.Owner != "" && len(s.Repositories) > 0:
		return errors.New("--org and --repo cannot be combined; name one repository, or choose among those of the organisation with --where name=NAME")
	case s.Organisation.Plan != "" && (s.Organisation.Owner != "" || len(s.Repositories) > 0):
		return errors.New("--plan says which repositories; leave out --org and --repo")
	case s.Organisation.Plan == "" && s.Organisation.Owner == "" && len(s.Organisation.Where) > 0:
		return errors.New("--where chooses among the repositories of an organisation; name it with --org")
	}
	return nil
}

// paused says that nothing is done, and where somebody has decided so.
func paused(s settings.Settings) problem.Problem {
	at := s.Places["org.pause"]
	return problem.Problem{
		Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: at,
		Message: "runs over the organisation are paused: nothing was read or changed", Hint: "take org.pause out of that file to go on",
	}
}

// anonymously says what a run without a token leaves out.
var anonymously = problem.Problem{
	Code: problem.CodeSettings, Severity: problem.SeverityWarning,
	Message: "there is no token for GitHub: relock shows no release notes and cannot see who pushed to its branches",
	Hint:    "set GITHUB_TOKEN, for example to what `gh auth token` prints",
}

// targeted adds to a request which repositories it names, and how the settings of
// files are read that are not checked out.
func targeted(env Env, from settings.Sources, s settings.Settings, req run.Request) (run.Request, []problem.Problem, error) {
	notices, here := s.Notices, req.Targets[0]
	if len(s.Repositories) > 0 {
		req.Targets = nil
		for _, repository := range s.Repositories {
			req.Targets = append(req.Targets, run.Target{Repository: repository, Dirs: here.Dirs, Destination: here.Destination})
		}
	} else if here.Repository == "" && s.Organisation.Owner == "" && s.Organisation.Plan == "" {
		// Outside of a workflow nobody names the repository: it is the one of the
		// clone that the first directory is in.
		clone := scanned(env, settings.Merge(settings.Arguments(here.Dirs)))[0]
		repository, more, err := run.CloneOf(clone, req.Hub.API)
		if err != nil {
			return req, nil, err
		}
		req.Targets[0].Repository, notices = repository, append(notices, more...)
	}
	req.Configure = func(files fs.FS) (run.Request, error) {
		own, err := from.In(files)
		req := withRepository(env, request(env, verbs.PR, here.Dirs, own))
		req.Notices = own.Notices
		return req, err
	}
	return req, notices, nil
}
