package module

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
)

// stock keeps whole packages in a directory, one file for each hash of a lock file of modules:
// a tar archive of all files, and its SHA-256. A damaged file counts as missing. The packages
// are proven when they are put there, so anyone who can write to the directory decides what
// they have.
type stock struct {
	dir    string // "": packages are not kept whole
	pruned sync.Once
}

// stockSize bounds the stock. Packages that no run has used for longest are removed first.
const stockSize = 2 << 30

func (s *stock) file(key, extension string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+"."+extension)
}

func isStocked(name string) bool {
	sum, ext, _ := strings.Cut(name, ".")
	decoded, err := hex.DecodeString(sum)
	return (ext == "tar" || ext == "place") && err == nil && len(decoded) == sha256.Size
}

// maxPlace bounds a file with a place.
const maxPlace = 64 << 10

// place is the place that was noted for a call.
func (s *stock) place(key string) (p place, ok bool) {
	src, err := file.ReadAtMost(s.file("place\n"+key, "place"), maxPlace)
	return p, err == nil && json.Unmarshal(src, &p) == nil
}

// setPlace notes a place. A failure costs a later run its questions.
func (s *stock) setPlace(key string, p place) {
	src, err := json.Marshal(p)
	if err == nil {
		_ = file.Replace(s.file("place\n"+key, "place"), src, file.Options{Parents: 0o755})
	}
}

// put puts a package into the stock. fill adds its files, and proves them.
func (s *stock) put(hash string, fill func(*stocking) error) error {
	err := file.Fill(s.file(hash, "tar"), func(f *os.File) error {
		into := &stocking{file: f}
		into.begin()
		if err := fill(into); err != nil {
			return err
		}
		return into.end()
	})
	if _, told := errors.AsType[*problem.Error](err); err != nil && !told {
		return unread("keeping the module package: %v", file.Cause(err))
	}
	s.pruned.Do(func() { file.Prune(s.dir, isStocked, keptFor, stockSize) })
	return err
}

// stocking is a package while it is put into the stock.
type stocking struct {
	file *os.File
	sum  hashWriter
	tar  *tar.Writer
	size int64
}

type hashWriter interface {
	io.Writer
	Sum(b []byte) []byte
}

func (s *stocking) begin() {
	s.sum, s.size = sha256.New(), 0
	s.tar = tar.NewWriter(io.MultiWriter(s.file, s.sum))
}

// again drops what was added, since a damaged archive is fetched again. A nil stocking drops
// nothing.
func (s *stocking) again() error {
	if s == nil {
		return nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	s.begin()
	return errors.Join(err, s.file.Truncate(0))
}

func (s *stocking) end() error {
	if err := s.tar.Close(); err != nil {
		return err
	}
	_, err := s.file.Write(s.sum.Sum(nil))
	return err
}

// maxStocked bounds the bytes of a package, as its repository is bounded on the disk.
const maxStocked = maxDirectory

// add adds a file with a number of bytes, or a link with its target as content. With a
// negative number, the content is read to a temporary file first.
func (s *stocking) add(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if size < 0 {
		return s.addUnmeasured(name, mode, content)
	}
	s.size += size
	if s.size > maxStocked {
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
		return s.tar.WriteHeader(h)
	}
	if err := s.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(s.tar, content)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (s *stocking) addUnmeasured(name string, mode fs.FileMode, content io.Reader) error {
	measured, err := file.NewTemporary()
	if err != nil {
		return err
	}
	defer measured.Remove()
	size, err := io.Copy(measured, content)
	if err != nil {
		return err
	}
	return s.add(name, mode, size, io.NewSectionReader(measured, 0, size))
}

func (s *stocking) addDir(name string) error {
	return s.tar.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755})
}

// Whole is a package with all of its files, or a directory of this machine.
type Whole struct {
	// Link is the directory, absolute; empty for a package.
	Link string
	// Members are the files, links and directories of the package, by path.
	Members []Member
	// Pointers are files that Git LFS keeps elsewhere: the commit has a pointer to each.
	Pointers []string

	archive string // the file of the stock
}

// Member is a file, a link or a directory of a package.
type Member struct {
	Name   string
	Mode   fs.FileMode // its type, and 0o755 or 0o644 for a file
	Target string      // of a link
	Size   int64
	offset int64
}

// errDamaged is the reason why a file of the stock counts as missing.
var errDamaged = errors.New("it is damaged")

// get is the package with a hash. Its error is fs.ErrNotExist or errDamaged, or one of reading.
func (s *stock) get(hash string) (*Whole, error) {
	f, err := file.Open(s.file(hash, "tar"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sum, end := sha256.New(), info.Size()-sha256.Size
	counted := &counter{Reader: io.TeeReader(bufio.NewReaderSize(io.NewSectionReader(f, 0, max(end, 0)), 1<<20), sum)}
	w := &Whole{archive: f.Name()}
	members := map[string]Member{}
	err = indexStocked(counted, strings.HasPrefix(hash, gitHash), w, members)
	if err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	want := make([]byte, sha256.Size)
	if err == nil {
		_, err = f.ReadAt(want, max(end, 0))
	}
	if err != nil || !bytes.Equal(sum.Sum(nil), want) {
		return nil, cmp.Or(err, errDamaged)
	}
	for _, m := range members {
		w.Members = append(w.Members, m)
	}
	slices.SortFunc(w.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	file.Touch(f.Name())
	return w, nil
}

// counter counts what is read.
type counter struct {
	io.Reader
	read int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// lfsPointer is how a file begins that stands for another one [docs: git-lfs, spec].
const lfsPointer = "version https://git-lfs.github.com/spec/"

// indexStocked finds the members of a package. In an archive a file replaces an earlier one at
// the same path.
func indexStocked(counted *counter, ofGit bool, w *Whole, members map[string]Member) error {
	for r := tar.NewReader(counted); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // the name is a key, and no path
			return err
		}
		m := Member{Name: strings.TrimSuffix(h.Name, "/"), Mode: h.FileInfo().Mode(), Target: h.Linkname, Size: h.Size, offset: counted.read}
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
	into := newFilling()
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
