package lockfile

import (
	"bytes"
	"fmt"

	"github.com/relock-dev/relock/internal/problem"
)

// Read is Parse that also reads a file with git's markers of a merge conflict. It then
// returns the union of both sides, with the line of the first marker in Conflict. See
// File.Disputed. The common base of the sides may be between the markers. If it is not, or
// is no lock file, stored returns it. stored may be nil or return nothing.
//
// Nested or missing markers are an error, and so is a side that is no valid lock file.
func Read(src []byte, path string, stored func() []byte) (*File, []problem.Problem) {
	f, line, errors := format.Read(src, path, stored)
	if line > 0 {
		f.Path, f.Source, f.Conflict = path, src, line
	}
	return f, errors
}

var format = Format[File]{Parse, unite}

// Format is a kind of file that is merged by its entries.
type Format[F any] struct {
	Parse func(src []byte, path string) (*F, []problem.Problem)
	// Unite makes one file of the two sides of a merge. base is their common base, nil if
	// it is not known.
	Unite func(base, ours, theirs *F) *F
}

// Read is Parse that also unites the sides of a file with markers of a merge conflict. It
// then returns the line of the first marker.
func (k Format[F]) Read(src []byte, path string, stored func() []byte) (f *F, conflict int, errors []problem.Problem) {
	f, errors = k.Parse(src, path)
	if f != nil || markerLine(src) == 0 {
		return f, 0, errors
	}
	sides, err := splitSides(src, path)
	if err != nil {
		return nil, 0, []problem.Problem{*err}
	}
	ours, theirs, errors := k.sides(sides.ours, sides.theirs, path, "merge conflict", takeOne(path))
	if len(errors) > 0 {
		return nil, 0, errors
	}
	var base *F
	if sides.based {
		// Git moves lines that both sides have added out of the marked part. Then the base
		// has them, too. So it need not be a lock file.
		base, _ = k.Parse(sides.base, path)
	}
	if base == nil && stored != nil {
		if whole := stored(); whole != nil {
			base, _ = k.Parse(whole, path)
		}
	}
	return k.Unite(base, ours, theirs), markerLine(src), nil
}

// sides parses both sides of a merge. Their lines have the same numbers as in the file. of
// says in errors what they are sides of.
func (k Format[F]) sides(first, second []byte, path, of, hint string) (ours, theirs *F, errors []problem.Problem) {
	parse := func(src []byte, which string) *F {
		f, wrong := k.Parse(src, path)
		for _, d := range wrong {
			d.Message = fmt.Sprintf("the %s side of the %s is no lock file: %s", which, of, d.Message)
			d.Hint = hint
			errors = append(errors, d)
		}
		return f
	}
	ours, theirs = parse(first, "first"), parse(second, "second")
	return ours, theirs, errors
}

// takeOne is the hint for markers that cannot be read.
func takeOne(path string) string {
	return "take one side whole, with `git checkout --ours :/" + path + "` or with --theirs, then run `relock lock`"
}

// sides are the texts of the parts between conflict markers. Each has empty lines for the
// other sides' lines, so that line numbers stay.
type sides struct {
	ours, base, theirs []byte
	based              bool // every conflict has a part for the base, as in the conflict styles diff3 and zdiff3
}

// part is the part of a conflict that has a line.
type part int

const (
	outside part = iota
	inOurs
	inBase
	inTheirs
)

// next is the part after a marker. The zero value is an error.
var next = map[part]map[byte]part{
	outside: {'<': inOurs},
	inOurs:  {'|': inBase, '=': inTheirs},
	inBase:  {'=': inTheirs},
}

// splitSides divides a file at its conflict markers.
func splitSides(src []byte, path string) (sides, *problem.Problem) {
	s := sides{based: true}
	at, opened, number, size := outside, 0, 0, 0
	fail := func(line int, format string, args ...any) (sides, *problem.Problem) {
		d := ConflictAt(path, line)
		d.Message = "the markers of a merge conflict cannot be read: " + fmt.Sprintf(format, args...)
		d.Hint = takeOne(path)
		return sides{}, &d
	}
	for line := range bytes.Lines(src) {
		number++
		kind, n := marker(line)
		if size == 0 {
			size = n
		}
		if kind == 0 || n != size {
			s.add(at, line)
			continue
		}
		to := next[at][kind]
		switch {
		case to == 0 && !(at == inTheirs && kind == '>'):
			if at == outside {
				return fail(number, "%s has no beginning before it", line[:n])
			}
			return fail(number, "%s is within the conflict that begins in line %d", line[:n], opened)
		case to == inOurs:
			opened = number
		case to == inTheirs && at == inOurs:
			s.based = false
		}
		at = to
		s.add(part(-1), line)
	}
	if at != outside {
		return fail(opened, "the conflict that begins here has no end")
	}
	return s, nil
}

// add adds a line to the texts that have it.
func (s *sides) add(at part, line []byte) {
	for to, text := range map[part]*[]byte{inOurs: &s.ours, inBase: &s.base, inTheirs: &s.theirs} {
		if at == outside || at == to {
			*text = append(*text, line...)
		} else {
			*text = append(*text, '\n')
		}
	}
}

// smallestMarker is the usual length of git's conflict markers. Attributes may set a
// greater one. Conflicts between several common ancestors have longer ones, too.
const smallestMarker = 7

// marker returns the kind of a conflict marker and its length; 0 if the line is none.
func marker(line []byte) (kind byte, size int) {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) < smallestMarker || !bytes.Contains([]byte("<|=>"), line[:1]) {
		return 0, 0
	}
	size = len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	if size < smallestMarker || size < len(line) && line[size] != ' ' {
		return 0, 0
	}
	return line[0], size
}

// markerLine is the number of the line with the first conflict marker, from 1; 0 if there
// is none.
func markerLine(src []byte) int {
	number := 0
	for line := range bytes.Lines(src) {
		number++
		if kind, _ := marker(line); kind != 0 {
			return number
		}
	}
	return 0
}

// ConflictAt is the problem of the markers of a merge conflict that begin in a line.
func ConflictAt(path string, line int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeConflict, Place: problem.Place{Path: path, Line: line},
		Message: "the file has the markers of a merge conflict",
		Hint:    "run `relock lock`, which reads both sides and plans their entries again",
	}
}
