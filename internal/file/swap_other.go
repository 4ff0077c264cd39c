//go:build !linux && !darwin

package file

// swap gives two directories each other's name.
func swap(dir, name string) error { return swapInTurn(dir, name) }
