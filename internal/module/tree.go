package module

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// The limits on packages, against those made to exhaust the machine. They are
// far beyond what the largest known module packages need.
const (
	maxEntries = 200_000  // files, directories and links of a package, kept or not
	maxFile    = 16 << 20 // bytes of a file that is kept; package scan reads no larger one
	maxKept    = 32 << 20 // bytes of all files that are kept
	maxFiles   = 20_000   // files that are kept, also those that another replaced
)

// keptExtensions are those of the files that configuration is read from, that of Terragrunt's
// units and stacks and of lock files included.
var keptExtensions = append(tfconfig.Extensions(), ".hcl", ".hcl.json")

// kept reports whether a file of this name is kept of a package.
func kept(name string) bool {
	return slices.ContainsFunc(keptExtensions, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// nameless reports whether nothing can lead to a path of a package, and nothing
// is lost without it: source addresses are UTF-8. A configuration file in a
// directory that does have a name is not such a path, whatever its own name is.
func nameless(name string) bool {
	return !utf8.ValidString(name) && !(kept(name) && utf8.ValidString(path.Dir(name)))
}

// filling is a package while what is kept of it is read.
type filling struct {
	filetree.Builder
	entries int
	files   int
	// unpacked counts what was read of files, also of those that another of the
	// same name replaced.
	unpacked int64
}

func newFilling() *filling {
	return &filling{Builder: filetree.Builder{Limits: filetree.Limits{Nodes: maxEntries, Bytes: maxKept}}}
}

// Reasons not to keep a package.
var (
	errTooMany     = fmt.Errorf("it has more than %d files and directories", maxEntries)
	errTooManyKept = fmt.Errorf("it has more than %d configuration files", maxFiles)
)

// count counts an entry of the package that may not be kept.
func (f *filling) count() error {
	f.entries++
	if f.entries > maxEntries {
		return errTooMany
	}
	return nil
}

// file adds a file that is read from r.
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

// entry adds an entry of an archive or of a store. The tools refuse archives that
// say "..", and put absolute paths below the package. What is not kept is not even
// opened [go-getter 1.7 decompress_tar.go, decompress_zip.go].
func (f *filling) entry(name string, isDir bool, open func() (io.ReadCloser, error)) error {
	if err := f.count(); err != nil {
		return err
	}
	elements := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	place := strings.TrimPrefix(path.Clean("/"+name), "/")
	switch {
	case slices.Contains(elements, ".."):
		return errors.New("it has an entry that leads out")
	case place == "" || nameless(place):
		return nil
	case isDir:
		return f.AddDir(place)
	case !kept(place):
		return f.AddDir(path.Dir(place))
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	return f.file(place, r)
}
