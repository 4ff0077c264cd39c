package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/problem"
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

// bounds are the times of a session. Its two contexts belong to no call: they are ends
// that the contexts of calls follow.
type bounds struct {
	questions    context.Context // ends with an interrupt, or with the time of a workflow
	endQuestions context.CancelCauseFunc
	writes       context.Context // ends writingTime after an interrupt
	endWrites    context.CancelCauseFunc

	end  time.Time   // of the time for questions; zero: there is none
	why  error       // that the time is over
	soft *time.Timer // ends the questions; each package may put it off; nil: the end is fixed

	mu      sync.Mutex
	at      time.Time // of the interrupt; zero: there was none
	unbegun report.Unbegun
}

// newBounds begins the time of a session. A limit of 0 is the default.
func newBounds(limit time.Duration, onGitHub bool) *bounds {
	b := &bounds{}
	b.questions, b.endQuestions = context.WithCancelCause(context.Background())
	b.writes, b.endWrites = context.WithCancelCause(context.Background())
	soft := limit == 0 && onGitHub
	if soft {
		limit = workflowTime
	}
	if limit > 0 {
		b.end, b.why = time.Now().Add(limit), fmt.Errorf("the run's time of %s is over", limit)
	}
	if soft {
		b.soft = time.AfterFunc(limit, func() { b.endQuestions(b.why) })
	}
	return b
}

// arrived puts off a soft end, since a package has arrived.
func (b *bounds) arrived() {
	if b.soft != nil {
		b.soft.Reset(max(time.Until(b.end), idleTime))
	}
}

// interrupt ends the questions at once, and the writes after writingTime.
func (b *bounds) interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() {
		b.at = time.Now()
		b.endQuestions(errInterrupted)
		time.AfterFunc(writingTime, func() { b.endWrites(errInterrupted) })
	}
}

// until returns the context with a further end: so long after that of another context, and
// with its cause.
func until(ctx, other context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Cause(other)) }
	if grace == 0 && other.Err() != nil {
		end() // now: AfterFunc does not wait
	}
	forget := context.AfterFunc(other, func() { time.AfterFunc(grace, end) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// heed returns the context of a request. An interrupt, which is the end of ctx, ends the
// questions at once, and all else after writingTime.
func (b *bounds) heed(ctx context.Context) (context.Context, context.CancelFunc) {
	forget := context.AfterFunc(ctx, b.interrupt)
	if ctx.Err() != nil {
		b.interrupt()
	}
	acting, stop := until(context.WithoutCancel(ctx), b.writes, 0)
	return acting, func() {
		forget()
		stop()
	}
}

// asking returns the context for a session's questions. It ends with an interrupt, and when
// the time is over. A fixed end announces itself.
func (b *bounds) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	asking, stop := until(ctx, b.questions, 0)
	if b.soft != nil || b.end.IsZero() {
		return asking, stop
	}
	timed, cancel := context.WithDeadlineCause(asking, b.end, b.why)
	return timed, func() {
		cancel()
		stop()
	}
}

// finishing returns the context for finishing after the questions. It outlasts them by
// proposingTime if the time is over, and by writingTime after an interrupt.
func (b *bounds) finishing(ctx, asking context.Context) (context.Context, context.CancelFunc) {
	writing, stop := until(context.WithoutCancel(ctx), b.writes, 0)
	acting, cancel := until(writing, asking, proposingTime)
	return acting, func() {
		cancel()
		stop()
	}
}

// within reports whether there was no interrupt, or one less than so long ago.
func (b *bounds) within(grace time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at.IsZero() || time.Since(b.at) < grace
}

// isInterrupted reports whether the run was interrupted. Then nothing new begins.
func (b *bounds) isInterrupted() bool { return !b.within(0) }

// saves reports whether a complete lock file may still be written to disk.
func (b *bounds) saves() bool { return b.within(savingTime) }

// begins returns a function that reports whether a pull request may begin. An interrupt
// during the writing of pull requests stops further ones. After an interrupt during
// questions to registries, complete pull requests may still begin for beginTime.
func (b *bounds) begins() func() bool {
	grace := time.Duration(0)
	if b.isInterrupted() {
		grace = beginTime
	}
	return func() bool { return b.within(grace) }
}

// skip counts the work that did not begin because of an interrupt.
func (b *bounds) skip(rest report.Unbegun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unbegun.PullRequests += rest.PullRequests
	b.unbegun.Repositories += rest.Repositories
}

// ended returns the problem of a run that ended early, with the reason.
func (b *bounds) ended(asking context.Context) []problem.Problem {
	if asking.Err() == nil {
		return nil
	}
	early := report.Interruption
	if context.Cause(asking) == b.why {
		early.Message = b.why.Error() + ", and what was not finished stays as it is"
		early.Hint = "run again, with more time (--timeout): relock remembers the hashes of the packages that have arrived"
	}
	return []problem.Problem{early}
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
