package render

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/safe"
)

const (
	// notesLimit is the highest number of bytes of one provider's release notes.
	// releaseLimit is that of one release among several.
	notesLimit   = 6000
	releaseLimit = 3000
)

// notesBlock is the collapsed notes of one upgrade; empty without notes. Releases
// with breaking changes come first, then the newest.
func notesBlock(d outline.Vocabulary, n notes.Notes) safe.Markdown {
	var body []safe.Markdown
	room, whole := notesLimit, true
	told := slices.DeleteFunc(slices.Clone(n.Releases), func(rel notes.Release) bool { return len(rel.Sections) == 0 })
	// Sections are in order of importance, so the first one ranks the release.
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
	title := safe.Join(" ", safe.Element(d.Noted(n)), d.Version(n.From), safe.Arrow, d.Version(n.To)).Trimmed()
	return safe.Format("<details><summary>%s</summary>\n\n%s%s\n</details>\n\n", title, text, rest(n, whole))
}

// releaseText is the text of one release, within a limit in bytes. whole is false
// if it was cut. The heading does not count.
func releaseText(d outline.Vocabulary, rel notes.Release, limit int) (text safe.Markdown, whole bool) {
	title := d.Version(rel.Version)
	if url := safe.Redirected(rel.URL); url != "" {
		title = safe.Link(title, url)
	}
	title = title.AndMaybe(", %s", safe.Text(rel.Published.String()))
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

// rest says what the notes leave out, and where to find it.
func rest(n notes.Notes, whole bool) safe.Markdown {
	var cut, all safe.Markdown
	if !whole {
		cut = safe.Const(notesCut)
	}
	if url := safe.Redirected(n.Compare()); url != "" {
		all = safe.Link(safe.Const("All changes"), url).And(".")
	}
	more := safe.Maybe("%s not shown.", safe.Some(n.More, "more release on the way is", "more releases on the way are"))
	return safe.Maybe("%s\n", safe.JoinSome(" ", cut, more, all))
}
