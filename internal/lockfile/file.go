// Package lockfile reads dependency lock files (.terraform.lock.hcl) and
// prints them as Terraform and OpenTofu do, byte for byte [terraform 1.11 internal/depsfile/locks_file.go].
//
// A lock file is a set of locks, one for each provider. Parse accepts and
// refuses what the tools accept and refuse, and says where. Print has one form,
// the canonical one: what it prints, Parse reads as the same locks, and Print
// then gives the same bytes again. The exception is an entry marked Kept, which
// prints as it was in its file [terraform 1.11 internal/depsfile/locks_file.go].
//
// Where git has left the markers of a merge conflict, Read unites both sides; and
// Merge makes one file of two and of what they come from, as git's merge driver
// must. What neither can decide is Disputed.
//
// The package knows no requirements and no registry: which version and which
// hashes belong into a lock is decided elsewhere.
package lockfile

import (
	"bytes"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// File is a lock file as it was read.
type File struct {
	// Path is the path that was given to Parse.
	Path string `json:"path"`
	// Source is the content as read. It must not be changed.
	Source []byte `json:"-"`
	// Tool is the tool that the header comment names; empty if there is none.
	Tool provider.ToolName `json:"-"`
	// Keeper is the command that the header comment names, if it is one that keeps
	// the lock files of stacks; empty for any other.
	Keeper string `json:"-"`
	// Locks are the entries, sorted by address.
	Locks []Lock `json:"providers"`
	// Warnings are the problems for which the tools do not refuse the file
	// [terraform 1.11 internal/depsfile/locks_file.go].
	Warnings []problem.Problem `json:"-"`
	// Conflict is the line of the first marker of a merge conflict; 0 if there is
	// none. Only Read returns files that have any.
	Conflict int `json:"-"`
	// Disputed are the entries about which the two sides of a merge differ: for
	// each version that a side has one, the preferred one first, which also stands
	// in Locks. None is proven to be of one piece: anyone who writes it must ask for
	// its packages.
	Disputed map[provider.Addr][]Lock `json:"-"`
}

// Lock returns the entry of a provider, and whether there is one.
func (f *File) Lock(addr provider.Addr) (Lock, bool) {
	i, ok := slices.BinarySearchFunc(f.Locks, addr, func(l Lock, a provider.Addr) int {
		return l.Addr.Compare(a)
	})
	if !ok {
		return Lock{}, false
	}
	return f.Locks[i], true
}

// Canonical reports whether the tool that the header names would write the
// same bytes for the same locks. A file without a header is not canonical.
func (f *File) Canonical() bool {
	return bytes.Equal(f.Print(), f.Source)
}

// Conflicted tells of the markers of a merge conflict in the file, if it has any.
func (f *File) Conflicted() (problem.Problem, bool) {
	if f.Conflict == 0 {
		return problem.Problem{}, false
	}
	return conflictAt(f.Path, f.Conflict), true
}

// entry is the entry of a provider; nil if there is none.
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

// text is the entry of a provider in normal form; empty if there is none.
func (f *File) text(addr provider.Addr) string {
	l, ok := f.Lock(addr)
	if !ok {
		return ""
	}
	return l.block() + "\n"
}
