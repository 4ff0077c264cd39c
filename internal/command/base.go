package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// baseUnknown says that a pull request's base can be read nowhere.
var baseUnknown = problem.Problem{
	Code: problem.CodeSettings, Severity: problem.SeverityWarning,
	Message: "the configuration file is not read: that of a pull request's head decides nothing, and its base is not here",
	Hint:    "give the step a token that may read contents, or let actions/checkout fetch the base with fetch-depth: 0",
}

// unreadBase says that a file is needed of a base that can be read nowhere.
func unreadBase(what, name string) error {
	return &problem.Error{Problem: problem.Problem{
		Code:    problem.CodeSettings,
		Message: fmt.Sprintf("the %s %s is not read: that of a pull request's head decides nothing, and its base is not here", what, name),
		Hint:    baseUnknown.Hint,
	}}
}

// notOfTheBase says that the base cannot have a file.
func notOfTheBase(what, name string) error {
	return fmt.Errorf("the %s %s is not in the repository of the pull request", what, name)
}

// baseKnown reports whether named files of a pull request's base can be read: by the
// checkout, if that has the commit, or with credentials from GitHub.
func baseKnown(env Env, root string, names []string, values settings.Values) bool {
	base := env.runtime().Base()
	if base == "" {
		return false
	}
	_, cloned := run.Committed(root, base, names)
	return cloned || values["token"].Items[0] != "" || values["app-id"].Items[0] != ""
}

// baseFiles are those of the named files that a base that is known has.
func baseFiles(ctx context.Context, env Env, s settings.Settings, root string, names []string) (fs.FS, error) {
	base := env.runtime().Base()
	if files, ok := run.Committed(root, base, names); ok {
		return files, nil
	}
	ask := run.ToScan(run.Means{Settings: s, Head: env.head()}, env.checkout(), nil)
	session, err := run.Open(env.ofRun(s), ask)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Committed(ctx, ask, base, names)
}

// fileNames are those that a configuration file may have.
func fileNames(named string) []string {
	if named != "" {
		return []string{named}
	}
	return settings.FileNames
}

// baseFile reads the configuration file of the base. One that the pull request
// adds is not there yet.
func baseFile(base fs.FS, name string) (settings.File, error) {
	file, err := settings.ReadFile(base, name)
	if name != "" && errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, nil
	}
	return file, err
}
