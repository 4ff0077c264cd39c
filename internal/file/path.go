package file

import "path/filepath"

// Absolute is the path of a slash-separated name that is relative to dir, or absolute.
func Absolute(dir, name string) string {
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}
