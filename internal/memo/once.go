package memo

import "sync"

// Once computes the value of a key once, also when many goroutines ask for it: what
// needs no context and cannot fail, such as what is read of a file tree. A
// computation must not ask for its own key. The zero value is ready for use.
type Once[K comparable, V any] struct{ values sync.Map }

// Get returns the value of a key, computing it if it is not known.
func (m *Once[K, V]) Get(key K, compute func() V) V {
	once, ok := m.values.Load(key)
	if !ok {
		once, _ = m.values.LoadOrStore(key, sync.OnceValue(compute))
	}
	return once.(func() V)()
}
