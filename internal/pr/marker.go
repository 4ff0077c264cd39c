package pr

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/policy"
)

// Marker is what relock remembers in the body of a pull request, hidden from readers. It is
// a hint and proves nothing: anyone who may edit the body may edit it.
type Marker struct {
	// Digest and Facts are those of the proposal in the present title and body.
	Digest string `json:"digest,omitempty"`
	Facts  string `json:"facts,omitempty"`
	// Title is the last title that relock has set. It shows what a person has changed
	// since. It is empty in markers of older releases, and if there is no room for it.
	Title string `json:"title,omitempty"`
	// Closed says why relock closed the pull request. It is empty if a person closed it.
	Closed string `json:"closed,omitempty"`
	// Stopped says that relock has commented on somebody else's commits.
	Stopped bool `json:"stopped,omitempty"`
	// StoppedAt is the head of the branch then. After another one somebody may have taken
	// those commits away. It is empty in older markers.
	StoppedAt string `json:"stopped-at,omitempty"`
	// AutoMerge says that relock must still ask GitHub for auto-merge.
	AutoMerge bool `json:"auto-merge-pending,omitempty"`
	// Leaves says that relock must delete the branch once no other pull request needs it.
	// It is set when a person had relock close the pull request.
	Leaves bool `json:"leaves-branch,omitempty"`
	// Ignores are what people asked relock not to propose for this group.
	Ignores []policy.Ignore `json:"ignores,omitempty"`
}

// The hidden comment around a marker, alone on its line.
const (
	markerStart = "<!-- relock:"
	markerEnd   = " -->"
)

// largestMarker bounds the line of a marker, in bytes. A body has 65,536 characters, and a
// report fills at most 60,000. The rest holds the marker, and its ignores in words.
const largestMarker = 2048

// entitle remembers the title that relock sets, if there is room for it. Ignores come
// first: they are people's words, and must not be lost.
func (m *Marker) entitle(title string) {
	m.Title = title
	if len(m.String()) > largestMarker {
		m.Title = ""
	}
}

// retitled returns the new title of a pull request, and whether it says what is proposed.
// Words of a person stay. For example, if a person wrote "URGENT: " before relock's title,
// only relock's part is replaced. If a person wrote another title, nothing is.
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

// maxTitle is how many characters of a title GitHub accepts.
const maxTitle = 256

// String returns the marker as the line that ParseMarker reads. Nothing in it can end the
// HTML comment around it: Go's JSON escapes "<" and ">", and String escapes two hyphens in
// a row.
func (m Marker) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic("encoding a marker: " + err.Error())
	}
	return markerStart + strings.ReplaceAll(string(text), "--", `-\u002d`) + markerEnd
}

// ParseMarker returns the marker of a body, and whether there is a valid one. It reads the
// last line that has the form of a marker. Text from elsewhere is above that line, and
// quoted text cannot have this form. ParseMarker ignores unknown keys: a later release may
// have written them.
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
