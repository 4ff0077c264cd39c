// Package modulelock reads lock files of modules (.modules.lock.hcl), prints them, merges
// them and compares them. They are relock's own: no tool reads them.
//
// The file has one entry for each remote package that the module tree of a root module
// calls: the package's address, its version or git's ref, and the hash of its content. It
// does not record which call uses what. Parse, Print, Read and Merge do what they do in
// package lockfile, by the same rules. Comments other than the header are lost when the
// file is written, with a warning.
//
// Other packages decide what belongs in the file, and fetch what it names.
package modulelock

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Name is the file name of a lock file of modules.
const Name = ".modules.lock.hcl"

// Is reports whether a path is that of a lock file of modules.
func Is(name string) bool { return path.Base(name) == Name }

// Resembles reports whether a path is that of a lock file of modules on some system.
func Resembles(name string) bool { return strings.EqualFold(path.Base(name), Name) }

// File is a parsed lock file of modules.
type File struct {
	// Path is the path that Parse was given.
	Path string
	// Source is the content as read. It must not be changed.
	Source []byte
	// Entries are sorted by Key.
	Entries []Entry
	// Warnings are the problems that do not make relock refuse the file.
	Warnings []problem.Problem
	// Conflict is the line of the first marker of a merge conflict; 0 if there is none.
	// Only Read returns such files.
	Conflict int
	// Disputed are the entries about which the two sides of a merge differ, the first side's
	// first. Entries has that one, too. Ask what the package is before writing one.
	Disputed map[Key][]Entry
}

// Key is the two labels of an entry's block.
type Key struct {
	// Address is that of a package, as moduleaddr.Address.Label returns it.
	Address string
	// Version is the version of a module in a registry, or git's ref. It is empty for the
	// HEAD of a git repository, and for all other packages.
	Version string
}

// Compare orders keys as in a file.
func (k Key) Compare(l Key) int {
	return cmp.Or(strings.Compare(k.Address, l.Address), strings.Compare(k.Version, l.Version))
}

// String is the key for people, without the query of the address, which may be secret.
func (k Key) String() string {
	return strings.TrimSuffix(moduleaddr.Shown(k.Address)+" "+k.Version, " ")
}

// MovedHint is the next step where the package is not what it was: how a person locks what
// it is now. The secret query of an address is an asterisk in it.
func (k Key) MovedHint() string {
	pattern := moduleaddr.Shown(k.Address)
	if strings.Contains(k.Address, "?") {
		pattern += "?*"
	}
	moved, _ := problem.MeaningOf(problem.CodeModuleMoved)
	return strings.ReplaceAll(moved.Help, "PATTERN", safe.ShellWord(pattern))
}

// Entry is one package and the hash of its content.
type Entry struct {
	Key
	// Package is the git repository that a registry names, as moduleaddr.Address.Repository
	// returns it. It is empty for all other packages.
	Package string
	// Hash is "git:COMMIT", "oci:DIGEST" of a manifest, or "h1:…" of the unpacked files.
	Hash string

	line int
}

// Line is the first line of the entry's block in its file, counted from 1; 0 if it does not
// come from a file.
func (e Entry) Line() int { return e.line }

// Equal reports whether both entries say the same, wherever they are.
func (e Entry) Equal(o Entry) bool {
	e.line = o.line
	return e == o
}

func (e Entry) compare(o Entry) int { return e.Key.Compare(o.Key) }

// Entry returns the entry of a package; false if there is none.
func (f *File) Entry(k Key) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(f.Entries, k, func(e Entry, k Key) int { return e.Key.Compare(k) })
	if !ok {
		return Entry{}, false
	}
	return f.Entries[i], true
}

// Has reports whether there is an entry of a package in any version. f may be nil.
func (f *File) Has(address string) bool {
	return f != nil && slices.ContainsFunc(f.Entries, func(e Entry) bool { return e.Address == address })
}

// Conflicted is the problem of the file's conflict markers, if it has any.
func (f *File) Conflicted() (problem.Problem, bool) {
	if f.Conflict == 0 {
		return problem.Problem{}, false
	}
	return lockfile.ConflictAt(f.Path, f.Conflict), true
}
