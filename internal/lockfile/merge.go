package lockfile

import (
	"bytes"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// Merge makes one lock file of two and their common base. base may be empty. If it is no
// lock file, for example because git has merged several bases itself, it is ignored. If an
// entry is disputed, the content has both entries and the base's between conflict markers
// in git's style diff3. Read gets the same result from it as from the three files, and
// people can read it. disputed says whether there are such entries.
//
// If one of the two files is no lock file, there is no content, and the diagnostics say
// why. path is only for messages.
func Merge(base, ours, theirs []byte, path string) (content []byte, disputed bool, errors []problem.Problem) {
	origin, first, second, errors := format.Merge(base, ours, theirs, path)
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
		common := ""
		if origin != nil {
			common = origin.text(l.Addr)
		}
		b.WriteString(Conflict(first.text(l.Addr), common, second.text(l.Addr), origin != nil))
	}
	return b.Bytes(), true, nil
}

// Merge parses the three files of a merge. The base is nil if it is no such file.
func (k Format[F]) Merge(base, ours, theirs []byte, path string) (origin, first, second *F, errors []problem.Problem) {
	origin, _ = k.Parse(base, path)
	first, second, errors = k.sides(ours, theirs, path, "merge", "repair it where it is committed, or resolve the conflict by hand")
	return origin, first, second, errors
}

// Conflict puts the texts of a disputed entry between conflict markers in git's style diff3.
func Conflict(ours, base, theirs string, based bool) string {
	if based {
		ours += beginBase + base
	}
	return beginOurs + ours + beginTheirs + theirs + endConflict
}

// The lines around a disputed entry.
const (
	beginOurs   = "<<<<<<< ours\n"
	beginBase   = "||||||| base\n"
	beginTheirs = "=======\n"
	endConflict = ">>>>>>> theirs\n"
)

// Marked puts two whole files between conflict markers, for files that cannot be merged.
func Marked(ours, theirs []byte) []byte {
	ended := func(text []byte) []byte {
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			return append(slices.Clip(text), '\n')
		}
		return text
	}
	return slices.Concat([]byte(beginOurs), ended(ours), []byte(beginTheirs), ended(theirs), []byte(endConflict))
}
