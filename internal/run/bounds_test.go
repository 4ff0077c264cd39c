package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAskingEndsWithItsTime lets packages arrive after so many minutes each.
func TestAskingEndsWithItsTime(t *testing.T) {
	tests := map[string]struct {
		limit    time.Duration
		workflow bool
		arrive   []int
		want     int // minutes; 0: not within two hours
	}{
		"by_hand":                           {0, false, nil, 0},
		"in_a_workflow":                     {0, true, nil, 30},
		"in_a_workflow_with_early_packages": {0, true, []int{1, 10, 24}, 30},
		"while_packages_arrive":             {0, true, []int{28, 32, 36}, 41},
		"after_a_gap":                       {0, true, []int{28, 34}, 33},
		"as_told":                           {20 * time.Minute, false, []int{19}, 20},
		"as_told_in_a_workflow":             {50 * time.Minute, true, []int{49}, 50},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := newBounds(tt.limit, tt.workflow)
				asking, stop := b.asking(t.Context())
				defer stop()
				for _, minute := range tt.arrive {
					time.AfterFunc(time.Duration(minute)*time.Minute, b.arrived)
				}
				end := time.NewTimer(2 * time.Hour)
				defer end.Stop()
				took := 0
				select {
				case <-asking.Done():
					took = int(time.Since(began).Minutes())
				case <-end.C:
				}
				if took != tt.want {
					t.Errorf("asking ended after %d minutes, want %d", took, tt.want)
				}
				if tt.want > 0 && context.Cause(asking) != b.why {
					t.Errorf("cause = %v, want %v", context.Cause(asking), b.why)
				}
				_, told := asking.Deadline()
				if told != (tt.limit > 0) {
					t.Errorf("the end is told beforehand: %v, want %v", told, tt.limit > 0)
				}
			})
		})
	}
}

// TestFinishingOutlastsAsking has what is known carried through, though not for
// ever: some minutes after the time is over, and some seconds after an interrupt.
func TestFinishingOutlastsAsking(t *testing.T) {
	t.Parallel()
	lasts := func(ctx context.Context) time.Duration {
		began := time.Now()
		<-ctx.Done()
		return time.Since(began)
	}
	tests := map[string]struct {
		time, interrupt time.Duration // after the beginning; 0: never
		late            time.Duration // when the finishing begins
		want            time.Duration // how long it lasts then
	}{
		"the time is over":                  {time: time.Minute, late: time.Minute, want: proposingTime},
		"the time ends while it proposes":   {time: time.Minute, late: time.Second, want: proposingTime + 59*time.Second},
		"an interrupt":                      {interrupt: time.Minute, late: time.Minute + time.Second, want: writingTime - time.Second},
		"an interrupt while it proposes":    {interrupt: time.Minute, late: time.Second, want: writingTime + 59*time.Second},
		"an interrupt after the time":       {time: time.Minute, interrupt: 2 * time.Minute, late: time.Minute, want: time.Minute + writingTime},
		"an interrupt long after":           {time: time.Minute, interrupt: time.Hour, late: time.Minute, want: proposingTime},
		"an interrupt long before":          {interrupt: time.Second, late: time.Minute, want: 0},
		"the time, but an interrupt before": {time: time.Minute, interrupt: time.Second, late: 2 * time.Second, want: writingTime - time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				b := newBounds(tt.time, false)
				acting, stop := b.heed(ctx)
				defer stop()
				asking, stop := b.asking(acting)
				defer stop()
				if tt.interrupt > 0 {
					time.AfterFunc(tt.interrupt, interrupt)
				}
				time.Sleep(tt.late)
				synctest.Wait()
				finishing, stop := b.finishing(asking, asking) // as for one repository of several
				defer stop()
				if got := lasts(finishing); got != tt.want {
					t.Errorf("what is known is carried through for %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestInterruptEndsWhatIsAsked ends the asking at once, also that of requests that have
// not begun, and what all else is done with after writingTime.
func TestInterruptEndsWhatIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		b := newBounds(0, true)
		acting, stop := b.heed(ctx)
		defer stop()
		before, stop := b.asking(acting)
		defer stop()
		begins := b.begins()
		if before.Err() != nil || !begins() || !b.saves() {
			t.Error("something has ended before anybody interrupts")
		}
		interrupt()
		synctest.Wait()
		after, stop := b.asking(acting)
		defer stop()
		for _, asking := range []context.Context{before, after} {
			if context.Cause(asking) != errInterrupted || len(b.ended(asking)) != 1 {
				t.Errorf("after an interrupt asking ends with %v, and %v is said of it", context.Cause(asking), b.ended(asking))
			}
		}
		if begins() || !b.begins()() || !b.saves() || acting.Err() != nil {
			t.Error("what was begun before an interrupt is finished, what is complete is written, and nothing else begins")
		}
		time.Sleep(savingTime)
		if b.saves() || !b.begins()() {
			t.Error("lock files are not begun after some time, pull requests that are complete are")
		}
		time.Sleep(beginTime - savingTime)
		if b.begins()() {
			t.Error("pull requests that are complete are not begun after some time")
		}
	})
}

// TestInterruptedIsHeardAtOnce has nothing asked by a request that was interrupted
// before it began.
func TestInterruptedIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	b := newBounds(0, false)
	acting, stop := b.heed(ctx)
	defer stop()
	asking, stop := b.asking(acting)
	defer stop()
	if asking.Err() == nil {
		t.Error("an interrupted request asks")
	}
}
