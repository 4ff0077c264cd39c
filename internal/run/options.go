package run

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// searching returns the options for finding root modules. findAll adds how a tree is read.
func (a Ask) searching(c settings.Settings) scan.Options {
	why := a.verb == verbs.Why // it writes no lock file, so it may take too many directories
	return scan.Options{
		Create: (c.Create || why) && !a.lockedOnly, Unproven: why, Unlocked: c.Unlocked != "ignore" && !a.lockedOnly, Tool: c.Tool, ToolVersion: c.ToolVersion,
		Include: c.Include, Exclude: c.Exclude, Variables: c.ModuleVars, Jobs: c.Jobs,
		Sets: collect.Mapped(c.VariableSets, func(v settings.VariableSet) scan.VariableSet { return scan.VariableSet(v) }),
	}
}

// environments are the sets of values for reading units.
func environments(c settings.Settings) []terragrunt.EnvironmentSet {
	return collect.Mapped(c.Environments, func(e settings.EnvironmentSet) terragrunt.EnvironmentSet { return terragrunt.EnvironmentSet(e) })
}

// planning returns the options for planning lock files. planOptions adds the sources.
func (a Ask) planning(c settings.Settings) upgrade.Options {
	o := upgrade.Options{
		Mode: a.mode, Exact: c.Exact, Strict: c.Strict, Prune: c.Prune, AllowDowngrade: c.AllowDowngrade,
		Platforms: upgrade.Platforms(c.Platforms),
		Only:      c.Providers, Keep: c.Keep, KeepUnreferenced: c.KeepUnreferenced,
		HashesFrom: upgrade.HashesFrom(c.HashesFrom), AcceptReReleased: c.AcceptReReleased,
		Newer: a.verb == verbs.Check, OneSet: a.verb == verbs.Check && a.mode == upgrade.Complete, Policy: c.Policy, Signers: c.Signers,
		Preserve: c.UnreadableModules == "preserve", Jobs: c.Jobs,
	}
	if len(a.only) > 0 {
		o.Only = a.only
	}
	if len(a.platforms) > 0 {
		o.Platforms = upgrade.Platforms{List: a.platforms, Demanded: true}
	}
	return o
}

// accessFor is how an ask connects to GitHub, by its settings. others are further
// repositories that it needs.
func accessFor(env Env, a Ask, c settings.Settings, others ...string) access {
	to := access{github: github.Access{API: env.API, GraphQL: env.GraphQL, Token: c.Token}, owner: a.owner, public: c.DryRun || a.public}
	if c.App.ID == "" {
		return to
	}
	to.github.App = &github.App{
		ID: c.App.ID, PrivateKey: c.App.Key, Installation: c.App.Installation, Repositories: append(a.repositories(), others...),
	}
	for _, p := range slices.AppendSeq([]settings.PullRequest{c.PullRequest}, maps.Values(c.GroupPulls)) {
		to.github.App.Teams = to.github.App.Teams || len(p.TeamReviewers) > 0
		to.github.App.Labels = to.github.App.Labels || p.CreateLabels && len(p.Labels) > 0
	}
	to.github.App.Labels = to.github.App.Labels || c.Dashboard.Issue
	return to
}

// givenToken is the operator's token for a git host with modules; empty: there is none.
func givenToken(env Env, c settings.Settings, host string) string {
	if host != env.Server {
		return ""
	}
	return c.ModuleToken
}
