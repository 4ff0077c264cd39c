package file

import (
	"os"
	"path/filepath"
)

// Fill is Replace for a file that only relock writes, with content that is too large for
// memory: write writes it. If that fails, nothing is replaced, and its error is returned.
// Missing directories above the file are made.
func Fill(name string, write func(*os.File) error) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	Sweep(dir)
	f, err := os.CreateTemp(dir, pattern(filepath.Base(name)))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if it was renamed
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
