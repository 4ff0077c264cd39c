package problem

import (
	"bytes"
	"regexp"
)

// mergeMarker is how git begins what two sides of a merge disagree about; before a
// space stand seven of these signs, or more where the attribute says so.
var mergeMarker = regexp.MustCompile(`(?m)^<{7,} `)

// Unmerged returns what to say of a text that could not be read because git has left
// the markers of a merge conflict in it, as every parser says something else of
// them; ok is false if there is none.
func Unmerged(src []byte, file Place) (d Problem, ok bool) {
	at := mergeMarker.FindIndex(src)
	if at == nil {
		return d, false
	}
	return Problem{
		Code: CodeSyntax, Place: file.At(1 + bytes.Count(src[:at[0]], []byte("\n"))),
		Message: "the file has the markers of a merge conflict",
		Hint:    "finish the merge: git status lists the files",
	}, true
}
