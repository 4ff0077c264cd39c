package settings

import (
	"errors"
	"fmt"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// MaxBaselineSize bounds a baseline: some 5,000 findings.
const MaxBaselineSize = 1 << 20

// Accepted is a line of a baseline: findings that a person has accepted until a day.
type Accepted struct {
	Fingerprint string           `key:"fingerprint"` // of one finding; empty: all findings of Code and Provider
	Code        problem.Code     `key:"code"`
	Provider    provider.Pattern `key:"provider"` // zero: not given
	Reason      string           `key:"reason"`
	By          string           `key:"accepted-by"`
	Date        time.Time        `key:"date"` // zero if it is not given
	Until       time.Time        `key:"until"`
	Place       problem.Place
}

func acceptedRows(a *Accepted) []Setting {
	return []Setting{
		{field: &a.Fingerprint},
		{field: &a.Code, read: one(textOf[problem.Code])},
		{field: &a.Provider, read: one(provider.ParsePattern)},
		{field: &a.Reason, Required: true, check: isReason},
		{field: &a.By},
		{field: &a.Date, read: one(policy.ParseDay)},
		{field: &a.Until, Required: true, read: one(policy.ParseDay)},
	}
}

// baseline is the content of a file with that name.
type baseline struct {
	Version  int        `key:"version"`
	Findings []Accepted `key:"findings"`
}

func (b *baseline) rows() []Setting {
	return []Setting{
		{field: &b.Version, check: isVersion1},
		{field: &b.Findings, sound: acceptedSoundly, Fields: fieldsOf(acceptedRows)},
	}
}

var baselineForm = form{what: "the baseline", limit: MaxBaselineSize, settings: fieldsOf((*baseline).rows)}

// isReason refuses an empty reason, which relock writes into a new baseline.
func isReason(s string) error {
	if s == "" {
		return errors.New("it is empty; say why the finding is accepted")
	}
	return nil
}

func acceptedSoundly(_ Setting, _ []Item, r Item) error {
	if r.Fields.Text("fingerprint") == "" && (r.Fields.Text("code") == "" || r.Fields.Text("provider") == "") {
		return errors.New("the line must hold a fingerprint, or a code and a provider")
	}
	if date, until := r.Fields.Text("date"), r.Fields.Text("until"); date != "" && until < date {
		return fmt.Errorf("until %s is before date %s", until, date)
	}
	return nil
}

// ParseBaseline reads a baseline. Problems have the file and the line. If there are any,
// nothing is accepted.
func ParseBaseline(src []byte, name string) ([]Accepted, []problem.Problem) {
	file, problems := parseFile(src, name, baselineForm)
	if len(problems) > 0 {
		return nil, problems
	}
	var b baseline
	fill(&b, baselineForm.settings, file.Values)
	return b.Findings, nil
}
