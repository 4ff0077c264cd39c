// Package lockfile reads dependency lock files (.terraform.lock.hcl) and prints them as
// Terraform and OpenTofu do, byte for byte [terraform 1.11
// internal/depsfile/locks_file.go].
//
// A lock file is a set of locks, one for each provider. Parse accepts and refuses the same
// files as the tools, and its errors have places. Print has one canonical form. Parse reads
// that form as the same locks, and Print gives the same bytes again. The exception is an
// entry marked Kept: it prints as in its file [terraform 1.11
// internal/depsfile/locks_file.go].
//
// Read unites the two sides of a merge that git has left between conflict markers. Merge
// makes one file of two and their common base, for git's merge driver. Entries that neither
// can decide are in File.Disputed.
//
// The package knows neither requirements nor registries. Other packages decide which
// version and which hashes belong in a lock.
package lockfile

import (
	"bytes"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// File is a parsed lock file.
type File struct {
	// Path is the path that Parse was given.
	Path string `json:"path"`
	// Source is the content as read. It must not be changed.
	Source []byte `json:"-"`
	// Tool is the tool that the header comment names; empty if there is none.
	Tool provider.ToolName `json:"-"`
	// Keeper is the command that the header comment names, if it keeps the lock files of
	// stacks. Otherwise it is empty.
	Keeper string `json:"-"`
	// Locks are the entries, sorted by address.
	Locks []Lock `json:"providers"`
	// Warnings are the problems that do not make the tools refuse the file [terraform 1.11
	// internal/depsfile/locks_file.go].
	Warnings []problem.Problem `json:"-"`
	// Conflict is the line of the first marker of a merge conflict; 0 if there is none.
	// Only Read returns such files.
	Conflict int `json:"-"`
	// Disputed are the entries about which the two sides of a merge differ. Each has one
	// entry for every version on a side. The first is the preferred one, and Locks has it,
	// too. git may have mixed the lines of both sides, so no such entry is proven. Ask for
	// its packages before writing one.
	Disputed map[provider.Addr][]Lock `json:"-"`
}

// Lock returns the entry of a provider; false if there is none.
func (f *File) Lock(addr provider.Addr) (Lock, bool) {
	i, ok := slices.BinarySearchFunc(f.Locks, addr, func(l Lock, a provider.Addr) int {
		return l.Addr.Compare(a)
	})
	if !ok {
		return Lock{}, false
	}
	return f.Locks[i], true
}

// Canonical reports whether the tool in the header would write the same bytes for these
// locks. A file without a header is not canonical.
func (f *File) Canonical() bool {
	return bytes.Equal(f.Print(), f.Source)
}

// Conflicted is the problem of the file's conflict markers, if it has any.
func (f *File) Conflicted() (problem.Problem, bool) {
	if f.Conflict == 0 {
		return problem.Problem{}, false
	}
	return ConflictAt(f.Path, f.Conflict), true
}

// entry is the entry of a provider, or nil.
func (f *File) entry(addr provider.Addr) *Lock {
	if f == nil {
		return nil
	}
	l, ok := f.Lock(addr)
	if !ok {
		return nil
	}
	return &l
}

// text is the entry of a provider in normal form, or empty.
func (f *File) text(addr provider.Addr) string {
	l, ok := f.Lock(addr)
	if !ok {
		return ""
	}
	return l.block() + "\n"
}
