package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// New is a file that does not exist yet.
type New struct {
	Name    string
	Content []byte
}

// CreateAll creates all files or none. They are in one directory. If one cannot be created,
// CreateAll removes the earlier ones, and the directories that it made for them. If a name
// is taken, the error wraps fs.ErrExist, and that file is unchanged. Only the options Mode,
// Parents and Durable apply.
//
// No file system creates several files in one step: a run that is killed between two of
// them leaves the first. All content is on the disk before the first one is created.
func CreateAll(files []New, o Options) (err error) {
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Dir(files[0].Name)
	made, err := makeParents(dir, o.Parents)
	defer func() {
		for i := len(made) - 1; i >= 0 && err != nil; i-- {
			_ = os.Remove(made[i]) // it stays if there is anything in it
		}
	}()
	if err != nil {
		return err
	}
	Sweep(dir)
	var filled []string
	defer func() {
		for _, name := range filled {
			_ = os.Remove(name) // it is gone if it was renamed
		}
	}()
	for _, f := range files {
		temporary, err := os.CreateTemp(dir, pattern(filepath.Base(f.Name)))
		if err != nil {
			return err
		}
		filled = append(filled, temporary.Name())
		if err := o.fill(temporary, f.Content); err != nil {
			return err
		}
	}
	for i, f := range files {
		err := o.step("create", func() error { return create(filled[i], f.Name) })
		if err != nil {
			return errors.Join(err, removeUnchanged(files[:i]))
		}
	}
	return nil
}

// makeParents makes the directories that are missing down to dir, and returns those that it
// made, the outermost first. With the mode 0 it makes none.
func makeParents(dir string, mode fs.FileMode) (made []string, err error) {
	if mode == 0 {
		return nil, nil
	}
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		err := os.Mkdir(at, mode)
		if err == nil {
			made = append(made, at)
		} else if !errors.Is(err, fs.ErrExist) { // another program made it meanwhile
			return made, err
		}
	}
	return made, nil
}

// removeUnchanged removes the files that still have the content written to them.
func removeUnchanged(files []New) error {
	var failed []error
	for _, f := range files {
		if isThere(f.Name, f.Content) != nil {
			continue // another program has changed or removed it
		}
		if err := os.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("removing what was written before: %w", err))
		}
	}
	return errors.Join(failed...)
}
