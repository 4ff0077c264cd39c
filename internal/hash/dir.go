package hash

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/provider"
)

// Dir hashes a package that lies unpacked at the root of a file tree. It has
// neither ZH nor Size. Links to files are read through, as the tools do; a link
// to a directory is an error [terraform 1.11 internal/getproviders/hash.go].
//
// Errors wrap ErrUnpack: nothing else could read the package either.
func Dir(fsys fs.FS) (Hashed, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		if len(names) > maxEntries {
			return fmt.Errorf("more than %d files", maxEntries)
		}
		return nil
	})
	if err != nil {
		return Hashed{}, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	h1, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return fsys.Open(name) })
	if err != nil {
		return Hashed{}, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	return Hashed{provider.Sum{H1: provider.Hash(h1), H1Zip: provider.Hash(h1)}, programs(slices.Values(names))}, nil
}

// File is a file of a directory, by its slash-separated path and the SHA-256 of its content.
type File struct {
	Name string
	Sum  [sha256.Size]byte
}

// H1 is dirhash.Hash1 of files that need not be read again. It sorts them. Names must have
// no line breaks.
func H1(files []File) provider.Hash {
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.Sum[:], b.Sum[:]))
	})
	summary := sha256.New()
	for _, f := range files {
		fmt.Fprintf(summary, "%x  %s\n", f.Sum, f.Name)
	}
	return newH1(summary.Sum(nil))
}
