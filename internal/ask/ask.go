// Package ask asks questions that wait for a network: each distinct one once, many at the
// same time, and no more than the caller allows. The sources of the answers decide what a
// run remembers.
package ask

import (
	"cmp"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/provider"
)

// Question is the subject of a question, for one tool: a package. Without a platform it is
// a release, and without a version it is a provider.
type Question struct {
	Tool provider.Tool
	Want provider.Want
}

// defaultJobs is how many questions are open at once by default. They wait for a network
// and not for this machine.
const defaultJobs = 32

// Jobs returns how many questions may be open at once: jobs, or a default if that is 0.
func Jobs(jobs int) int { return cmp.Or(jobs, defaultJobs) }

// Reply is the answer to a question, or its error.
type Reply[A any] struct {
	Value A
	Err   error
}

// Of asks each distinct question once, as Each does, and keeps the errors.
func Of[Q comparable, A any](jobs int, asked []Q, answer func(Q) (A, error)) map[Q]Reply[A] {
	return Each(jobs, asked, func(q Q) Reply[A] {
		value, err := answer(q)
		return Reply[A]{value, err}
	})
}

// Each answers each distinct question once, at most Jobs(jobs) at a time. A failure is part
// of the answer.
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
	g.SetLimit(Jobs(jobs))
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
