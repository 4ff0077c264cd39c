package modulelock

import (
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
)

const header = `# This file is maintained automatically by "relock lock" and "relock upgrade".
# Manual edits may be lost in future updates. init does not read it: run
# "relock get" before init.
`

// Print returns the content of the file: the header, then for each entry, in the order of
// both labels, an empty line and its block. Package and hash are aligned with each other.
func (f *File) Print() []byte {
	b := []byte(header)
	for _, e := range slices.SortedFunc(slices.Values(f.Entries), Entry.compare) {
		b = append(append(b, '\n'), e.block()...)
	}
	return b
}

// block is the entry's block with a newline at its end.
func (e Entry) block() string {
	b := lockfile.AppendQuoted([]byte("module "), e.Address)
	b = append(lockfile.AppendQuoted(append(b, ' '), e.Version), " {\n"...)
	name := "  hash = "
	if e.Package != "" {
		b = append(lockfile.AppendQuoted(append(b, "  package = "...), e.Package), '\n')
		name = "  hash    = "
	}
	b = append(lockfile.AppendQuoted(append(b, name...), e.Hash), "\n}\n"...)
	return string(b)
}
