package registry

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
)

// begun are the turns that have started.
func begun(turns []*turn) []int {
	var all []int
	for i, t := range turns {
		select {
		case <-t.begun:
			all = append(all, i)
		default:
		}
	}
	return all
}

// join makes a download wait or start.
func (q *queue) join(host string, size int64) *turn {
	t := q.turn(host, size)
	t.wait()
	return t
}

func TestQueueBoundsDownloads(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		all   int
		hosts string // one letter each
		want  []int
	}{
		{"of_one_host", 0, "aaaaaaaab", []int{0, 1, 2, 3, 4, 5, 8}},
		{"of_all_hosts", 3, "abcde", []int{0, 1, 2}},
		{"of_none", 0, "abcdefghij", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(tt.all)
			var turns []*turn
			for _, host := range tt.hosts {
				turns = append(turns, q.join(string(host), 0))
			}
			if diff := cmp.Diff(tt.want, begun(turns)); diff != "" {
				t.Errorf("begun (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueueTakesTheLargestFirst(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	turns := []*turn{q.join("a", 0)}
	for i, size := range []int64{-1, 10, 30, 0, 20, 30} {
		turns = append(turns, q.join(fmt.Sprint(i), size))
	}
	order := begun(turns)
	for last := 0; len(order) < len(turns); {
		turns[last].Leave()
		for _, i := range begun(turns) {
			if i != last && !slices.Contains(order, i) {
				last = i
			}
		}
		order = append(order, last)
	}
	if diff := cmp.Diff([]int{0, 3, 6, 5, 2, 1, 4}, order); diff != "" {
		t.Errorf("order of 0 ? 10 30 ? 20 30 (-want +got):\n%s", diff)
	}
}

func TestQueueForgetsWhoGivesUp(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	first, next := q.turn("a", 0), q.turn("a", 0)
	if err := first.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := next.Enter(ctx); !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("Enter = %v, want it cancelled", err)
	}
	next.Leave()
	first.Leave()
	if err := next.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Leave()
	if q.begun != 0 || len(q.hosts) != 0 || len(q.waiting) != 0 {
		t.Errorf("queue = %+v, want it empty", q)
	}
}

func TestDownloadsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.client(t, Options{}, "")
	for range downloadsPerHost {
		c.fetch.queue.join(f.server.Listener.Addr().String(), 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Hashes(ctx, terraform, want(terraformHost, linux))
		done <- err
	}()
	for !c.fetch.queue.crowded() {
		select {
		case err := <-done:
			t.Fatalf("Hashes = %v, want it to wait", err)
		default:
			runtime.Gosched()
		}
	}
	cancel()
	wantError(t, <-done, problem.CodeCancelled, "interrupted")
	if asked := f.askedFor("/files/linux_amd64"); len(asked) > 0 {
		t.Errorf("asked for %v, want no package", asked)
	}
}

// crowded reports whether any download waits.
func (q *queue) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0
}
