package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	Unlocked          string            // "warn", "fail" or "ignore"
	ModuleVars        map[string]string // values as texts, by variable
	ModuleToken       string            // secret
	Why               []provider.Pattern
	PullRequest       PullRequest
	Command           string // of the Action
	Token             string // secret
	App               App
	File              string // of the configuration; empty: searched
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

	Severities Severities
	// FailOn is the least severity of a finding that fails verify.
	FailOn        problem.Severity
	Packages      bool
	Ledger        string // path; empty: none
	Baseline      string // path; empty: none
	MaxDownload   int64  // of verify, in bytes
	SARIFCategory string
	Recheck       int // packages of the hash cache that verify proves anew

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

	Shards      int    // into which a run is divided
	Shard       string // that the run is about, I/N
	Plan, Costs string // paths; empty: none
	Memory      string // path; empty: none
	// Reports and Caches are paths of what shards have left, or patterns of these.
	Reports, Caches []string
}

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
	Limit         int    // of open pull requests
	CommitMessage Template
	ReleaseNotes  bool
}

// Values are settings as some source gives them, by Setting.Name.
type Values map[string]Value

// Value is what a source gives for one setting. A scalar has one item; Records
// and Named have none.
type Value struct {
	Items []string
	// records are checked: only ParseFile makes them.
	records []record
	// lines are those of the items, if they are in a file.
	lines []int
	// Source says where the value comes from, in words for people: "flag
	// --tool", "input tool", ".github/relock.yml:3", "default".
	Source string
	By     GivenBy
	// Place is where it stands, if that is in a file.
	Place problem.Place

	// parts are what several files have put together, the weakest first; nil: one source
	// says it all.
	parts []Value
	// over are what the value stands in place of, the strongest first.
	over []Value
	// implied says that the value only follows from another one at its place.
	implied bool
}

// empty reports whether a value says nothing at all; an empty text is said.
func (v Value) empty() bool { return len(v.Items)+len(v.records) == 0 }

// GivenBy is the kind of a source.
type GivenBy string

// The kinds of sources.
const (
	ByDefault     GivenBy = "default"
	ByOperator    GivenBy = "operator"   // the operator's configuration file
	ByRepository  GivenBy = "repository" // a repository's own configuration file
	ByEnforcement GivenBy = "enforced"   // what the operator's enforces
	ByFlag        GivenBy = "flag"       // and other words of the command line
	ByInput       GivenBy = "input"      // of the Action, or of an event
	ByEnvironment GivenBy = "environment"
)

// Flags are the values of the flags that were given. A list's item may hold
// several, separated by comma. Names that are no flags are ignored.
func Flags(given map[string][]string) Values {
	values := Values{}
	for name, texts := range given {
		s, ok := lookup(flag, name)
		if !ok {
			continue
		}
		items := texts
		if s.Repeats() {
			items = splitList(strings.Join(texts, "\n"))
		}
		values[s.Name()] = Value{Items: items, Source: "flag --" + name, By: ByFlag}
	}
	return values
}

// Arguments are the directories that the command line names.
func Arguments(dirs []string) Values {
	if len(dirs) == 0 {
		return nil
	}
	return Values{"directories": {Items: dirs, Source: "the command line", By: ByFlag}}
}

// Inputs are the values of the Action's inputs, which come as environment
// variables. An empty one is not set: an action hands on every input that the
// workflow leaves out.
func Inputs(getenv func(string) string) Values {
	return inputs("input ", func(s Setting) string {
		return cmp.Or(getenv(InputEnv(s.Input)), getenv(containerEnv(s.Input)))
	})
}

// DispatchPrefix is what the names of the inputs of a workflow_dispatch event
// begin with that are meant for relock. A workflow has inputs of its own, and
// names like command and directories are anybody's.
const DispatchPrefix = "relock-"

// Dispatch are the values among the inputs of a workflow_dispatch event, by the
// names of the Action's inputs after DispatchPrefix. Others are ignored. A secret
// is never taken: who may start a workflow need not be who may choose its
// credentials, and an event is kept in logs.
func Dispatch(given map[string]string) Values {
	return inputs("dispatch input "+DispatchPrefix, func(s Setting) string {
		if s.Secret {
			return ""
		}
		return given[DispatchPrefix+s.Input]
	})
}

// inputs reads each setting that is an input from its text; an empty one is not
// set.
func inputs(source string, read func(Setting) string) Values {
	values := Values{}
	for _, s := range All {
		if s.Input == "" {
			continue
		}
		text := strings.TrimSpace(read(s))
		if text == "" {
			continue
		}
		items := []string{text}
		if s.Repeats() {
			items = splitList(text)
		}
		values[s.Name()] = Value{Items: items, Source: source + s.Input, By: ByInput}
	}
	return values
}

// InputEnv is the environment variable in which action.yml passes an input. It has
// no hyphen: dash drops variables whose names no assignment could have.
func InputEnv(input string) string {
	return strings.ReplaceAll(containerEnv(input), "-", "_")
}

// containerEnv is the variable in which the runner itself passes an input, to the
// image of a container action; other actions get none from it.
// https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#inputs
func containerEnv(input string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(input, " ", "_"))
}

// Environment are the values of settings that have a variable of their own.
func Environment(getenv func(string) string) Values {
	values := Values{}
	for _, s := range All {
		if s.Env == "" {
			continue
		}
		if text := getenv(s.Env); text != "" {
			values[s.Name()] = Value{Items: []string{text}, Source: "environment variable " + s.Env, By: ByEnvironment}
		}
	}
	return values
}

// Defaults are the values that hold when no source gives one.
func Defaults() Values {
	values := Values{}
	for _, s := range All {
		values[s.Name()] = s.byDefault()
	}
	return values
}

// Merge lays sources over each other, the strongest first, over the defaults.
// The order is flags, dispatch inputs, inputs, files, environment. A value
// replaces another whole: lists are not joined. layerFiles makes one source of two files.
func Merge(strongestFirst ...Values) Values {
	merged := Defaults()
	for _, layer := range slices.Backward(strongestFirst) {
		for name, v := range layer {
			if was := merged[name]; was.By != ByDefault {
				below := was.over
				was.over = nil
				v.over = slices.Concat(v.over, []Value{was}, below)
			}
			merged[name] = v
		}
	}
	return merged
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
		if s.structured() {
			for _, r := range v.records {
				if s.build != nil {
					s.build(&c, r)
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
	problems = append(problems, c.addGroups(values["groups"].records)...)
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

// diagnose makes the diagnostic of a value that is not accepted.
func (v Value) diagnose(err error) problem.Problem {
	d := problem.Problem{Code: problem.CodeSettings, Message: err.Error(), Place: v.Place}
	if v.Place.Path == "" {
		d.Message = v.Source + ": " + d.Message
	}
	return d
}

// keyword reports whether the value of a Platforms setting is a word that
// stands for a set.
func keyword(items []string) bool {
	return len(items) == 1 && (items[0] == "auto" || items[0] == "all")
}

// parseBool accepts what YAML 1.2's core schema and the runner's toolkit call
// booleans.
func parseBool(text string) ([]string, error) {
	switch text {
	case "true", "True", "TRUE":
		return []string{"true"}, nil
	case "false", "False", "FALSE":
		return []string{"false"}, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", text)
}
