package organisation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
)

// orderOf is in which order the repositories of a list have their turns, as indexes: from
// the one of the name on that an earlier run did not come to. Where nobody knows that,
// the time says with which it begins, so that those at the end have their turn, too,
// where no run comes to it.
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

// whence is where the run of an hour begins. Each day is a golden ratio of the list
// further: its multiples leave no large gap anywhere, however many days there are [Knuth,
// The Art of Computer Programming 3, 6.4, theorem S]. So does each hour of a day, by
// another such number.
func whence(of int, now time.Time) int {
	day, hour := math.Floor(float64(now.Unix())/(24*3600)), float64(now.UTC().Hour())
	at := day/math.Phi + hour*math.Sqrt2
	return int((at - math.Floor(at)) * float64(of))
}

// longestWaitFirst is an order with those in front in which something waits for room, who
// waits the longest first. since is when an index began to wait; zero: it does not.
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

// waitless is 1 where nothing waits.
func waitless(since time.Time) int {
	if since.IsZero() {
		return 1
	}
	return 0
}
