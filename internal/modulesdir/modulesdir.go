// Package modulesdir makes the directory in which init looks for modules, .terraform/modules:
// a package for each call, and modules.json, the tools' list of them. What init finds there it
// does not fetch. A package that several calls have is there several times, since path.module
// is a part of plans.
//
// The directory is made beside the old one, and then takes its place whole. Which packages are
// called, and what is in them, is for packages scan and module to say.
package modulesdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/scan"
)

// Dir is what init needs below a root module.
type Dir struct {
	// Root is the directory of the root module, absolute.
	Root string
	// Data is the value of TF_DATA_DIR; empty: the tools' own directory.
	Data string
	// Modules are the records of init.
	Modules []Module
}

// Module is a record of init, with the package that it puts there.
type Module struct {
	scan.Installed
	// Whole is nil for a module in the package of another one, or of the root module.
	Whole *module.Whole
}

// The tools' names [terraform 1.11 internal/command/workdir/dir.go].
const (
	dataDir  = ".terraform"
	modules  = "modules"
	manifest = "modules.json"
)

// data is the tools' directory as they name it, relative to the root module or absolute.
func (d Dir) data() string {
	if d.Data == "" {
		return dataDir
	}
	return filepath.Clean(d.Data)
}

// path is the directory of the modules.
func (d Dir) path() string { return filepath.Join(file.Absolute(d.Root, d.data()), modules) }

// records are those of all modules, by key.
func (d Dir) records() []scan.Record {
	all := []scan.Record{{Dir: "."}}
	for _, m := range d.Modules {
		r := m.Record
		if below, ok := strings.CutPrefix(m.Dir, dataDir+"/"+modules+"/"); ok {
			r.Dir = path.Join(filepath.ToSlash(d.data()), modules, below)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b scan.Record) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// manifest is modules.json as the tools write it.
func (d Dir) manifest() ([]byte, error) {
	return json.Marshal(struct{ Modules []scan.Record }{d.records()})
}

// errAway is why nothing is written through a link.
var errAway = errors.New("it is a link, and might lead anywhere")

// free returns an error if something is where the directory must be that relock would not
// replace.
func (d Dir) free() error {
	for _, name := range []string{filepath.Dir(d.path()), d.path()} {
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			err = errAway
		case !info.IsDir():
			err = errors.New("it is no directory")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, file.Cause(err))
		}
	}
	return nil
}

// Current reports whether everything is there as Write would write it.
func (d Dir) Current() bool {
	want, err := d.manifest()
	if err != nil || d.free() != nil {
		return false
	}
	src, err := file.ReadAtMost(filepath.Join(d.path(), manifest), int64(len(want))+1)
	return err == nil && bytes.Equal(src, want) && len(d.Differences()) == 0
}

// maxManifest bounds modules.json.
const maxManifest = 64 << 20

// Differences says what is not as it is locked: records, and files that are changed, missing or
// additional. Records without a call do not count.
func (d Dir) Differences() []string {
	if err := d.free(); err != nil {
		return []string{err.Error()}
	}
	src, err := file.ReadAtMost(filepath.Join(d.path(), manifest), maxManifest)
	var there struct{ Modules []scan.Record }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []string{"there is no " + manifest}
	case err == nil:
		err = json.Unmarshal(src, &there)
	}
	if err != nil {
		return []string{manifest + " cannot be read: " + file.Cause(err).Error()}
	}
	known := map[string]scan.Record{}
	var differ []string
	for _, r := range there.Modules {
		if _, again := known[r.Key]; again {
			differ = append(differ, r.Key+" is in "+manifest+" twice")
		}
		known[r.Key] = r
	}
	for _, want := range d.records() {
		got, ok := known[want.Key]
		got.Dir = filepath.ToSlash(got.Dir)
		switch {
		case want.Key == "": // the tools take the root module from where they run
		case !ok:
			differ = append(differ, want.Key+" is not in "+manifest)
		case got != want:
			differ = append(differ, want.Key+" is recorded as "+words(got)+", and locked as "+words(want))
		}
	}
	for _, m := range d.Modules {
		if m.Whole != nil {
			differ = append(differ, d.compare(m)...)
		}
	}
	return differ
}

// words are a record in a sentence.
func words(r scan.Record) string { return strings.TrimSpace(r.Source+" "+r.Version) + " in " + r.Dir }

// gitDir is what init leaves in a package, and relock does not.
const gitDir = ".git"

// omitted reports whether a name of a package is not written.
func omitted(name string) bool { return slices.Contains(strings.Split(name, "/"), gitDir) }

// compare compares a package with what is there.
func (d Dir) compare(m Module) []string {
	name := filepath.Join(d.path(), m.Key)
	if m.Whole.Link != "" {
		if target, err := os.Readlink(name); err != nil || target != m.Whole.Link {
			return []string{m.Key + " is no link to " + m.Whole.Link}
		}
		return nil
	}
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() {
		return []string{m.Key + " is not there"}
	}
	top, err := os.OpenRoot(name)
	if err != nil {
		return []string{m.Key + " cannot be read: " + file.Cause(err).Error()}
	}
	defer top.Close()
	var differ []string
	var same comparison
	known := map[string]fs.FileMode{".": fs.ModeDir}
	err = m.Whole.Files(func(f module.Member, content io.Reader) error {
		if omitted(f.Name) {
			return nil
		}
		known[f.Name] = f.Mode.Type()
		for at := path.Dir(f.Name); at != "."; at = path.Dir(at) {
			known[at] = fs.ModeDir
		}
		if why := same.file(top, f, content); why != "" {
			differ = append(differ, m.Key+"/"+f.Name+" "+why)
		}
		return nil
	})
	if err == nil {
		err = fs.WalkDir(top.FS(), ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			mode, ok := known[name]
			switch {
			case e.Name() == gitDir:
			case !ok:
				differ = append(differ, m.Key+"/"+name+" is not in the locked package")
			case mode != e.Type():
				differ = append(differ, m.Key+"/"+name+" is of another type")
			default:
				return nil
			}
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	if err != nil {
		differ = append(differ, m.Key+" cannot be read: "+file.Cause(err).Error())
	}
	return differ
}

// comparison compares the files of a package, one after the other.
type comparison struct{ left, right [64 << 10]byte }

// file says what is wrong with a file of a package; empty: nothing.
func (c *comparison) file(top *os.Root, want module.Member, content io.Reader) string {
	name := filepath.FromSlash(want.Name)
	info, err := top.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return "cannot be read: " + file.Cause(err).Error()
	case info.Mode().Type() != want.Mode.Type() || want.Mode.IsDir():
		return "" // who lists the directory sees that
	case want.Mode&fs.ModeSymlink != 0:
		if target, err := top.Readlink(name); err != nil || filepath.ToSlash(target) != want.Target {
			return "leads elsewhere"
		}
		return ""
	case (info.Mode()&0o111 != 0) != (want.Mode&0o111 != 0) && hasModes:
		return "has another x bit"
	case info.Size() != want.Size:
		return "has changed"
	}
	f, err := top.Open(name)
	if err != nil {
		return "cannot be read: " + file.Cause(err).Error()
	}
	defer f.Close()
	if same, err := c.same(f, content); err != nil || !same {
		return "has changed"
	}
	return ""
}

// hasModes reports whether the system's files have an x bit.
const hasModes = filepath.Separator == '/'

// same reports whether two readers have the same bytes.
func (c *comparison) same(a, b io.Reader) (bool, error) {
	for {
		n, err := io.ReadFull(a, c.left[:])
		m, other := io.ReadFull(b, c.right[:])
		if !bytes.Equal(c.left[:n], c.right[:m]) {
			return false, nil
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return other == err, nil
		}
		if err != nil {
			return false, err
		}
	}
}
