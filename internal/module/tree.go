package module

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// The limits on packages, against those that are made to exhaust the machine. They are far
// above the needs of the largest known module packages.
const (
	maxEntries = 200_000  // files, directories and links of a package, kept or not
	maxFile    = 16 << 20 // bytes of a kept file; package scan reads no larger one
	maxKept    = 32 << 20 // bytes of all kept files
	maxFiles   = 20_000   // kept files, with those that another one replaced
)

// keptExtensions are the extensions of all configuration files, also of lock files and of
// Terragrunt's units and stacks.
var keptExtensions = append(tfconfig.Extensions(), ".hcl", ".hcl.json")

// kept reports whether files of this name are kept.
func kept(name string) bool {
	return slices.ContainsFunc(keptExtensions, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// nameless reports whether a path can be left out because no source address can name it:
// source addresses are UTF-8. It is false for a configuration file with any name in a
// directory that an address can name.
func nameless(name string) bool {
	return !utf8.ValidString(name) && !(kept(name) && utf8.ValidString(path.Dir(name)))
}

// filling is a package while its files are read.
type filling struct {
	filetree.Builder
	entries int
	files   int
	// unpacked counts the bytes that were read of files, also of replaced ones.
	unpacked int64
	// sums are for the hash of all files, also of those that are not kept; nil: it is not
	// wanted.
	sums *sums
	// whole takes all files instead of the tree; nil: they are not wanted.
	whole *packageWriter
}

func newFilling(form archiveForm) *filling {
	limits := filetree.Limits{Nodes: maxEntries, Bytes: maxKept}
	return &filling{Builder: filetree.Builder{Limits: limits}, sums: newSums(form.hashed), whole: form.whole}
}

// Errors of a package that is not kept.
var (
	errTooMany     = fmt.Errorf("it has more than %d files and directories", maxEntries)
	errTooManyKept = fmt.Errorf("it has more than %d configuration files", maxFiles)
)

// count counts an entry of the package, even if it is not kept.
func (f *filling) count() error {
	f.entries++
	if f.entries > maxEntries {
		return errTooMany
	}
	return nil
}

// file adds a file with the bytes of r.
func (f *filling) file(name string, r io.Reader) error {
	f.files++
	if f.files > maxFiles {
		return errTooManyKept
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	f.unpacked += int64(len(data))
	if f.unpacked > maxUnpacked {
		return errUnpacked
	}
	if len(data) > maxFile {
		return f.AddMissing(name, 0o644, 0, fmt.Errorf("it is larger than %d MiB", maxFile>>20))
	}
	return f.AddFile(name, 0o644, data)
}

// dir adds a directory.
func (f *filling) dir(name string) error {
	if f.whole != nil {
		return f.whole.addDir(name)
	}
	return f.AddDir(name)
}

// maxTarget bounds the target of a link, as operating systems do.
const maxTarget = 4096

// blob adds a file of git. The content of a link is its target.
func (f *filling) blob(name, mode string, size int64, content io.Reader) error {
	if f.whole != nil {
		kinds := map[string]fs.FileMode{modeExec: 0o755, modeLink: fs.ModeSymlink}
		return f.whole.add(name, kinds[mode], size, content)
	}
	if mode != modeLink {
		return f.file(name, content)
	}
	target, err := io.ReadAll(io.LimitReader(content, maxTarget))
	if err != nil {
		return err
	}
	return f.AddLink(name, string(target))
}

// packed is an entry of an archive or of a store.
type packed struct {
	name string
	mode fs.FileMode
	// link is the target of a link whose content is something else.
	link string
	size int64 // -1: unknown
	open func() (io.ReadCloser, error)
}

// entry adds an entry of an archive or of a store. The tools refuse archives with ".." and
// put absolute paths below the package [go-getter 1.7 decompress_tar.go,
// decompress_zip.go]. An entry that nobody wants is not opened.
func (f *filling) entry(e packed) error {
	if err := f.count(); err != nil {
		return err
	}
	elements := strings.FieldsFunc(e.name, func(r rune) bool { return r == '/' || r == '\\' })
	place := strings.TrimPrefix(path.Clean("/"+e.name), "/")
	switch {
	case slices.Contains(elements, ".."):
		return errors.New("it has an entry that leads out")
	case place == "" || nameless(place) && (e.mode.IsDir() || f.sums == nil && f.whole == nil):
		return nil
	case e.mode.IsDir():
		return f.dir(place)
	case !f.opens(place):
		return f.AddDir(path.Dir(place))
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if f.sums == nil && f.whole == nil {
		return f.file(place, r)
	}
	return f.hashed(place, e, r)
}

// opens reports whether a file must be read.
func (f *filling) opens(name string) bool { return f.sums != nil || f.whole != nil || kept(name) }

// hashed adds an entry that is no directory, and reads it to its end for the hash.
func (f *filling) hashed(place string, e packed, r io.Reader) error {
	sum, start := sha256.New(), &beginning{left: maxTarget + 1}
	content := &capped{io.TeeReader(r, io.MultiWriter(sum, start)), maxUnpacked - f.unpacked, errUnpacked}
	var err error
	switch {
	case f.whole != nil:
		err = f.whole.add(place, e.mode.Perm(), e.size, content)
	case nameless(place):
	case kept(place):
		err = f.file(place, content)
	default:
		err = f.AddDir(path.Dir(place))
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	f.unpacked = maxUnpacked - content.left // file has counted only what it keeps
	if f.sums == nil {
		return nil
	}
	if e.mode&fs.ModeSymlink != 0 {
		return f.sums.addLink(place, cmp.Or(e.link, start.kept.String()))
	}
	return f.sums.add(place, hash.File{Name: place, Sum: [sha256.Size]byte(sum.Sum(nil))})
}
