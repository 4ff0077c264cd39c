package safe

import (
	"strings"
)

// Ours returns Markdown as it is, whatever it is. It is for what relock has written
// before and reads again, and for forms of its own which cannot hold anything else. Each
// call needs a reason, which a test of the house lists: what is returned goes back to
// where it comes from, or was checked.
func Ours(markdown string) Markdown { return Markdown{strings.ToValidUTF8(markdown, replacement)} }

// Fenced returns outside text as a block of code of a language, in which nothing is markup and nobody
// is mentioned. It is cut at the end of a line to limit bytes.
func Fenced(language wording, text string, limit int) Markdown {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(text) > limit {
		text = text[:strings.LastIndexByte(text[:limit], '\n')+1] + "…\n"
	}
	return Ours(fence + string(language) + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n")
}
