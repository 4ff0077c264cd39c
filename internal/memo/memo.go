// Package memo answers each question once in a run, however many ask it at the
// same time. Registries and module sources are asked through it, so that
// hundreds of root modules cost what their distinct questions cost.
package memo

import (
	"context"
	"sync"

	"github.com/relock-dev/relock/internal/problem"
)

// Memo remembers answers. Anyone who asks while the answer is on its way waits for
// it. An answer cut off by the end of a context is not kept. The zero value is
// ready for use, which may be concurrent.
type Memo[K comparable, V any] struct {
	// ForgetErrors keeps answers only, where the next one who asks may do so in
	// another way.
	ForgetErrors bool

	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	turn  chan struct{} // holds an element while somebody asks or looks
	known bool
	value V
	err   error
}

// Do returns the answer to the question, asking if it is not known. An answer that
// is known is given after the end of ctx, too. The answer is shared: callers must not
// change it. Errors are those of ask, and that of problem.Ended if ctx ends while
// somebody else asks.
func (m *Memo[K, V]) Do(ctx context.Context, question K, ask func() (V, error)) (V, error) {
	e := m.entry(question)
	if err := e.enter(ctx); err != nil {
		return *new(V), err
	}
	defer func() { <-e.turn }()
	if e.known {
		return e.value, e.err
	}
	value, err := ask()
	if err == nil || ctx.Err() == nil && !m.ForgetErrors {
		e.known, e.value, e.err = true, value, err
	}
	return value, err
}

// enter waits for the turn. One that is free is taken, whether ctx has ended or not.
func (e *entry[V]) enter(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return problem.Ended(ctx)
	}
}

func (m *Memo[K, V]) entry(question K) *entry[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[K]*entry[V]{}
	}
	if m.entries[question] == nil {
		m.entries[question] = &entry[V]{turn: make(chan struct{}, 1)}
	}
	return m.entries[question]
}
