package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// inUse is how long a file counts as in use after its last use: as long as a run may take.
// Prune keeps such files in any case, since another run may read them again.
const inUse = time.Hour

// Touch notes the use of a file, for Prune. If that fails, Prune may remove the file, and a
// run makes it again.
func Touch(name string) {
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() { // a link may lead to a person's own file
		now := time.Now()
		_ = os.Chtimes(name, now, now)
	}
}

// Prune bounds a directory of cached files. It removes files that were not used for the
// age. While all files together have more than the size, it also removes those that were
// not used for longest. It removes only regular files for which ours is true. Another run
// may be reading a removed file: it keeps the file open, or makes it again. A file that
// cannot be removed stays, and is no reason to fail.
func Prune(dir string, ours func(name string) bool, age time.Duration, size int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var kept []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && ours(e.Name()) {
			kept = append(kept, info)
			size -= info.Size()
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	now := time.Now()
	for _, info := range kept {
		unused := now.Sub(info.ModTime())
		if unused <= inUse || unused <= age && size >= 0 {
			return // later files were used more recently
		}
		name := filepath.Join(dir, info.Name())
		if again, err := os.Lstat(name); err != nil || !os.SameFile(info, again) || again.ModTime() != info.ModTime() {
			continue // another run has used it, or removed it
		}
		if err := os.Remove(name); err == nil {
			size += info.Size()
		}
	}
}
