package module

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
)

// maxCommits bounds a set of commits. The largest known repositories of modules have some
// ten thousands.
const maxCommits = 1_000_000

var errTooManyCommits = fmt.Errorf("it has more than %d commits", maxCommits)

// commitID is the SHA-1 of a commit.
type commitID [20]byte

func (c commitID) compare(d commitID) int { return bytes.Compare(c[:], d[:]) }

// readCommitID reads the SHA-1 at the beginning of a text.
func readCommitID(text string) (id commitID, ok bool) {
	digits := hex.EncodedLen(len(id))
	if len(text) < digits {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(text[:digits]))
	return id, err == nil
}

// commits is a set of commits, sorted when it is complete.
type commits []commitID

// add adds the commit at the beginning of a line. A line without one is left out.
func (c *commits) add(line string) error {
	if id, ok := readCommitID(line); ok {
		*c = append(*c, id)
	}
	if len(*c) > maxCommits {
		return errTooManyCommits
	}
	return nil
}

func (c commits) has(commit string) bool {
	id, ok := readCommitID(commit)
	_, found := slices.BinarySearchFunc(c, id, commitID.compare)
	return ok && found
}
