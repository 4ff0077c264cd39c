package organisation

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestOrder holds that each repository has one turn, from the one on that was not
// reached, and that without a memory none waits for ever.
func TestOrder(t *testing.T) {
	t.Parallel()
	all, now := many(100), time.Date(2026, 5, 4, 4, 17, 0, 0, time.UTC)
	order := orderOf(all, all[70].Name, now)
	if order[0] != 70 || order[30] != 0 || order[99] != 69 {
		t.Errorf("from the 70th on the order is %v", order)
	}
	if order := orderOf(all, "", time.Time{}); order[0] < 0 || order[0] > 99 {
		t.Errorf("without a time the order is %v", order)
	}
	if order := orderOf(nil, "gone", now); len(order) != 0 {
		t.Errorf("the order of nothing is %v", order)
	}
	for _, every := range []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		for _, reached := range []int{5, 20, 50} {
			t.Run(fmt.Sprint(every, reached), func(t *testing.T) {
				seen, runs := map[int]bool{}, 0
				for at := now; len(seen) < len(all); at = at.Add(every) {
					order := orderOf(all, "renamed", at)
					if slices.Sort(order); order[0] != 0 || order[99] != 99 || len(slices.Compact(order)) != 100 {
						t.Fatalf("the order at %v has not each once", at)
					}
					for _, i := range orderOf(all, "", at)[:reached] {
						seen[i] = true
					}
					runs++
				}
				if most := 5 * len(all) / reached; runs > most {
					t.Errorf("%d runs that come to %d of 100 reach all, want at most %d", runs, reached, most)
				}
			})
		}
	}
}

// TestLongestWaitComesFirst holds that those in which something waits come first, who waits the
// longest before others, and that all others keep their order.
func TestLongestWaitComesFirst(t *testing.T) {
	t.Parallel()
	day := time.Unix(1_800_000_000, 0)
	since := map[int]time.Time{0: day.Add(2 * time.Hour), 3: day, 4: day.Add(2 * time.Hour), 6: day.Add(time.Hour)}
	order := longestWaitFirst([]int{5, 6, 0, 1, 2, 3, 4}, func(i int) time.Time { return since[i] })
	if want := []int{3, 6, 0, 4, 5, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}
