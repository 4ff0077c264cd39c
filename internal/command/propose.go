package command

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/organisation"
	"github.com/relock-dev/relock/internal/safe"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// propose carries out the verb pr: for the repositories that settings name, else for the
// one that is checked out.
func propose(ctx context.Context, env Env, from settings.Sources, s settings.Settings, dirs []string) (report.Report, error) {
	none := report.Report{Verb: verbs.PR}
	org, err := organisationOf(env, from, s)
	if err != nil {
		return none, err
	}
	if s.Organisation.Pause && org != nil {
		none.Diagnostics = append(slices.Clip(s.Notices), paused(s))
		return none, nil
	}
	ask, notices, err := askToPropose(env, from, s, org, dirs)
	if err != nil {
		return none, err
	}
	if !s.DryRun {
		env.Trail.willWrite()
	}
	r, err := during(env, ask, func(session *run.Session) (report.Report, error) {
		if org != nil {
			org.Readers = env.readers
			return organisation.VisitAll(ctx, session, ask, *org)
		}
		return run.Run(ctx, session, ask)
	})
	if err == nil && s.Token == "" && s.App.ID == "" {
		r.Diagnostics = append(r.Diagnostics, anonymously)
	}
	r.Diagnostics = append(r.Diagnostics, slices.Concat(s.Notices, notices)...)
	return r, err
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

// askToPropose is what pr asks, with what there is to say about the repository.
func askToPropose(env Env, from settings.Sources, s settings.Settings, org *organisation.Organisation, dirs []string) (run.Ask, []problem.Problem, error) {
	if org != nil {
		return run.ToProposeOf(env.meansOf(from, s, footer), org.Owner, dirs), nil, nil
	}
	if len(s.Repositories) > 0 {
		return run.ToProposeIn(env.meansOf(from, s, footer), s.Repositories, dirs), nil, nil
	}
	here := env.checkout()
	var notices []problem.Problem
	if here.Repository == "" {
		// Outside of a workflow nobody names the repository: it is the one of the
		// clone that the first directory is in.
		var err error
		clone := scanned(env, settings.Merge(settings.Arguments(dirs)))[0]
		here.Repository, notices, err = run.CloneOf(clone, env.runtime().APIURL())
		if err != nil {
			return run.Ask{}, nil, err
		}
	}
	// The run is named in this repository alone: that of another may be private.
	m := env.meansOf(from, s, safe.Join("", writtenBy(env.runtime().RunURL()), footer))
	return run.ToPropose(m, here, dirs), notices, nil
}
