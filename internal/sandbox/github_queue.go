package sandbox

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// queueRefs is the prefix of the refs of a merge queue.
// https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-a-merge-queue
const queueRefs = "refs/heads/gh-readonly-queue/"

// enqueue puts a pull request into the merge queue of its base.
func (g *GitHub) enqueue(r *gitRepository, p *pullRequest, by string) error {
	if rules := r.protection(p.base); rules == nil || !rules.Queue {
		return fmt.Errorf("%s has no merge queue", p.base)
	}
	if state := r.mergeState(p); state != "CLEAN" {
		return fmt.Errorf("pull request %d cannot be queued: it is %s", p.number, state)
	}
	base := r.branch(p.base)
	name := plumbing.ReferenceName(fmt.Sprintf("%s%s/pr-%d-%s", queueRefs, p.base, p.number, base))
	merged, err := g.mergeCommit(r, p, by, "merge")
	if err != nil {
		return err
	}
	p.queued = name
	return r.update(refUpdate{name: name, after: merged})
}

// dequeue takes a pull request out of its queue.
func (r *gitRepository) dequeue(p *pullRequest) {
	delete(r.git.ReferenceStorage, p.queued)
	p.queued = ""
}

// Enqueue puts a pull request into the merge queue of its base.
func (g *GitHub) Enqueue(repo string, number int, by string) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		if p.queued != "" {
			return fmt.Errorf("pull request %d is queued", number)
		}
		return g.enqueue(r, p, by)
	})
}

// Dequeue takes a pull request out of the merge queue.
func (g *GitHub) Dequeue(repo string, number int) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		if p.queued == "" {
			return errors.New("it is not queued")
		}
		r.dequeue(p)
		return nil
	})
}

// MergeQueued merges a pull request whose turn it is.
func (g *GitHub) MergeQueued(repo string, number int) error {
	return g.change(repo, number, func(r *gitRepository, p *pullRequest) error {
		if p.queued == "" {
			return errors.New("it is not queued")
		}
		_, err := g.merge(r, p, firstUser, "squash")
		return err
	})
}
