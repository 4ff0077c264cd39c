package lockfile

import (
	"bytes"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Name is the file name of a dependency lock file.
const Name = ".terraform.lock.hcl"

// Is reports whether a path is that of a lock file.
func Is(name string) bool { return path.Base(name) == Name }

// Lock is one entry: the selection of a provider and the hashes of its
// packages. Hashes are sorted and without duplicates, as New makes them.
type Lock struct {
	Addr        provider.Addr        `json:"provider"`
	Version     provider.Version     `json:"version"`
	Constraints provider.Constraints `json:"constraints"`
	Hashes      []provider.Hash      `json:"hashes"`

	// source is the block as it is in the file; Print repeats it if kept.
	source []byte
	kept   bool
	line   int
	places hashPlaces // of the hashes as they were read
}

// hashPlace is a line, and the columns in which a hash begins there and behind which it
// ends, all counted from 1. Both columns are 0 if it is written over several lines.
type hashPlace struct{ line, from, to int32 }

// hashPlaces are where the hashes of an entry stand first.
type hashPlaces struct {
	at    map[provider.Hash]hashPlace
	lines []provider.Hash // in the tools' own form, sorted: each has a line to itself,
	first int32           // from this one on
}

// of is the zero value for a hash that is not there.
func (p hashPlaces) of(h provider.Hash) hashPlace {
	i, ok := slices.BinarySearch(p.lines, h)
	if !ok {
		return p.at[h]
	}
	return hashPlace{p.first + int32(i), int32(len(hashIndent)) + 1, int32(len(hashIndent)+len(h)+len(`""`)) + 1}
}

// New makes an entry of hashes in any order. The slice remains the caller's.
func New(addr provider.Addr, version provider.Version, constraints provider.Constraints, hashes []provider.Hash) Lock {
	return Lock{Addr: addr, Version: version, Constraints: constraints, Hashes: provider.Sorted(hashes)}
}

// blockBegin is how Print begins the block of an entry.
const blockBegin = `provider "`

// Kept returns the entry marked to be printed as the bytes of its block in the
// file that it was read from, comments and order included. It has no effect on
// an entry that was not read from a file, and fields that are changed
// afterwards are not printed.
func (l Lock) Kept() Lock {
	l.kept = true
	return l
}

// Line is where the entry's block begins in its file, counted from 1; 0 if it
// was not read from a file.
func (l Lock) Line() int { return l.line }

// AddrColumns are the columns in which the address of the entry begins in its line, with its
// quotes, and behind which it ends, counted from 1; 0 if the entry was not read from a file, or
// its block does not begin as Print has it.
func (l Lock) AddrColumns() (from, to int) {
	if rest, ok := bytes.CutPrefix(l.source, []byte(blockBegin)); ok {
		if n := bytes.IndexByte(rest, '"'); n > 0 {
			return len(blockBegin), len(blockBegin) + n + 2
		}
	}
	return 0, 0
}

// HashLine is the line of a hash of the entry in its file, counted from 1; 0
// if it is not there.
func (l Lock) HashLine(h provider.Hash) int { return int(l.places.of(h).line) }

// HashColumns are the columns in which a hash of the entry begins in its line, and
// behind which it ends, counted from 1; 0 if it is not there or is written
// over several lines.
func (l Lock) HashColumns(h provider.Hash) (from, to int) {
	p := l.places.of(h)
	return int(p.from), int(p.to)
}

// Equal reports whether both entries record the same facts: address, version,
// constraints and set of hashes. How they are written plays no part.
func (l Lock) Equal(m Lock) bool {
	return l.Addr == m.Addr && l.Version == m.Version &&
		l.Constraints.Equal(m.Constraints) && slices.Equal(l.Hashes, m.Hashes)
}

// Compare orders entries by address, as in a file.
func (l Lock) Compare(m Lock) int { return l.Addr.Compare(m.Addr) }
