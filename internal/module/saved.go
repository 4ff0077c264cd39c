package module

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
)

// packageWriter writes a package to a file of the cache: a tar archive, and its SHA-256.
type packageWriter struct {
	file *os.File
	sum  hash.Hash
	tar  *tar.Writer
	size int64
}

func newPackageWriter(f *os.File) *packageWriter {
	w := &packageWriter{file: f}
	w.begin()
	return w
}

func (w *packageWriter) begin() {
	w.sum, w.size = sha256.New(), 0
	w.tar = tar.NewWriter(io.MultiWriter(w.file, w.sum))
}

// again drops what was added, since a damaged archive is fetched again. A nil writer drops
// nothing.
func (w *packageWriter) again() error {
	if w == nil {
		return nil
	}
	_, err := w.file.Seek(0, io.SeekStart)
	w.begin()
	return errors.Join(err, w.file.Truncate(0))
}

func (w *packageWriter) close() error {
	if err := w.tar.Close(); err != nil {
		return err
	}
	_, err := w.file.Write(w.sum.Sum(nil))
	return err
}

// hashRecord is the record with a package's hash, in the global header of the archive.
const hashRecord = "RELOCK.hash"

// addTree adds the files of a tree. hash is that of its package; empty: it is not known.
func (w *packageWriter) addTree(t *filetree.Tree, hash string) error {
	var err error
	if hash != "" {
		err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{hashRecord: hash}})
	}
	return errors.Join(err, w.tar.AddFS(t))
}

// maxPackage bounds the bytes of a package, as its repository is bounded on the disk.
const maxPackage = maxDirectory

// add adds a file with a number of bytes, or a link with its target as content. With a
// negative number, the content is read to a temporary file first.
func (w *packageWriter) add(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if size < 0 {
		return w.addUnmeasured(name, mode, content)
	}
	w.size += size
	if w.size > maxPackage {
		return errDirectory
	}
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
	if mode&0o111 != 0 {
		h.Mode = 0o755
	}
	if mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, maxTarget))
		if err != nil {
			return err
		}
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(target), 0
		return w.tar.WriteHeader(h)
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, content)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (w *packageWriter) addUnmeasured(name string, mode fs.FileMode, content io.Reader) error {
	measured, err := file.NewTemporary()
	if err != nil {
		return err
	}
	defer measured.Remove()
	size, err := io.Copy(measured, content)
	if err != nil {
		return err
	}
	return w.add(name, mode, size, io.NewSectionReader(measured, 0, size))
}

func (w *packageWriter) addDir(name string) error {
	return w.tar.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755})
}

// Whole is a package with all of its files, or a directory of this machine.
type Whole struct {
	// Link is the directory, absolute; empty for a package.
	Link string
	// Members are the files, links and directories of the package, by path.
	Members []Member
	// Pointers are files that Git LFS keeps elsewhere: the commit has a pointer to each.
	Pointers []string

	archive string // the file of the cache
	hash    string // of the whole package, if it was known
}

// Member is a file, a link or a directory of a package.
type Member struct {
	Name   string
	Mode   fs.FileMode // its type, and 0o755 or 0o644 for a file
	Target string      // of a link
	Size   int64
	offset int64
}

// errDamaged is the reason why a file of the cache counts as missing.
var errDamaged = errors.New("it is damaged")

// readPackage reads a file of packageWriter. Its error is fs.ErrNotExist or errDamaged, or one
// of reading.
func readPackage(name string, ofGit bool) (*Whole, error) {
	f, err := file.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sum, end := sha256.New(), max(info.Size()-sha256.Size, 0)
	archive := io.NewSectionReader(f, 0, end)
	_, err = io.Copy(sum, archive)
	want := make([]byte, sha256.Size)
	if err == nil {
		_, err = f.ReadAt(want, end)
	}
	if err != nil || !bytes.Equal(sum.Sum(nil), want) {
		return nil, cmp.Or(err, errDamaged)
	}
	w := &Whole{archive: name}
	if err := w.index(io.NewSectionReader(f, 0, end), ofGit); err != nil {
		return nil, err
	}
	file.Touch(name)
	return w, nil
}

// lfsPointer is how a file begins that stands for another one [docs: git-lfs, spec].
const lfsPointer = "version https://git-lfs.github.com/spec/"

// index finds the members of a package. In an archive a file replaces an earlier one at the
// same path.
func (w *Whole) index(archive *io.SectionReader, ofGit bool) error {
	members := map[string]Member{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // the name is a key, and no path
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			w.hash = h.PAXRecords[hashRecord]
			continue
		}
		m := Member{Name: strings.TrimSuffix(h.Name, "/"), Mode: h.FileInfo().Mode(), Target: h.Linkname, Size: h.Size}
		m.offset, err = archive.Seek(0, io.SeekCurrent) // tar reads no more than the header
		if err != nil {
			return err
		}
		members[m.Name] = m
		if !ofGit || m.Size < int64(len(lfsPointer)) || m.Size > 1024 {
			continue
		}
		start := make([]byte, len(lfsPointer))
		if _, err := io.ReadFull(r, start); err != nil {
			return err
		}
		if string(start) == lfsPointer {
			w.Pointers = append(w.Pointers, m.Name)
		}
	}
	w.Members = slices.SortedFunc(maps.Values(members), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// Files calls see with each member, in the order of their names, and the content of files.
func (w *Whole) Files(see func(Member, io.Reader) error) error {
	f, err := file.Open(w.archive)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, m := range w.Members {
		if err := see(m, io.NewSectionReader(f, m.offset, m.Size)); err != nil {
			return err
		}
	}
	return nil
}

// Part is the package that a directory of this one is.
func (w *Whole) Part(dir string) *Whole {
	part := &Whole{archive: w.archive}
	for _, m := range w.Members {
		name, below := strings.CutPrefix(m.Name, dir+"/")
		if below {
			m.Name = name
			part.Members = append(part.Members, m)
		}
	}
	for _, name := range w.Pointers {
		if name, below := strings.CutPrefix(name, dir+"/"); below {
			part.Pointers = append(part.Pointers, name)
		}
	}
	return part
}

// tree has the files from which a configuration is read.
func (w *Whole) tree() (*filetree.Tree, error) {
	into := newFilling(archiveForm{})
	err := w.Files(func(m Member, content io.Reader) error {
		if err := into.count(); err != nil {
			return err
		}
		switch {
		case nameless(m.Name):
			return nil
		case m.Mode.IsDir():
			return into.AddDir(m.Name)
		case m.Mode&fs.ModeSymlink != 0:
			return into.AddLink(m.Name, m.Target)
		case kept(m.Name):
			return into.file(m.Name, content)
		}
		return into.AddDir(path.Dir(m.Name))
	})
	return into.Tree(), err
}
