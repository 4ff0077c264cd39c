package module

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/transport"
	"github.com/relock-dev/relock/internal/zipfile"
)

// The limits on archives, as those on packages.
const (
	maxArchive  = 1 << 30   // bytes of an archive, which takes this much of the temporary directory
	maxUnpacked = 512 << 20 // bytes of what is unpacked, of whatever format
	// maxBunzipped is that of bzip2, which takes ten times as long.
	maxBunzipped = 32 << 20
)

var errUnpacked = unpacksTo(maxUnpacked)

func unpacksTo(limit int64) error { return fmt.Errorf("it unpacks to more than %d MiB", limit>>20) }

// format unpacks one kind of archive.
type format func(ctx context.Context, into *filling, archive *io.SectionReader) error

// formats are the archives that are unpacked, by the extensions that announce
// them and that the query argument archive may name. Compressed single files
// are no module packages.
var formats = map[string]format{
	"zip":      unpackZip,
	"tar":      tarFormat(func(r io.Reader) (io.Reader, error) { return r, nil }),
	"tar.gz":   tarFormat(gunzip),
	"tgz":      tarFormat(gunzip),
	"tar.bz2":  tarFormat(bunzip2),
	"tar.tbz2": tarFormat(bunzip2),
	"tbz2":     tarFormat(bunzip2),
	"tar.xz":   tarFormat(unxz),
	"txz":      tarFormat(unxz),
}

func gunzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
func bunzip2(r io.Reader) (io.Reader, error) {
	return &capped{bzip2.NewReader(r), maxBunzipped, unpacksTo(maxBunzipped)}, nil
}

// unxz refuses: an xz archive may ask for a dictionary of 4 GiB in each of its
// blocks, and the libraries that read it offer no bound.
func unxz(io.Reader) (io.Reader, error) { return nil, errors.New("xz compression is not supported") }

// archiveFormat says whether an address is that of an archive, and of which
// kind: by the query argument archive, which may also be false, or by the end of
// the path. The argument is for go-getter; it is not part of the URL that is
// requested.
func archiveFormat(a moduleaddr.Package) (moduleaddr.Package, string) {
	query := a.URL.Query()
	kind := query.Get("archive")
	if kind != "" {
		query.Del("archive")
		u := *a.URL
		u.RawQuery = query.Encode()
		a.URL = &u
		if yes, err := strconv.ParseBool(kind); err == nil && !yes {
			return a, ""
		}
		if formats[kind] == nil {
			kind = ""
		}
		return a, kind
	}
	for extension := range formats {
		if strings.HasSuffix(a.URL.Path, "."+extension) && len(extension) > len(kind) {
			kind = extension
		}
	}
	return a, kind
}

// unpack reads an archive of one of the formats. Archives are read as the tools
// unpack them, which make no links: in a tar archive, the entry of a link stands
// for an empty file, and in a zip archive for one that holds its target
// [go-getter 1.7 decompress_tar.go, decompress_zip.go].
func unpack(ctx context.Context, archive *io.SectionReader, kind string) (*filetree.Tree, error) {
	into := newFilling()
	err := formats[kind](ctx, into, archive)
	if over := ended(ctx); over != nil {
		return nil, over
	}
	if err != nil {
		e := unread("the archive cannot be unpacked")
		e.Err = err
		return nil, e
	}
	if into.entries == 0 {
		return nil, unread("the archive is empty")
	}
	return into.Tree(), nil
}

// unpackCopy unpacks an archive that has to be fetched, by way of a temporary file,
// since the table of a zip archive is at its end. Without a kind, the first
// bytes tell it, as they do for OpenTofu where an archive comes from a registry
// itself [opentofu 1.12 internal/registry/package_extract.go].
//
// A bit may be flipped on the way, and a cache may keep what came so. So an archive that
// may be damaged is fetched again, past caches.
func unpackCopy(ctx context.Context, kind string, fetch func(context.Context, io.Writer) error) (*filetree.Tree, string, error) {
	t, found, err := unpackFetched(ctx, kind, fetch)
	if damaged(err) && ctx.Err() == nil {
		return unpackFetched(transport.PastCaches(ctx), kind, fetch)
	}
	return t, found, err
}

// damaged reports whether an archive may have been another one when it was sent: its
// own checksums or those that are known of it say so, or its structure is broken.
func damaged(err error) bool {
	if !problem.Coded(err, problem.CodeUnreadModule) { // no failure to unpack
		return problem.Coded(err, problem.CodeBadChecksum)
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt {
		return true
	}
	if _, corrupt := errors.AsType[bzip2.StructuralError](err); corrupt {
		return true
	}
	return slices.ContainsFunc([]error{
		zip.ErrChecksum, zip.ErrFormat, gzip.ErrChecksum, gzip.ErrHeader, tar.ErrHeader, io.ErrUnexpectedEOF,
	}, func(sign error) bool { return errors.Is(err, sign) })
}

// unpackFetched fetches an archive once and unpacks it.
func unpackFetched(ctx context.Context, kind string, fetch func(context.Context, io.Writer) error) (*filetree.Tree, string, error) {
	archive, err := file.NewTemporary()
	if err != nil {
		return nil, "", unread("making a temporary file: %v", err)
	}
	defer archive.Remove() // nothing of it is needed any more
	if err := fetch(ctx, archive); err != nil {
		return nil, "", err
	}
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, "", unread("reading an archive: %v", file.Cause(err))
	}
	if kind == "" {
		start := make([]byte, 6)
		if n, err := archive.ReadAt(start, 0); err != nil && err != io.EOF {
			return nil, "", err
		} else if n < len(start) {
			return nil, "", unread("the archive is too short to be one")
		}
		for _, magic := range []struct{ prefix, kind string }{
			{"PK", "zip"}, {"\x1f\x8b", "tar.gz"}, {"\xfd7zXZ\x00", "tar.xz"}, {"BZ", "tar.bz2"},
		} {
			if bytes.HasPrefix(start, []byte(magic.prefix)) {
				kind = magic.kind
			}
		}
		if kind == "" {
			return nil, "", unread("the archive is neither a zip nor a compressed tar archive")
		}
	}
	t, err := unpack(ctx, io.NewSectionReader(archive, 0, size), kind)
	return t, kind, err
}

func unpackZip(ctx context.Context, into *filling, archive *io.SectionReader) error {
	z, err := zipfile.Open(archive, archive.Size()) // filling.entry decides about paths
	if err != nil {
		return err
	}
	opened := slices.DeleteFunc(slices.Clone(z.File), func(f *zip.File) bool { return f.FileInfo().IsDir() || !kept(f.Name) })
	if err := zipfile.Apart(opened); err != nil {
		return err
	}
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := into.entry(f.Name, f.FileInfo().IsDir(), f.Open); err != nil {
			return err
		}
	}
	return nil
}

func tarFormat(decompress func(io.Reader) (io.Reader, error)) format {
	return func(ctx context.Context, into *filling, archive *io.SectionReader) error {
		r, err := decompress(interruptible{ctx, archive})
		if err != nil {
			return err
		}
		return readTar(r, func(h *tar.Header, content io.Reader) error {
			if h.Typeflag == tar.TypeXGlobalHeader {
				return nil
			}
			return into.entry(h.Name, h.FileInfo().IsDir(), func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
		})
	}
}

// readTar takes the entries of a tar archive, of which no more is read than may be
// unpacked. What its names mean is for take to say.
func readTar(r io.Reader, take func(h *tar.Header, content io.Reader) error) error {
	for archive := tar.NewReader(&capped{r, maxUnpacked, errUnpacked}); ; {
		header, err := archive.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return err
		}
		if err := take(header, archive); err != nil {
			return err
		}
	}
}

// interruptible fails once the context of the one call that reads has ended.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.Reader.Read(p)
}

// capped fails as soon as more than left bytes have been read.
type capped struct {
	io.Reader
	left   int64
	excess error
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.left -= int64(n)
	if c.left < 0 {
		return 0, c.excess
	}
	return n, err
}
