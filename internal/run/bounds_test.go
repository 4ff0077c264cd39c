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
				watch := b.watch(nil)
				for _, minute := range tt.arrive {
					time.AfterFunc(time.Duration(minute)*time.Minute, func() { watch("x.zip", 1).Done(nil) })
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
// ever.
func TestFinishingOutlastsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		during, stop := finishing(ctx, ctx)
		defer stop()
		interrupt()
		if during.Err() == nil {
			t.Error("an interrupt does not end what is done without one")
		}
		after, stop := finishing(ctx, ctx)
		defer stop()
		if after.Err() != nil {
			t.Error("nothing can be finished after an interrupt")
		}
		time.Sleep(proposingTime)
		synctest.Wait()
		if after.Err() == nil {
			t.Error("finishing does not end")
		}
	})
}
