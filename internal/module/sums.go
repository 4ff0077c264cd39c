package module

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/hash"
)

// maxNames bounds the names of all hashed files, like the table of a zip archive.
const maxNames = 16 << 20

// sums are the files of a package for its h1, by path. A file replaces an earlier one at
// the same path, and directories do not count.
type sums struct {
	files map[string]hash.File
	names int // bytes of all names, also of replaced ones
}

// newSums are sums without files, or nil if no hash is wanted.
func newSums(wanted bool) *sums {
	if !wanted {
		return nil
	}
	return &sums{files: map[string]hash.File{}}
}

func (s *sums) add(place string, f hash.File) error {
	s.names += len(place) + len(f.Name)
	switch {
	case s.names > maxNames:
		return fmt.Errorf("the names of its files are longer than %d MiB", maxNames>>20)
	case strings.Contains(f.Name, "\n"):
		return errors.New("it has a file with a line break in its name, for which there is no hash")
	}
	s.files[place] = f
	return nil
}

// addLink adds a link. It counts as an empty file whose name has the target: what a link
// leads to may be outside of the package.
func (s *sums) addLink(place, target string) error {
	if len(target) > maxTarget {
		return fmt.Errorf("it has a link with a target of more than %d bytes", maxTarget)
	}
	return s.add(place, hash.File{Name: place + " -> " + target, Sum: sha256.Sum256(nil)})
}

// h1 is the hash of the files; "" if it is not wanted.
func (s *sums) h1() string {
	if s == nil {
		return ""
	}
	return string(hash.H1(slices.Collect(maps.Values(s.files))))
}
