package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
)

// The time that a run may take where nobody says so.
const (
	// workflowTime is what a workflow's run has. A job has six hours by default,
	// and every minute of them is paid for.
	workflowTime = 30 * time.Minute
	// idleTime is for how long no package may arrive beyond that.
	idleTime = 5 * time.Minute
	// proposingTime is what is left to propose what is complete when the time for
	// asking is over.
	proposingTime = 5 * time.Minute
)

// bounds are the time in which a session may ask. A soft end waits for as long as
// packages keep arriving.
type bounds struct {
	end  time.Time // zero: there is none
	soft bool
	why  error

	mu   sync.Mutex
	last time.Time // when a package arrived
}

// newBounds begins the time of a session. A limit of 0 is the default.
func newBounds(limit time.Duration, onGitHub bool) *bounds {
	b := &bounds{}
	if limit == 0 && onGitHub {
		b.soft, limit = true, workflowTime
	}
	if limit > 0 {
		b.end, b.why = time.Now().Add(limit), fmt.Errorf("the run's time of %s is over", limit)
	}
	return b
}

// arrived says that a package has.
func (b *bounds) arrived() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
}

// left is the time until the end, as far as it is known now.
func (b *bounds) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.end
	if patient := b.last.Add(idleTime); b.soft && !b.last.IsZero() && patient.After(end) {
		end = patient
	}
	return time.Until(end)
}

// asking returns the context of what a session asks. It ends with the time, which
// a hard end tells beforehand.
func (b *bounds) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case b.end.IsZero():
		return context.WithCancel(ctx)
	case !b.soft:
		return context.WithDeadlineCause(ctx, b.end, b.why)
	}
	asking, cancel := context.WithCancelCause(ctx)
	go func() {
		for left := b.left(); left > 0; left = b.left() {
			select {
			case <-time.After(left):
			case <-asking.Done():
				return
			}
		}
		cancel(b.why)
	}()
	return asking, func() { cancel(nil) }
}

// watch notes which packages arrive, besides whoever watches already.
func (b *bounds) watch(others func(string, int64) registry.Download) func(string, int64) registry.Download {
	return func(name string, size int64) registry.Download {
		d := download{bounds: b}
		if others != nil {
			d.other = others(name, size)
		}
		return d
	}
}

// download is one that is watched.
type download struct {
	bounds *bounds
	other  registry.Download // may be nil
}

// Read implements registry.Download.
func (d download) Read(n int64) {
	if d.other != nil {
		d.other.Read(n)
	}
}

// Done implements registry.Download.
func (d download) Done(err error) {
	if err == nil {
		d.bounds.arrived()
	}
	if d.other != nil {
		d.other.Done(err)
	}
}

// finishing returns the context of what is done with what a run has learned. Where
// the asking has ended, by its time or by an interrupt, it has a time of its own:
// whoever wants an end at once interrupts again.
func finishing(ctx, asking context.Context) (context.Context, context.CancelFunc) {
	if asking.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), proposingTime)
}

// ended says that a run has ended before it was done, and why.
func (b *bounds) ended(asking context.Context) []provider.Diagnostic {
	if asking.Err() == nil {
		return nil
	}
	why := "the run was interrupted"
	if cause := context.Cause(asking); cause == b.why {
		why = cause.Error()
	}
	return []provider.Diagnostic{{
		Code: provider.CodeCancelled, Message: why + ", and what was not finished stays as it is",
		Hint: "run again: what packages hash to is remembered as far as they have arrived",
	}}
}
