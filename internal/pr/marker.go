package pr

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/policy"
)

// Marker is what relock remembers in a pull request's body, hidden from
// readers. It is advice, never proof: anybody who may edit the body may edit it.
type Marker struct {
	// Digest and Facts are those of the proposal that title and body describe.
	Digest string `json:"digest,omitempty"`
	Facts  string `json:"facts,omitempty"`
	// Title is the one that relock has set last, so that what a person has made of it is
	// known; empty in a marker of an older relock, and where there is no room for it.
	Title string `json:"title,omitempty"`
	// Closed says why relock closed the pull request. A person who closes it
	// leaves no reason.
	Closed string `json:"closed,omitempty"`
	// Stopped says that we have told of somebody else's commits.
	Stopped bool `json:"stopped,omitempty"`
	// Pending says that labels, reviewers and the like are still to be set.
	Pending bool `json:"pending,omitempty"`
	// MissingLabels are those that could not be set, and Unapplied is what else could not be.
	MissingLabels []string  `json:"missing-labels,omitempty"`
	Unapplied     Unapplied `json:"unapplied,omitzero"`
	// AutoMerge says that GitHub is still to be asked to merge it by itself.
	AutoMerge bool `json:"auto-merge-pending,omitempty"`
	// FormerBase is what the base was called when the branch was named, if GitHub has
	// said that it was renamed since.
	FormerBase string `json:"former-base,omitempty"`
	// Behind is the base of which the body says that the branch is behind it, and waits.
	Behind string `json:"behind,omitempty"`
	// Leaves says that the branch must be deleted when no other pull request needs it
	// any more, though a person has closed this one: relock did so for them.
	Leaves bool `json:"leaves-branch,omitempty"`
	// Ignores are what people asked relock not to propose for this group.
	Ignores []policy.Ignore `json:"ignores,omitempty"`
}

// The hidden comment around a marker, alone on its line.
const (
	markerStart = "<!-- relock:"
	markerEnd   = " -->"
)

// largestMarker bounds the line of a marker, in bytes. The 65,536 characters of a
// body have room for it and for its ignores in words, beside the 60,000 that a
// report fills.
const largestMarker = 2048

// entitle remembers the title that relock sets, if there is room for it: ignores are
// people's words, and must not be lost for it.
func (m *Marker) entitle(title string) {
	m.Title = title
	if len(m.String()) > largestMarker {
		m.Title = ""
	}
}

// retitled returns the title of a pull request that has this one now, and whether it says what
// is proposed. A person's words stay: where they have written beside the title that relock
// had set, that part alone is replaced, and where they have written another one, none is.
func (m Marker) retitled(now, proposed string) (title string, says bool) {
	before, after, kept := strings.Cut(now, m.Title)
	switch {
	case m.Title == "":
		return proposed, true
	case !kept:
		return now, false
	case utf8.RuneCountInString(before+proposed+after) > maxTitle:
		return now, false
	}
	return before + proposed + after, true
}

// maxTitle is how many characters GitHub takes of a title.
const maxTitle = 256

// fallBehind remembers what the body says of the branch, if there is room for it: ignores are
// people's words, and must not be lost for it.
func (m *Marker) fallBehind(base string) {
	m.Behind = base
	if len(m.String()) > largestMarker {
		m.Behind = ""
	}
}

// lacks remembers what of a presentation is not applied, if there is room for it: ignores are
// people's words, and must not be lost for labels.
func (m *Marker) lacks(done presented) {
	m.MissingLabels, m.Unapplied, m.AutoMerge = done.labels, done.left, done.unmerging
	if len(m.String()) > largestMarker {
		m.MissingLabels, m.Unapplied = nil, Unapplied{}
	}
}

// String returns the marker as the line that ParseMarker reads. Nothing in it
// ends the comment that hides it: JSON as Go writes it holds no "<" or ">", and
// two hyphens in a row are written otherwise.
func (m Marker) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic("encoding a marker: " + err.Error())
	}
	return markerStart + strings.ReplaceAll(string(text), "--", `-\u002d`) + markerEnd
}

// ParseMarker returns the marker of a body, and whether there is a valid one.
// It is the last line of the body in the form of a marker: the text above comes
// from elsewhere, though not as a line of that form, since what a report quotes
// is inert. Keys that it does not know are those of a later relock.
func ParseMarker(body string) (Marker, bool) {
	for _, line := range slices.Backward(strings.Split(body, "\n")) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, " \t\r"), markerStart)
		if !ok {
			continue
		}
		text, ok = strings.CutSuffix(text, markerEnd)
		if !ok {
			continue
		}
		return decodeMarker(text)
	}
	return Marker{}, false
}

func decodeMarker(text string) (Marker, bool) {
	var m Marker
	if len(text) > largestMarker || json.Unmarshal([]byte(text), &m) != nil {
		return Marker{}, false
	}
	m.Ignores = slices.DeleteFunc(m.Ignores, func(i policy.Ignore) bool { return i.Check() != nil })
	return m, true
}
