package settings

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
)

// Found is what a repository shows of itself, for a file to start from.
type Found struct {
	// Notes are sentences on what was found, by the key of the setting that they bear on.
	Notes map[string]string
	// Exclude are globs of directories that a search should leave out.
	Exclude []string
	// Groups divide what is too much for one pull request.
	Groups []FoundGroup
}

// FoundGroup is a group with its name and the glob of its directories.
type FoundGroup struct{ Name, Directories string }

// Where a file to start from leads its reader: the description of the file for editors,
// as a revision of relock has it, and the meaning of every setting.
const (
	schemaURL   = "https://raw.githubusercontent.com/relock-dev/relock/%s/docs/relock.schema.json"
	settingsURL = "https://github.com/relock-dev/relock/blob/main/docs/configuration.md"
)

// Init returns a first configuration file. Only its version takes effect, so that a person
// who commits the file changes nothing. The facts about the repository are in comments. All
// other settings are in the document and in the schema that the file names. The schema is
// that of a revision of relock: a tag, a branch or a commit.
//
// A comment in words begins with "# " and a word. A line that can be uncommented begins
// with the number sign only, as in sshd_config.
func Init(found Found, revision string) []byte {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=" + fmt.Sprintf(schemaURL, revision) + "\n")
	b.WriteString("# Settings: " + settingsURL + "\n")
	for _, key := range []string{"include", "tool", "platforms"} {
		if note := found.Notes[key]; note != "" {
			comment(&b, "Found here: "+note)
		}
	}
	b.WriteString("version: 1\n")
	if len(found.Exclude)+len(found.Groups) > 0 {
		b.WriteString("\n# To set one of these, take the leading # off its line.\n")
	}
	if len(found.Exclude) > 0 {
		comment(&b, "Found here: "+found.Notes["exclude"])
		b.WriteString("#exclude: " + write(listOf(found.Exclude)) + "\n")
	}
	if len(found.Groups) > 0 {
		comment(&b, "Found here: "+found.Notes["groups"])
		groups := collect.Mapped(found.Groups, func(g FoundGroup) any {
			return mapping{{word("name"), g.Name}, {word("directories"), listOf([]string{g.Directories})}}
		})
		b.WriteString("#groups: " + write(groups) + "\n")
	}
	return []byte(b.String())
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
