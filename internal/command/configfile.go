package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// fileHere reads the configuration file that is searched for in the checkout; nothing, if
// it has none.
func fileHere(env Env) (settings.File, error) {
	dir := worktree.RootOf(env.WorkDir)
	own, err := ownFileAt(dir, "", []string{dir})
	if err != nil || own.Name != "" {
		return own, err
	}
	return fileOfHead(dir)
}

// fileOfHead reads the configuration file that the commit has and a sparse checkout lacks;
// nothing, if there is none. Without it the run would go by other rules than the
// repository's.
func fileOfHead(dir string) (settings.File, error) {
	files, err := run.NotCheckedOut(dir, settings.FileNames)
	if err != nil || files == nil {
		return settings.File{}, err
	}
	return settings.ReadFile(files, "")
}

// ownFileAt reads a configuration file of a repository, of which no link leads out: by its
// name or, if that is empty, by one of settings.FileNames.
func ownFileAt(dir, name string, tops []string) (settings.File, error) {
	return settings.ReadFile(checkedOut{os.DirFS(dir).(disk), dir, tops}, name)
}

// disk is what package os says of the files of a directory without reading them.
type disk interface {
	fs.StatFS
	fs.ReadLinkFS
}

// checkedOut are the files of a directory that belongs to repositories.
type checkedOut struct {
	disk
	dir  string
	tops []string // of the repositories
}

// ReadFile reads a configuration file by any name that leads to a file of the repositories.
func (c checkedOut) ReadFile(name string) ([]byte, error) {
	path := file.Absolute(c.dir, name)
	src, err := file.ReadAtMost(path, settings.MaxFileSize+1) // of which an excess is seen
	if err == nil && leadsOut(path, c.tops) {
		err = errors.New("it is a link that leads out of the repository")
	}
	return src, err
}

// readOperators reads the operator's configuration file.
func readOperators(env Env, name string) (settings.File, error) {
	return settings.ReadOperatorFile(anyOnDisk(env.WorkDir), name, name)
}

// anyOnDisk are all files of the disk, by their paths from a directory.
type anyOnDisk string

// Open opens a file by any path.
func (dir anyOnDisk) Open(name string) (fs.File, error) {
	return os.Open(file.Absolute(string(dir), name))
}

// ReadFile reads a configuration file by any path.
func (dir anyOnDisk) ReadFile(name string) ([]byte, error) {
	return file.ReadAtMost(file.Absolute(string(dir), name), settings.MaxFileSize+1) // of which an excess is seen
}

// leadsOut reports whether links make something of a path that is in none of the
// directories.
func leadsOut(path string, tops []string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err != nil || file.Outside(target, tops)
}
