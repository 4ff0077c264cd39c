package lockfile

import (
	"fmt"
	"strings"
	"unique"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// maxQuick bounds the bytes of a file that quick reads. HCL's limits count pieces, and a
// file of this size cannot exceed them.
const maxQuick = 256 << 10

// quick reads a lock file that has the one form in which the tools write it [terraform 1.11
// internal/depsfile/locks_file.go]. Nearly all files have it, and quick takes a twentieth
// of the time of HCL. It reads only printable ASCII without escapes and templates, where
// every literal means itself.
//
// It checks itself: everything in the file must be in canonical form, and entries and
// hashes must ascend strictly. The result must print as the same bytes, and Parse reads
// these as the same entries. For any other file it returns false, and HCL decides. All
// errors and warnings are HCL's.
func quick(src []byte, path string) (*File, bool) {
	if len(src) > maxQuick {
		return nil, false
	}
	q := quickReader{src: src, text: string(src)}
	f := &File{Path: path, Source: src}
	f.Tool, f.Keeper = headerTool(src)
	if !q.skip(header(f.Tool, f.Keeper)) {
		return nil, false
	}
	for q.skip("\n") {
		l, ok := q.entry(f.Tool)
		if last := len(f.Locks) - 1; !ok || last >= 0 && f.Locks[last].Compare(l) >= 0 {
			return nil, false
		}
		f.Locks = append(f.Locks, l)
	}
	return f, q.at == len(src) && f.Canonical()
}

// quickReader is the state of quick: the unread rest of the file.
type quickReader struct {
	src  []byte
	text string // src
	at   int
	line int // number of lines that end before at
}

// skip removes a text from the beginning of the rest, if it is there.
func (q *quickReader) skip(text string) bool {
	if !strings.HasPrefix(q.text[q.at:], text) {
		return false
	}
	q.at += len(text)
	q.line += strings.Count(text, "\n")
	return true
}

// literal removes the text between two quotation marks from the rest, together with before
// and after. The lock files of a repository have the same texts again and again. Each text
// is in memory once, without the file around it.
func (q *quickReader) literal(before, after string) (string, bool) {
	if !q.skip(before) {
		return "", false
	}
	s, _, _ := strings.Cut(q.text[q.at:], `"`)
	q.at += len(s)
	ok := len(s)+len(`""`) <= staticeval.MaxConstant && plainASCII(s) && q.skip(after)
	return unique.Make(s).Value(), ok
}

// entry reads a block and the newline after it.
func (q *quickReader) entry(tool provider.ToolName) (Lock, bool) {
	start, l := q.at, Lock{line: q.line + 1}
	label, ok := q.literal(`provider "`, "\" {\n")
	if !ok {
		return l, false
	}
	addr, ok := canonical(label, func(s string) (provider.Addr, error) { return provider.ParseAddr(s, tool) })
	l.Addr = addr
	if !ok || !addr.Lockable() {
		return l, false
	}
	if !q.selection(&l) || !q.hashes(&l) || !q.skip("}\n") {
		return l, false
	}
	l.source = q.src[start : q.at-len("\n")]
	return l, true
}

// selection reads version and constraints. If both are there, they are aligned.
func (q *quickReader) selection(l *Lock) (ok bool) {
	if text, alone := q.literal(`  version = "`, "\"\n"); alone {
		l.Version, ok = canonical(text, provider.ParseVersion)
		return ok
	}
	version, one := q.literal(`  version     = "`, "\"\n")
	constraints, both := q.literal(`  constraints = "`, "\"\n")
	if !one || !both {
		return false
	}
	l.Version, ok = canonical(version, provider.ParseVersion)
	if !ok {
		return false
	}
	l.Constraints, ok = canonical(constraints, provider.ParseConstraints)
	return ok
}

// canonical parses a text, and reports whether the value prints as the same text.
func canonical[T fmt.Stringer](text string, parse func(string) (T, error)) (T, bool) {
	v, err := parse(text)
	return v, err == nil && v.String() == text
}

// hashes reads the list of hashes, if there is one. Each hash has a line.
func (q *quickReader) hashes(l *Lock) bool {
	if !q.skip("  hashes = [\n") {
		return true
	}
	list, _, _ := strings.Cut(q.text[q.at:], "]")
	l.Hashes, l.places.first = make([]provider.Hash, 0, strings.Count(list, "\n")), int32(q.line+1)
	for !q.skip("  ]\n") {
		text, ok := q.literal(hashIndent+`"`, "\",\n")
		if !ok {
			return false
		}
		h, err := provider.ParseHash(text)
		if n := len(l.Hashes); err != nil || n > 0 && l.Hashes[n-1] >= h {
			return false
		}
		l.Hashes = append(l.Hashes, h)
	}
	l.places.lines = l.Hashes
	return len(l.Hashes) > 0
}
