package settings

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
)

// Sources are what the settings of a run are made of, except for the repository's own
// configuration file. They are made once and not changed.
type Sources struct {
	// Given are the values of flags, inputs and arguments, the strongest first.
	Given []Values
	// Operator is the operator's configuration file; without a name there is none. It may
	// choose severities that a repository's own file may not.
	Operator File
	// Named is the path in the repository of its own file; empty: it is one of FileNames.
	Named string
	// Getenv reads the environment: credentials.
	Getenv func(name string) string
	// Sound refuses severities that codes cannot have. Package verify knows the codes.
	Sound func(Severities) error
}

// In makes the settings with the repository's own file in a file tree. That file overrides
// the operator's.
func (s Sources) In(files fs.FS) (Settings, error) {
	own, err := ReadFile(files, s.Named)
	if err != nil {
		return Settings{}, err
	}
	return s.With(own)
}

// With makes the settings with a repository's own file that was already read. It overrides
// the operator's file. A file without a name does not exist.
func (s Sources) With(own File) (Settings, error) {
	c, problems := s.resolve(own)
	return s.sound(c, append(problems, missingTokens(c.Registries, s.Getenv)...))
}

// Check refuses what With refuses, except for variables of the environment that are not set.
func (s Sources) Check() error {
	_, err := s.sound(s.resolve(File{}))
	return err
}

// resolve makes settings of all sources.
func (s Sources) resolve(own File) (Settings, []problem.Problem) {
	from := layersOf(s.Operator, own)
	from.given, from.environment = s.Given, Environment(s.Getenv)
	m := merge(from)
	c, problems := Resolve(m.values)
	problems = append(problems, m.problems...)
	c.Own, c.Notices = own.Name, m.notices
	if slices.Contains(FileNames, own.Name) { // and not one that a flag or an input names
		says, _ := Resolve(own.Values)
		c.OwnInclude, c.OwnExclude = says.Include, says.Exclude
	}
	if s.Operator.Name != "" {
		chosen := raisedBy(s.Operator.Enforced)
		if chosen == nil {
			chosen = map[problem.Code]problem.Severity{}
		}
		maps.Copy(chosen, c.Severities.Chosen) // a flag outranks what is enforced
		c.Severities = Severities{Chosen: chosen, Given: raisedBy(s.Operator.Values), Raised: raisedBy(m.own)}
	}
	return c, problems
}

// raisedBy are the severities in the values of a file, which were checked.
func raisedBy(values Values) map[problem.Code]problem.Severity {
	c, _ := Resolve(values)
	return c.Severities.Raised
}

// sound refuses settings with problems, and severities of findings that are wrong.
func (s Sources) sound(c Settings, problems []problem.Problem) (Settings, error) {
	if len(problems) > 0 {
		return Settings{}, problem.Several(problems)
	}
	if err := s.Sound(c.Severities); err != nil {
		const hint = "choose one of the codes in docs/troubleshooting.md; --severity, and a file that --config names outside of the repository, may choose any severity"
		return Settings{}, &problem.Error{Problem: refusal(c.Values["verify.severity"].Place, hint, "verify.severity: %v", err)}
	}
	return c, nil
}

// Identity identifies the settings that decide what is proposed. It includes what is
// enforced, since an enforced value differs from the same value that a repository may
// override.
func (s Sources) Identity(of Settings) string {
	sum := sha256.Sum256([]byte(of.Values.deciding().Show() + s.Operator.Enforced.deciding().Show()))
	return hex.EncodeToString(sum[:])
}

// missingTokens names the variables of tokens that are not set.
func missingTokens(registries []Registry, getenv func(string) string) []problem.Problem {
	var missing []problem.Problem
	for _, r := range registries {
		if getenv(r.TokenEnv) == "" {
			unset := refusal(r.Place, "", "the environment variable %s, which holds the token for %s, is not set", r.TokenEnv, r.Host.ForDisplay())
			unset.Host = r.Host
			missing = append(missing, unset)
		}
	}
	return missing
}

// Flags are the values of the flags that were given. A list's item may hold several,
// separated by comma. Names that are no flags are ignored.
func Flags(given map[string][]string) Values {
	values := Values{}
	for name, texts := range given {
		s, ok := lookup(flag, name)
		if !ok {
			continue
		}
		if s.Repeats() {
			texts = splitList(strings.Join(texts, "\n"))
		}
		values[s.Name()] = Value{Items: itemsOf(texts), Source: "flag --" + name, By: ByFlag}
	}
	return values
}

// Arguments are the directories that the command line names.
func Arguments(dirs []string) Values {
	if len(dirs) == 0 {
		return nil
	}
	return Values{"directories": {Items: itemsOf(dirs), Source: "the command line", By: ByFlag}}
}

// Inputs are the values of the Action's inputs, which come as environment variables. An
// empty one is not set: an action hands on every input that the workflow leaves out.
func Inputs(getenv func(string) string) Values {
	return textsOf(input, "input ", ByInput, func(name string, _ Setting) string {
		return strings.TrimSpace(cmp.Or(getenv(InputEnv(name)), getenv(containerEnv(name))))
	})
}

// DispatchPrefix is what the names of the inputs of a workflow_dispatch event begin with that
// are meant for relock. A workflow has inputs of its own, and names like command and
// directories are anybody's.
const DispatchPrefix = "relock-"

// Dispatch are the values among the inputs of a workflow_dispatch event, by the names of the
// Action's inputs after DispatchPrefix. Others are ignored. A secret is never taken: who may
// start a workflow need not be who may choose its credentials, and an event is kept in logs.
func Dispatch(given map[string]string) Values {
	return textsOf(input, "dispatch input "+DispatchPrefix, ByInput, func(name string, s Setting) string {
		if s.Secret {
			return ""
		}
		return strings.TrimSpace(given[DispatchPrefix+name])
	})
}

// Environment are the values of settings that have a variable of their own.
func Environment(getenv func(string) string) Values {
	return textsOf(env, "environment variable ", ByEnvironment, func(name string, _ Setting) string { return getenv(name) })
}

// textsOf reads each setting that has a name in a source from its text there. An empty one is
// not set.
func textsOf(named func(Setting) string, source string, by GivenBy, read func(name string, s Setting) string) Values {
	values := Values{}
	for _, s := range All {
		name := named(s)
		if name == "" {
			continue
		}
		text := read(name, s)
		items := []string{text}
		if s.Repeats() {
			items = splitList(text)
		}
		if text != "" {
			values[s.Name()] = Value{Items: itemsOf(items), Source: source + name, By: by}
		}
	}
	return values
}

// InputEnv is the environment variable in which action.yml passes an input. It has no hyphen:
// dash drops variables whose names no assignment could have.
func InputEnv(input string) string { return strings.ReplaceAll(containerEnv(input), "-", "_") }

// containerEnv is the variable in which the runner itself passes an input, to the image of a
// container action; other actions get none from it.
// https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#inputs
func containerEnv(input string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(input, " ", "_"))
}
