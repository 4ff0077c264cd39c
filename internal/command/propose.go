package command

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/organisation"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// propose carries out the verb pr: for the repositories that settings name, else for the
// one that is checked out.
func propose(ctx context.Context, env Env, from settings.Sources, s settings.Settings, dirs []string) (report.Report, error) {
	none := report.Report{Verb: verbs.PR}
	org, err := organisationOf(from, s)
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
func organisationOf(from settings.Sources, s settings.Settings) (*organisation.Organisation, error) {
	of := s.Organisation
	switch {
	case of.Owner != "" && len(s.Repositories) > 0:
		return nil, errors.New("--org and --repo cannot be combined; name one repository, or choose among those of the organisation with --where name=NAME")
	case of.Owner == "" && len(of.Where) > 0:
		return nil, errors.New("--where chooses among the repositories of an organisation; name it with --org")
	case of.Owner == "" && of.Shard != settings.Shard{}:
		return nil, errors.New("--shard is a part of the repositories of an organisation; name it with --org")
	case of.Owner == "":
		return nil, nil
	}
	return &organisation.Organisation{
		Owner: of.Owner, Where: of.Where, MaxNew: of.MaxNew, Shard: of.Shard, Memory: remembering(s), Settings: from.Identity(s),
	}, nil
}

// remembering is the path of the memory, for a run that looks at all of a repository.
func remembering(s settings.Settings) string {
	if len(s.Providers) > 0 || len(s.Directories) > 0 {
		return ""
	}
	return s.Organisation.Memory
}

// paused is the warning that org.pause stops the run, with the place of that setting.
func paused(s settings.Settings) problem.Problem {
	at := s.Values["org.pause"].Place
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
		// Outside of a workflow, the repository is that of the clone with the first
		// directory.
		var err error
		clone := rootsOf(env, dirs)[0]
		here.Repository, notices, err = run.CloneOf(clone, env.runtime().APIURL())
		if err != nil {
			return run.Ask{}, nil, err
		}
	}
	// The run is named in this repository alone: that of another may be private.
	m := env.meansOf(from, s, safe.Join("", writtenBy(env.runtime().RunURL()), footer))
	return run.ToPropose(m, here, dirs), notices, nil
}
