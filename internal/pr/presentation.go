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

// present applies what of the presentation cannot be given while opening. None is worth a
// lost pull request, so that a refusal is a warning. It reports whether the rest
// need not be tried again, since a run that ends here leaves that to the next one,
// which labels could not be created, and whether auto-merge is still to be enabled.
func (t *task) present(ctx context.Context, pull github.PullRequest, m Presentation) (settled bool, missing []string, unmerging bool) {
	unmerging = m.AutoMerge != "" && m.NoAutoMerge
	t.Warnings = nil // an earlier attempt may have warned of the same
	settled = true
	apply := func(wanted bool, act func() error) {
		if !wanted {
			return
		}
		if err := act(); err != nil {
			t.warnOf(err)
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
	// GitHub refuses teams to a workflow's own token.
	apply(len(m.Reviewers) > 0, func() error {
		return allOrEach(m.Reviewers, func(logins []string) error { return t.repo.RequestReviewers(ctx, n, logins, nil) })
	})
	apply(len(m.TeamReviewers) > 0, func() error {
		return allOrEach(m.TeamReviewers, func(teams []string) error { return t.repo.RequestReviewers(ctx, n, nil, teams) })
	})
	apply(len(m.Assignees) > 0, func() error { return t.repo.Assign(ctx, n, m.Assignees) })
	apply(m.Milestone != "", func() error { return t.repo.SetMilestone(ctx, n, m.Milestone) })
	apply(m.mergesItself(), func() (err error) {
		unmerging, err = t.enableAutoMerge(ctx, pull, m.AutoMerge)
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
func (t *task) enableAutoMerge(ctx context.Context, pull github.PullRequest, method string) (later bool, err error) {
	for n := range mostEnabling {
		if n > 0 && t.repo.Pause(ctx, firstEnabling<<(n-1)) != nil {
			return true, err
		}
		if err = t.repo.EnableAutoMerge(ctx, pull, method); !errors.Is(err, github.ErrNotYet) {
			break
		}
	}
	return errors.Is(err, github.ErrNotYet) || errors.Is(err, github.ErrUncertain), err
}

// warnOf adds what could not be done, each by itself.
func (t *task) warnOf(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		t.Warnings = append(t.Warnings, several.Unwrap()...)
		return
	}
	t.Warnings = append(t.Warnings, err)
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

// complete tries again what could not be done at the opening of a pull request that
// needs nothing else: labels, and auto-merge.
func (t *task) complete(ctx context.Context, p Proposal, s state) error {
	labels, unmerging := waiting(s.marker, p), s.marker.AutoMerge
	missing := labels
	if len(labels) > 0 {
		missing = t.labelAgain(ctx, *s.pull, labels)
	}
	if s.awaitsAutoMerge(p) {
		var err error
		if unmerging, err = t.enableAutoMerge(ctx, *s.pull, p.AutoMerge); err != nil {
			t.Warnings = append(t.Warnings, err)
		}
	}
	known := s.marker.FormerBase == p.former
	if len(missing) == len(labels) && unmerging == s.marker.AutoMerge && known {
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
	m.AutoMerge, m.FormerBase = unmerging, p.former
	if _, err := t.repo.EditPullRequest(ctx, now.Number, github.PullRequestEdit{Body: remark(now.Body, m)}); err != nil {
		return err
	}
	if len(missing) < len(labels) || unmerging != s.marker.AutoMerge { // what only we remember is no news
		t.did(Updated)
		t.Operation, t.Reason = t.written, ""
	}
	return nil
}
