package lockfile

import (
	"fmt"
	"strings"
	"unique"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// maxQuick bounds the bytes of a file that quick reads. HCL's limits are counted in
// pieces, of which a file of this size cannot have too many.
const maxQuick = 256 << 10

// quick reads a lock file that is in the one form in which the tools write it
// [terraform 1.11 internal/depsfile/locks_file.go], as nearly all do, in a twentieth of
// the time that HCL needs. It knows only printable ASCII without escapes and templates, where every literal means itself.
//
// It is trusted because it proves itself: everything in the file must parse and be
// written in canonical form, entries and hashes must ascend strictly, and what comes
// of it must print as the same bytes, which Parse would read as the same entries.
// Where anything is otherwise it knows nothing, and HCL decides: errors and warnings
// are HCL's alone.
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

// quickReader is how far quick has read.
type quickReader struct {
	src  []byte
	text string // src
	at   int
	line int // lines that end before at
}

// skip takes a text off the rest, if it begins with that.
func (q *quickReader) skip(text string) bool {
	if !strings.HasPrefix(q.text[q.at:], text) {
		return false
	}
	q.at += len(text)
	q.line += strings.Count(text, "\n")
	return true
}

// literal takes the text between two quotation marks off the rest, with what stands
// before and behind. The lock files of a repository hold the same texts again and
// again: in memory there is one of each, and the file's text is not kept for them.
func (q *quickReader) literal(before, after string) (string, bool) {
	if !q.skip(before) {
		return "", false
	}
	s, _, _ := strings.Cut(q.text[q.at:], `"`)
	q.at += len(s)
	ok := len(s)+len(`""`) <= staticeval.MaxConstant && plainASCII(s) && q.skip(after)
	return unique.Make(s).Value(), ok
}

// entry reads a block and the newline behind it.
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

// selection reads version and constraints, which are aligned if there are both.
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

// canonical parses a text, and reports whether it is written as its value is.
func canonical[T fmt.Stringer](text string, parse func(string) (T, error)) (T, bool) {
	v, err := parse(text)
	return v, err == nil && v.String() == text
}

// hashes reads the list of hashes, if there is one: each in a line of its own.
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
