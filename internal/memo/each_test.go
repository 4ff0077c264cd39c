package memo

import (
	"maps"
	"sync/atomic"
	"testing"
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
