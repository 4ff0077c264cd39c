package ask

import (
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachAnswersDistinctQuestionsOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	got := Each(2, []int{3, 1, 3, 2, 1}, func(q int) int {
		asked.Add(1)
		return q * q
	})
	if want := map[int]int{1: 1, 2: 4, 3: 9}; !maps.Equal(got, want) || asked.Load() != 3 {
		t.Errorf("Each = %v by %d questions, want %v by 3", got, asked.Load(), want)
	}
}

func TestEachBoundsWhatIsOpen(t *testing.T) {
	t.Parallel()
	questions := make([]int, 100)
	for i := range questions {
		questions[i] = i
	}
	for jobs, want := range map[int]int64{0: defaultJobs, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			var open, most atomic.Int64
			Each(jobs, questions, func(int) bool {
				most.Store(max(most.Load(), open.Add(1)))
				time.Sleep(time.Second) // of virtual time: then as many as allowed are open
				open.Add(-1)
				return true
			})
			if most.Load() != want {
				t.Errorf("of %d jobs %d questions were open at once, want %d", jobs, most.Load(), want)
			}
		})
	}
}
