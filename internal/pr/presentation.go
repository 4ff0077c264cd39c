package pr

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/github"
)

// mergesItself reports whether GitHub is to merge what is proposed.
func (p Presentation) mergesItself() bool { return p.AutoMerge != "" && !p.NoAutoMerge }

// later reports whether something of the presentation is applied after the opening.
func (p Presentation) later() bool {
	return p.manual() || p.AutoMerge != ""
}

// presenter applies a presentation. What it cannot do becomes a warning of the outcome.
type presenter struct {
	repo    *github.Repository
	outcome *Outcome
}

// presented is what happened to a presentation.
type presented struct {
	// settled says that nothing was lost on the way: what is not applied was refused.
	settled bool
	// labels are those that are still to be set, and left is what else a later run tries again.
	labels []string
	left   Unapplied
	// unmerging says that auto-merge is still to be enabled.
	unmerging bool
}

// Unapplied is what of a presentation must be tried again: the token might not apply it, or
// nobody knows whether it was applied.
type Unapplied struct {
	Reviewers     []string `json:"reviewers,omitempty"`
	TeamReviewers []string `json:"team-reviewers,omitempty"`
	Assignees     []string `json:"assignees,omitempty"`
	Milestone     bool     `json:"milestone,omitempty"`
}

// present applies what of the presentation cannot be given while opening. None is worth a
// lost pull request, so that a refusal is a warning. What is wrong with a thing itself, such as
// a person who cannot review, is said once. All else is tried again by the next run.
func (p presenter) present(ctx context.Context, pull github.PullRequest, m Presentation) presented {
	p.outcome.Warnings = nil // an earlier attempt may have warned of the same
	done := presented{settled: true, unmerging: m.AutoMerge != "" && m.NoAutoMerge}
	// apply reports whether to try again.
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
	// GitHub refuses teams to a workflow's own token.
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

// remaining is the part of the presentation that a pull request with the marker lacks, and that
// is still wanted. What people have changed since the opening is not in it.
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

// manual reports whether something must be applied beside auto-merge.
func (p Presentation) manual() bool {
	return len(p.Labels)+len(p.Reviewers)+len(p.TeamReviewers)+len(p.Assignees) > 0 || p.Milestone != ""
}

// mostEnabling and firstEnabling bound how long a run waits for auto-merge: seconds
// are enough in most cases, and checks that take longer are left to the next run.
const (
	mostEnabling  = 3
	firstEnabling = 2 * time.Second // then twice as long
)

// enableAutoMerge lets GitHub merge a pull request by itself. It tries again as long
// as GitHub says that it is not the time.
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

// warnOf adds what could not be done, each by itself.
func (p presenter) warnOf(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		p.outcome.Warnings = append(p.outcome.Warnings, several.Unwrap()...)
		return
	}
	p.outcome.Warnings = append(p.outcome.Warnings, err)
}

// allOrEach asks for all names at once and, where GitHub refuses that for one of
// them, for each by itself: it takes all reviewers of a request or none.
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

// labelKnown sets those of the labels that the repository has.
func (p presenter) labelKnown(ctx context.Context, number int, labels []string) error {
	known, err := p.repo.KnownLabels(ctx, labels)
	if err != nil || len(known) == 0 {
		return err
	}
	return p.repo.Label(ctx, number, known)
}

// label sets labels, made where they do not exist, and returns those that cannot
// be made, with the reason. GitHub takes all labels of a request or none, so that
// a refusal is followed by the ones that exist and then by each of the others.
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
		return missing, err // it would be refused for each of them
	}
	var errs []error
	missing = slices.DeleteFunc(missing, func(l string) bool {
		err := p.repo.Label(ctx, number, []string{l})
		errs = append(errs, err)
		return err == nil
	})
	return missing, errors.Join(errs...)
}
