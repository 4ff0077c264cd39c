package file

import (
	"errors"
	"os"
)

// Temporary is a file of the system's temporary directory that is gone once it is
// closed. Nothing but its content comes from outside.
type Temporary struct{ *os.File }

// NewTemporary makes one, whose name begins with relock.
func NewTemporary() (Temporary, error) {
	f, err := os.CreateTemp("", "relock-*")
	return Temporary{f}, err
}

// Close closes and removes the file.
func (t Temporary) Close() error {
	return errors.Join(t.File.Close(), os.Remove(t.Name()))
}
