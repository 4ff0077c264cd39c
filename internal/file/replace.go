// Package file opens and replaces files by name: settings, lock files, reports and caches.
// Opening a file never blocks. While a file is replaced, readers see the old content or the
// new content, and never a part. The package also makes temporary files for content that is
// read twice, and removes those of killed runs. Few other packages write to the disk; the
// tests of package house name them.
package file

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged is the error for a file that has neither the content that was read nor the
// content to be written. It is not replaced.
var ErrChanged = errors.New("it has changed meanwhile")

// Was is the content of a file at the time when its new content was decided.
type Was struct {
	Content []byte
	Missing bool // there was no file
}

// Options say how a file is replaced. The zero value is for files that may be lost.
type Options struct {
	// Mode is the file's permissions; 0600 if 0.
	Mode fs.FileMode
	// Parents are the permissions of new directories above the file, if some are missing.
	// With 0, none is made.
	Parents fs.FileMode
	// Durable writes the content through to the disk, so that it survives a power failure.
	Durable bool
	// Unless, if given, is called when the new content is on the disk. If it returns true,
	// the file is not replaced.
	Unless func() bool
	// Was, if given, is compared with the file just before the replacement. If the file has
	// neither this content nor the new one, the error is ErrChanged. nil is for files that
	// only relock writes.
	Was *Was

	// watch is called before each step, and its error fails the step. Only tests set it.
	watch func(step string) error
}

// Replace replaces the content of a file in one step. It first writes a temporary file
// beside it, which it removes if it fails. It also removes temporary files that killed runs
// have left in the directory.
//
// Another program may write to the file between the comparison with Was and the renaming,
// which are microseconds apart. That content is lost. If Was says that there was no file,
// Replace only creates one.
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
	// The file is gone if it was renamed.
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

// fill writes the new content to a temporary file, and closes it.
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

// isThere returns nil if a file has the content. It returns ErrChanged if the file has
// another content, is missing, or is not regular.
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

// create gives a file a new name that must not exist yet, in one step if the system can do
// that. With two steps, another process could create the name between them, and lose its
// file. create fails with fs.ErrExist if the name exists. If the old name still exists, the
// caller removes it.
func create(from, to string) error {
	var err error
	for _, way := range waysToCreate {
		if err = way(from, to); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}
