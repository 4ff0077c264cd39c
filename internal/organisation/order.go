package organisation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
)

// orderOf is the order of turns, as indexes. It begins with the repository that
// an earlier run did not reach. Without such a name the time decides where it
// begins, so that each repository gets its turn even if no run reaches the end.
func orderOf(listed []github.Listed, next string, now time.Time) []int {
	from := whence(len(listed), now)
	for i, l := range listed {
		if next != "" && l.Name == next {
			from = i
		}
	}
	order := make([]int, len(listed))
	for i := range order {
		order[i] = (from + i) % len(listed)
	}
	return order
}

// whence is the index at which a run of an hour begins. Each day is a golden
// ratio of the list further: its multiples leave no large gap, however many days
// there are [Knuth, The Art of Computer Programming 3, 6.4, theorem S]. Each hour
// of a day adds another such number.
func whence(of int, now time.Time) int {
	day, hour := math.Floor(float64(now.Unix())/(24*3600)), float64(now.UTC().Hour())
	at := day/math.Phi + hour*math.Sqrt2
	return int((at - math.Floor(at)) * float64(of))
}

// longestWaitFirst moves repositories that wait for room to the front, the
// longest wait first. since is the beginning of an index's wait; zero without
// one.
func longestWaitFirst(order []int, since func(i int) time.Time) []int {
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := since(a), since(b)
		if x.IsZero() || y.IsZero() {
			return cmp.Compare(waitless(x), waitless(y))
		}
		return x.Compare(y)
	})
	return order
}

// waitless is 1 without a wait.
func waitless(since time.Time) int {
	if since.IsZero() {
		return 1
	}
	return 0
}
