package cliconfig

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The limits on credentials helpers. The tools have none. A person who is asked
// for a password gets time to answer; real answers have less than a kilobyte.
const (
	programTime = time.Minute
	programSize = 1 << 20
	// programGrace is how long children of a helper may hold its output open.
	programGrace = time.Second
)

// program is a call of a credentials helper: one of Terraform's, or Docker's.
type program struct {
	path    string // absolute, or a name to look up
	args    []string
	stdin   string
	environ []string
}

// output runs the program and returns its standard output, also together with an error. It
// drops standard error, since its content is unknown.
//
// The program runs in its own directory. In relock's working directory, files that others
// wrote might mislead it.
func (p program) output(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	path, err := exec.LookPath(p.path)
	if err != nil {
		return nil, errors.New("it is not installed")
	}
	cmd := exec.CommandContext(ctx, path, p.args...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = append([]string{}, p.environ...) // nil would be that of the process
	cmd.Stdin = strings.NewReader(p.stdin)
	cmd.WaitDelay = programGrace
	out := bounded{stop: cancel}
	cmd.Stdout = &out
	err = cmd.Run()
	switch {
	case out.full:
		err = errTooLong
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return out.buf.Bytes(), err
}

var errTooLong = errors.New("its answer is too long")

// bounded is a buffer that stops the program when it is full. It does not embed
// the buffer, whose other methods know no bound.
type bounded struct {
	buf  bytes.Buffer
	full bool
	stop func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > programSize {
		b.full = true
		b.stop()
		return 0, errTooLong
	}
	return b.buf.Write(p)
}
