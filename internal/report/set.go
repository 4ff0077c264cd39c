package report

// set is distinct texts in the order in which they came.
type set struct {
	list []string
	has  map[string]bool
}

// add adds texts that are new and not empty.
func (s *set) add(texts ...string) {
	for _, text := range texts {
		if text == "" || s.has[text] {
			continue
		}
		if s.has == nil {
			s.has = map[string]bool{}
		}
		s.has[text] = true
		s.list = append(s.list, text)
	}
}
