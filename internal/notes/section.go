package notes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Kind is how much a section matters for an upgrade.
type Kind int

// The kinds, the most important first.
const (
	Breaking Kind = iota
	Note
	Deprecation
	Other
)

var sectionKinds = []string{"breaking", "note", "deprecation", "other"}

// MarshalText implements encoding.TextMarshaler with the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(sectionKinds[k]), nil }

// Section is a part of a release's notes under one heading.
type Section struct {
	Kind  Kind   `json:"kind"`
	Title string `json:"title"` // empty for the text before the first heading
	Text  string `json:"text"`  // in Markdown, without the heading
}

// The titles of sections, as HashiCorp's providers, release-please and
// goreleaser write them.
var (
	breakingTitle    = regexp.MustCompile(`(?i)\bbreaking\b|\bincompatib`)
	noteTitle        = regexp.MustCompile(`(?i)^\W*(important\s+|upgrade\s+)?(notes?|upgrading|upgrade guide|migration guide)\W*$`)
	deprecationTitle = regexp.MustCompile(`(?i)^\W*deprecat`)
)

func kindOf(title string) Kind {
	switch {
	case breakingTitle.MatchString(title):
		return Breaking
	case noteTitle.MatchString(title):
		return Note
	case deprecationTitle.MatchString(title):
		return Deprecation
	}
	return Other
}

// maxText bounds the text in which sections are looked for: the notes of one release.
const maxText = 256 << 10

// sections splits notes at their headings. The most important kinds come first. Within a
// kind the order is kept. Lower headings within an important section stay in it.
func sections(text string) []Section {
	var all []Section
	var body strings.Builder
	current, level := Section{Kind: Other}, 0
	keep := func() {
		current.Text = strings.Trim(body.String(), "\n")
		if strings.TrimSpace(current.Text) != "" {
			all = append(all, current)
		}
		body.Reset()
	}
	for l := range lines(text[:min(len(text), maxText)]) {
		if l.level == 0 || current.Kind != Other && l.level > level {
			body.WriteString(l.text)
			body.WriteByte('\n')
			continue
		}
		keep()
		current, level = Section{Kind: kindOf(l.title), Title: l.title}, l.level
	}
	keep()
	slices.SortStableFunc(all, func(a, b Section) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}

// Bounds of the sections of one release, and of all texts of a run, in bytes.
const (
	keptOfRelease = 64 << 10
	keptOfRun     = 1 << 20
)

// keepMost cuts the sections of all releases to the bounds. The most important kinds come
// first, and within a kind the upgrades and releases in their order.
func keepMost(all []Notes) {
	left := keptOfRun
	for kind := Breaking; kind <= Other; kind++ {
		for i := range all {
			for j := range all[i].Releases {
				left -= all[i].Releases[j].keep(kind, left)
			}
		}
	}
}

// keep cuts the sections of a kind to the bytes that are left for them, and returns how
// many bytes it kept. More important kinds were cut before.
func (rel *Release) keep(kind Kind, left int) (kept int) {
	var sections []Section
	room := keptOfRelease
	for _, s := range rel.Sections {
		if s.Kind == kind {
			limit := max(0, min(room, left-kept))
			if len(s.Text)+len(s.Title) > limit {
				rel.Cut = true
				s.Text = wholeLines(s.Text, limit-len(s.Title))
			}
			kept += len(s.Text) + len(s.Title)
		}
		if s.Kind <= kind {
			room -= len(s.Text) + len(s.Title)
		}
		if s.Text != "" {
			sections = append(sections, s)
		}
	}
	rel.Sections = sections
	return kept
}

// wholeLines is the whole lines of a text up to a limit in bytes; empty if there is none.
func wholeLines(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	return text[:max(0, strings.LastIndexByte(text[:limit], '\n'))]
}

// line is a line of Markdown. A heading has a title and a level.
type line struct {
	text, title string
	level       int // 0: no heading
}

var (
	hashHeading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	// capsHeading is how HashiCorp's changelogs head a list: "BREAKING CHANGES:".
	capsHeading = regexp.MustCompile(`^\**([A-Z][A-Z /&-]{3,}):?\**:?$`)
	fence       = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

// capsLevel is below the levels of other headings.
const capsLevel = 7

// lines yields the lines of a text. In a block of code there are no headings.
func lines(text string) func(yield func(line) bool) {
	return func(yield func(line) bool) {
		open := ""
		for raw := range strings.Lines(text) {
			l := line{text: strings.TrimRight(raw, "\r\n")}
			mark := fence.FindStringSubmatch(l.text)
			switch {
			case open != "":
				if mark != nil && strings.HasPrefix(mark[1], open) {
					open = ""
				}
			case mark != nil:
				open = mark[1]
			default:
				l.title, l.level = heading(l.text)
			}
			if !yield(l) {
				return
			}
		}
	}
}

func heading(text string) (title string, level int) {
	if m := hashHeading.FindStringSubmatch(text); m != nil {
		return strings.TrimRight(m[2], ":"), len(m[1])
	}
	if m := capsHeading.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		return m[1], capsLevel
	}
	return "", 0
}

// elsewhere reports whether notes only say where the notes are.
func elsewhere(text string) bool {
	text = strings.TrimSpace(text)
	pointer := strings.Contains(text, "://") || strings.Contains(strings.ToUpper(text), "CHANGELOG")
	return text == "" || len(text) < 300 && !strings.Contains(text, "\n") && pointer
}

// chapter is the part of a changelog about a version: from the heading that
// names it to the next one of its level or above. It is empty if there is none.
func chapter(changelog string, v provider.Version) string {
	named := regexp.MustCompile(`(?:^|[^0-9A-Za-z.-])v?` + regexp.QuoteMeta(v.String()) + `(?:$|[^0-9A-Za-z.+-])`)
	var b strings.Builder
	level := 0
	for l := range lines(changelog) {
		switch {
		case level == 0 && l.level > 0 && l.level < capsLevel && named.MatchString(l.title):
			level = l.level
		case level > 0 && l.level > 0 && l.level <= level:
			return b.String()
		case level > 0:
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}
