package hash

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/provider"
)

// The limits on packages, against archives made to exhaust the machine. Those on
// sizes are about ten times what the largest known provider needs.
const (
	// MaxSize bounds the zip, which takes this much of the temporary directory.
	MaxSize = 4 << 30
	// maxUnpacked bounds the content of all entries, which is hashed.
	maxUnpacked = 8 << 30
	// maxEntries bounds the entries, which are kept in memory. Real packages
	// have fewer than a hundred.
	maxEntries = 10_000
)

// ErrUnpack is wrapped by the errors about archives that the tools could not
// unpack, or that are larger than any real package.
var ErrUnpack = errors.New("the package cannot be unpacked")

// Sum is what is computed of one package.
type Sum struct {
	ZH    provider.Hash // of the zip
	H1    provider.Hash // of the unpacked directory: what the tools record
	H1Zip provider.Hash // of the zip's entries: what the tools accept of a zip
	Size  int64         // of the zip in bytes
	// Programs are the names at the top of the package that may be those of a
	// provider's executable, sorted.
	Programs []string
}

const programPrefix = "terraform-provider-"

// Runs reports whether the package holds an executable for the provider type:
// a file with the name that the tools look for, alone or followed by _ or a
// dot. They refuse to install and to lock a package without.
func (s Sum) Runs(providerType string) bool {
	return slices.ContainsFunc(s.Programs, func(name string) bool {
		rest, ok := strings.CutPrefix(name, programPrefix+providerType)
		return ok && (rest == "" || rest[0] == '_' || rest[0] == '.')
	})
}

// Package hashes one zip archive, read to its end. Where the error wraps
// ErrUnpack, ZH and Size are valid all the same, so that a caller can tell
// other bytes than expected from a bad package; any other error is one of
// reading or of the temporary directory.
//
// The archive is kept in a temporary file while it is read, since the table
// that says what an archive holds stands at its end.
func Package(r io.Reader) (Sum, error) {
	file, err := os.CreateTemp("", "relock-package-*")
	if err != nil {
		return Sum{}, err
	}
	defer os.Remove(file.Name())
	defer file.Close()

	digest := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, digest), io.LimitReader(r, MaxSize+1))
	if err != nil {
		return Sum{}, err
	}
	sum := Sum{ZH: provider.ZH(hex.EncodeToString(digest.Sum(nil))), Size: size}
	if size > MaxSize {
		return sum, fmt.Errorf("%w: it is larger than %d bytes", ErrUnpack, int64(MaxSize))
	}
	if err := sum.addContent(file); err != nil {
		return sum, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	return sum, nil
}

func (s *Sum) addContent(archive io.ReaderAt) error {
	z, err := zip.NewReader(archive, s.Size)
	if err != nil {
		return err
	}
	files, err := unpack(z.File)
	if err != nil {
		return err
	}
	h1, err := hashFiles(slices.Collect(maps.Keys(files)), files)
	if err != nil {
		return err
	}
	h1zip := h1
	if !asNamed(z.File, files) {
		if h1zip, err = hashEntries(z.File); err != nil {
			return err
		}
	}
	s.H1, s.H1Zip, s.Programs = h1, h1zip, programs(files)
	return nil
}

// hashEntries hashes what stands in the archive: each entry has its line, and
// entries of one name have the content of the last.
func hashEntries(entries []*zip.File) (provider.Hash, error) {
	var names []string
	last := map[string]*zip.File{}
	for _, f := range entries {
		names = append(names, f.Name)
		last[f.Name] = f
	}
	return hashFiles(names, last)
}

// hashFiles bounds what it reads by what the entries announce: archive/zip
// fails on an entry that is longer.
func hashFiles(names []string, files map[string]*zip.File) (provider.Hash, error) {
	left := uint64(maxUnpacked)
	for _, name := range names {
		size := files[name].UncompressedSize64
		if size > left {
			return "", fmt.Errorf("its content is larger than %d bytes", int64(maxUnpacked))
		}
		left -= size
	}
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return files[name].Open() })
	return provider.Hash(h), err
}

// asNamed reports whether the unpacked files are exactly the entries, so that
// both h1 are the same.
func asNamed(entries []*zip.File, files map[string]*zip.File) bool {
	return !slices.ContainsFunc(entries, func(f *zip.File) bool { return files[f.Name] != f })
}

func programs(files map[string]*zip.File) []string {
	var names []string
	for name := range files {
		if strings.HasPrefix(name, programPrefix) && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
