package report

// set is distinct values in the order in which they came, such as names or texts.
type set[T comparable] struct {
	list []T
	has  map[T]bool
}

// add adds values that are new and not zero.
func (s *set[T]) add(values ...T) {
	var none T
	for _, v := range values {
		if v == none || s.has[v] {
			continue
		}
		if s.has == nil {
			s.has = map[T]bool{}
		}
		s.has[v] = true
		s.list = append(s.list, v)
	}
}
