// Package box prints and reads the boxes with which people ask relock for something on its
// issue. A box is a line of a list: the part that people see, and before it a hidden
// comment that says what is asked for.
//
// What a body says comes from outside: a box that is read is a wish and no more. Whose wish
// it is, and whether that may be granted, the caller finds out.
package box

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// Act is what a checked box makes the next run do.
type Act string

// The acts.
const (
	// Again is to propose what a person has turned down by closing its pull request.
	Again Act = "again"
	// Past is to propose what waits for room, past the limit of open pull requests.
	Past Act = "past"
	// All is Past for every proposal that the issue lists. It stands alone.
	All Act = "all"
	// Open is Past for every proposal of a repository, on the page about an organisation.
	Open Act = "open"
)

// Box is a box on the issue. It names the digest of what it was about, so that it does
// nothing about anything else.
type Box struct {
	Act    Act
	Branch string // without the prefix of our branches; of Open it is the repository, OWNER/NAME
	Digest string // of the proposal, the beginning of it; empty of Open
}

// digestLength is how much of a proposal's digest a box names.
const digestLength = 16

// New is the unchecked box for a proposal. The branch has no prefix, and of the digest the
// first 16 characters count.
func New(act Act, branch, digest string) Box {
	return Box{act, branch, digest[:min(len(digest), digestLength)]}
}

// Item is the line of the box in the issue, empty, with a text. A branch that no box can
// name has a line without one.
func (b Box) Item(text safe.Markdown) safe.Markdown {
	mark := "<!-- relock-box:" + strings.TrimSpace(string(b.Act)+" "+b.Branch+" "+b.Digest) + " -->"
	if line := "- [ ] " + mark; boxForm.FindString(line) != line {
		return safe.Format("- %s\n", text)
	}
	return safe.Format("- [ ] %s%s\n", safe.Ours(mark), text)
}

// boxForm is the beginning of the line of a box.
var boxForm = regexp.MustCompile(`(?m)^[ \t]*- \[([ xX])\] <!-- relock-box:(?:(all)|(again|past) ([a-z0-9-]{1,80}) ([0-9a-f]{16})|(open) ([A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100})) -->`)

// In are the checked boxes of an issue's body, each once. With All every Past box of the
// body counts as checked. Lines of another form are ignored.
func In(body string) []Box {
	lines := boxForm.FindAllStringSubmatch(body, -1)
	isAll := slices.ContainsFunc(lines, func(m []string) bool { return m[1] != " " && Act(m[2]) == All })
	var checked []Box
	for _, m := range lines {
		b := Box{Act(m[2] + m[3] + m[6]), m[4] + m[7], m[5]}
		if (m[1] != " " || isAll && b.Act == Past) && !slices.Contains(checked, b) {
			checked = append(checked, b)
		}
	}
	return checked
}

// Newly are the boxes that are checked in a body and were not in the one before.
func Newly(before, now string) []Box {
	was := In(before)
	return slices.DeleteFunc(In(now), func(b Box) bool { return slices.Contains(was, b) })
}
