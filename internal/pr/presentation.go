package pr

import (
	"context"
	"errors"
	"slices"

	"github.com/relock-dev/relock/internal/github"
)

// later reports whether something of the presentation is applied after the opening.
func (p Presentation) later() bool {
	return len(p.Labels)+len(p.Reviewers)+len(p.TeamReviewers)+len(p.Assignees) > 0 || p.Milestone != "" || p.AutoMerge != ""
}

// present applies what of the presentation cannot be given while opening. None is worth a
// lost pull request, so that a refusal is a warning. It reports whether the rest
// need not be tried again, since a run that ends here leaves that to the next one,
// and which labels could not be created.
func (t *task) present(ctx context.Context, pull github.PullRequest, m Presentation) (settled bool, missing []string) {
	t.Warnings = nil // an earlier attempt may have warned of the same
	settled = true
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
	apply(len(m.Labels) > 0, func() (err error) {
		if !m.CreateLabels {
			return t.labelKnown(ctx, n, m.Labels)
		}
		missing, err = t.label(ctx, n, m.Labels)
		return err
	})
	// GitHub takes all reviewers of a request or none, and refuses teams to a
	// workflow's own token.
	apply(len(m.Reviewers) > 0, func() error { return t.repo.RequestReviewers(ctx, n, m.Reviewers, nil) })
	apply(len(m.TeamReviewers) > 0, func() error { return t.repo.RequestReviewers(ctx, n, nil, m.TeamReviewers) })
	apply(len(m.Assignees) > 0, func() error { return t.repo.Assign(ctx, n, m.Assignees) })
	apply(m.Milestone != "", func() error { return t.repo.SetMilestone(ctx, n, m.Milestone) })
	apply(m.AutoMerge != "", func() error { return t.repo.EnableAutoMerge(ctx, pull, m.AutoMerge) })
	return settled, missing
}

// labelKnown sets those of the labels that the repository has.
func (t *task) labelKnown(ctx context.Context, number int, labels []string) error {
	known, err := t.repo.KnownLabels(ctx, labels)
	if err != nil || len(known) == 0 {
		return err
	}
	return t.repo.Label(ctx, number, known)
}

// label sets labels, made where they do not exist, and returns those that cannot
// be made, with the reason. GitHub takes all labels of a request or none, so that
// a refusal is followed by the ones that exist and then by each of the others.
func (t *task) label(ctx context.Context, number int, labels []string) (missing []string, err error) {
	err = t.repo.Label(ctx, number, labels)
	if !errors.Is(err, github.ErrForbidden) && !errors.Is(err, github.ErrConflict) {
		return nil, err
	}
	known, lookErr := t.repo.KnownLabels(ctx, labels)
	if lookErr != nil {
		return labels, lookErr
	}
	if len(known) > 0 {
		if err := t.repo.Label(ctx, number, known); err != nil {
			return labels, err
		}
	}
	missing = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return slices.Contains(known, l) })
	if errors.Is(err, github.ErrForbidden) {
		return missing, err // it would be refused for each of them
	}
	var errs []error
	missing = slices.DeleteFunc(missing, func(l string) bool {
		err := t.repo.Label(ctx, number, []string{l})
		errs = append(errs, err)
		return err == nil
	})
	return missing, errors.Join(errs...)
}

// labelAgain tries again to set labels that could not be created, and returns
// those that still cannot.
func (t *task) labelAgain(ctx context.Context, pull github.PullRequest, labels []string) []string {
	missing, err := t.label(ctx, pull.Number, labels)
	if err != nil {
		t.Warnings = append(t.Warnings, err)
		if len(missing) == 0 {
			return labels // the request was lost, and nothing is known of them
		}
	}
	return missing
}

// labelLater tries again to label a pull request that needs nothing else.
func (t *task) labelLater(ctx context.Context, p Proposal, s state) error {
	labels := waiting(s.marker, p)
	missing := t.labelAgain(ctx, *s.pull, labels)
	if len(missing) == len(labels) {
		return nil
	}
	now, err := t.repo.PullRequest(ctx, s.pull.Number)
	if err != nil {
		return err
	}
	m, ok := ParseMarker(now.Body)
	if !ok {
		return nil // somebody has rewritten the body: it is theirs
	}
	m.missing(missing)
	if _, err := t.repo.EditPullRequest(ctx, now.Number, github.PullRequestEdit{Body: remark(now.Body, m)}); err != nil {
		return err
	}
	t.did(Updated)
	t.Operation, t.Reason = t.written, ""
	return nil
}
