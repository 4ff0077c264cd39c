package file

import (
	"errors"
	"os"
)

// Temporary is a file in the system's temporary directory. The caller of NewTemporary must
// call Remove. Only the content comes from outside, not the name.
type Temporary struct{ *os.File }

// NewTemporary makes a temporary file. First it removes the temporary files of killed runs.
func NewTemporary() (Temporary, error) {
	Sweep(os.TempDir())
	f, err := os.CreateTemp("", pattern("package"))
	return Temporary{f}, err
}

// NewTemporaryDir makes a directory in the system's temporary directory, and returns its
// path. The caller removes it.
func NewTemporaryDir(prefix string) (string, error) {
	Sweep(os.TempDir())
	return os.MkdirTemp("", pattern(prefix))
}

// Remove closes and removes the file. It tries both in any case, and joins the errors.
func (t Temporary) Remove() error {
	return errors.Join(t.Close(), os.Remove(t.Name()))
}
