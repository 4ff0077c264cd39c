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
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// settingsOfRun are the settings of a run, and what they are made of: by the
// configuration files that settings.Choose says. A command answers for its verb; given is
// what flags, inputs and words say, the strongest first.
func settingsOfRun(ctx context.Context, env Env, verb verbs.Verb, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	g := groundsOf(env, verb, given)
	files := settings.Choose(g.facts)
	operator, err := g.operator(ctx, files.Operator)
	if err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	from := g.sources(operator)
	own, err := g.own(ctx, files, from)
	if err != nil {
		return from, settings.Settings{}, err
	}
	s, err := from.With(own)
	if err == nil && files.Own == settings.BaseUnknown {
		s.Notices = append(s.Notices, baseUnknown)
	}
	return from, s, err
}

// grounds are what is known of a run before its configuration files are read.
type grounds struct {
	env    Env
	given  []settings.Values
	config string // the configuration file as it is named; empty: none is
	facts  settings.Facts
	read   []string // the repositories that are read from disk
	// root is the repository whose base has the configuration file, by name; empty: by one
	// of settings.FileNames.
	root, name string
}

// groundsOf gathers what decides about the files of a run.
func groundsOf(env Env, verb verbs.Verb, given []settings.Values) grounds {
	if settings.AboutCheckout(verb) {
		given = ofCheckout(given)
	}
	values := settings.Merge(append(slices.Clip(given), settings.Environment(env.Getenv))...)
	here := worktree.RootOf(env.WorkDir)
	g := grounds{env: env, given: given, config: values["config"].Items[0], read: scanned(env, values), root: here}
	head, _ := env.runtime().Head()
	g.facts = settings.Facts{Verb: verb, Head: head, OthersNamed: notCheckedOut(values)}
	if g.config != "" {
		path := env.path(g.config)
		g.facts.Path = lying(path, g.read, here)
		tops := append(slices.Clip(g.read), here)
		if g.facts.OthersNamed {
			tops = []string{here}
		}
		if g.facts.Path != settings.PathOutside {
			g.root, g.name = relativeToOne(path, tops)
			g.facts.ByLink = g.name == ""
		}
	}
	g.facts.BaseKnown = head && baseKnown(env, g.root, fileNames(g.name), values)
	return g
}

// lying is where a configuration file lies, for a run that reads repositories from disk.
func lying(path string, read []string, here string) settings.Path {
	inRead, atHand := !run.Apart(path, read), !run.Apart(path, []string{here})
	switch {
	case inRead && atHand:
		return settings.PathAtHand
	case inRead:
		return settings.PathElsewhere
	case atHand:
		return settings.PathUnread
	}
	return settings.PathOutside
}

// relativeToOne is the first of the repositories that a path names a file of, and how that is
// called there. It has no name if a link alone leads to one.
func relativeToOne(path string, repositories []string) (root, name string) {
	for _, root := range repositories {
		if rel, err := filepath.Rel(root, path); err == nil && fs.ValidPath(filepath.ToSlash(rel)) {
			return root, filepath.ToSlash(rel)
		}
	}
	return repositories[0], ""
}

// sources are what the settings are made of, with the operator's file if there is one.
func (g grounds) sources(operator settings.File) settings.Sources {
	from := settings.Sources{Given: g.given, Operator: operator, Getenv: g.env.Getenv, Sound: verify.Sound}
	from.Outside = operator.Name != "" && (g.facts.OthersNamed || g.facts.Path == settings.PathOutside)
	if g.facts.Path == settings.PathAtHand || g.facts.Path == settings.PathElsewhere {
		from.Named = slashed(g.env, g.env.path(g.config))
	}
	return from
}

// operator reads the operator's configuration file. A head's is not read: where the base
// is not known, that is an error, since nothing would be enforced.
func (g grounds) operator(ctx context.Context, from settings.From) (settings.File, error) {
	if from == settings.FromNowhere {
		return settings.File{}, nil
	}
	if from == settings.FromDisk {
		return readOperators(g.env, g.config)
	}
	s, err := g.sources(settings.File{}).With(settings.File{})
	if err != nil {
		return settings.File{}, err
	}
	src, err := judgingOfBase(ctx, g.env, s, judging{"configuration file", g.config, settings.MaxFileSize}, g.env.path(g.config))
	if err == nil && src == nil {
		err = fmt.Errorf("the base of the pull request has no configuration file %s", g.config)
	}
	if err != nil {
		return settings.File{}, err
	}
	operator, err := settings.ReadOperatorFile(src, g.config, nil)
	if err != nil {
		return settings.File{}, fmt.Errorf("on the base of the pull request: %w", err)
	}
	return operator, nil
}

// own reads the repository's own configuration file. from are the sources without it, by
// which GitHub is asked for the base's.
func (g grounds) own(ctx context.Context, files settings.Layers, from settings.Sources) (settings.File, error) {
	switch files.Own {
	case settings.FromDisk:
		if g.config == "" || files.Operator != settings.FromNowhere {
			return fileHere(g.env)
		}
		return ownFileAt(g.env.WorkDir, g.config, g.read)
	case settings.BaseByLink:
		return settings.File{}, fmt.Errorf("the configuration file %s leads into the repository; name it by its path there", g.config)
	case settings.FromBase:
		s, err := from.With(settings.File{})
		if err != nil {
			return settings.File{}, err
		}
		base, err := baseFiles(ctx, g.env, s, g.root, fileNames(g.name))
		if err != nil {
			return settings.File{}, err
		}
		own, err := baseFile(base, g.name)
		if err != nil {
			return settings.File{}, fmt.Errorf("on the base of the pull request: %w", err)
		}
		return own, nil
	}
	return settings.File{}, nil
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
