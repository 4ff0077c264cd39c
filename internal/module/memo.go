package module

import (
	"context"
	"sync"
)

// memo answers each question once in a run. Whoever asks while the answer is on
// its way waits for it. An answer cut off by the end of a context is not kept.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	turn  chan struct{} // holds an element while somebody asks or looks
	known bool
	value V
	err   error
}

// do returns the answer to the question, asking if it is not known. The answer
// is shared: callers must not change it.
func (m *memo[K, V]) do(ctx context.Context, question K, ask func() (V, error)) (V, error) {
	e := m.entry(question)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		var none V
		return none, ended(ctx)
	}
	if e.known {
		return e.value, e.err
	}
	value, err := ask()
	if err == nil || ctx.Err() == nil {
		e.known, e.value, e.err = true, value, err
	}
	return value, err
}

func (m *memo[K, V]) entry(question K) *entry[V] {
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
