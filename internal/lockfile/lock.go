package lockfile

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Name is the file name of a dependency lock file.
const Name = ".terraform.lock.hcl"

// MaxSize bounds a lock file, in bytes. One of hundreds of providers is far smaller.
const MaxSize = 8 << 20

// ErrTooLarge says that a lock file is above MaxSize.
var ErrTooLarge = errors.New("the lock file is larger than 8 MiB")

// Is reports whether a path is that of a lock file.
func Is(name string) bool { return path.Base(name) == Name }

// Resembles reports whether a path is that of a lock file on some system. The file systems
// of Windows and macOS treat upper and lower case alike.
func Resembles(name string) bool { return strings.EqualFold(path.Base(name), Name) }

// Lock is one entry: the selection of a provider and the hashes of its
// packages. Hashes are sorted and without duplicates, as New makes them.
type Lock struct {
	Addr        provider.Addr        `json:"provider"`
	Version     provider.Version     `json:"version"`
	Constraints provider.Constraints `json:"constraints"`
	Hashes      []provider.Hash      `json:"hashes"`

	// source is the block's text in the file; Print repeats it if kept.
	source []byte
	kept   bool
	line   int
	places hashPlaces // of the hashes in the file
}

// hashPlace is the line of a hash, its first column, and the column after its end, all
// counted from 1. Both columns are 0 if the hash spans several lines.
type hashPlace struct{ line, from, to int32 }

// hashPlaces are the first places of an entry's hashes in its file.
type hashPlaces struct {
	at    map[provider.Hash]hashPlace
	lines []provider.Hash // in the tools' own form, sorted: one hash on each line,
	first int32           // starting at this one
}

// of is the place of a hash; the zero value if the file does not have it.
func (p hashPlaces) of(h provider.Hash) hashPlace {
	i, ok := slices.BinarySearch(p.lines, h)
	if !ok {
		return p.at[h]
	}
	return hashPlace{p.first + int32(i), int32(len(hashIndent)) + 1, int32(len(hashIndent)+len(h)+len(`""`)) + 1}
}

// New makes an entry from hashes in any order. The slice remains the caller's.
func New(addr provider.Addr, version provider.Version, constraints provider.Constraints, hashes []provider.Hash) Lock {
	return Lock{Addr: addr, Version: version, Constraints: constraints, Hashes: provider.Sorted(hashes)}
}

// blockBegin is the text with which Print starts the block of an entry.
const blockBegin = `provider "`

// Kept marks the entry to be printed as in its file, byte for byte, with its comments and
// order. Later changes of its fields are not printed. The mark has no effect on an entry
// that does not come from a file.
func (l Lock) Kept() Lock {
	l.kept = true
	return l
}

// Line is the first line of the entry's block in its file, counted from 1; 0 if it does not
// come from a file.
func (l Lock) Line() int { return l.line }

// AddrColumns are the columns of the entry's address in its line, with its quotes: the
// first one, and the one after its end, counted from 1. They are 0 if the entry does not
// come from a file, or if its block does not start as Print writes it.
func (l Lock) AddrColumns() (from, to int) {
	if rest, ok := bytes.CutPrefix(l.source, []byte(blockBegin)); ok {
		if n := bytes.IndexByte(rest, '"'); n > 0 {
			return len(blockBegin), len(blockBegin) + n + 2
		}
	}
	return 0, 0
}

// HashLine is the line of a hash in the entry's file, counted from 1; 0 if the file does
// not have it.
func (l Lock) HashLine(h provider.Hash) int { return int(l.places.of(h).line) }

// HashColumns are the columns of a hash in its line: the first one, and the one after its
// end, counted from 1. They are 0 if the file does not have the hash, or if it spans
// several lines.
func (l Lock) HashColumns(h provider.Hash) (from, to int) {
	p := l.places.of(h)
	return int(p.from), int(p.to)
}

// Equal reports whether both entries have the same address, version, constraints and set of
// hashes. Their text may differ.
func (l Lock) Equal(m Lock) bool {
	return l.Addr == m.Addr && l.Version == m.Version &&
		l.Constraints.Equal(m.Constraints) && slices.Equal(l.Hashes, m.Hashes)
}

// Compare orders entries by address, as in a file.
func (l Lock) Compare(m Lock) int { return l.Addr.Compare(m.Addr) }
