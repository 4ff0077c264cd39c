package tfconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	regular "github.com/relock-dev/relock/internal/file" // the type file is another here
)

var errLarge = fmt.Errorf("it is larger than %d MiB", maxFile>>20)

// errPointer is the error of a file whose content is in Git LFS.
var errPointer = errors.New("it is a pointer of Git LFS, whose content is not here: check out with lfs: true, or run git lfs pull")

// Unheld returns an error if the bytes of a file are a pointer of Git LFS instead of its
// content. A pointer begins with this line [github.com/git-lfs/git-lfs docs/spec.md, "The
// Pointer"].
func Unheld(src []byte) error {
	if bytes.HasPrefix(src, []byte("version https://git-lfs.github.com/spec/v1\n")) {
		return errPointer
	}
	return nil
}

// Readable returns an error if the content of a file must not be read.
func Readable(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular(): // a named pipe would block the run
		return regular.ErrIrregular
	case info.Size() > maxFile:
		return errLarge
	}
	return nil
}
