package pr

import (
	"context"
	"errors"

	"github.com/relock-dev/relock/internal/github"
)

// later reports whether something of the manners is applied after the opening.
func (m Manners) later() bool {
	return len(m.Labels)+len(m.Reviewers)+len(m.TeamReviewers)+len(m.Assignees) > 0 || m.Milestone != "" || m.AutoMerge != ""
}

// dress applies the manners that cannot be given while opening. None is worth a
// lost pull request, so that a refusal is a warning. It reports whether the rest
// need not be tried again: a run that ends here leaves that to the next one.
func (t *task) dress(ctx context.Context, pull github.PullRequest, m Manners) bool {
	t.Warnings = nil // an earlier attempt may have warned of the same
	settled := true
	apply := func(wanted bool, act func() error) {
		if !wanted {
			return
		}
		if err := act(); err != nil {
			t.Warnings = append(t.Warnings, err)
			settled = settled && ctx.Err() == nil && !errors.Is(err, github.ErrUncertain)
		}
	}
	n := pull.Number
	apply(len(m.Labels) > 0, func() error { return t.repo.Label(ctx, n, m.Labels) })
	// GitHub takes all reviewers of a request or none, and refuses teams to a
	// workflow's own token.
	apply(len(m.Reviewers) > 0, func() error { return t.repo.RequestReviewers(ctx, n, m.Reviewers, nil) })
	apply(len(m.TeamReviewers) > 0, func() error { return t.repo.RequestReviewers(ctx, n, nil, m.TeamReviewers) })
	apply(len(m.Assignees) > 0, func() error { return t.repo.Assign(ctx, n, m.Assignees) })
	apply(m.Milestone != "", func() error { return t.repo.SetMilestone(ctx, n, m.Milestone) })
	apply(m.AutoMerge != "", func() error { return t.repo.EnableAutoMerge(ctx, pull, m.AutoMerge) })
	return settled
}
