package action

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/safe"
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
	// From and To are the first and the last column, counted from 1; 0 if unknown.
	From, To int
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
		if a.From > 0 {
			properties["col"] = strconv.Itoa(a.From)
		}
		if a.From > 0 && a.To >= a.From {
			properties["endColumn"] = strconv.Itoa(a.To)
		}
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

// Limits of the runner in bytes.
const (
	maxOutput  = 1 << 20 // of all outputs of a job
	maxSummary = 1 << 20 // of a step's summary; a larger one is dropped whole
)

// outputName is what action.yml allows.
var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// SetOutput sets an output of the step. The value may be anything: it ends
// with a delimiter that cannot be foreseen, as in GitHub's own toolkit.
func (r *Runtime) SetOutput(name, value string) error {
	if !outputName.MatchString(name) {
		return fmt.Errorf("invalid output name %q", name)
	}
	if len(value) > maxOutput {
		return fmt.Errorf("output %s has %s, and Actions allows %d", name, collect.Count(len(value), "byte", "bytes"), maxOutput)
	}
	delimiter := "relock_" + rand.Text() // drawn when the value was fixed, so not in it
	return r.appendTo("GITHUB_OUTPUT", func(int) string {
		return fmt.Sprintf("%s<<%s\n%s\n%s\n", name, delimiter, value, delimiter)
	})
}

// AddSummary appends Markdown to the step's summary. A runner drops a whole summary of more
// than 1 MiB. So AddSummary leaves out the last sections if they do not fit, and leftOut
// replaces them.
func (r *Runtime) AddSummary(markdown, leftOut safe.Markdown) error {
	return r.appendTo("GITHUB_STEP_SUMMARY", func(used int) string { return fit(markdown.String(), leftOut.String(), maxSummary-used) })
}

// appendTo appends to the file that a variable of the environment names, given
// how many bytes it has.
func (r *Runtime) appendTo(name string, text func(used int) string) error {
	path := r.getenv(name)
	if path == "" {
		return fmt.Errorf("%s is not set: this command runs in GitHub Actions", name)
	}
	r.files.Lock()
	defer r.files.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing to %s: %w", name, err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteString(text(int(info.Size())))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing to %s: %w", name, err)
	}
	return nil
}
