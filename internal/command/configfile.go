package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/run"
)

// configFile reads the file that is named, else the repository's own, else
// nothing.
func configFile(env Env, values config.Values) (config.File, error) {
	name, dir, tops := values["config"].Items[0], env.WorkDir, scanned(env, values)
	at := locate(env, values, tops, true)
	if at == config.SearchedDisk {
		dir = run.RepositoryOf(env.WorkDir)
		found, diagnostics := config.Locate(os.DirFS(dir))
		if len(diagnostics) > 0 {
			return config.File{}, provider.Diagnostics(diagnostics)
		}
		if found == "" {
			return config.File{}, nil
		}
		name, tops = found, []string{dir}
	}
	path := run.Absolute(dir, name)
	src, err := readFile(path)
	if err == nil && at != config.Operators && leadsOut(path, tops) {
		err = errors.New("it is a link that leads out of the repository")
	}
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, file.Cause(err))
	}
	parse := config.ParseFile
	if at == config.Operators {
		parse = config.ParseOperatorFile
	}
	file, diagnostics := parse(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, provider.Diagnostics(diagnostics)
	}
	return file, nil
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

// readFile reads one byte more than a configuration file may have, so that the
// excess is seen.
func readFile(path string) ([]byte, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, config.MaxFileSize+1))
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
		return config.File{}, provider.Diagnostics(diagnostics)
	}
	if name == "" {
		return config.File{}, nil
	}
	return repositoryFile(repository, name)
}

// repositoryFile reads a configuration file that is in a repository's file tree.
func repositoryFile(repository fs.FS, name string) (config.File, error) {
	src, err := fs.ReadFile(repository, name)
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, file.Cause(err))
	}
	file, diagnostics := config.ParseFile(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, provider.Diagnostics(diagnostics)
	}
	return file, nil
}
