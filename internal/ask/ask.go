// Package ask asks what waits for the world: each distinct question once, many at once, and no more at a
// time than a caller allows. What a run remembers of the answers is up to those who answer.
package ask

import (
	"cmp"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/provider"
)

// Question is what a question about a package is about, under the rules of one tool: without
// a platform it is about a release, without a version, too, about a provider.
type Question struct {
	Tool provider.Tool
	Want provider.Want
}

// defaultJobs is how many questions are open at once, unless a caller says it. They wait for
// the world and not for this machine.
const defaultJobs = 32

// Jobs returns how many questions may be open at once: jobs, or a default if that is 0.
func Jobs(jobs int) int { return cmp.Or(jobs, defaultJobs) }

// Reply is the answer to a question, or why there is none.
type Reply[A any] struct {
	Value A
	Err   error
}

// Of asks each distinct question once, as Each does, and keeps why one has no answer.
func Of[Q comparable, A any](jobs int, asked []Q, answer func(Q) (A, error)) map[Q]Reply[A] {
	return Each(jobs, asked, func(q Q) Reply[A] {
		value, err := answer(q)
		return Reply[A]{value, err}
	})
}

// Each answers each distinct question once, at most Jobs of jobs at a time. Failures are
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
