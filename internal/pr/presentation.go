package pr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
)

// mergesItself reports whether GitHub must merge the proposal by auto-merge.
func (p Presentation) mergesItself() bool { return p.AutoMerge != "" && !p.NoAutoMerge }

// presenter applies a presentation. If a part fails, the outcome gets a warning.
type presenter struct {
	repo    *github.Repository
	outcome *Outcome
}

// present applies the parts of the presentation that GitHub does not accept at the opening,
// except auto-merge. A refusal is a warning, since it must not cost the pull request. No run
// tries a part again: people see what is missing, and may have changed it since.
func (p presenter) present(ctx context.Context, n int, m Presentation) {
	apply := func(wanted bool, act func() error) {
		if !wanted {
			return
		}
		if err := act(); err != nil {
			p.warnOf(err)
		}
	}
	apply(len(m.Labels) > 0, func() error {
		if !m.CreateLabels {
			_, err := p.labelKnown(ctx, n, m.Labels)
			return err
		}
		return p.label(ctx, n, m.Labels)
	})
	apply(len(m.Reviewers) > 0, func() error {
		return allOrEach(m.Reviewers, func(logins []string) error { return p.repo.RequestReviewers(ctx, n, logins, nil) })
	})
	// GitHub refuses teams to the token of a workflow.
	apply(len(m.TeamReviewers) > 0, func() error {
		return allOrEach(m.TeamReviewers, func(teams []string) error { return p.repo.RequestReviewers(ctx, n, nil, teams) })
	})
	apply(len(m.Assignees) > 0, func() error { return p.repo.Assign(ctx, n, m.Assignees) })
	apply(m.Milestone != "", func() error { return p.repo.SetMilestone(ctx, n, m.Milestone) })
}

// mostEnabling and firstEnabling bound how long a run waits for auto-merge. Seconds are
// enough in most cases. If checks take longer, the next run tries again.
const (
	mostEnabling  = 3
	firstEnabling = 2 * time.Second // doubled each time
)

// enableAutoMerge turns auto-merge on, and reports whether a later run must try again. This
// run tries again while GitHub answers that it is too early. A failure is a warning.
func (p presenter) enableAutoMerge(ctx context.Context, pull github.PullRequest, method string) (again bool) {
	var err error
	for n := range mostEnabling {
		if n > 0 && p.repo.Pause(ctx, firstEnabling<<(n-1)) != nil {
			break
		}
		err = p.repo.EnableAutoMerge(ctx, pull, method)
		if !errors.Is(err, github.ErrNotYet) {
			break
		}
	}
	if err == nil {
		return false
	}
	p.warnOf(err)
	return !errors.Is(err, github.ErrConflict) && !errors.Is(err, github.ErrNotFound)
}

// warnOf adds one warning for each failure that an earlier attempt has not met.
func (p presenter) warnOf(err error) {
	failures := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		failures = several.Unwrap()
	}
	for _, failure := range failures {
		known := func(w error) bool { return w.Error() == failure.Error() }
		if !slices.ContainsFunc(p.outcome.Warnings, known) {
			p.outcome.Warnings = append(p.outcome.Warnings, failure)
		}
	}
}

// allOrEach asks for all names at once. GitHub takes all reviewers of a request or none. So
// after a refusal allOrEach asks for each name by itself.
func allOrEach(names []string, ask func([]string) error) error {
	err := ask(names)
	if len(names) < 2 || !errors.Is(err, github.ErrConflict) {
		return err
	}
	var refused []error
	for _, name := range names {
		refused = append(refused, ask([]string{name}))
	}
	return errors.Join(refused...)
}

// labelKnown sets the labels that exist in the repository, and returns them.
func (p presenter) labelKnown(ctx context.Context, number int, labels []string) ([]string, error) {
	known, err := p.repo.KnownLabels(ctx, labels)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	return known, p.repo.Label(ctx, number, known)
}

// label sets labels, and creates those that do not exist. GitHub takes all labels of a
// request or none. So after a refusal label sets the existing labels, and then each of the
// others, unless the token may create none.
func (p presenter) label(ctx context.Context, number int, labels []string) error {
	refused := p.repo.Label(ctx, number, labels)
	if !errors.Is(refused, github.ErrForbidden) && !errors.Is(refused, github.ErrConflict) {
		return refused
	}
	known, err := p.labelKnown(ctx, number, labels)
	if err != nil {
		return err
	}
	if errors.Is(refused, github.ErrForbidden) {
		return refused
	}
	missing := slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return slices.Contains(known, l) })
	return allOrEach(missing, func(names []string) error { return p.repo.Label(ctx, number, names) })
}
