package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
)

// The default times of a run.
const (
	// workflowTime bounds a run in a workflow. A job has six hours by default, and each
	// minute costs money.
	workflowTime = 30 * time.Minute
	// idleTime ends a run that is over its time once no package arrives for so long.
	idleTime = 5 * time.Minute
	// proposingTime is for proposing complete changes after the time for questions has
	// ended.
	proposingTime = 5 * time.Minute
	// writingTime is for writing to GitHub after an interrupt. Within beginTime relock may
	// still begin a pull request that is complete. A runner of GitHub waits 7.5 s.
	writingTime = 5 * time.Second
	beginTime   = 3 * time.Second
	// savingTime is for writing lock files to disk after an interrupt.
	savingTime = 1500 * time.Millisecond
)

// errInterrupted is the reason for asking no further questions after an interrupt.
var errInterrupted = errors.New("the run was interrupted")

// bounds are the time in which a session may ask questions. A soft end waits while packages
// keep arriving.
type bounds struct {
	end  time.Time // zero: there is none
	soft bool
	why  error

	interrupted chan struct{} // closed after the first interrupt

	mu      sync.Mutex
	last    time.Time       // when the last package arrived
	signal  <-chan struct{} // closed by the first interrupt; nil if nothing can interrupt
	at      time.Time       // when the interrupt came
	unbegun report.Unbegun
}

// newBounds begins the time of a session. A limit of 0 is the default.
func newBounds(limit time.Duration, onGitHub bool) *bounds {
	b := &bounds{interrupted: make(chan struct{})}
	if limit == 0 && onGitHub {
		b.soft, limit = true, workflowTime
	}
	if limit > 0 {
		b.end, b.why = time.Now().Add(limit), fmt.Errorf("the run's time of %s is over", limit)
	}
	return b
}

// arrived stores that a package has arrived.
func (b *bounds) arrived() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
}

// left is the time until the end, as far as the end is known.
func (b *bounds) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.end
	if patient := b.last.Add(idleTime); b.soft && !b.last.IsZero() && patient.After(end) {
		end = patient
	}
	return time.Until(end)
}

// heed returns the context of a request. After an interrupt, which is the end of ctx,
// questions end at once, and all else ends after writingTime.
func (b *bounds) heed(ctx context.Context) (context.Context, context.CancelFunc) {
	b.mu.Lock()
	if b.signal == nil {
		b.signal = ctx.Done()
	}
	b.mu.Unlock()
	forget := context.AfterFunc(ctx, func() { b.isInterrupted() })
	acting, stop := b.finishing(ctx, ctx)
	return acting, func() {
		forget()
		stop()
	}
}

// isInterrupted reports whether the run was interrupted. Then nothing new begins.
func (b *bounds) isInterrupted() bool {
	interrupted, _ := b.since()
	return interrupted
}

// since is how long ago the run was interrupted, if it was.
func (b *bounds) since() (interrupted bool, ago time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.signal:
		if b.at.IsZero() {
			b.at = time.Now()
			close(b.interrupted)
		}
		return true, time.Since(b.at)
	default:
		return false, 0
	}
}

// begins returns a function that reports whether a pull request may begin. An interrupt
// during the writing of pull requests stops further ones. After an interrupt during
// questions to registries, complete pull requests may still begin for beginTime.
func (b *bounds) begins() func() bool {
	before := b.isInterrupted()
	return func() bool {
		interrupted, ago := b.since()
		return !interrupted || before && ago < beginTime
	}
}

// saves reports whether a complete lock file may still be written to disk.
func (b *bounds) saves() bool {
	interrupted, ago := b.since()
	return !interrupted || ago < savingTime
}

// skip counts the work that did not begin because of an interrupt.
func (b *bounds) skip(rest report.Unbegun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unbegun.PullRequests += rest.PullRequests
	b.unbegun.Repositories += rest.Repositories
}

// asking returns the context for a session's questions. It ends with an interrupt, and when
// the time is over. A hard end announces itself.
func (b *bounds) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if b.isInterrupted() {
		cancel(errInterrupted)
	}
	go func() {
		select {
		case <-b.interrupted:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	timed, stop := b.timed(ctx)
	return timed, func() {
		stop()
		cancel(nil)
	}
}

// timed returns a context that ends with the time.
func (b *bounds) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case b.end.IsZero():
		return ctx, func() {}
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

// watch notes when packages arrive. An earlier watcher keeps watching.
func (b *bounds) watch(others func(string, int64) registry.Download) func(string, int64) registry.Download {
	return func(name string, size int64) registry.Download {
		d := download{bounds: b}
		if others != nil {
			d.other = others(name, size)
		}
		return d
	}
}

// download is one watched download.
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

// finishing returns the context for finishing after the questions. It outlasts the
// questions by proposingTime if the time is over, and by writingTime after an interrupt.
func (b *bounds) finishing(ctx, asking context.Context) (context.Context, context.CancelFunc) {
	acting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-acting.Done():
			return
		case <-b.interrupted:
		case <-asking.Done():
			select {
			case <-acting.Done():
				return
			case <-b.interrupted:
			case <-time.After(proposingTime):
				cancel(fmt.Errorf("the %s for what was complete are over", proposingTime))
				return
			}
		}
		_, ago := b.since()
		select {
		case <-acting.Done():
		case <-time.After(writingTime - ago):
			cancel(errInterrupted)
		}
	}()
	return acting, func() { cancel(nil) }
}

// ended returns the problem of a run that ended early, with the reason.
func (b *bounds) ended(asking context.Context) []problem.Problem {
	if asking.Err() == nil {
		return nil
	}
	if context.Cause(asking) != b.why {
		return []problem.Problem{report.Interruption}
	}
	late := report.Interruption
	late.Message = b.why.Error() + ", and what was not finished stays as it is"
	return []problem.Problem{late}
}

// counted is the result of a request. An interrupted request always returns a report, and
// one line of it counts what was not finished.
func (b *bounds) counted(r report.Report, err error) (report.Report, error) {
	if !b.isInterrupted() {
		return r, err
	}
	if err != nil && !problem.Coded(err, problem.CodeCancelled) && !errors.Is(err, context.Canceled) {
		r.Diagnostics = append(r.Diagnostics, problem.Of(err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return report.Interrupted(r, b.unbegun), nil
}
