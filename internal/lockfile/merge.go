package lockfile

import (
	"bytes"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// Merge makes one lock file of two and of the one that both come from. That may be
// empty; if it is no lock file, as when git has merged several of them itself, it
// tells nothing. Where an entry is disputed the content holds both, and the base's,
// between conflict markers in git's style diff3: Read makes the same of it as of
// the three files, and people can read it. disputed says whether there are any.
//
// If one of the two is no lock file there is no content, and the diagnostics say
// why. path is only for messages.
func Merge(base, ours, theirs []byte, path string) (content []byte, disputed bool, errors []problem.Problem) {
	origin, _ := Parse(base, path)
	first, second, errors := parseSides(ours, theirs, path, "merge", "repair it where it is committed, or resolve the conflict by hand")
	if len(errors) > 0 {
		return nil, false, errors
	}
	united := unite(origin, first, second)
	if len(united.Disputed) == 0 {
		return united.Print(), false, nil
	}
	var b bytes.Buffer
	b.WriteString(header(united.Tool, united.Keeper))
	for _, l := range united.Locks {
		b.WriteByte('\n')
		if _, ok := united.Disputed[l.Addr]; !ok {
			b.WriteString(l.block() + "\n")
			continue
		}
		b.WriteString(beginOurs + first.text(l.Addr))
		if origin != nil {
			b.WriteString(beginBase + origin.text(l.Addr))
		}
		b.WriteString(beginTheirs + second.text(l.Addr) + endConflict)
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
