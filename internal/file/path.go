package file

import "path/filepath"

// Absolute returns the cleaned path of a slash-separated name, which is absolute or
// relative to dir.
func Absolute(dir, name string) string {
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}
