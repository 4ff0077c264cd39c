package action

import (
	"regexp"
	"strings"
)

// fit returns as many leading sections as fit into room, in bytes. leftOut replaces the
// others.
func fit(markdown, leftOut string, room int) string {
	if !strings.HasSuffix(markdown, "\n") {
		markdown += "\n"
	}
	if len(markdown) <= room {
		return markdown
	}
	var kept strings.Builder
	for _, section := range sections(markdown) {
		if kept.Len()+len(section)+len(leftOut) > room {
			break
		}
		kept.WriteString(section)
	}
	if kept.Len()+len(leftOut) <= room {
		kept.WriteString(leftOut)
	}
	return kept.String()
}

var (
	heading = regexp.MustCompile(`^#{1,6} `)
	fence   = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
)

// sections parts Markdown before each heading and each outermost collapsed
// block, but never within such a block or within fenced code, where a line
// like a heading is none.
func sections(markdown string) []string {
	var parts []string
	var part strings.Builder
	depth, code := 0, ""
	for line := range strings.Lines(markdown) {
		opens := strings.HasPrefix(line, "<details")
		if depth == 0 && code == "" && part.Len() > 0 && (opens || heading.MatchString(line)) {
			parts = append(parts, part.String())
			part.Reset()
		}
		part.WriteString(line)
		code = insideCode(code, line)
		if code != "" {
			continue
		}
		if opens {
			depth++
		}
		if depth > 0 && strings.Contains(line, "</details>") {
			depth--
		}
	}
	return append(parts, part.String())
}

// insideCode returns the fence of the code that the text is in after a line,
// or nothing. A fence is closed by one of its kind that is at least as long.
func insideCode(code, line string) string {
	m := fence.FindStringSubmatch(line)
	switch {
	case m == nil:
		return code
	case code == "":
		return m[1]
	case strings.HasPrefix(m[1], code) && strings.TrimSpace(line) == m[1]:
		return ""
	}
	return code
}
