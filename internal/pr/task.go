package pr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// task is the work on one branch, in as many attempts as it takes.
type task struct {
	*run
	Outcome
	// written is what an earlier attempt has done, or may have done.
	written Operation
	// sent is the commit to which this run last tried to point the branch.
	sent string
	// presented says that this run has applied the presentation.
	presented bool
	// disabled says that this run has turned auto-merge off, or may have.
	disabled bool
	// refused is the head at which the server refused to replace or delete the branch, for
	// example because of a rule of the repository.
	refused string
	// surveyed says that the attempt begins with the survey's state of the branch.
	surveyed bool
	// known says that the branch is ours, and for a base of this run.
	known bool
}

// The bounds of converging. A run that loses more races than this must say so.
const (
	mostAttempts = 4
	firstPause   = time.Second // before the third attempt; then twice as long
)

// converge makes attempts until one is not refused because something has moved. Each
// attempt first reads where the branch is. These answers are ordinary: a ref that exists, a
// head that moved, a duplicate pull request. After a server error it is unknown what was
// written.
func (t *task) converge(ctx context.Context, head string, attempt func(head string) error) {
	t.surveyed = t.opts.Survey.heads != nil
	for n := 1; ; n++ {
		if !t.expected(head) {
			t.Reason = movedMeanwhile
			return
		}
		err := attempt(head)
		if err == nil {
			return
		}
		t.Err = err
		if n == mostAttempts || !movable(err) {
			return
		}
		if n > 1 {
			if t.repo.Pause(ctx, firstPause<<(n-2)) != nil {
				return
			}
		}
		head, err = t.repo.Head(ctx, t.Branch)
		if err != nil && !errors.Is(err, github.ErrNotFound) {
			return
		}
		t.Err, t.surveyed = nil, false
		if t.sent != "" && head == t.sent { // the push succeeded, though its answer was lost
			t.did(Updated)
		}
	}
}

// expected reports whether the branch is where the caller saw it. A push of this run counts
// as expected.
func (t *task) expected(head string) bool {
	return t.opts.Head == "" || head == t.opts.Head || t.written != None
}

func movable(err error) bool {
	return errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrUncertain)
}

// see copies to the outcome what its readers may open.
func (t *task) see(s state) {
	t.HeadSHA = s.head
	if s.open() {
		t.Number, t.URL = s.pull.Number, s.pull.URL
	}
}

// wait stores why nothing is done, and what has to happen first.
func (t *task) wait(todo plan, s state) {
	t.Reason, t.Waits, t.Until = todo.reason, todo.waits, todo.until
	if todo.until == ForAPerson {
		t.ClosedNumber, t.ClosedURL = s.pull.Number, s.pull.URL
	}
}

// did stores what was done, or may have been done, for the next attempts.
func (t *task) did(op Operation) {
	if t.written != Created {
		t.written = op
	}
}

// maySwap reports whether to try replacing or deleting the branch. A refusal at the same
// head was no lost race, so relock does not repeat it.
func (t *task) maySwap(s state) bool { return !t.noSwap && t.refused != s.head }

// cannotSwap stores why a replacement or deletion failed, and reports whether the server
// has no such operation.
func (t *task) cannotSwap(s state, err error) bool {
	if errors.Is(err, github.ErrConflict) {
		t.refused = s.head
	}
	t.noSwap = t.noSwap || errors.Is(err, github.ErrUnsupported)
	return t.noSwap
}

// say comments on a pull request, unless it already has the same comment. A comment cannot
// be taken back, and it is unknown what an interrupted run has sent.
func (t *task) say(ctx context.Context, number int, text safe.Markdown) error {
	comments, err := t.repo.Comments(ctx, github.OnPull(number))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(comments, func(c github.Comment) bool { return c.Body == text.String() }) {
		return nil
	}
	_, err = t.repo.PostComment(ctx, github.OnPull(number), text)
	return err
}

func (t *task) presenter() presenter { return presenter{t.repo, &t.Outcome} }
