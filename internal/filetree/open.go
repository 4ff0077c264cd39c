package filetree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

type openFile struct {
	*bytes.Reader
	found fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.found, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open directory of a tree. It is listed at the first question.
type openDir struct {
	fs.FileInfo
	path string
	list func() ([]fs.DirEntry, error)
	read int // entries
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.FileInfo, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("it is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left, err := d.list()
	if err != nil {
		return nil, pathFailure("readdir", d.path, err)
	}
	left = left[d.read:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(left) {
		left = left[:n]
	}
	d.read += len(left)
	return left, nil
}

func pathFailure(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
