package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
)

// configFile reads the file that is named, else the repository's own, else
// nothing.
func configFile(env Env, values config.Values) (config.File, error) {
	tops := scanned(env, values)
	switch at := locate(env, values, tops, true); at {
	case config.SearchedDisk:
		return fileHere(env)
	case config.Operators:
		return readOperators(env, values["config"].Items[0])
	}
	return ownFileAt(env.WorkDir, values["config"].Items[0], tops)
}

// fileHere reads the configuration file that is searched for in the checkout; nothing, if
// it has none.
func fileHere(env Env) (config.File, error) {
	dir := run.RepositoryOf(env.WorkDir)
	found, diagnostics := config.Locate(os.DirFS(dir))
	if len(diagnostics) > 0 {
		return config.File{}, problem.Several(diagnostics)
	}
	if found == "" {
		return fileOfHead(dir)
	}
	return ownFileAt(dir, found, []string{dir})
}

// fileOfHead reads the configuration file that the commit has and a sparse checkout lacks;
// nothing, if there is none. Without it the run would go by other rules than the
// repository's.
func fileOfHead(dir string) (config.File, error) {
	files, err := run.NotCheckedOut(dir, config.FileNames)
	if err != nil || files == nil {
		return config.File{}, err
	}
	return searched(files)
}

// ownFileAt reads a configuration file of a repository, of which no link leads out.
func ownFileAt(dir, name string, tops []string) (config.File, error) {
	path := run.Absolute(dir, name)
	src, err := file.ReadAtMost(path, config.MaxFileSize+1) // of which an excess is seen
	if err == nil && leadsOut(path, tops) {
		err = errors.New("it is a link that leads out of the repository")
	}
	return readConfiguration(config.ParseFile, src, name, err)
}

// readOperators reads the operator's configuration file.
func readOperators(env Env, name string) (config.File, error) {
	src, err := file.ReadAtMost(env.path(name), config.MaxFileSize+1)
	return operatorsFile(src, name, err)
}

// operatorsFile is the operator's configuration file that was read with an error, if any.
// One that is called as a repository's own would be gets another name, since both may be
// in force.
func operatorsFile(src []byte, name string, err error) (config.File, error) {
	if slices.Contains(config.FileNames, filepath.ToSlash(filepath.Clean(name))) {
		name = "operator:" + name
	}
	return readConfiguration(config.ParseOperatorFile, src, name, err)
}

// readConfiguration is the configuration file that was read with an error, if any.
func readConfiguration(parse func([]byte, string) (config.File, []problem.Problem), src []byte, name string, err error) (config.File, error) {
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, file.Cause(err))
	}
	read, diagnostics := parse(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, problem.Several(diagnostics)
	}
	return read, nil
}

// locate says where the configuration file is, for a run that reads the
// directories. checkout says whether what is checked out may decide.
func locate(env Env, values config.Values, read []string, checkout bool) config.Location {
	path := configPath(env, values)
	return config.Choose(config.Facts{Named: path != "", Apart: path != "" && run.Apart(path, read), Checkout: checkout})
}

// configPath is the path of the configuration file that is named; empty if none
// is.
func configPath(env Env, values config.Values) string {
	if name := values["config"].Items[0]; name != "" {
		return run.Absolute(env.WorkDir, name)
	}
	return ""
}

// scanned are the top directories of the repositories that the run reads from
// disk; where there is no repository, the directory itself.
func scanned(env Env, values config.Values) []string {
	dirs := values["directories"].Items
	if len(dirs) == 0 && !notCheckedOut(values) {
		dirs = []string{"."}
	}
	var roots []string
	for _, dir := range dirs {
		roots = append(roots, run.RepositoryOf(run.Absolute(env.WorkDir, strings.TrimSuffix(dir, "/..."))))
	}
	return roots
}

// inRepository is the path in the repository at hand of the configuration file
// that is named; empty if none is, or if it lies elsewhere.
func inRepository(env Env, values config.Values) string {
	if locate(env, values, scanned(env, values), false) != config.NamedTree {
		return ""
	}
	return slashed(env, configPath(env, values))
}

// slashed is a path relative to the working directory, as a tree of files has it.
func slashed(env Env, name string) string {
	if rel, err := filepath.Rel(env.WorkDir, name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name)
}

// leadsOut reports whether links make something of a path that is in none of the
// directories.
func leadsOut(path string, tops []string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err != nil || run.Apart(target, tops)
}

// searched reads the configuration file that a repository's file tree has;
// nothing, if it has none.
func searched(repository fs.FS) (config.File, error) {
	name, diagnostics := config.Locate(repository)
	if len(diagnostics) > 0 {
		return config.File{}, problem.Several(diagnostics)
	}
	if name == "" {
		return config.File{}, nil
	}
	return repositoryFile(repository, name)
}

// repositoryFile reads a configuration file that is in a repository's file tree.
func repositoryFile(repository fs.FS, name string) (config.File, error) {
	src, err := fs.ReadFile(repository, name)
	return readConfiguration(config.ParseFile, src, name, err)
}
