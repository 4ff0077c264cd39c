package pr

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Marker is what relock remembers in a pull request's body, hidden from
// readers. It is advice, never proof: anybody who may edit the body may edit it.
type Marker struct {
	// Digest and Facts are those of the proposal that title and body describe.
	Digest string `json:"digest,omitempty"`
	Facts  string `json:"facts,omitempty"`
	// Closed says why relock closed the pull request. A person who closes it
	// leaves no reason.
	Closed string `json:"closed,omitempty"`
	// Stopped says that we have told of somebody else's commits.
	Stopped bool `json:"stopped,omitempty"`
	// Pending says that labels, reviewers and the like are still to be set.
	Pending bool `json:"pending,omitempty"`
	// MissingLabels are those that somebody chose and that could not be created.
	MissingLabels []string `json:"missing-labels,omitempty"`
	// AutoMerge says that GitHub is still to be asked to merge it by itself.
	AutoMerge bool `json:"auto-merge-pending,omitempty"`
	// FormerBase is what the base was called when the branch was named, if GitHub has
	// said that it was renamed since.
	FormerBase string `json:"former-base,omitempty"`
	// Leaves says that the branch is to be deleted when no other pull request needs it
	// any more, though a person has closed this one: relock did so for them.
	Leaves bool `json:"leaves-branch,omitempty"`
	// Ignores are what people told relock not to propose for this group.
	Ignores []Ignore `json:"ignores,omitempty"`
}

// Ignore is a person's word in a comment that some versions are not wanted.
type Ignore struct {
	// Provider is a pattern, as provider.ParsePattern reads it.
	Provider string `json:"provider"`
	// What is "major", "minor" or "patch", or constraints whose versions are
	// not wanted; empty: every version.
	What string `json:"what,omitempty"`
	// Until is the first day on which it no longer holds, 2006-01-02; empty: for
	// good.
	Until string `json:"until,omitempty"`
	// By is the login of who said it, and When the day.
	By   string `json:"by"`
	When string `json:"when"`
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

// missing remembers labels that could not be created, if there is room for them:
// ignores are people's words, and must not be lost for labels.
func (m *Marker) missing(labels []string) {
	m.MissingLabels = labels
	if len(m.String()) > largestMarker {
		m.MissingLabels = nil
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
	m.Ignores = slices.DeleteFunc(m.Ignores, func(i Ignore) bool { return i.Check() != nil })
	return m, true
}

// The forms of an ignore's words, which are printed as they are.
var (
	patternForm = regexp.MustCompile(`^[A-Za-z0-9*?._:/-]{1,200}$`)
	loginForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}(\[bot\])?$`)
)

// longestWhat bounds constraints, in bytes.
const longestWhat = 200

// Check returns what is wrong with an ignore, as a *problem.Error.
func (i Ignore) Check() error {
	switch {
	case !patternForm.MatchString(i.Provider) || !parses(provider.ParsePattern, i.Provider):
		return badIgnore("the pattern of providers is not like hashicorp/aws or hashicorp/*")
	case !isWhat(i.What):
		return badIgnore("what is ignored is neither major, minor or patch nor version constraints like >= 6.0.0")
	case i.Until != "" && !isDay(i.Until):
		return badIgnore("the end is not a day like 2027-01-31")
	case !loginForm.MatchString(i.By) || !isDay(i.When):
		return badIgnore("nobody or no day is given")
	}
	return nil
}

// rule is the ignore as lines of a rule of the configuration file.
func (i Ignore) rule() []string {
	var lines []string
	switch {
	case isUpdate(i.What):
		lines = append(lines, "update-types: ["+i.What+"]")
	case i.What != "":
		lines = append(lines, fmt.Sprintf("ignore-versions: %q", i.What))
		if i.Until != "" {
			lines[0] += " # until " + i.Until
		}
		return lines
	}
	if i.Until != "" {
		return append(lines, "hold-until: "+i.Until)
	}
	return append(lines, "ignore: true")
}

// String returns the ignore as it was said: PROVIDER [WHAT] [until DATE].
func (i Ignore) String() string {
	said := i.Provider
	if i.What != "" {
		said += " " + i.What
	}
	if i.Until != "" {
		said += " until " + i.Until
	}
	return said
}

// Over reports whether an ignore has ended.
func (i Ignore) Over(now time.Time) bool {
	until, err := time.Parse(time.DateOnly, i.Until)
	return i.Until != "" && (err != nil || !now.Before(until))
}

func badIgnore(message string) error {
	return &problem.Error{Code: problem.CodeSettings, Message: message}
}

func isWhat(what string) bool {
	return what == "" || isUpdate(what) || len(what) <= longestWhat && parses(provider.ParseConstraints, what)
}

func isUpdate(what string) bool { return what == "major" || what == "minor" || what == "patch" }

func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func parses[T any](parse func(string) (T, error), s string) bool {
	_, err := parse(s)
	return err == nil
}
