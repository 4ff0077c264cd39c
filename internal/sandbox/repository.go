package sandbox

import (
	"bytes"
	"strings"
	"time"
)

// Repository is the initial state of a repository of the sandbox's GitHub, from
// the world text.
type Repository struct {
	Owner string
	Name  string
	// DefaultBranch is one of Branches.
	DefaultBranch string
	// Branches maps a branch's name to its files by slash-separated path.
	Branches map[string]map[string]File
	// Releases are by tag.
	Releases map[string]Release
	Settings Settings
}

// Release is a release of a repository, as GitHub shows it on a page.
type Release struct {
	Published time.Time
	Text      string // in Markdown
}

// addRelease reads the text of a release. A line "published: DATE" may precede
// it.
func (r *Repository) addRelease(tag string, data []byte) error {
	if r.Releases == nil {
		r.Releases = map[string]Release{}
	}
	rel := Release{Published: time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC), Text: string(data)}
	first, rest, _ := strings.Cut(rel.Text, "\n")
	if text, ok := strings.CutPrefix(first, "published: "); ok {
		published, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return err
		}
		rel.Published, rel.Text = published, rest
	}
	r.Releases[tag] = rel
	return nil
}

// File is one entry of a git tree.
type File struct {
	// Mode is git's: one of ModeFile, ModeExecutable, ModeLink and ModeSubmodule.
	Mode string
	// Content is the content of a file, the target of a link, or the SHA of a
	// submodule's commit.
	Content []byte
}

// The modes of git tree entries that a world can have.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
	ModeSubmodule  = "160000"
)

func (r *Repository) add(branch, name string, file File) {
	if r.Branches == nil {
		r.Branches = map[string]map[string]File{}
		r.DefaultBranch = branch
	}
	if r.Branches[branch] == nil {
		r.Branches[branch] = map[string]File{}
	}
	r.Branches[branch][name] = file
}

// repositoryFile reads the marks behind a path.
func repositoryFile(marked string, data []byte) (name string, file File) {
	if name, target, ok := strings.Cut(marked, "@ -> "); ok {
		return name, File{Mode: ModeLink, Content: []byte(target)}
	}
	if name, ok := strings.CutSuffix(marked, "@commit"); ok {
		return name, File{Mode: ModeSubmodule, Content: bytes.TrimSpace(data)}
	}
	if name, ok := strings.CutSuffix(marked, "*"); ok {
		return name, File{Mode: ModeExecutable, Content: bytes.Clone(data)}
	}
	return marked, File{Mode: ModeFile, Content: bytes.Clone(data)}
}
