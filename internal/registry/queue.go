package registry

import (
	"context"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/provider"
)

// downloadsPerHost bounds the downloads from one host at a time, as browsers
// bound their connections. More do not make a line faster, and a host that sees
// many from one address may throttle them all.
const downloadsPerHost = 6

// queue lets downloads begin: so many at a time from one host, and so many in
// all. Of those that wait, the largest goes first, so that the run does not end
// with a long one alone; those of unknown size go last, in their order.
type queue struct {
	perHost, all int // no bound on all if 0

	mu      sync.Mutex
	begun   int
	hosts   map[string]int // begun of a host
	waiting []*turn        // the next first
}

// turn is one download that waits, or has begun.
type turn struct {
	host  string
	size  int64
	begun chan struct{} // closed then
}

func newQueue(all int) *queue {
	return &queue{perHost: downloadsPerHost, all: all, hosts: map[string]int{}}
}

// enter waits for the turn of a download, whose end must be told with leave. A
// size that is not above zero is not known.
func (q *queue) enter(ctx context.Context, host string, size int64) (leave func(), err error) {
	p := q.place(host, size)
	if err := p.Enter(ctx); err != nil {
		return nil, err
	}
	return p.Leave, nil
}

// place returns the place of a download in the queue, for transport.Request.
func (q *queue) place(host string, size int64) *place {
	return &place{queue: q, host: host, size: size}
}

// place is the turn of one download, which it may leave and wait for again: then
// behind all others of its host, since it was let in before and got nowhere.
type place struct {
	queue *queue
	host  string
	size  int64
	turn  *turn // nil while it has none
}

// Enter implements transport.Turn.
func (p *place) Enter(ctx context.Context) error {
	t := p.queue.wait(p.host, p.size)
	p.size = 0
	select {
	case <-t.begun:
		p.turn = t
		return nil
	case <-ctx.Done():
		p.queue.leave(t)
		return &provider.Error{Code: provider.CodeCancelled, Message: "interrupted", Err: ctx.Err()}
	}
}

// Leave implements transport.Turn. It may be called without a turn.
func (p *place) Leave() {
	if p.turn != nil {
		p.queue.leave(p.turn)
		p.turn = nil
	}
}

func (q *queue) wait(host string, size int64) *turn {
	t := &turn{host: host, size: max(size, 0), begun: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.waiting, func(o *turn) bool { return o.size < t.size })
	if at < 0 {
		at = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, at, t)
	q.begin()
	return t
}

// leave ends a download, or its waiting.
func (q *queue) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	q.begun--
	if q.hosts[t.host]--; q.hosts[t.host] == 0 {
		delete(q.hosts, t.host)
	}
	q.begin()
}

// begin lets those begin that may.
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
