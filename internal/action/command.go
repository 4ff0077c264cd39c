package action

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"
)

// Level is how much an annotation matters.
type Level string

// The levels, named as the runner's commands are.
const (
	Notice  Level = "notice"
	Warning Level = "warning"
	Error   Level = "error"
)

// Annotation is a message that GitHub shows beside the run and at a line of a
// file. Only Level and Message are needed.
type Annotation struct {
	Level   Level
	Message string // may have several lines
	Title   string
	File    string // relative to the workspace
	Line    int    // counted from 1; 0 if unknown
}

// Annotate shows the annotation. Runners keep ten of each level for a step, so
// what matters most should come first.
func (r *Runtime) Annotate(a Annotation) error {
	properties := githubactions.CommandProperties{}
	if a.Title != "" {
		properties["title"] = a.Title
	}
	if a.File != "" {
		properties["file"] = a.File
	}
	if a.File != "" && a.Line > 0 {
		properties["line"] = strconv.Itoa(a.Line)
	}
	return r.command(githubactions.Command{Name: string(a.Level), Message: a.Message, Properties: properties})
}

// Mask makes the runner print *** for the secret from now on. It must come
// before anything that could print it. Blank text is no secret and would mask
// half the log.
func (r *Runtime) Mask(secret string) error {
	if strings.TrimSpace(secret) == "" {
		return nil
	}
	return r.command(githubactions.Command{Name: "add-mask", Message: secret})
}

// command issues one command on a line of its own. The library escapes it but
// panics when a write fails, so it writes to memory.
func (r *Runtime) command(c githubactions.Command) error {
	var line strings.Builder
	githubactions.New(githubactions.WithWriter(&line)).IssueCommand(&c)
	if err := r.out.live(line.String()); err != nil {
		return fmt.Errorf("writing the workflow command %s: %w", c.Name, err)
	}
	return nil
}

// Stdout returns the step's standard output for plain text: a runner finds no
// command in what is written to it.
func (r *Runtime) Stdout() io.Writer { return r.out }

// Inert returns a writer of plain text to w, as Stdout is for standard output:
// runners read commands from standard error too.
func Inert(w io.Writer) io.Writer { return newInert(w) }
