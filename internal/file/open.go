package file

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"syscall"
)

// ErrIrregular is the error for a file that is not regular, such as a directory, a device
// or a named pipe.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file for reading, and follows links. It opens no other files: a
// named pipe could block a run for ever, and opening a device may have effects. The errors
// are those of os.Open, or wrap ErrIrregular.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err := regular(name, info, err); err != nil {
		return nil, err
	}
	// Another program may put a pipe there now. On Windows, no pipe is among the files.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err := regular(name, info, err); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a file that Open opens.
func Read(name string) ([]byte, error) { return ReadAtMost(name, math.MaxInt64) }

// ReadAtMost returns the content of a file, but at most its first bytes. A caller that must
// notice a larger file asks for one byte more than it allows.
func ReadAtMost(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// Cause returns an error without the file's path, for messages that name the path
// themselves.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func regular(name string, info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return err
}

// Tree returns a file tree in which only regular files and directories can be opened, also
// through links. Other files fail with ErrIrregular. Unlike Open, it would block on a pipe
// that replaces a file at that moment.
func Tree(fsys fs.FS) fs.FS { return tree{fsys, "."} }

// tree is the file tree below a directory of another one. It replaces fs.Sub, which opens a
// file to describe it.
type tree struct {
	fsys fs.FS
	dir  string
}

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err == nil && !info.IsDir() {
		err = regular(name, info, nil)
	}
	if err != nil {
		return nil, err
	}
	return t.fsys.Open(path.Join(t.dir, name))
}

// Stat implements fs.StatFS.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	name = path.Join(t.dir, name)
	info, err := fs.Lstat(t.fsys, name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		return fs.Stat(t.fsys, name)
	}
	return info, err
}

// ReadDir implements fs.ReadDirFS.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return fs.ReadDir(t.fsys, path.Join(t.dir, name))
}

// Sub implements fs.SubFS.
func (t tree) Sub(dir string) (fs.FS, error) {
	if !fs.ValidPath(dir) {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: fs.ErrInvalid}
	}
	return tree{t.fsys, path.Join(t.dir, dir)}, nil
}
