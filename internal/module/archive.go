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

// The limits on archives. Those on packages are in tree.go.
const (
	maxArchive  = 1 << 30   // bytes of an archive; the temporary directory needs as many
	maxUnpacked = 512 << 20 // bytes of the unpacked files, for any format
	// maxBunzipped is maxUnpacked for bzip2, which takes ten times as long.
	maxBunzipped = 32 << 20
)

var errUnpacked = unpacksTo(maxUnpacked)

func unpacksTo(limit int64) error { return fmt.Errorf("it unpacks to more than %d MiB", limit>>20) }

// format unpacks one kind of archive.
type format func(ctx context.Context, into *filling, archive *io.SectionReader) error

// formats are the archives that are unpacked, by the extensions that show them. The query
// argument archive may name one, too. A single compressed file is no module package.
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

// unxz refuses: an xz archive may ask for a dictionary of 4 GiB in each block, and the
// libraries for it have no bound.
func unxz(io.Reader) (io.Reader, error) { return nil, errors.New("xz compression is not supported") }

// archiveFormat returns the kind of an address's archive, or "" if it is none. The query
// argument archive decides, which may be false, or else the end of the path. The argument
// is for go-getter, so it is removed from the requested URL.
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

// archiveForm is what is known of an archive before it is fetched.
type archiveForm struct {
	kind   string // one of formats; "": the first bytes decide
	hashed bool   // its h1 is wanted
	// whole takes all files, and then no other is kept; nil: files of configurations are kept.
	whole *packageWriter
}

// unpacked is what was in an archive.
type unpacked struct {
	tree *filetree.Tree
	kind string
	h1   string // of all files; "" if it was not wanted
}

// unpack reads an archive of one of the formats. The tools make no links in unpacking, and
// neither does relock: in a tar archive the entry of a link is an empty file, and in a zip
// archive a file with the target [go-getter 1.7 decompress_tar.go, decompress_zip.go].
func unpack(ctx context.Context, archive *io.SectionReader, form archiveForm) (unpacked, error) {
	into := newFilling(form)
	if err := form.whole.again(); err != nil {
		return unpacked{}, unread("keeping the module package: %v", file.Cause(err))
	}
	err := formats[form.kind](ctx, into, archive)
	if over := ended(ctx); over != nil {
		return unpacked{}, over
	}
	if err != nil {
		e := unread("the archive cannot be unpacked")
		e.Err = err
		return unpacked{}, e
	}
	if into.entries == 0 {
		return unpacked{}, unread("the archive is empty")
	}
	return unpacked{into.Tree(), form.kind, into.sums.h1()}, nil
}

// unpackCopy fetches an archive and unpacks it. It uses a temporary file, since the table
// of a zip archive is at its end. Without a kind, the first bytes decide, as they do for
// OpenTofu if a registry itself serves the archive [opentofu 1.12
// internal/registry/package_extract.go].
//
// A bit may flip on the way, and a cache may keep the fault. So a damaged archive is
// fetched again, past caches.
func unpackCopy(ctx context.Context, form archiveForm, fetch func(context.Context, io.Writer) error) (unpacked, error) {
	got, err := unpackFetched(ctx, form, fetch)
	if damaged(err) && ctx.Err() == nil {
		return unpackFetched(transport.PastCaches(ctx), form, fetch)
	}
	return got, err
}

// damaged reports whether an archive may have been damaged on the way: its checksums do not
// fit, or its structure is broken.
func damaged(err error) bool {
	if !problem.Coded(err, problem.CodeUnreadModule) { // the error has another cause than unpacking
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
func unpackFetched(ctx context.Context, form archiveForm, fetch func(context.Context, io.Writer) error) (unpacked, error) {
	archive, err := file.NewTemporary()
	if err != nil {
		return unpacked{}, unread("making a temporary file: %v", err)
	}
	defer archive.Remove() // the file is no longer needed
	if err := fetch(ctx, archive); err != nil {
		return unpacked{}, err
	}
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return unpacked{}, unread("reading an archive: %v", file.Cause(err))
	}
	if form.kind == "" {
		start := make([]byte, 6)
		if _, err := archive.ReadAt(start, 0); err != nil && err != io.EOF {
			return unpacked{}, unread("reading an archive: %v", file.Cause(err))
		}
		for _, magic := range []struct{ prefix, kind string }{
			{"PK", "zip"}, {"\x1f\x8b", "tar.gz"}, {"\xfd7zXZ\x00", "tar.xz"}, {"BZ", "tar.bz2"},
		} {
			if bytes.HasPrefix(start, []byte(magic.prefix)) {
				form.kind = magic.kind
			}
		}
		if form.kind == "" {
			return unpacked{}, unread("the archive is neither a zip nor a compressed tar archive")
		}
	}
	return unpack(ctx, io.NewSectionReader(archive, 0, size), form)
}

func unpackZip(ctx context.Context, into *filling, archive *io.SectionReader) error {
	z, err := zipfile.Open(archive, archive.Size()) // filling.entry checks paths
	if err != nil {
		return err
	}
	opened := slices.DeleteFunc(slices.Clone(z.File), func(f *zip.File) bool { return f.FileInfo().IsDir() || !into.opens(f.Name) })
	if err := zipfile.Apart(opened); err != nil {
		return err
	}
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := into.entry(packed{name: f.Name, mode: f.Mode(), size: int64(f.UncompressedSize64), open: f.Open}); err != nil {
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
			return into.entry(packed{h.Name, h.FileInfo().Mode(), h.Linkname, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(content), nil }})
		})
	}
}

// readTar passes the entries of a tar archive to take, and reads no more than may be
// unpacked. take decides what the names mean.
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

// interruptible fails after the context of its one reading call has ended.
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

// capped fails as soon as more than left bytes were read.
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
