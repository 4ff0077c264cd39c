package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
)

// Sources are what the settings of a run are made of, but for the repository's own
// configuration file. They are made once and not changed.
type Sources struct {
	// Given is what flags, inputs and words say, the strongest first.
	Given []Values
	// Operator is the operator's configuration file; without a name there is none. Outside
	// says that it lies in no repository that the run reads. Then it may choose severities
	// that a repository's own file may not.
	Operator File
	Outside  bool
	// Named is the path in the repository of its own file; empty: it is one of FileNames.
	Named string
	// Getenv reads the environment: credentials.
	Getenv func(name string) string
	// Sound says what is wrong with severities. The codes and their meanings are those of
	// package verify.
	Sound func(Severities) error
}

// In makes the settings by the repository's own file in a tree of files, laid over the
// operator's.
func (s Sources) In(files fs.FS) (Settings, error) {
	own, err := ReadFile(files, s.Named)
	if err != nil {
		return Settings{}, err
	}
	return s.With(own)
}

// With makes the settings by a repository's own file that was read, laid over the
// operator's. Without a name there is none.
func (s Sources) With(own File) (Settings, error) {
	c, problems := s.resolve(own)
	problems = append(problems, missingTokens(c.Registries, s.Getenv)...)
	if len(problems) > 0 {
		return Settings{}, problem.Several(problems)
	}
	if err := s.unsound(c); err != nil {
		return Settings{}, err
	}
	return c, nil
}

// Check refuses what With refuses, but for variables of the environment that are not set.
func (s Sources) Check() error {
	c, problems := s.resolve(File{})
	if len(problems) > 0 {
		return problem.Several(problems)
	}
	return s.unsound(c)
}

// resolve makes settings of all sources.
func (s Sources) resolve(own File) (Settings, []problem.Problem) {
	files := layerFiles(s.Operator, own)
	values := Merge(append(slices.Clip(s.Given), files.values, Environment(s.Getenv))...)
	c, problems := Resolve(values)
	c.Values, c.Own, c.Notices = values, own.Name, files.notices
	if slices.Contains(FileNames, own.Name) { // and not one that a flag or an input names
		says, _ := Resolve(own.Values)
		c.OwnInclude, c.OwnExclude = says.Include, says.Exclude
	}
	if s.Operator.Name != "" && s.Outside {
		chosen := raisedBy(s.Operator.Enforced)
		if chosen == nil {
			chosen = map[problem.Code]problem.Severity{}
		}
		maps.Copy(chosen, c.Severities.Chosen) // a flag outranks what is enforced
		c.Severities = Severities{Chosen: chosen, Given: raisedBy(s.Operator.Values), Raised: raisedBy(files.own)}
	}
	return c, problems
}

// raisedBy are the severities in the values of a file, which were checked.
func raisedBy(values Values) map[problem.Code]problem.Severity {
	c, _ := Resolve(values)
	return c.Severities.Raised
}

// unsound says what is wrong with the severities of findings; nil if all is well.
func (s Sources) unsound(c Settings) error {
	err := s.Sound(c.Severities)
	if err == nil {
		return nil
	}
	return &problem.Error{Problem: problem.Problem{
		Code: problem.CodeSettings, Place: c.Places["verify.severity"], Message: "verify.severity: " + err.Error(),
		Hint: "docs/verify.md lists the codes; --severity, and a file that --config names outside of the repository, may choose any severity",
	}}
}

// Identity identifies those of the settings that decide what is proposed. What is enforced
// is more than a value: repositories may say another.
func (s Sources) Identity(of Settings) string { return identityOf(of.Values, s.Operator.Enforced) }

// OperatorsIdentity identifies what the operator's file decides; empty if it decides
// nothing.
func (s Sources) OperatorsIdentity() string {
	if id := identityOf(s.Operator.Values, s.Operator.Enforced); id != identityOf(nil, nil) {
		return id
	}
	return ""
}

// identityOf identifies values, and those that are enforced.
func identityOf(values, enforced Values) string {
	sum := sha256.Sum256([]byte(values.Deciding().Show() + enforced.Deciding().Show()))
	return hex.EncodeToString(sum[:])
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

// missingTokens names the variables of tokens that are not set.
func missingTokens(registries []Registry, getenv func(string) string) []problem.Problem {
	var missing []problem.Problem
	for _, r := range registries {
		if getenv(r.TokenEnv) == "" {
			missing = append(missing, problem.Problem{
				Code: problem.CodeSettings, Host: r.Host, Place: r.Place,
				Message: fmt.Sprintf("the environment variable %s, which holds the token for %s, is not set", r.TokenEnv, r.Host.ForDisplay()),
			})
		}
	}
	return missing
}

// ReadFile reads a repository's own configuration file in a tree of files: by its name
// or, if that is empty, by one of FileNames. Where the tree has none of these, the file
// has no name.
func ReadFile(files fs.FS, name string) (File, error) {
	if name == "" {
		found, problems := Locate(files)
		if len(problems) > 0 {
			return File{}, problem.Several(problems)
		}
		if found == "" {
			return File{}, nil
		}
		name = found
	}
	src, err := fs.ReadFile(files, name)
	return readBy(ParseFile, src, name, err)
}

// ReadOperatorFile is the operator's configuration file that was read with an error, if
// any. One that is called as a repository's own would be gets another name, since both
// may be in force.
func ReadOperatorFile(src []byte, name string, err error) (File, error) {
	if slices.Contains(FileNames, filepath.ToSlash(filepath.Clean(name))) {
		name = "operator:" + name
	}
	return readBy(ParseOperatorFile, src, name, err)
}

// readBy is the configuration file that was read with an error, if any.
func readBy(parse func([]byte, string) (File, []problem.Problem), src []byte, name string, err error) (File, error) {
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration file %s: %w", name, file.Cause(err))
	}
	read, problems := parse(src, name)
	if len(problems) > 0 {
		return File{}, problem.Several(problems)
	}
	return read, nil
}
