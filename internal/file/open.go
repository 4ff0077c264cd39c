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

// ErrIrregular is the error for what is no regular file: a directory, a device,
// a named pipe.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file for reading, through links. It waits for nobody: a
// named pipe would keep a run waiting for ever, and a device may do something
// when it is opened. Errors are those of os.Open, or wrap ErrIrregular.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err := regular(name, info, err); err != nil {
		return nil, err
	}
	// Somebody may put a pipe there now. Windows has none among its files.
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

// ReadAtMost returns the content of a file, or its first bytes if it has more than most. To
// notice that, a caller asks for one byte more than it allows.
func ReadAtMost(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// Cause returns what is wrong with a file, without its path, which the caller names.
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

// Tree returns a file tree of which only regular files and directories
// opens, through links; other files are ErrIrregular. Unlike Open, it would wait
// for a pipe that takes the place of a file just then.
func Tree(fsys fs.FS) fs.FS { return tree{fsys, "."} }

// tree is the file tree below a directory of another. That of fs.Sub would open
// a file to describe it.
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
