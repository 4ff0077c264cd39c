package report

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

const (
	// notesLimit bounds the release notes of one provider, in bytes, and
	// releaseLimit those of one release among several.
	notesLimit   = 6000
	releaseLimit = 3000
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
func notesBlock(d vocabulary, n notes.Notes) safe.Markdown {
	var body []safe.Markdown
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
		room -= text.Len()
		whole = whole && all
		body = append(body, text)
	}
	text := safe.Join("", body...)
	if text.Empty() {
		return text
	}
	title := safe.Join(" ", safe.Element(d.called(n.Addr)), d.version(n.From), safe.Arrow, d.version(n.To)).Trimmed()
	return safe.Format("<details><summary>%s</summary>\n\n%s%s\n</details>\n\n", title, text, rest(n, whole))
}

// releaseText is what is said of one release, within a limit in bytes; whole is
// false if it is not all of it. The heading is not counted.
func releaseText(d vocabulary, rel notes.Release, limit int) (text safe.Markdown, whole bool) {
	title := d.version(rel.Version)
	if url := safe.Redirected(rel.URL); url != "" {
		title = safe.Link(title, url)
	}
	if text := rel.Published.String(); text != "" {
		title = title.And(", %s", safe.Text(text))
	}
	whole = !rel.Cut
	var body safe.Markdown
	for _, s := range rel.Sections {
		heading := safe.Const("\n")
		if s.Title != "" {
			heading = safe.Format("\n##### %s\n\n", safe.Text(s.Title))
		}
		quoted, all := safe.Quoted(s.Text, max(0, limit-body.Len()-heading.Len()))
		if !quoted.Empty() {
			body = safe.Join("", body, heading, quoted)
		}
		whole = whole && all
	}
	if body.Empty() {
		return body, false
	}
	return safe.Format("#### %s\n\n%s\n", title, body.Trimmed().Line()), whole
}

const notesCut = "The notes are longer than shown."

// rest says what the notes do not show, and where it is.
func rest(n notes.Notes, whole bool) safe.Markdown {
	var parts []safe.Markdown
	if !whole {
		parts = append(parts, safe.Const(notesCut))
	}
	if n.More > 0 {
		parts = append(parts, safe.Format("%s not shown.", safe.Count(n.More, "more release on the way is", "more releases on the way are")))
	}
	if url := safe.Redirected(n.Compare()); url != "" {
		parts = append(parts, safe.Link(safe.Const("All changes"), url).And("."))
	}
	if len(parts) == 0 {
		return safe.Markdown{}
	}
	return safe.Join(" ", parts...).Line()
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
