package file

import (
	"errors"
	"os"
)

// Temporary is a file of the system's temporary directory. The caller of NewTemporary calls
// Remove at the end. Only its content comes from outside.
type Temporary struct{ *os.File }

// NewTemporary makes one, after removing those that runs have left which were
// killed.
func NewTemporary() (Temporary, error) {
	Sweep(os.TempDir())
	f, err := os.CreateTemp("", pattern("package"))
	return Temporary{f}, err
}

// NewTemporaryDir makes a directory as NewTemporary makes a file, and returns its
// path. The caller removes it.
func NewTemporaryDir(prefix string) (string, error) {
	Sweep(os.TempDir())
	return os.MkdirTemp("", pattern(prefix))
}

// Remove closes and removes the file.
func (t Temporary) Remove() error {
	return errors.Join(t.Close(), os.Remove(t.Name()))
}
