package memo

import "sync"

// Alike keeps one of values that are mostly equal, for thousands of holders that change
// none of them. The zero value is ready for use, which may be concurrent.
type Alike[V any] struct {
	mu   sync.Mutex
	last map[string]V
}

// One returns the value that came last under the key if it is equal, else this one.
func (a *Alike[V]) One(key string, value V, equal func(V, V) bool) V {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.last[key]; ok && equal(last, value) {
		return last
	}
	if a.last == nil {
		a.last = map[string]V{}
	}
	a.last[key] = value
	return value
}
