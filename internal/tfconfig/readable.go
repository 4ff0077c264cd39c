package tfconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	regular "github.com/relock-dev/relock/internal/file" // the type file is another here
)

var errLarge = fmt.Errorf("it is larger than %d MiB", maxFile>>20)

// errPointer is why a file cannot be read of which Git LFS keeps the content.
var errPointer = errors.New("it is a pointer of Git LFS, whose content is not here: check out with lfs: true, or run git lfs pull")

// Unheld says why what was read of a file is not its content; nil if it is. A pointer
// begins with this line [github.com/git-lfs/git-lfs docs/spec.md, "The Pointer"].
func Unheld(src []byte) error {
	if bytes.HasPrefix(src, []byte("version https://git-lfs.github.com/spec/v1\n")) {
		return errPointer
	}
	return nil
}

// Readable says why the content of a file is not read; nil if it is.
func Readable(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular(): // a named pipe would keep the run waiting for ever
		return regular.ErrIrregular
	case info.Size() > maxFile:
		return errLarge
	}
	return nil
}
