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
	return len(p.Labels)+len(p.Reviewers)+len(p.TeamReviewers)+len(p.Assignees) > 0 || p.Milestone != "" || p.AutoMerge != ""
}

// presenter applies a presentation. What it cannot do becomes a warning of the outcome.
type presenter struct {
	repo    *github.Repository
	outcome *Outcome
}

// present applies what of the presentation cannot be given while opening. None is worth a
// lost pull request, so that a refusal is a warning. It reports whether the rest
// need not be tried again, since a run that ends here leaves that to the next one,
// which labels could not be created, and whether auto-merge is still to be enabled.
func (p presenter) present(ctx context.Context, pull github.PullRequest, m Presentation) (settled bool, missing []string, unmerging bool) {
	unmerging = m.AutoMerge != "" && m.NoAutoMerge
	p.outcome.Warnings = nil // an earlier attempt may have warned of the same
	settled = true
	apply := func(wanted bool, act func() error) {
		if !wanted {
			return
		}
		if err := act(); err != nil {
			p.warnOf(err)
			settled = settled && ctx.Err() == nil && !errors.Is(err, github.ErrUncertain)
		}
	}
	n := pull.Number
	apply(len(m.Labels) > 0, func() (err error) {
		if !m.CreateLabels {
			return p.labelKnown(ctx, n, m.Labels)
		}
		missing, err = p.label(ctx, n, m.Labels)
		return err
	})
	// GitHub refuses teams to a workflow's own token.
	apply(len(m.Reviewers) > 0, func() error {
		return allOrEach(m.Reviewers, func(logins []string) error { return p.repo.RequestReviewers(ctx, n, logins, nil) })
	})
	apply(len(m.TeamReviewers) > 0, func() error {
		return allOrEach(m.TeamReviewers, func(teams []string) error { return p.repo.RequestReviewers(ctx, n, nil, teams) })
	})
	apply(len(m.Assignees) > 0, func() error { return p.repo.Assign(ctx, n, m.Assignees) })
	apply(m.Milestone != "", func() error { return p.repo.SetMilestone(ctx, n, m.Milestone) })
	apply(m.mergesItself(), func() (err error) {
		unmerging, err = p.enableAutoMerge(ctx, pull, m.AutoMerge)
		return err
	})
	return settled, missing, unmerging
}

// mostEnabling and firstEnabling bound how long a run waits for auto-merge: seconds
// are enough in most cases, and checks that take longer are left to the next run.
const (
	mostEnabling  = 3
	firstEnabling = 2 * time.Second // then twice as long
)

// enableAutoMerge lets GitHub merge a pull request by itself. It tries again as long
// as GitHub says that it is not the time, and reports whether a later run shall.
func (p presenter) enableAutoMerge(ctx context.Context, pull github.PullRequest, method string) (later bool, err error) {
	for n := range mostEnabling {
		if n > 0 && p.repo.Pause(ctx, firstEnabling<<(n-1)) != nil {
			return true, err
		}
		if err = p.repo.EnableAutoMerge(ctx, pull, method); !errors.Is(err, github.ErrNotYet) {
			break
		}
	}
	return errors.Is(err, github.ErrNotYet) || errors.Is(err, github.ErrUncertain), err
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

// labelAgain tries again to set labels that could not be created, and returns
// those that still cannot.
func (p presenter) labelAgain(ctx context.Context, pull github.PullRequest, labels []string) []string {
	missing, err := p.label(ctx, pull.Number, labels)
	if err != nil {
		p.outcome.Warnings = append(p.outcome.Warnings, err)
		if len(missing) == 0 {
			return labels // the request was lost, and nothing is known of them
		}
	}
	return missing
}
