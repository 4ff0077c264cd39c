package lockfile

import (
	"errors"
	"io/fs"
)

// Contents reads the lock files of a file tree, by path. A link has the content of its
// target. One that leads nowhere, or out of the tree, has none.
func Contents(files fs.FS) (map[string][]byte, error) {
	contents := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !Resembles(name) {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if d.Type() == fs.ModeSymlink && err != nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		contents[name] = content
		return err
	})
	return contents, err
}
