package command

import (
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/safe"
)

// Trail is what main must know to end a run early. Its methods are safe for concurrent use.
type Trail struct {
	mu     sync.Mutex
	github bool
	done   []string
}

// OnGitHub reports whether the run may write to GitHub, which takes longer than to a disk.
func (t *Trail) OnGitHub() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.github
}

// Done are sentences on what was done on GitHub so far, without full stops. They are safe
// to print.
func (t *Trail) Done() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.done)
}

// willWrite notes that the run may write to GitHub.
func (t *Trail) willWrite() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.github = true
}

func (t *Trail) add(done string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = append(t.done, safe.Plain(done))
}
