package pr

import (
	"encoding/json"
	"strings"
)

// marker is what relock remembers in a pull request's body, hidden from
// readers. It is advice, never proof: anybody who may edit the body may edit it.
type marker struct {
	// Digest is that of the proposal that title and body describe.
	Digest string `json:"digest,omitempty"`
	// Closed says why relock closed the pull request. A person who closes it
	// leaves no reason.
	Closed string `json:"closed,omitempty"`
	// Stopped says that we have told of somebody else's commits.
	Stopped bool `json:"stopped,omitempty"`
}

// The hidden comment around a marker. JSON as Go writes it holds no ">", so
// that nothing in a marker ends the comment.
const (
	markerStart = "<!-- relock:"
	markerEnd   = " -->"
)

// closedDone is the reason of a pull request that has nothing left to do.
const closedDone = "nothing left to do"

// withMarker returns the body with the marker in place of its own, if any.
func withMarker(body string, m marker) string {
	text, err := json.Marshal(m)
	if err != nil {
		panic("encoding a marker: " + err.Error())
	}
	before, _, after := cutMarker(body)
	body = strings.TrimRight(before+after, " \t\r\n")
	if body != "" {
		body += "\n\n"
	}
	return body + markerStart + string(text) + markerEnd + "\n"
}

// markerOf returns the marker of a body, and whether there is a valid one.
func markerOf(body string) (marker, bool) {
	_, text, _ := cutMarker(body)
	var m marker
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return marker{}, false
	}
	return m, true
}

// cutMarker splits a body around its last marker, which is the one that
// withMarker wrote: the text above it comes from elsewhere.
func cutMarker(body string) (before, text, after string) {
	start := strings.LastIndex(body, markerStart)
	if start < 0 {
		return body, "", ""
	}
	text, after, ok := strings.Cut(body[start+len(markerStart):], markerEnd)
	if !ok {
		return body, "", ""
	}
	return body[:start], text, after
}
