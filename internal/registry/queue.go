package registry

import (
	"context"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/problem"
)

// downloadsPerHost bounds the downloads from one host at a time, as browsers do. More
// downloads do not make a line faster, and a host may throttle an address that opens many.
const downloadsPerHost = 6

// queue bounds how many downloads run at a time, from one host and in all. The largest
// waiting download starts first, so that the run does not end with a long one alone.
// Downloads of unknown size start last, in their order.
type queue struct {
	perHost, all int // all is 0 for no bound

	mu      sync.Mutex
	begun   int
	hosts   map[string]int // running downloads by host
	waiting []*turn        // the next one first
}

// turn is one download that waits, runs, or has left the queue. It may leave and wait
// again. Then it waits behind all others of its host, since its earlier turn did not
// succeed.
type turn struct {
	queue *queue
	host  string
	size  int64
	begun chan struct{} // closed when it starts; nil if it neither waits nor runs
}

func newQueue(all int) *queue {
	return &queue{perHost: downloadsPerHost, all: all, hosts: map[string]int{}}
}

// turn returns the turn of a download, for transport.Request. A size of 0 or less is not
// known.
func (q *queue) turn(host string, size int64) *turn {
	return &turn{queue: q, host: host, size: max(size, 0)}
}

// Enter implements transport.Turn.
func (t *turn) Enter(ctx context.Context) error {
	t.wait()
	select {
	case <-t.begun:
		return nil
	case <-ctx.Done():
		t.Leave()
		return problem.Ended(ctx)
	}
}

// wait joins the queue.
func (t *turn) wait() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.begun = make(chan struct{})
	behind := slices.IndexFunc(q.waiting, func(o *turn) bool { return o.size < t.size })
	if behind < 0 {
		behind = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, behind, t)
	q.begin()
}

// Leave implements transport.Turn: it ends the download, or the wait for it.
func (t *turn) Leave() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.begun == nil {
		return
	}
	t.begun, t.size = nil, 0
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	q.begun--
	q.hosts[t.host]--
	if q.hosts[t.host] == 0 {
		delete(q.hosts, t.host)
	}
	q.begin()
}

// begin starts the downloads that may start.
func (q *queue) begin() {
	q.waiting = slices.DeleteFunc(q.waiting, func(t *turn) bool {
		if q.hosts[t.host] == q.perHost || q.all > 0 && q.begun == q.all {
			return false
		}
		q.hosts[t.host]++
		q.begun++
		close(t.begun)
		return true
	})
}
