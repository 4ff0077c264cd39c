package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

const (
	// notesLimit bounds the release notes of one provider, in bytes, and
	// releaseLimit those of one release among several.
	notesLimit   = 6000
	releaseLimit = 3000
	// fewLeads is the number of breaking changes that are named before the
	// release notes themselves.
	fewLeads = 3
)

// sortedNotes are the notes with those first that a reviewer must read.
func sortedNotes(r Report) []notes.Notes {
	sorted := slices.Clone(r.Notes)
	slices.SortStableFunc(sorted, func(a, b notes.Notes) int {
		return cmp.Or(
			cmp.Compare(urgency(b), urgency(a)),
			a.Addr.Compare(b.Addr), a.From.Compare(b.From),
		)
	})
	return sorted
}

// urgency is how much notes need to be read.
func urgency(n notes.Notes) int {
	urgency := 0
	if provider.BumpBetween(n.From, n.To) == provider.BumpMajor {
		urgency += 2
	}
	if len(breaking(n)) > 0 {
		urgency++
	}
	return urgency
}

// notesBlock is the collapsed notes of one upgrade; empty if there are none.
// Releases that break something come first, then the newest.
func notesBlock(d dialect, n notes.Notes) string {
	var body strings.Builder
	room, whole := notesLimit, true
	told := slices.DeleteFunc(slices.Clone(n.Releases), func(rel notes.Release) bool { return len(rel.Sections) == 0 })
	// Sections are in order of importance, so the first tells of the release.
	slices.SortStableFunc(told, func(a, b notes.Release) int {
		return cmp.Compare(min(a.Sections[0].Kind, notes.Note), min(b.Sections[0].Kind, notes.Note))
	})
	for _, rel := range told {
		limit := min(room, releaseLimit)
		if len(told) == 1 {
			limit = room
		}
		text, all := releaseText(d, rel, limit)
		room -= len(text)
		whole = whole && all
		body.WriteString(text)
	}
	if body.Len() == 0 {
		return ""
	}
	title := strings.TrimSpace(safe.Element(d.called(n.Addr)).String() + " " + d.version(n.From) + " " + d.arrow + " " + d.version(n.To))
	return fmt.Sprintf("<details><summary>%s</summary>\n\n%s%s\n</details>\n\n", title, body.String(), rest(n, whole))
}

// releaseText is what is said of one release, within a limit in bytes; whole is
// false if it is not all of it. The heading is not counted.
func releaseText(d dialect, rel notes.Release, limit int) (text string, whole bool) {
	title := d.version(rel.Version)
	if url := safe.Redirected(rel.URL); url != "" {
		title = d.link(title, url)
	}
	if text := rel.Published.String(); text != "" {
		title += ", " + text
	}
	whole = !rel.Cut
	var body strings.Builder
	for _, s := range rel.Sections {
		heading := "\n"
		if s.Title != "" {
			heading = "\n##### " + d.text(s.Title) + "\n\n"
		}
		quoted, all := safe.Quoted(s.Text, max(0, limit-body.Len()-len(heading)))
		if !quoted.Empty() {
			body.WriteString(heading + quoted.String())
		}
		whole = whole && all
	}
	if body.Len() == 0 {
		return "", false
	}
	return "#### " + title + "\n\n" + strings.TrimPrefix(body.String(), "\n") + "\n", whole
}

const notesCut = "The notes are longer than shown."

// rest says what the notes do not show, and where it is.
func rest(n notes.Notes, whole bool) string {
	var parts []string
	if !whole {
		parts = append(parts, notesCut)
	}
	if n.More > 0 {
		verb := "are"
		if n.More == 1 {
			verb = "is"
		}
		parts = append(parts, fmt.Sprintf("%s on the way %s not shown.", count(n.More, "more release", "more releases"), verb))
	}
	if url := safe.Redirected(n.Compare()); url != "" {
		parts = append(parts, safe.Link(safe.Const("All changes"), url).String()+".")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " ") + "\n"
}

// breaking are the breaking changes of an upgrade, those of its newest release
// first.
func breaking(n notes.Notes) []notes.Section {
	var all []notes.Section
	for _, rel := range n.Releases {
		for _, s := range rel.Sections {
			if s.Kind == notes.Breaking {
				all = append(all, s)
			}
		}
	}
	return all
}

// taking are the root modules that take an upgrade.
func taking(r Report, n notes.Notes) []string {
	var dirs []string
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			if c.Addr == n.Addr && c.From == n.From && c.To == n.To {
				dirs = append(dirs, r.title(m))
			}
		}
	}
	return dirs
}
