package settings

import (
	"maps"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Settings are the settings of one run. The tags name what gives a field: key is that of the
// configuration file, below the key of the struct around it; flag and input are without
// dashes; env is a variable that holds the value if nothing else gives it. Other fields come
// from no source. What a setting means, and which values it takes, is in the table All.
type Settings struct {
	Version           int                       `key:"version"`
	Include           []string                  `key:"include"`
	Exclude           []string                  `key:"exclude"`
	Directories       []string                  `input:"directories"`
	Tool              provider.ToolName         `key:"tool" flag:"tool" input:"tool"`                         // empty: auto
	ToolVersion       provider.Version          `key:"tool-version" flag:"tool-version" input:"tool-version"` // zero: from version files
	Platforms         PlatformSet               `key:"platforms" flag:"platform" input:"platforms"`
	Providers         []provider.Pattern        `flag:"provider" input:"providers"` // empty: all
	Create            bool                      `key:"create" flag:"create"`
	ModuleLock        string                    `key:"module-lock" flag:"module-lock" input:"module-lock"` // KeepModuleLock or WriteModuleLock
	Unlocked          string                    `key:"unlocked" flag:"unlocked" input:"unlocked"`          // "warn", "fail" or "ignore"
	Keep              []provider.Pattern        `key:"keep"`
	KeepUnreferenced  bool                      `flag:"keep-unreferenced"`
	HashesFrom        string                    `key:"hashes-from" flag:"hashes-from"` // "methods", "origin" or "both"
	HashSource        string                    `key:"hash-source" flag:"hash-source"` // "opentofu", or empty: none
	AcceptReReleased  []provider.ReleasePattern `key:"verify.accept-re-released" flag:"accept-re-released"`
	AcceptMoved       []string                  `flag:"accept-moved"`
	Signers           provider.Signers          `key:"verify.signers"`
	Severities        Severities
	Registries        []Registry `key:"registries"`
	UnreadableModules string     `key:"unreadable-modules" flag:"unreadable-modules"` // "fail" or "preserve"
	// ModuleVars are values as texts, by variable, for every root module. In their place
	// there may be VariableSets, for some.
	ModuleVars   map[string]string `key:"module-vars"`
	VariableSets []VariableSet
	Environments []EnvironmentSet `key:"terragrunt.environments"`                  // that Terragrunt units are read with
	ModuleToken  string           `input:"module-token" env:"RELOCK_MODULE_TOKEN"` // secret
	Strict       bool             `key:"strict" flag:"strict" input:"strict"`
	Downgrades   string           `key:"downgrades" input:"downgrades"` // "keep" or "allow"
	// AllowDowngrade follows from Downgrades, too.
	AllowDowngrade bool `flag:"allow-downgrade"`
	Exact          bool `flag:"exact"`
	Prune          bool `flag:"prune"`
	// Check is what check asks for: lock, upgrade, or empty for what is usual.
	Check   string `key:"check" input:"check"`
	Touched string `flag:"touched"` // a revision of git, or empty
	Lock    bool   `flag:"lock"`
	// FailOn is the least severity of a finding that fails verify.
	FailOn      problem.Severity   `flag:"fail-on" input:"fail-on"`
	Ledger      string             `flag:"ledger" input:"ledger"`             // path; empty: none
	Baseline    string             `flag:"baseline" input:"baseline"`         // path; empty: none
	MaxDownload int64              `flag:"max-download" input:"max-download"` // of verify, in bytes
	Offline     bool               `flag:"offline"`
	NoCache     bool               `flag:"no-cache"`
	Packages    bool               `flag:"packages" input:"packages"`
	Recheck     int                `flag:"recheck" input:"recheck"` // packages of the hash cache that verify proves again
	Why         []provider.Pattern `flag:"why"`
	// Policy is the rules, in the order of the file: later ones outrank earlier ones. And
	// it is the groups of changes. GroupPulls is how their pull requests are made, by
	// their names: the settings for all, with those of the group in their place.
	Policy     policy.Rulebook
	GroupPulls map[string]PullRequest
	// Judge says which entries are judged by the rules: JudgeOff, JudgeChanged or JudgeAll.
	Judge       string      `key:"judge" flag:"judge" input:"judge"`
	PullRequest PullRequest `key:"pull-request"`
	Dashboard   Dashboard   `key:"dashboard"`
	// CommandsViaApps says that commands count in comments of Apps in a person's name.
	CommandsViaApps bool   `key:"comments.via-apps"`
	Command         string `input:"command"` // of the Action
	DryRun          bool   `flag:"dry-run" input:"dry-run"`
	Token           string `input:"token" env:"GITHUB_TOKEN"` // secret
	App             App
	Repositories    []string     `flag:"repo" input:"repositories"` // OWNER/NAME; empty: the one at hand
	Organisation    Organisation `key:"org"`
	File            string       `flag:"config" input:"config"` // of the configuration; empty: searched
	Format          string       `flag:"format"`
	MaxBytes        int          `flag:"max-bytes"` // of the result in Markdown; 0: no limit
	SARIFCategory   string       `flag:"sarif-category" input:"sarif-category"`
	// Summary says whether the changes of all root modules and counts alone are
	// shown; nil: if there are many.
	Summary *bool  `flag:"summary"`
	Cache   string `flag:"cache" input:"cache"` // path of the hash cache; empty: the default
	Jobs    int    `flag:"jobs"`                // 0: a default
	// Timeout is the time in which a run may ask; 0: a default.
	Timeout time.Duration `key:"timeout" flag:"timeout" input:"timeout"`
	Stats   bool          `flag:"stats"`
	Verbose bool          `flag:"verbose" input:"verbose"`

	// Values are what the settings were made of, each with its source.
	Values Values
	// Own is the name of the repository's own configuration file; empty if none is in force.
	Own string
	// OwnInclude and OwnExclude are Include and Exclude of the repository's own file, if it
	// has one of FileNames. Other sources do not change them.
	OwnInclude, OwnExclude []string
	// Notices name the values of that file without effect.
	Notices []problem.Problem
}

// Severities are what people make of the severities of findings, by their codes. What
// that comes to, package verify decides.
type Severities struct {
	// Chosen are those of the command line, and of what the operator's file enforces: they
	// hold whatever their codes and a repository say.
	Chosen map[problem.Code]problem.Severity `flag:"severity"`
	// Given are those of the operator's file in place of those of the codes.
	Given map[problem.Code]problem.Severity
	// Raised are those of a repository's own file: they make findings worse, never less bad.
	Raised map[problem.Code]problem.Severity `key:"verify.severity"`
}

// The choices of Settings.ModuleLock.
const (
	KeepModuleLock  = "keep"
	WriteModuleLock = "write"
)

// The choices of Settings.Judge.
const (
	JudgeOff     = "off"
	JudgeChanged = "changed"
	JudgeAll     = "all"
)

// PlatformSet says which platforms lock files must cover. The zero value is auto.
type PlatformSet struct {
	All  bool
	List []provider.Platform // in the order given, without duplicates
	// Demanded says that the command line names the set.
	Demanded bool
}

// App is a GitHub App that acts in place of a token. The zero value is none.
type App struct {
	ID           string `input:"app-id" env:"RELOCK_APP_ID"`                           // number or client ID
	Key          string `input:"app-private-key" env:"RELOCK_APP_PRIVATE_KEY"`         // secret, in PEM form
	Installation int64  `input:"app-installation-id" env:"RELOCK_APP_INSTALLATION_ID"` // 0: the one of the repository
}

// Resolve checks every value and makes Settings of them. Those that values lack keep their
// defaults. With a problem the result must not be used.
func Resolve(values Values) (Settings, []problem.Problem) {
	c := Settings{Values: values}
	problems := fill(&c, All, Merge(values))
	c.Platforms.Demanded = values["platforms"].By == ByFlag
	c.PullRequest.CreateLabels = values["pull-request.labels"].By != ByDefault
	c.AllowDowngrade = c.AllowDowngrade || c.Downgrades == "allow"
	problems = append(problems, c.addGroups(values["groups"].Items)...)
	if len(problems) == 0 {
		problems = c.App.incomplete()
	}
	return c, problems
}

// incomplete reports what an App lacks to act.
func (a App) incomplete() []problem.Problem {
	missing := ""
	switch {
	case a.ID == "" && (a.Key != "" || a.Installation != 0):
		missing = "app-id"
	case a.ID != "" && a.Key == "":
		missing = "app-private-key"
	default:
		return nil
	}
	return []problem.Problem{refusal(problem.Place{}, "give app-id and app-private-key, or neither", "%s is missing: a GitHub App needs its ID and its private key", missing)}
}

// RegistryTokens are the credentials for registries, as the TF_TOKEN_ variables
// in which the CLI configuration takes them.
func (c Settings) RegistryTokens(getenv func(string) string) []string {
	var variables []string
	for _, r := range c.Registries {
		variables = append(variables, "TF_TOKEN_"+r.Host.String()+"="+getenv(r.TokenEnv))
	}
	return variables
}

// Clause is what the repository's own configuration file says of some providers and
// directories, which should be there.
type Clause struct {
	Key   string // in words for people: "the rule", "keep: hashicorp/aws"
	Where policy.Where
	Place problem.Place
}

// Clauses are those of the repository's own configuration file; none of a file that
// serves other repositories, too.
func (c Settings) Clauses() []Clause {
	var all []Clause
	add := func(key string, where policy.Where, at problem.Place) {
		if c.Own != "" && at.Path == c.Own {
			all = append(all, Clause{key, where, at})
		}
	}
	for _, r := range c.Policy.Rules {
		add("the rule", r.Where, r.Place)
	}
	for _, g := range c.Policy.Groups {
		add("the group "+g.Name, g.Where, g.Place)
	}
	for _, p := range c.Keep {
		add("keep: "+p.Given(), policy.Where{Providers: []provider.Pattern{p}}, c.Values["keep"].Place)
	}
	for _, glob := range c.Include {
		add("include: "+glob, policy.Where{Directories: []string{glob}}, c.Values["include"].Place)
	}
	return all
}

// PullOf is how the pull request of a group is made, by the group's key.
func (c Settings) PullOf(group string) PullRequest {
	if own, named := c.GroupPulls[group]; named {
		return own
	}
	return c.PullRequest
}

// AutoMerges reports whether the pull requests of a group are to merge by themselves.
func (c Settings) AutoMerges() bool {
	pulls := slices.AppendSeq([]PullRequest{c.PullRequest}, maps.Values(c.GroupPulls))
	return slices.ContainsFunc(pulls, func(p PullRequest) bool { return p.AutoMerge != "" })
}

// Searching are the settings with other globs for what a search takes.
func (c Settings) Searching(include, exclude []string) Settings {
	c.Include, c.Exclude = include, exclude
	return c
}
