package ledger

import (
	"fmt"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/typed"
)

// Baseline is the list of findings that people accept for a time. The methods of a nil
// Baseline accept nothing.
type Baseline struct {
	lines []settings.Accepted
	now   time.Time
	used  []bool
}

// ReadBaseline reads a baseline for a run at the time now. A line that ends more than a
// year later is a problem: a finding that nobody looks at again is not accepted but
// forgotten.
func ReadBaseline(src []byte, name string, now time.Time) (*Baseline, []problem.Problem) {
	lines, problems := settings.ParseBaseline(src, name)
	today := now.UTC().Truncate(24 * time.Hour)
	for _, l := range lines {
		from := today
		if !l.Date.IsZero() {
			from = l.Date
		}
		meaning, known := problem.MeaningOf(l.Code)
		message := ""
		switch {
		case l.Code != "" && !known:
			message = typed.NoCode(l.Code).Error()
		case l.Fingerprint == "" && meaning.Pinned:
			message = fmt.Sprintf("%s is accepted by its fingerprint alone, one by one", l.Code)
		case from.After(today):
			message = fmt.Sprintf("date %s is to come", l.Date.Format(time.DateOnly))
		case l.Until.After(from.AddDate(1, 0, 0)):
			message = fmt.Sprintf("until %s is more than a year after %s", l.Until.Format(time.DateOnly), from.Format(time.DateOnly))
		}
		if message != "" {
			problems = append(problems, problem.Problem{Code: problem.CodeSettings, Place: problem.Place{Path: name, Line: l.Place.Line}, Message: "findings: " + message})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &Baseline{lines: lines, now: today, used: make([]bool, len(lines))}, nil
}

// Acceptance is an accepted finding with the reason.
type Acceptance struct {
	problem.Problem
	Reason, By string
	Until      time.Time
}

// Accept divides findings into those that remain and those that are accepted.
func (b *Baseline) Accept(findings []problem.Problem) (standing []problem.Problem, accepted []Acceptance) {
	if b == nil {
		return findings, nil
	}
	for _, f := range findings {
		i := b.line(f)
		if i < 0 {
			standing = append(standing, f)
			continue
		}
		l := b.lines[i]
		accepted = append(accepted, Acceptance{f, l.Reason, l.By, l.Until})
	}
	return standing, accepted
}

// Accepts reports whether a line accepts the finding.
func (b *Baseline) Accepts(f problem.Problem) bool { return b != nil && b.line(f) >= 0 }

// line is the first line that accepts the finding, or -1. Every line about the finding
// counts as used, even if it has expired.
func (b *Baseline) line(f problem.Problem) int {
	found := -1
	for i, l := range b.lines {
		if !about(l, f) {
			continue
		}
		b.used[i] = true
		if found < 0 && !b.expired(l) {
			found = i
		}
	}
	return found
}

// about reports whether a line names the finding: every field of the line must fit.
func about(l settings.Accepted, f problem.Problem) bool {
	return (l.Fingerprint == "" || l.Fingerprint == f.Fingerprint()) &&
		(l.Code == "" || l.Code == f.Code) &&
		(l.Provider == (provider.Pattern{}) || l.Provider.Match(f.Subject.Addr))
}

// expired reports whether the last day of the line has passed.
func (b *Baseline) expired(l settings.Accepted) bool { return b.now.After(l.Until) }

// Idle reports the lines without effect: expired ones, and those about no finding of this
// run.
func (b *Baseline) Idle() []problem.Problem {
	if b == nil {
		return nil
	}
	var idle []problem.Problem
	for i, l := range b.lines {
		message := ""
		switch {
		case b.expired(l):
			message = "the line has expired on " + l.Until.Format(time.DateOnly)
		case !b.used[i]:
			message = "the line accepts no finding of this run"
		default:
			continue
		}
		idle = append(idle, problem.Problem{
			Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: l.Place, Message: message,
			Hint: "look at the finding again, or remove the line from the baseline",
		})
	}
	return idle
}
