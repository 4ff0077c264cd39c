// Package collect makes lists out of lists. It maps, filters and counts elements, and
// keeps distinct values and groups in the order in which they came. Those who count, sort and
// group root modules share it, and what counts in words. What the library's slices and
// maps do is theirs.
package collect

// Set is distinct values in the order in which they came, such as names or texts.
type Set[T comparable] struct {
	// List holds them.
	List []T
	has  map[T]bool
}

// Add adds values that are new and not zero.
func (s *Set[T]) Add(values ...T) {
	var none T
	for _, v := range values {
		if v == none || s.has[v] {
			continue
		}
		if s.has == nil {
			s.has = map[T]bool{}
		}
		s.has[v] = true
		s.List = append(s.List, v)
	}
}

// Groups are lists by key. The keys are in the order in which they came.
type Groups[K comparable, V any] struct {
	Keys []K
	Of   map[K][]V
}

// Add adds values to the list of a key.
func (g *Groups[K, V]) Add(key K, values ...V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if _, known := g.Of[key]; !known {
		g.Keys = append(g.Keys, key)
	}
	g.Of[key] = append(g.Of[key], values...)
}

// Mapped returns what f makes of each element; an empty list, which is not nil, of none.
func Mapped[T, U any](in []T, f func(T) U) []U {
	out := make([]U, len(in))
	for i, e := range in {
		out[i] = f(e)
	}
	return out
}

// Those returns the elements of which something holds, in a list of their own; nil if
// there are none.
func Those[T any](in []T, holds func(T) bool) []T {
	var out []T
	for _, e := range in {
		if holds(e) {
			out = append(out, e)
		}
	}
	return out
}

// TrueFirst compares so that what is true comes first.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Sum adds up what n gives for each element.
func Sum[T any](in []T, n func(T) int) int {
	all := 0
	for _, e := range in {
		all += n(e)
	}
	return all
}

// CountIf counts the elements of which something holds.
func CountIf[T any](in []T, holds func(T) bool) int {
	n := 0
	for _, e := range in {
		if holds(e) {
			n++
		}
	}
	return n
}
