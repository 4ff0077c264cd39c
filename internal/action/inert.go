package action

import (
	"io"
	"sync"
)

// inert writes text so that a runner reads no command in it. It has no
// buffer: it parts with a space what would make a command.
//
// A runner knows two forms, and takes both \n and \r for the end of a line:
// "::" at the beginning of a line, after white space of any alphabet, and
// "##[" anywhere in it (actions/runner, ActionCommand.TryParseV2 and TryParse).
type inert struct {
	mu sync.Mutex
	w  io.Writer

	// blank says that trimming could remove the whole line so far. It has only white space,
	// control characters and characters beyond ASCII.
	blank  bool
	colon  bool // the line so far is blank except for a colon at its end
	hashes int  // number signs at the end of the line so far
	inLine bool // the line has begun
}

func newInert(w io.Writer) *inert { return &inert{w: w, blank: true} }

// Write writes the text made harmless. It returns the length of p on success.
func (i *inert) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	safe := make([]byte, 0, len(p))
	for _, b := range p {
		if i.completes(b) {
			safe = append(safe, ' ')
		}
		i.step(b)
		safe = append(safe, b)
	}
	if _, err := i.w.Write(safe); err != nil {
		return 0, err
	}
	return len(p), nil
}

// completes reports whether the byte would make a command of the line so far.
func (i *inert) completes(b byte) bool {
	return b == ':' && i.colon || b == '[' && i.hashes >= 2
}

// step takes the byte into account.
func (i *inert) step(b byte) {
	if b == '\n' || b == '\r' {
		i.blank, i.colon, i.hashes, i.inLine = true, false, 0, false
		return
	}
	i.inLine = true
	i.colon = b == ':' && i.blank
	i.blank = i.blank && (b <= ' ' || b >= 0x7f)
	if b == '#' {
		i.hashes++
		return
	}
	i.hashes = 0
}

// live writes a line as it is, on a line of its own.
func (i *inert) live(line string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inLine {
		line = "\n" + line
	}
	i.blank, i.colon, i.hashes, i.inLine = true, false, 0, false
	_, err := io.WriteString(i.w, line)
	return err
}
