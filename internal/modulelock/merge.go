package modulelock

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
)

// format reads and merges as lock files of providers are read and merged.
var format = lockfile.Format[File]{Parse: Parse, Unite: unite}

// Read is Parse that also reads a file with git's markers of a merge conflict, as
// lockfile.Read does.
func Read(src []byte, path string, stored func() []byte) (*File, []problem.Problem) {
	f, line, errors := format.Read(src, path, stored)
	if line > 0 {
		f.Path, f.Source, f.Conflict = path, src, line
	}
	return f, errors
}

// Merge makes one file of two and their common base, as lockfile.Merge does. If an entry is
// disputed, the content has it between conflict markers.
func Merge(base, ours, theirs []byte, path string) (content []byte, disputed bool, errors []problem.Problem) {
	origin, first, second, errors := format.Merge(base, ours, theirs, path)
	if len(errors) > 0 {
		return nil, false, errors
	}
	united := unite(origin, first, second)
	content = []byte(header)
	for _, e := range united.Entries {
		block := e.block()
		if united.Disputed[e.Key] != nil {
			block = lockfile.Conflict(text(first, e.Key), text(origin, e.Key), text(second, e.Key), origin != nil)
		}
		content = append(append(content, '\n'), block...)
	}
	return content, len(united.Disputed) > 0, nil
}

// unite makes one file of the two sides of a merge, by the rules of lockfile.Versions.
// Entries that differ otherwise are disputed.
func unite(base, ours, theirs *File) *File {
	united := &File{Warnings: ours.Warnings, Disputed: map[Key][]Entry{}}
	if len(united.Warnings) == 0 {
		united.Warnings = theirs.Warnings
	}
	keys := collect.Mapped(slices.Concat(ours.Entries, theirs.Entries), func(e Entry) Key { return e.Key })
	slices.SortFunc(keys, Key.Compare)
	for _, k := range slices.Compact(keys) {
		v := lockfile.Versions[Entry]{Ours: entry(ours, k), Theirs: entry(theirs, k), Base: entry(base, k), Based: base != nil}
		agreed, ok := v.Agreed(same)
		if !ok {
			united.Disputed[k] = []Entry{*v.Ours, *v.Theirs}
			agreed = v.Ours
		}
		if agreed != nil {
			united.Entries = append(united.Entries, *agreed)
		}
	}
	return united
}

func same(a, b *Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// entry is the entry of a package, or nil.
func entry(f *File, k Key) *Entry {
	if f == nil {
		return nil
	}
	e, ok := f.Entry(k)
	if !ok {
		return nil
	}
	return &e
}

// text is the block of a package, or empty.
func text(f *File, k Key) string {
	e := entry(f, k)
	if e == nil {
		return ""
	}
	return e.block()
}
