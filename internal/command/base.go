package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// settingsOfRun are the settings of a run. A pull request's head chooses nothing:
// where that is checked out, the repository's configuration file is the one of
// the base. Repositories that are not checked out have files of their own, and
// the one that lies around here is not for them. What is proposed goes by the
// repository's own file, laid over the operator's; for the other verbs that stands in
// for it.
func settingsOfRun(ctx context.Context, env Env, verb verbs.Verb, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	if slices.Contains([]verbs.Verb{verbs.Scan, verbs.Upgrade, verbs.Lock, verbs.Check, verbs.Verify}, verb) {
		given = ofCheckout(given)
	}
	values := settings.Merge(given...)
	head, _ := env.runtime().Head()
	path, here := configPath(env, values), worktree.RootOf(env.WorkDir)
	switch {
	case notCheckedOut(values) && head && path != "" && !run.Apart(path, []string{here}):
		return settingsOfOthers(ctx, env, path, given...)
	case notCheckedOut(values):
		return settingsApart(env, given...)
	}
	read := append(scanned(env, values), here)
	operators := locate(env, values, read, false) == settings.Operators
	switch {
	case !head && verb == verbs.PR:
		return settingsHere(env, given...)
	case !head, operators && verb != verbs.PR:
		return readSettings(env, given...)
	}
	root, name, apart := here, "", settingsApart
	if !operators {
		var err error
		root, name, err = ownFile(env, values, read)
		if err != nil {
			return settings.Sources{}, settings.Settings{}, err
		}
		apart = settingsOfNoFile
	}
	from, s, err := apart(env, given...)
	if err != nil {
		return from, s, err
	}
	base, err := baseFiles(ctx, env, s, root, fileNames(name))
	if err != nil {
		return from, s, err
	}
	if base == nil {
		s.Notices = append(s.Notices, baseUnknown)
		return from, s, nil
	}
	file, err := baseFile(base, name)
	if err != nil {
		return from, s, fmt.Errorf("on the base of the pull request: %w", err)
	}
	s, err = from.With(file)
	return from, s, err
}

// settingsOfNoFile are the settings without any file.
func settingsOfNoFile(env Env, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	from := sourcesFrom(env, given, settings.File{})
	s, err := from.With(settings.File{})
	return from, s, err
}

// settingsOfOthers are the settings for repositories that are not checked out, by an
// operator's file in the checkout of a pull request's head: by the base's. Without that
// nothing may go on, since nothing would be enforced.
func settingsOfOthers(ctx context.Context, env Env, path string, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	none, s, err := settingsOfNoFile(env, given...)
	if err != nil {
		return none, s, err
	}
	src, err := judgingOfBase(ctx, env, s, judging{"configuration file", s.File, settings.MaxFileSize}, path)
	if err == nil && src == nil {
		err = fmt.Errorf("the base of the pull request has no configuration file %s", s.File)
	}
	if err != nil {
		return none, settings.Settings{}, err
	}
	operator, err := settings.ReadOperatorFile(src, s.File, nil)
	if err != nil {
		return none, settings.Settings{}, fmt.Errorf("on the base of the pull request: %w", err)
	}
	from := sourcesFrom(env, given, operator)
	s, err = from.With(settings.File{})
	return from, s, err
}

// settingsHere are the settings by which the checkout is proposed: its own configuration
// file, laid over the operator's.
func settingsHere(env Env, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	from, s, err := readSettings(env, given...)
	if err != nil || from.Operator.Name == "" {
		return from, s, err
	}
	own, err := fileHere(env)
	if err != nil {
		return from, settings.Settings{}, err
	}
	s, err = from.With(own)
	return from, s, err
}

// ofCheckout is what is given without which other repositories there are: inputs may name
// some for a step that is about the checkout. The file of that must not count as the
// operator's then.
func ofCheckout(given []settings.Values) []settings.Values {
	var kept []settings.Values
	for _, v := range given {
		v = maps.Clone(v)
		for _, name := range otherRepositories {
			delete(v, name)
		}
		kept = append(kept, v)
	}
	return kept
}

// otherRepositories are the settings that name repositories which are not checked out.
var otherRepositories = []string{"repo", "org", "plan"}

// notCheckedOut reports whether the repositories of a run are not those that are checked
// out.
func notCheckedOut(values settings.Values) bool {
	return slices.ContainsFunc(otherRepositories, func(name string) bool { return strings.Join(values[name].Items, "") != "" })
}

// baseUnknown says that a pull request's base can be read nowhere.
var baseUnknown = problem.Problem{
	Code: problem.CodeSettings, Severity: problem.SeverityWarning,
	Message: "the configuration file is not read: that of a pull request's head decides nothing, and its base is not here",
	Hint:    "give the step a token that may read contents, or let actions/checkout fetch the base with fetch-depth: 0",
}

// ownFile is where the configuration file of the repository itself is: in one of
// those that are read, by a name that is empty unless it is named.
func ownFile(env Env, values settings.Values, read []string) (root, name string, err error) {
	path := configPath(env, values)
	if path == "" {
		return worktree.RootOf(env.WorkDir), "", nil
	}
	for _, root := range read {
		if rel, err := filepath.Rel(root, path); err == nil && fs.ValidPath(filepath.ToSlash(rel)) {
			return root, filepath.ToSlash(rel), nil
		}
	}
	return "", "", fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", values["config"].Items[0])
}

// baseFiles are those of the named files that the base has: by the checkout, if
// that has the commit, else by GitHub; nil where neither can be asked.
func baseFiles(ctx context.Context, env Env, s settings.Settings, root string, names []string) (fs.FS, error) {
	base := env.runtime().Base()
	if base == "" {
		return nil, nil
	}
	if files, ok := run.Committed(root, base, names); ok {
		return files, nil
	}
	if s.Token == "" && s.App.ID == "" {
		return nil, nil
	}
	req := withRepository(env, request(env, verbs.Scan, nil, s))
	session, err := run.Open(env.ofRun(s), req)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Committed(ctx, req.Hub, req.Targets[0].Repository, base, names)
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
