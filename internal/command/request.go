package command

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// request turns settings into what package run is asked for.
func request(env Env, verb verbs.Verb, dirs []string, cfg settings.Settings) run.Request {
	mode := upgrade.Upgrade
	if verb == verbs.Lock || verb == verbs.Check && (cfg.Lock || cfg.Check == "lock") {
		mode = upgrade.Complete
	}
	tokens := map[string]string{}
	if cfg.ModuleToken != "" {
		tokens[env.server()] = cfg.ModuleToken
	}
	target := run.Target{Files: run.Checkout{}, Dirs: dirs, Destination: destination(verb)}
	if len(cfg.PullRequest.Base) > 0 {
		target.Base = cfg.PullRequest.Base[0]
	}
	return run.Request{
		Verb:    verb,
		Targets: []run.Target{target},
		Named:   slices.Concat(cfg.Providers, cfg.Why),

		Own: run.OwnSelection{File: cfg.Own, Include: cfg.OwnInclude, Exclude: cfg.OwnExclude},

		Clauses:      clauses(cfg),
		ModuleTokens: tokens,
		Cache:        cfg.Cache,
		HashSource:   cfg.HashSource,
		Timeout:      cfg.Timeout,

		Proof: run.Proving{
			MaxDownload: cfg.MaxDownload, Offline: cfg.Offline, NoCache: cfg.NoCache, Packages: cfg.Packages, Recheck: cfg.Recheck, Seed: env.runtime().SHA(),
			Severities: cfg.Severities,
		},
		UnlockedFails: cfg.Unlocked == "fail",
		Scan: scan.Options{
			Create: cfg.Create, Unlocked: cfg.Unlocked != "ignore", Tool: cfg.Tool, ToolVersion: cfg.ToolVersion,
			Include: cfg.Include, Exclude: cfg.Exclude, Variables: cfg.ModuleVars,
		},
		Plan: upgrade.Options{
			Mode: mode, Exact: cfg.Exact, Strict: cfg.Strict, Prune: cfg.Prune, AllowDowngrade: cfg.AllowDowngrade,
			Platforms: upgrade.Platforms(cfg.Platforms),
			Only:      cfg.Providers, Keep: cfg.Keep, KeepUnreferenced: cfg.KeepUnreferenced,
			HashesFrom: upgrade.HashesFrom(cfg.HashesFrom), AcceptReReleased: cfg.AcceptReReleased,
			Newer: verb == verbs.Check, Policy: cfg.Policy, Signers: cfg.Signers,
			Preserve: cfg.UnreadableModules == "preserve", Jobs: cfg.Jobs,
		},
		Hub: hubOf(cfg),
		Pull: run.Pull{
			PullRequest: cfg.PullRequest, Groups: cfg.GroupPulls,
			Footer: footer, DryRun: cfg.DryRun,
		},
	}
}

// destination is where a verb writes what it finds in the checkout.
func destination(verb verbs.Verb) run.Destination {
	switch verb {
	case verbs.Upgrade, verbs.Lock:
		return run.Disk{}
	case verbs.PR:
		return run.Pulls{}
	}
	return nil
}

// withRepository adds what the runner knows of the repository on GitHub.
func withRepository(env Env, req run.Request) run.Request {
	rt := env.runtime()
	target := req.Targets[0]
	target.Repository, target.Base = rt.Repository(), cmp.Or(target.Base, rt.DefaultBranch())
	target.Files = run.Checkout{Branch: rt.Branch(), Commit: rt.SHA()}
	req.Targets = []run.Target{target}
	req.Hub.API, req.Hub.GraphQL = rt.APIURL(), rt.GraphQLURL()
	if app := req.Hub.App; app != nil && len(app.Repositories) == 0 {
		app.Repositories = []string{rt.Repository()}
	}
	switch head, fork := rt.Head(); {
	case fork:
		req.Head = run.ForkHead
	case head:
		req.Head = run.OwnHead
	}
	return req
}

// clauses are what the repository's own configuration file says of providers and
// directories, which should be there.
func clauses(cfg settings.Settings) []run.Clause {
	var all []run.Clause
	own := func(at problem.Place) bool { return cfg.Own != "" && at.Path == cfg.Own }
	for _, r := range cfg.Policy.Rules {
		if !own(r.Place) {
			continue
		}
		all = append(all, run.Clause{Key: "the rule", Where: r.Where, Place: r.Place})
	}
	for _, g := range cfg.Policy.Groups {
		if !own(g.Place) {
			continue
		}
		all = append(all, run.Clause{Key: "the group " + g.Name, Where: g.Where, Place: g.Place})
	}
	for _, p := range cfg.Keep {
		if at := cfg.Places["keep"]; own(at) {
			all = append(all, run.Clause{Key: "keep: " + p.Given(), Where: policy.Where{Providers: []provider.Pattern{p}}, Place: at})
		}
	}
	for _, glob := range cfg.Include {
		if at := cfg.Places["include"]; own(at) {
			all = append(all, run.Clause{Key: "include: " + glob, Where: policy.Where{Directories: []string{glob}}, Place: at})
		}
	}
	return all
}

// hubOf is how GitHub is spoken to by the settings, but for where it is.
func hubOf(cfg settings.Settings) run.Hub {
	h := run.Hub{Token: cfg.Token, Anonymous: cfg.DryRun}
	if cfg.App.ID == "" {
		return h
	}
	h.App = &github.App{
		ID: cfg.App.ID, PrivateKey: cfg.App.Key, Installation: cfg.App.Installation,
		Repositories: slices.Clone(cfg.Repositories),
	}
	for _, p := range slices.AppendSeq([]settings.PullRequest{cfg.PullRequest}, maps.Values(cfg.GroupPulls)) {
		h.App.Teams = h.App.Teams || len(p.TeamReviewers) > 0
		h.App.Labels = h.App.Labels || p.CreateLabels && len(p.Labels) > 0
	}
	return h
}

// footer tells under a pull request how to steer it.
var footer = safe.Format("<details><summary>Commands</summary>\n\n"+
	"For people who may write to this repository, as the first line of a comment:\n\n%s\n</details>\n", comment.Table())
