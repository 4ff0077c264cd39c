package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
)

// FileNames are the names under which the configuration file is searched in
// the top directory of a repository.
var FileNames = []string{".github/relock.yml", ".github/relock.yaml", ".relock.yml", ".relock.yaml"}

// MaxFileSize bounds the configuration file. A repository writes it, and the
// YAML parser needs far more memory than the text has bytes.
const MaxFileSize = 64 << 10

// File is a configuration file that was read.
type File struct {
	Name   string
	Values Values
	// Enforced are the values below the key enforced in the operator's file.
	Enforced Values
}

// locate returns the name of the repository's configuration file; empty if
// there is none. Two are an error, since one of them would be ignored.
func locate(fsys fs.FS) (string, []problem.Problem) {
	var found []string
	for _, name := range FileNames {
		_, err := fs.Stat(fsys, name)
		_, missing := fs.Lstat(fsys, name)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist) && missing == nil: // a link to nothing cannot be read
			found = append(found, name)
		case !errors.Is(err, fs.ErrNotExist):
			return "", []problem.Problem{{Code: problem.CodeUnreadable, Place: problem.Place{Path: name}, Message: "the configuration file cannot be read: " + file.Cause(err).Error()}}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", []problem.Problem{refusal(problem.Place{Path: found[1]}, "keep one of them", "there is another configuration file, %s", found[0])}
}

// ReadFile reads a repository's own configuration file in a file tree. An empty name means
// one of FileNames. If the tree has none of these, the result has no name.
func ReadFile(files fs.FS, name string) (File, error) {
	return ReadFileBy(files, name, func(name string) ([]byte, error) { return fs.ReadFile(files, name) })
}

// ReadFileBy is ReadFile with another way to read a file's content.
func ReadFileBy(files fs.FS, name string, read func(name string) ([]byte, error)) (File, error) {
	if name == "" {
		found, problems := locate(files)
		if len(problems) > 0 {
			return File{}, problem.Several(problems)
		}
		if found == "" {
			return File{}, nil
		}
		name = found
	}
	src, err := read(name)
	return readBy(ParseFile, src, name, err)
}

// ReadOperatorFile reads the operator's configuration file. name is its name for people. If
// it equals a name of a repository's own file, it gets another one, since both may apply.
func ReadOperatorFile(name string, read func() ([]byte, error)) (File, error) {
	src, err := read()
	if slices.Contains(FileNames, filepath.ToSlash(filepath.Clean(name))) {
		name = "operator:" + name
	}
	return readBy(ParseOperatorFile, src, name, err)
}

// readBy parses a configuration file, or returns the error of reading it.
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

// ParseFile reads the configuration file of a repository. Problems have the file and the
// line. If there are any, the values must not be used.
func ParseFile(src []byte, name string) (File, []problem.Problem) {
	return parseFile(src, name, form{what: "the configuration file", settings: All, limit: MaxFileSize, enforces: true})
}

// ParseOperatorFile reads a configuration file of the run's operator. It may say where
// credentials are. So it must be outside of every repository that the run reads: authors
// there must not decide who gets credentials.
func ParseOperatorFile(src []byte, name string) (File, []problem.Problem) {
	return parseFile(src, name, form{what: "the configuration file", settings: All, limit: MaxFileSize, enforces: true, operator: true})
}
