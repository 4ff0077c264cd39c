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
	// sent is the commit that the branch was to point to last.
	sent string
	// disabled says that this run has switched auto-merge off, or may have.
	disabled bool
	// refused is the head at which the server would not replace or delete the
	// branch, as a rule of the repository may have it.
	refused string
	// surveyed says that the attempt begins with what the survey saw of the branch.
	surveyed bool
	// known reports that the branch is one of ours for a base that this run
	// is about.
	known bool
}

// The bounds of converging. Who loses so many races in a row should say so.
const (
	mostAttempts = 4
	firstPause   = time.Second // before the third attempt; then twice as long
)

// converge makes attempts until one is not refused for something that moved
// meanwhile. Each begins by reading where the branch is now: a ref that exists,
// a head that moved, a duplicate pull request are ordinary answers, and after a
// server error nobody knows what was written.
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
		if t.sent != "" && head == t.sent { // though the answer did not say so
			t.did(Updated)
		}
	}
}

// expected reports whether the branch is where the caller saw it. What this run
// may have pushed itself is no surprise.
func (t *task) expected(head string) bool {
	return t.opts.Head == "" || head == t.opts.Head || t.written != None
}

func movable(err error) bool {
	return errors.Is(err, github.ErrConflict) || errors.Is(err, github.ErrUncertain)
}

// see notes what a reader of the outcome can look at.
func (t *task) see(s state) {
	t.HeadSHA = s.head
	if s.open() {
		t.Number, t.URL = s.pull.Number, s.pull.URL
	}
}

// wait notes why nothing is done, and what has to happen first.
func (t *task) wait(todo plan, s state) {
	t.Reason, t.Waits, t.Until = todo.reason, todo.waits, todo.until
	if todo.until == ForAPerson {
		t.ClosedNumber, t.ClosedURL = s.pull.Number, s.pull.URL
	}
}

// did notes what was done, or may have been, for the attempts that follow.
func (t *task) did(op Operation) {
	if t.written != Created {
		t.written = op
	}
}

// maySwap reports whether to try replacing or deleting the branch. What was
// refused at the same head before is not a lost race.
func (t *task) maySwap(s state) bool { return !t.noSwap && t.refused != s.head }

// cannotSwap notes why replacing or deleting failed, and reports whether the
// server has no such operation.
func (t *task) cannotSwap(s state, err error) bool {
	if errors.Is(err, github.ErrConflict) {
		t.refused = s.head
	}
	t.noSwap = t.noSwap || errors.Is(err, github.ErrUnsupported)
	return t.noSwap
}

// say comments on a pull request, unless the same is said there: a comment
// cannot be taken back, and nobody knows what a run that ended has sent.
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
