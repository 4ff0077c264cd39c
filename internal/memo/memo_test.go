package memo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
)

func TestDoAsksEachQuestionOnce(t *testing.T) {
	t.Parallel()
	var m Memo[int, int]
	var asked atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			got, err := m.Do(t.Context(), i%2, func() (int, error) { asked.Add(1); return i%2 + 10, nil })
			if got != i%2+10 || err != nil {
				t.Errorf("Do(%d) = %d, %v", i%2, got, err)
			}
		})
	}
	wg.Wait()
	if asked.Load() != 2 {
		t.Errorf("asked %d times, want once for each of 2 questions", asked.Load())
	}
}

func TestDoKeepsErrorsUnlessTold(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	for _, forget := range []bool{false, true} {
		m := Memo[int, int]{ForgetErrors: forget}
		m.Do(t.Context(), 1, func() (int, error) { return 0, failure })
		_, err := m.Do(t.Context(), 1, func() (int, error) { return 1, nil })
		if kept := errors.Is(err, failure); kept == forget {
			t.Errorf("ForgetErrors %v: error kept %v", forget, kept)
		}
	}
}

func TestDoForgetsWhatAnEndedContextCutOff(t *testing.T) {
	t.Parallel()
	var m Memo[int, int]
	ctx, cancel := context.WithCancel(t.Context())
	m.Do(ctx, 1, func() (int, error) { cancel(); return 0, ctx.Err() })
	if got, err := m.Do(t.Context(), 1, func() (int, error) { return 2, nil }); got != 2 || err != nil {
		t.Errorf("Do afterwards = %d, %v, want 2", got, err)
	}
}

func TestDoWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	var m Memo[int, int]
	asking, release := make(chan struct{}), make(chan struct{})
	go m.Do(context.Background(), 1, func() (int, error) { close(asking); <-release; return 1, nil })
	<-asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Do(ctx, 1, func() (int, error) { return 2, nil }); !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("Do = %v, want a cancelled error", err)
	}
	close(release)
	if got, err := m.Do(t.Context(), 1, func() (int, error) { return 3, nil }); got != 1 || err != nil {
		t.Errorf("Do = %d, %v, want the first answer", got, err)
	}
}

func TestDoGivesWhatIsKnownAfterTheEnd(t *testing.T) {
	t.Parallel()
	var m Memo[int, int]
	m.Do(t.Context(), 1, func() (int, error) { return 1, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 {
		if got, err := m.Do(ctx, 1, func() (int, error) { return 2, nil }); got != 1 || err != nil {
			t.Fatalf("Do after the end = %d, %v, want the answer that is known", got, err)
		}
	}
}
