package lockfile

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Merge makes one lock file of two and of the one that both come from, which may
// be empty. Where an entry is disputed the content holds both, and the base's,
// between conflict markers in git's style diff3: Read makes the same of it as of
// the three files, and people can read it. disputed says whether there are any.
//
// If one of the files is no lock file there is no content, and the diagnostics say
// why. path is only for messages.
func Merge(base, ours, theirs []byte, path string) (content []byte, disputed bool, errors []provider.Diagnostic) {
	var files [3]*File
	for i, version := range []struct {
		src  []byte
		name string
	}{{base, "common ancestor"}, {ours, "first side"}, {theirs, "second side"}} {
		f, diags := Parse(version.src, path)
		for _, d := range diags {
			d.Message = fmt.Sprintf("the %s of the merge is no lock file: %s", version.name, d.Message)
			d.Hint = "repair it where it is committed, or resolve the conflict by hand"
			errors = append(errors, d)
		}
		files[i] = f
	}
	if len(errors) > 0 {
		return nil, false, errors
	}
	united := unite(files[0], files[1], files[2])
	if len(united.Disputed) == 0 {
		return Print(united.Tool, united.Locks), false, nil
	}
	var b bytes.Buffer
	b.WriteString(header(united.Tool))
	for _, l := range united.Locks {
		b.WriteByte('\n')
		if _, ok := united.Disputed[l.Addr]; !ok {
			b.WriteString(l.block() + "\n")
			continue
		}
		b.WriteString(beginOurs)
		b.WriteString(files[1].text(l.Addr))
		b.WriteString(beginBase)
		b.WriteString(files[0].text(l.Addr))
		b.WriteString(beginTheirs)
		b.WriteString(files[2].text(l.Addr))
		b.WriteString(endConflict)
	}
	return b.Bytes(), true, nil
}

// The lines around a disputed entry.
const (
	beginOurs   = "<<<<<<< ours\n"
	beginBase   = "||||||| base\n"
	beginTheirs = "=======\n"
	endConflict = ">>>>>>> theirs\n"
)

// text is the entry of a provider in normal form; empty if there is none.
func (f *File) text(addr provider.Addr) string {
	l, ok := f.Lock(addr)
	if !ok {
		return ""
	}
	return l.block() + "\n"
}

// Marked puts two contents of a file side by side between conflict markers, whole,
// where they cannot be merged.
func Marked(ours, theirs []byte) []byte {
	ended := func(text []byte) []byte {
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			return append(slices.Clip(text), '\n')
		}
		return text
	}
	return slices.Concat([]byte(beginOurs), ended(ours), []byte(beginTheirs), ended(theirs), []byte(endConflict))
}
