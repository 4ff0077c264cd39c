// Package file opens and replaces files that are known by name: settings, lock
// files, reports, and what is remembered from one run to the next. Opening one
// never waits, and whoever reads one that is replaced sees all of it, as it was
// or as it is. It also has the temporary files of what must be read twice, and
// removes those that a run has left which was killed. Few others write to the
// disk; house_test.go names them.
package file

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Options say how a file is replaced. The zero value is for what may be lost.
type Options struct {
	// Mode is the file's permissions; 0600 if 0.
	Mode fs.FileMode
	// Parents are the permissions of directories that are made if they are missing
	// above the file; 0 makes none.
	Parents fs.FileMode
	// Durable makes the content outlive a failure of power.
	Durable bool
	// Unless, if given, is asked last: if it holds, the file stays as it is.
	Unless func() bool
}

// Replace puts the content in the place of a file, in one step. Meanwhile it
// stands beside it under the same name with something appended; nothing of that
// is left if it fails. What a run that was killed has left in the directory is
// removed.
func Replace(name string, content []byte, o Options) (err error) {
	if o.Parents != 0 {
		if err := os.MkdirAll(filepath.Dir(name), o.Parents); err != nil {
			return err
		}
	}
	Sweep(filepath.Dir(name))
	f, err := os.CreateTemp(filepath.Dir(name), pattern(filepath.Base(name)))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which is not there any more if all went well
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(cmp.Or(o.Mode, 0o600)))
	if o.Durable {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if o.Unless != nil && o.Unless() {
		return nil
	}
	return os.Rename(f.Name(), name)
}
