package safe

import (
	"strings"
)

// Ours returns Markdown unchanged. It is for text that relock wrote earlier and
// reads again, and for relock's own forms that cannot hold anything else. Each
// call needs a reason in the list of a test: the result returns to its source, or
// was checked.
func Ours(markdown string) Markdown { return Markdown{strings.ToValidUTF8(markdown, replacement)} }

// Fenced returns outside text as a code block of a language, without markup and
// mentions. It is cut at a line's end to limit bytes.
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
