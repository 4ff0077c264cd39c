// Package file opens and replaces files that are known by name: settings, lock
// files, reports, and what is remembered from one run to the next. Opening one
// never waits, and anyone who reads one that is replaced sees all of it, as it was
// or as it is. It also has the temporary files of what must be read twice, and
// removes those that a run has left which was killed. Few others write to the
// disk; the tests of package house name them.
package file

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged is the error for a file that is not as it was read, nor as it would be
// written. It stays as it is.
var ErrChanged = errors.New("it has changed meanwhile")

// Was is what a file held when somebody decided what it is to hold.
type Was struct {
	Content []byte
	Missing bool // there was none
}

// Options say how a file is replaced. The zero value is for what may be lost.
type Options struct {
	// Mode is the file's permissions; 0600 if 0.
	Mode fs.FileMode
	// Parents are the permissions of directories that are made if they are missing
	// above the file; 0 makes none.
	Parents fs.FileMode
	// Durable makes the content outlive a failure of power.
	Durable bool
	// Unless, if given, is asked when the new content is on the disk: if it holds, the
	// file stays as it is.
	Unless func() bool
	// Was, if given, is compared with the file right before that is replaced: it must
	// still be so, or as it must be. Else the error is ErrChanged. nil is for files
	// that nobody but relock writes.
	Was *Was

	// watch hears of each step before it is made, and fails it. Tests alone set it.
	watch func(step string) error
}

// Replace puts the content in the place of a file, in one step. Until then it is
// beside it, under the same name with something appended; nothing of that is left
// if Replace fails. What a run that was killed has left in the directory is removed.
//
// What somebody writes after Was was compared, and before the renaming that
// follows, is lost: some microseconds. A file that was missing is never replaced.
func Replace(name string, content []byte, o Options) error {
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
	// It is not there any more if all went well.
	defer func() { _ = o.step("remove", func() error { return os.Remove(f.Name()) }) }()
	if err := o.fill(f, content); err != nil {
		return err
	}
	if o.Unless != nil && o.Unless() {
		return nil
	}
	if o.Was != nil && o.Was.Missing {
		err := o.step("create", func() error { return create(f.Name(), name) })
		if errors.Is(err, fs.ErrExist) {
			return isThere(name, content)
		}
		return err
	}
	if o.Was != nil && isThere(name, o.Was.Content) != nil {
		return isThere(name, content)
	}
	return o.step("rename", func() error { return os.Rename(f.Name(), name) })
}

// fill writes and closes the file that takes the place of another.
func (o Options) fill(f *os.File, content []byte) error {
	err := o.step("write", func() error {
		_, err := f.Write(content)
		return err
	})
	err = errors.Join(err, o.step("chmod", func() error { return f.Chmod(cmp.Or(o.Mode, 0o600)) }))
	if o.Durable {
		err = errors.Join(err, o.step("sync", f.Sync))
	}
	return errors.Join(err, o.step("close", f.Close))
}

func (o Options) step(name string, act func() error) error {
	if o.watch != nil {
		if err := o.watch(name); err != nil {
			return err
		}
	}
	return act()
}

// isThere is ErrChanged if a file does not hold the content, or is no file any more.
func isThere(name string, content []byte) error {
	now, err := ReadAtMost(name, int64(len(content))+1)
	switch {
	case err == nil && bytes.Equal(now, content):
		return nil
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrIrregular):
		return ErrChanged
	}
	return err
}

// create gives a file a second name that does not exist yet, in one step if the system can
// do that. In two steps, another process could create the name between them, and lose its
// file. create fails with fs.ErrExist if the name exists. The caller removes the old name.
func create(from, to string) error {
	var err error
	for _, way := range waysToCreate {
		if err = way(from, to); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}
