package hash

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/zipfile"
)

// The limits on packages, against archives that would exhaust the machine. The
// limits on sizes are about ten times the largest known provider.
const (
	// MaxSize bounds the zip, which takes this much of the temporary directory.
	MaxSize = 4 << 30
	// maxUnpacked bounds the content of all entries, which is hashed.
	maxUnpacked = 8 << 30
	// maxEntries bounds the entries, which are kept in memory. Real packages
	// have fewer than a hundred.
	maxEntries = 10_000
)

// ErrUnpack is wrapped by the errors about archives that nobody could unpack, or
// that are larger than any real package.
var ErrUnpack = errors.New("the package cannot be unpacked")

var errLarge = fmt.Errorf("%w: it is larger than %d bytes", ErrUnpack, int64(MaxSize))

// Hashed is what is computed of one package.
type Hashed struct {
	Sum provider.Sum
	// Programs are the names at the top of the package that may be those of a
	// provider's executable, sorted.
	Programs []string
}

const programPrefix = "terraform-provider-"

// Runs reports whether the package holds an executable for the provider type:
// a file with the name that the tools look for, alone or followed by _ or a
// dot. They refuse to install and to lock a package without
// [terraform 1.11 internal/providercache/cached_provider.go].
func (s Hashed) Runs(providerType string) bool {
	return slices.ContainsFunc(s.Programs, func(name string) bool {
		rest, ok := strings.CutPrefix(name, programPrefix+providerType)
		return ok && (rest == "" || rest[0] == '_' || rest[0] == '.')
	})
}

// Package hashes one zip archive, read to its end. If the error wraps ErrUnpack,
// ZH and Size are valid. So a caller can distinguish unexpected bytes from a bad
// package. Any other error is about reading or the temporary directory.
//
// Meanwhile a temporary file has a copy, for archives that cannot be hashed in
// one pass. Stream needs no copy, if the bytes can be read again.
func Package(r io.Reader) (Hashed, error) {
	copied, err := file.NewTemporary()
	if err != nil {
		return Hashed{}, err
	}
	defer copied.Remove() // nothing of it is needed any more
	return Copied(r, copied)
}

// Copied is Package with an empty file of the caller for the copy. If ZH is
// valid, the file has the whole package.
func Copied(r io.Reader, copied file.Temporary) (Hashed, error) {
	hashed, err := onePass(io.TeeReader(r, copied))
	if !isOdd(err) {
		return hashed, err
	}
	// The library begins with the table at the end of the archive. Where a table points
	// outside of it, a section says no more than that it ends; a file would name itself.
	if err := hashed.addContent(io.NewSectionReader(copied, 0, hashed.Sum.Size)); err != nil {
		return hashed, fmt.Errorf("%w: %w", ErrUnpack, err)
	}
	return hashed, nil
}

// Stream is Package for bytes that can be read again. It writes nothing to disk,
// and its memory does not grow with the package. Its errors are those of Package,
// and those of open, unwrapped.
//
// If the bytes do not have the wanted zh, the result has only their ZH and Size.
//
// It calls open once for nearly all packages. For a few archives, the table at
// the end decides about the content: then it calls open again. Most of them are
// not recognisable before their end. A copy of every package would cost more than
// these second reads.
func Stream(open func() (io.ReadCloser, error), want provider.Hash) (Hashed, error) {
	hashed, err := hashOpened(open, onePass)
	switch {
	case !isOdd(err):
		return hashed, err
	case hashed.Sum.ZH != "" && want != "" && hashed.Sum.ZH != want:
		return hashed, fmt.Errorf("%w: it is another one", ErrUnpack)
	}
	return hashOpened(open, Package)
}

func hashOpened(open func() (io.ReadCloser, error), hash func(io.Reader) (Hashed, error)) (Hashed, error) {
	r, err := open()
	if err != nil {
		return Hashed{}, err
	}
	defer r.Close()
	return hash(r)
}

// ZH computes only the zh of a zip archive: a small part of the work. It is
// enough if a Cache may know the other hashes. Its errors are those of Package,
// and those of open, unwrapped.
func ZH(open func() (io.ReadCloser, error)) (provider.Hash, error) {
	r, err := open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	digest := sha256.New()
	size, err := io.Copy(digest, io.LimitReader(r, MaxSize+1))
	if err == nil && size > MaxSize {
		err = errLarge
	}
	if err != nil {
		return "", err
	}
	return provider.ZH(hex.EncodeToString(digest.Sum(nil))), nil
}

func (s *Hashed) addContent(archive io.ReaderAt) error {
	z, err := zipfile.Open(archive, s.Sum.Size)
	if err != nil {
		return err
	}
	if len(z.File) > maxEntries {
		return fmt.Errorf("more than %d entries", maxEntries)
	}
	if err := zipfile.Apart(z.File); err != nil {
		return err
	}
	headers := collect.Mapped(z.File, func(f *zip.File) *zip.FileHeader { return &f.FileHeader })
	return s.addHashes(headers, func(names []string, entries map[string]int) (provider.Hash, error) {
		// The announced sizes limit the reads: archive/zip fails on a longer
		// entry.
		room := uint64(maxUnpacked)
		for _, name := range names {
			size := z.File[entries[name]].UncompressedSize64
			if size > room {
				return "", fmt.Errorf("its content is larger than %d bytes", int64(maxUnpacked))
			}
			room -= size
		}
		h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return z.File[entries[name]].Open() })
		return provider.Hash(h), err
	})
}

// addHashes adds what follows from an archive's entries. h1 computes the hash
// of files by their names, whose content is that of the entries with the
// indices.
func (s *Hashed) addHashes(headers []*zip.FileHeader, h1 func(names []string, entries map[string]int) (provider.Hash, error)) error {
	files, err := unpackedFiles(headers)
	if err != nil {
		return err
	}
	dir, err := h1(slices.Collect(maps.Keys(files)), files)
	if err != nil {
		return err
	}
	// Of the zip each entry has its line, and entries of one name have the content
	// of the last. Where the files are exactly the entries both h1 are the same.
	packed, same := dir, true
	for i, f := range headers {
		at, ok := files[f.Name]
		same = same && ok && at == i
	}
	if !same {
		var names []string
		last := map[string]int{}
		for i, f := range headers {
			names = append(names, f.Name)
			last[f.Name] = i
		}
		packed, err = h1(names, last)
		if err != nil {
			return err
		}
	}
	s.Sum.H1, s.Sum.H1Zip, s.Programs = dir, packed, programs(maps.Keys(files))
	return nil
}

func programs(files iter.Seq[string]) []string {
	var names []string
	for name := range files {
		if strings.HasPrefix(name, programPrefix) && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
