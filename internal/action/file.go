package action

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
)

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
		return fmt.Errorf("output %s has %d bytes, and Actions allows %d", name, len(value), maxOutput)
	}
	delimiter := "relock_" + rand.Text() // drawn when the value was fixed, so not in it
	return r.appendTo("GITHUB_OUTPUT", func(int) string {
		return fmt.Sprintf("%s<<%s\n%s\n%s\n", name, delimiter, value, delimiter)
	})
}

// AddSummary appends Markdown to the step's summary. A runner drops a summary
// of more than 1 MiB whole, so what does not fit is left out, in whole
// sections, with a line that says so.
func (r *Runtime) AddSummary(markdown string) error {
	return r.appendTo("GITHUB_STEP_SUMMARY", func(used int) string { return fit(markdown, maxSummary-used) })
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
