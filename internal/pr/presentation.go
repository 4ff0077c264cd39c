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

// later reports whether a part of the presentation is applied after the opening.
func (p Presentation) later() bool {
	return p.manual() || p.AutoMerge != ""
}

// presenter applies a presentation. If a part fails, the outcome gets a warning.
type presenter struct {
	repo    *github.Repository
	outcome *Outcome
}

// presented is the result of applying a presentation.
type presented struct {
	// settled says that every answer arrived: a part that is not applied was refused.
	settled bool
	// labels are those that must still be set. left is the rest that a later run tries
	// again.
	labels []string
	left   Unapplied
	// unmerging says that auto-merge must still be enabled.
	unmerging bool
}

// Unapplied lists the parts of a presentation that must be tried again. Either the token
// has no permission for them, or the answer was lost.
type Unapplied struct {
	Reviewers     []string `json:"reviewers,omitempty"`
	TeamReviewers []string `json:"team-reviewers,omitempty"`
	Assignees     []string `json:"assignees,omitempty"`
	Milestone     bool     `json:"milestone,omitempty"`
}

// present applies the parts of the presentation that GitHub does not accept at the opening.
// A refusal is a warning, since it must not cost the pull request. If the part itself is
// wrong, such as a person who cannot review, present warns once. The next run tries all
// others again.
func (p presenter) present(ctx context.Context, pull github.PullRequest, m Presentation) presented {
	p.outcome.Warnings = nil // an earlier attempt may have given the same warnings
	done := presented{settled: true, unmerging: m.AutoMerge != "" && m.NoAutoMerge}
	// apply reports whether a later run must try again.
	apply := func(wanted bool, act func() error) bool {
		if !wanted {
			return false
		}
		err := act()
		if err == nil {
			return false
		}
		p.warnOf(err)
		done.settled = done.settled && ctx.Err() == nil && !errors.Is(err, github.ErrUncertain)
		return !errors.Is(err, github.ErrConflict) && !errors.Is(err, github.ErrNotFound)
	}
	n := pull.Number
	again := apply(len(m.Labels) > 0, func() (err error) {
		if !m.CreateLabels {
			return p.labelKnown(ctx, n, m.Labels)
		}
		done.labels, err = p.label(ctx, n, m.Labels)
		return err
	})
	if again && len(done.labels) == 0 {
		done.labels = m.Labels
	}
	// GitHub refuses teams to the token of a workflow.
	if apply(len(m.Reviewers) > 0, func() error {
		return allOrEach(m.Reviewers, func(logins []string) error { return p.repo.RequestReviewers(ctx, n, logins, nil) })
	}) {
		done.left.Reviewers = m.Reviewers
	}
	if apply(len(m.TeamReviewers) > 0, func() error {
		return allOrEach(m.TeamReviewers, func(teams []string) error { return p.repo.RequestReviewers(ctx, n, nil, teams) })
	}) {
		done.left.TeamReviewers = m.TeamReviewers
	}
	if apply(len(m.Assignees) > 0, func() error { return p.repo.Assign(ctx, n, m.Assignees) }) {
		done.left.Assignees = m.Assignees
	}
	done.left.Milestone = apply(m.Milestone != "", func() error { return p.repo.SetMilestone(ctx, n, m.Milestone) })
	if m.mergesItself() {
		done.unmerging = apply(true, func() error { return p.enableAutoMerge(ctx, pull, m.AutoMerge) })
	}
	return done
}

// remaining is the part of the presentation that is still wanted, and that a pull request
// with this marker lacks. It leaves out what people have changed since the opening.
func (p Presentation) remaining(m Marker) Presentation {
	both := func(wanted, left []string) []string {
		return slices.DeleteFunc(slices.Clone(left), func(name string) bool { return !slices.Contains(wanted, name) })
	}
	p.Labels = both(p.Labels, m.MissingLabels)
	p.Reviewers, p.TeamReviewers = both(p.Reviewers, m.Unapplied.Reviewers), both(p.TeamReviewers, m.Unapplied.TeamReviewers)
	p.Assignees = both(p.Assignees, m.Unapplied.Assignees)
	if !m.Unapplied.Milestone {
		p.Milestone = ""
	}
	if !m.AutoMerge {
		p.AutoMerge = ""
	}
	return p
}

// manual reports whether something other than auto-merge must be applied.
func (p Presentation) manual() bool {
	return len(p.Labels)+len(p.Reviewers)+len(p.TeamReviewers)+len(p.Assignees) > 0 || p.Milestone != ""
}

// mostEnabling and firstEnabling bound how long a run waits for auto-merge. Seconds are
// enough in most cases. If checks take longer, the next run tries again.
const (
	mostEnabling  = 3
	firstEnabling = 2 * time.Second // doubled each time
)

// enableAutoMerge turns auto-merge on. It tries again while GitHub answers that it is too
// early.
func (p presenter) enableAutoMerge(ctx context.Context, pull github.PullRequest, method string) (err error) {
	for n := range mostEnabling {
		if n > 0 && p.repo.Pause(ctx, firstEnabling<<(n-1)) != nil {
			return err
		}
		err = p.repo.EnableAutoMerge(ctx, pull, method)
		if !errors.Is(err, github.ErrNotYet) {
			break
		}
	}
	return err
}

// warnOf adds one warning for each failure.
func (p presenter) warnOf(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		p.outcome.Warnings = append(p.outcome.Warnings, several.Unwrap()...)
		return
	}
	p.outcome.Warnings = append(p.outcome.Warnings, err)
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

// labelKnown sets the labels that exist in the repository.
func (p presenter) labelKnown(ctx context.Context, number int, labels []string) error {
	known, err := p.repo.KnownLabels(ctx, labels)
	if err != nil || len(known) == 0 {
		return err
	}
	return p.repo.Label(ctx, number, known)
}

// label sets labels, and creates those that do not exist. It returns the labels that cannot
// be created, with the reason. GitHub takes all labels of a request or none. So after a
// refusal label sets the existing labels, and then each of the others.
func (p presenter) label(ctx context.Context, number int, labels []string) (missing []string, err error) {
	err = p.repo.Label(ctx, number, labels)
	if !errors.Is(err, github.ErrForbidden) && !errors.Is(err, github.ErrConflict) {
		return nil, err
	}
	known, lookErr := p.repo.KnownLabels(ctx, labels)
	if lookErr != nil {
		return labels, lookErr
	}
	if len(known) > 0 {
		if err := p.repo.Label(ctx, number, known); err != nil {
			return labels, err
		}
	}
	missing = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return slices.Contains(known, l) })
	if errors.Is(err, github.ErrForbidden) {
		return missing, err // GitHub would refuse each of them
	}
	var errs []error
	missing = slices.DeleteFunc(missing, func(l string) bool {
		err := p.repo.Label(ctx, number, []string{l})
		errs = append(errs, err)
		return err == nil
	})
	return missing, errors.Join(errs...)
}
