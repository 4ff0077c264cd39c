package hash

import (
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
