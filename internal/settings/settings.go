package settings

import (
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Settings is the settings of one run as the program uses them.
type Settings struct {
	Directories      []string
	Include, Exclude []string
	Tool             provider.ToolName // empty: auto
	ToolVersion      provider.Version  // zero: from version files
	Platforms        PlatformSet
	Providers        []provider.Pattern // empty: all
	Keep             []provider.Pattern
	AcceptReReleased []provider.ReleasePattern
	Signers          provider.Signers
	// Policy is the rules, in the order of the file: later ones outrank earlier ones. And
	// it is the groups of changes. GroupPulls is how their pull requests are made, by
	// their names: the settings for all, with those of the group in their place.
	Policy           policy.Rulebook
	GroupPulls       map[string]PullRequest
	Registries       []Registry
	Repositories     []string // OWNER/NAME; empty: the one at hand
	Organisation     Organisation
	HashesFrom       string // "methods", "origin" or "both"
	HashSource       string // "opentofu", or empty: none
	KeepUnreferenced bool
	// UnreadableModules is "fail" or "preserve".
	UnreadableModules string
	Unlocked          string // "warn", "fail" or "ignore"
	// ModuleVars are values as texts, by variable, for every root module. In their place
	// there may be VariableSets, for some.
	ModuleVars   map[string]string
	VariableSets []VariableSet
	Environments []EnvironmentSet // that Terragrunt units are read with
	ModuleToken  string           // secret
	Why          []provider.Pattern
	PullRequest  PullRequest
	Dashboard    Dashboard
	// CommandsViaApps says that commands count in comments of Apps in a person's name.
	CommandsViaApps bool
	Command         string // of the Action
	Token           string // secret
	App             App
	File            string // of the configuration; empty: searched
	// Places are where the configuration file gives values, by Setting.Name.
	Places map[string]problem.Place
	// Own is the name of the repository's own configuration file; empty if none is in
	// force.
	Own string
	// Notices say what of that file has no effect.
	Notices []problem.Problem
	// Values are what the settings were made of, each with its source.
	Values Values
	// OwnInclude and OwnExclude are Include and Exclude as the file says that is searched
	// for in the repository, whatever else says so, too.
	OwnInclude, OwnExclude []string

	Cache  string // path of the hash cache; empty: the default
	Format string
	// MaxBytes bounds the result in Markdown; 0: no limit.
	MaxBytes int
	// Summary says whether the changes of all root modules and counts alone are
	// shown; nil: if there are many.
	Summary *bool
	Jobs    int // 0: a default
	// Timeout is the time in which a run may ask; 0: a default.
	Timeout time.Duration

	// Check is what check asks for: lock, upgrade, or empty for what is usual. Touched
	// is a revision of git, or empty.
	Check, Touched string

	// Judge says which entries are judged by the rules: JudgeOff, JudgeChanged or JudgeAll.
	Judge string

	Severities Severities
	// FailOn is the least severity of a finding that fails verify.
	FailOn        problem.Severity
	Packages      bool
	Ledger        string // path; empty: none
	Baseline      string // path; empty: none
	MaxDownload   int64  // of verify, in bytes
	SARIFCategory string
	Recheck       int // packages of the hash cache that verify proves again

	Offline, NoCache bool

	Create, Strict, Exact, Prune, AllowDowngrade, Lock, DryRun, Stats, Verbose bool
}

// Severities are what people make of the severities of findings, by their codes. What
// that comes to, package verify decides.
type Severities struct {
	// Chosen are those of the command line, and of what the operator's file enforces: they
	// hold whatever their codes and a repository say.
	Chosen map[problem.Code]problem.Severity
	// Given are those of the operator's file in place of those of the codes.
	Given map[problem.Code]problem.Severity
	// Raised are those of a repository's own file: they make findings worse, never less
	// bad.
	Raised map[problem.Code]problem.Severity
}

// The choices of Settings.Judge.
const (
	JudgeOff     = "off"
	JudgeChanged = "changed"
	JudgeAll     = "all"
)

// VariableSet is a set of values of variables for some root modules.
type VariableSet struct {
	Name        string
	Values      map[string]string // as texts, by variable
	Files       []string          // variable files, relative to the root module; later ones win
	Directories []string          // globs; empty: everywhere
}

// EnvironmentSet is a set of values that Terragrunt units are read with, as if they were run
// so.
type EnvironmentSet struct {
	Name        string
	Env         map[string]string // variables of the environment
	Features    map[string]string // feature flags
	Directories []string          // globs; empty: everywhere
}

// PlatformSet says which platforms lock files must cover. The zero value is
// auto.
type PlatformSet struct {
	All  bool
	List []provider.Platform // in the order given, without duplicates
	// Demanded says that the command line names the set: somebody asks for it
	// now, and no file was written for every run.
	Demanded bool
}

// App is a GitHub App that acts in place of a token. The zero value is none.
type App struct {
	ID           string // number or client ID
	Key          string // secret, in PEM form
	Installation int64  // 0: the one of the repository
}

// Organisation says which repositories of an owner a run is about.
type Organisation struct {
	Owner  string // empty: none
	Where  []Condition
	MaxNew int  // pull requests that a run opens
	Pause  bool // no run does anything

	Shard  Shard  // that the run is about
	Memory string // path; empty: none
}

// Shard is one of the parts of an organisation, Number of Of. The zero value is the
// whole.
type Shard struct{ Number, Of int }

// PullRequest is the settings of pull requests.
type PullRequest struct {
	BranchPrefix  string
	Base          []string // empty: the default branch
	Title         Template
	Labels        []string
	CreateLabels  bool // somebody chose the labels: those that do not exist are made
	Reviewers     []string
	TeamReviewers []string
	Assignees     []string
	Milestone     string // by its title; empty: none
	Draft         bool
	AutoMerge     string // "squash", "merge", "rebase", or empty: none
	RebaseWhen    string // "auto", "behind-base" or "conflicted"
	Limit         int    // of open pull requests
	CommitMessage Template
	ReleaseNotes  bool
}

// Dashboard is the settings of the issue that shows what waits.
type Dashboard struct {
	Issue  bool // there is one
	Labels []string
}

// Resolve checks every value and makes Settings of them. Those that
// values lack keep their defaults. With a problem the result must not be
// used.
func Resolve(values Values) (Settings, []problem.Problem) {
	var c Settings
	var problems []problem.Problem
	for _, s := range All {
		v, ok := values[s.Name()]
		if !ok {
			v = s.byDefault()
		}
		if s.structured() || v.records() {
			for _, r := range v.Items {
				if s.build != nil {
					s.build(&c, s, r)
				}
			}
			continue
		}
		if _, _, err := s.parse(&c, v.Items); err != nil {
			problems = append(problems, v.diagnose(err))
			continue
		}
		if v.Place.Path != "" {
			if c.Places == nil {
				c.Places = map[string]problem.Place{}
			}
			c.Places[s.Name()] = v.Place
		}
	}
	c.Platforms.Demanded = values["platforms"].By == ByFlag
	c.PullRequest.CreateLabels = values["pull-request.labels"].By != ByDefault
	groups, _ := lookup(Setting.Name, "groups")
	problems = append(problems, c.addGroups(groups.Fields, values["groups"])...)
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
	return []problem.Problem{{
		Code: problem.CodeSettings, Message: missing + " is missing: a GitHub App needs its ID and its private key",
		Hint: "give app-id and app-private-key, or neither",
	}}
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
	own := func(at problem.Place) bool { return c.Own != "" && at.Path == c.Own }
	for _, r := range c.Policy.Rules {
		if own(r.Place) {
			all = append(all, Clause{Key: "the rule", Where: r.Where, Place: r.Place})
		}
	}
	for _, g := range c.Policy.Groups {
		if own(g.Place) {
			all = append(all, Clause{Key: "the group " + g.Name, Where: g.Where, Place: g.Place})
		}
	}
	if at := c.Places["keep"]; own(at) {
		for _, p := range c.Keep {
			all = append(all, Clause{Key: "keep: " + p.Given(), Where: policy.Where{Providers: []provider.Pattern{p}}, Place: at})
		}
	}
	if at := c.Places["include"]; own(at) {
		for _, glob := range c.Include {
			all = append(all, Clause{Key: "include: " + glob, Where: policy.Where{Directories: []string{glob}}, Place: at})
		}
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
	if c.PullRequest.AutoMerge != "" {
		return true
	}
	for _, group := range c.GroupPulls {
		if group.AutoMerge != "" {
			return true
		}
	}
	return false
}

// Searching are the settings with other globs for what a search takes.
func (c Settings) Searching(include, exclude []string) Settings {
	c.Include, c.Exclude = include, exclude
	return c
}
