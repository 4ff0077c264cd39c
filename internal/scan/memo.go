package scan

import "sync"

// memo computes the value of a key once, also when many goroutines ask for it.
// A computation must not ask its own memo for its own key.
type memo[K comparable, V any] struct{ values sync.Map }

func (m *memo[K, V]) get(key K, compute func() V) V {
	once, ok := m.values.Load(key)
	if !ok {
		once, _ = m.values.LoadOrStore(key, sync.OnceValue(compute))
	}
	return once.(func() V)()
}
