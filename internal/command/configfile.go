package command

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// fileHere reads the configuration file of the checkout, by the usual names. The result is
// empty if there is none.
func fileHere(env Env) (settings.File, error) {
	dir := worktree.RootOf(env.WorkDir)
	own, err := ownFileAt(dir, "", []string{dir})
	if err != nil || own.Name != "" {
		return own, err
	}
	return fileOfHead(dir)
}

// fileOfHead reads the configuration file that HEAD has and a sparse checkout lacks. The
// result is empty if there is none. Without that file, the run would follow other rules
// than the repository's.
func fileOfHead(dir string) (settings.File, error) {
	if !worktree.Sparse(dir) {
		return settings.File{}, nil
	}
	head, err := revision(dir, "HEAD")
	if err != nil {
		return settings.File{}, err
	}
	files, ok := head.Files(settings.FileNames)
	if !ok {
		return settings.File{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: "it is not known whether the sparse checkout lacks a configuration file: HEAD could not be read",
			Hint: scan.CheckOut(path.Dir(settings.FileNames[0])),
		}}
	}
	return settings.ReadFile(files, "")
}

// ownFileAt reads a configuration file of a repository, by its name or, if that is empty,
// by one of settings.FileNames. It refuses a link that leads out of tops.
func ownFileAt(dir, name string, tops []string) (settings.File, error) {
	return settings.ReadFileBy(os.DirFS(dir), name, func(name string) ([]byte, error) {
		path := file.Absolute(dir, name)
		src, err := readBounded(path)
		if err == nil && leadsOut(path, tops) {
			err = errors.New("it is a link that leads out of the repository")
		}
		return src, err
	})
}

// readBounded reads a configuration file, but at most one byte more than the bound allows.
func readBounded(path string) ([]byte, error) { return file.ReadAtMost(path, settings.MaxFileSize+1) }

func readOperators(env Env, name string) (settings.File, error) {
	return settings.ReadOperatorFile(name, func() ([]byte, error) { return readBounded(file.Absolute(env.WorkDir, name)) })
}

// leadsOut reports whether the links of a path lead to a file outside of the directories.
// It is true if that is unknown.
func leadsOut(path string, tops []string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err != nil || file.Outside(target, tops)
}
