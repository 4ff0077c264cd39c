package hash

import (
	"archive/zip"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// The longest path, and the longest name in one, that the usual systems take.
const (
	maxPath = 4096
	maxName = 255
)

// unpackedFiles returns the files that the tools would find in a directory where they
// unpacked the entries: which entry each is, by slash-separated path. Where two
// entries have one path, the last wins. It follows go-getter, which the tools unpack with, on
// Linux: a backslash is a letter like any other, and a symbolic link becomes a
// plain file that holds its target [cases 27, 28] [go-getter 1.7 decompress_zip.go].
func unpackedFiles(entries []*zip.FileHeader) (map[string]int, error) {
	if len(entries) == 0 {
		return nil, errors.New("empty archive")
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("more than %d entries", maxEntries)
	}
	files := map[string]int{}
	dirs := map[string]bool{".": true}
	for i, f := range entries {
		name, err := cleanName(f.Name)
		if err != nil {
			return nil, err
		}
		if f.FileInfo().IsDir() {
			addDir(dirs, name)
			continue
		}
		// The tools would write a file that they cannot read again [go-getter 1.7 decompress_zip.go].
		if f.Mode().Perm()&0o400 == 0 {
			return nil, fmt.Errorf("entry %q has no read permission", f.Name)
		}
		addDir(dirs, path.Dir(name))
		files[name] = i
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if dirs[name] {
			return nil, fmt.Errorf("entry %q is both a file and a directory", name)
		}
	}
	return files, nil
}

// cleanName returns where an entry comes to lie, below the target directory
// even if the name is absolute.
func cleanName(name string) (string, error) {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return "", fmt.Errorf("entry contains '..': %q", name)
		}
	}
	if strings.Contains(name, "\x00") {
		return "", fmt.Errorf("entry contains a NUL: %q", name)
	}
	tooLong := func(part string) bool { return len(part) > maxName }
	if len(name) > maxPath || slices.ContainsFunc(strings.Split(name, "/"), tooLong) {
		return "", errors.New("entry has a name that is too long")
	}
	return path.Clean("./" + name), nil
}

func addDir(dirs map[string]bool, name string) {
	for ; !dirs[name]; name = path.Dir(name) {
		dirs[name] = true
	}
}
