package memo

import "golang.org/x/sync/errgroup"

// Each answers each distinct question once, at most jobs at a time. Failures are
// part of the answers.
func Each[Q comparable, A any](jobs int, asked []Q, answer func(Q) A) map[Q]A {
	var distinct []Q
	byQuestion := map[Q]A{}
	for _, q := range asked {
		if _, again := byQuestion[q]; !again {
			byQuestion[q], distinct = *new(A), append(distinct, q)
		}
	}
	answers := make([]A, len(distinct))
	var g errgroup.Group
	g.SetLimit(jobs)
	for i, q := range distinct {
		g.Go(func() error {
			answers[i] = answer(q)
			return nil
		})
	}
	_ = g.Wait() // failures are part of the answers
	for i, q := range distinct {
		byQuestion[q] = answers[i]
	}
	return byQuestion
}
