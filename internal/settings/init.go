package settings

import (
	"fmt"
	"strings"
)

// Found is what a repository shows of itself, for a file to start from.
type Found struct {
	// Notes are sentences on what was found, by the key of the setting that they
	// bear on.
	Notes map[string]string
	// Exclude are globs of directories that a search had better leave out.
	Exclude []string
	// Groups would split what is too much for one pull request.
	Groups []FoundGroup
}

// FoundGroup is a group with its name and the glob of its directories.
type FoundGroup struct{ Name, Directories string }

// Init returns a file to start from: nothing in it holds but the version, so that
// whoever commits it changes nothing. Every key that the file may hold stands in a
// comment, with its default or what was found for it.
//
// A comment in words begins with "# " and a word. A line that can be taken into
// force begins with the number sign alone, as in sshd_config.
func Init(found Found) []byte {
	var b strings.Builder
	comment(&b, "Settings of relock. Only the version holds: every other key is in a comment, with its default or "+
		"with what was found here. To set one, take the leading # off its line, and off the line of the section above it.")
	section := ""
	for _, s := range All {
		if s.Key == "" || s.Operator {
			continue
		}
		name, indent, off := s.Key, "", "#"
		if s.Name() == "version" {
			off = ""
		}
		if prefix, rest, ok := strings.Cut(s.Key, "."); ok {
			if prefix != section {
				fmt.Fprintf(&b, "\n# %s\n#%s:", sections[prefix], prefix)
			}
			section, name, indent = prefix, rest, "  "
		}
		b.WriteString("\n")
		comment(&b, s.Doc)
		if s.structured() {
			comment(&b, "Each entry may hold:")
		} else if s.listable() {
			comment(&b, "Each set of a list may hold:")
		}
		for _, f := range s.Fields {
			comment(&b, "- "+last(f.Key)+": "+f.Doc)
		}
		if note := found.Notes[s.Key]; note != "" {
			comment(&b, "Found here: "+note)
		}
		for _, line := range found.lines(s, name) {
			fmt.Fprintf(&b, "%s%s%s\n", off, indent, line)
		}
	}
	return []byte(b.String())
}

// lines set the key to what was found for it, else to its default.
func (f Found) lines(s Setting, name string) []string {
	switch {
	case s.Key == "exclude" && len(f.Exclude) > 0:
		return []string{name + ": " + shownList(f.Exclude)}
	case s.Key == "groups" && len(f.Groups) > 0:
		lines := []string{name + ":"}
		for _, g := range f.Groups {
			lines = append(lines, "  - name: "+quote(g.Name), "    directories: "+shownList([]string{g.Directories}))
		}
		return lines
	}
	return []string{name + ": " + shownValue(s, Value{Items: s.defaults()})}
}

// comment writes a text as lines of at most 80 characters.
func comment(b *strings.Builder, text string) {
	for _, line := range Wrap(text, 78) {
		b.WriteString("# " + line + "\n")
	}
}

// Wrap breaks a text into lines of at most width bytes between words.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
