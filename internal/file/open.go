package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
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
func Read(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func regular(name string, info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return err
}
