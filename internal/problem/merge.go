package problem

import (
	"bytes"
	"regexp"
)

// mergeMarker is git's first marker of a merge conflict: seven of these signs
// before a space, or more if the attribute says so.
var mergeMarker = regexp.MustCompile(`(?m)^<{7,} `)

// Unmerged returns the problem of a text with git's markers of a merge conflict,
// since each parser reports another error for them. ok is false without a marker.
func Unmerged(src []byte, file Place) (d Problem, ok bool) {
	at := mergeMarker.FindIndex(src)
	if at == nil {
		return d, false
	}
	return Problem{
		Code: CodeSyntax, Place: file.At(1 + bytes.Count(src[:at[0]], []byte("\n"))),
		Message: "the file has the markers of a merge conflict",
		Hint:    "finish the merge: `git status` lists the files",
	}, true
}
