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
	Fingerprint string // of one finding; empty: all findings of Code and Provider
	Code        problem.Code
	Provider    provider.Pattern // zero: not given
	Reason, By  string
	Date, Until time.Time // Date is zero if it is not given
	Place       problem.Place
}

// baselineFile is the format of a baseline.
var baselineFile = form{what: "the baseline", limit: MaxBaselineSize, settings: []Setting{
	{Key: "version", Kind: Number, take: asOne(asGiven(isVersion1), func(*Accepted) *string { return new(string) })},
	{Key: "findings", Kind: Records, sound: acceptedSoundly, Fields: []Setting{
		{Key: "findings[].fingerprint", Kind: Text, take: asText(func(a *Accepted) *string { return &a.Fingerprint })},
		{Key: "findings[].code", Kind: Text, take: asOne(textOf[problem.Code], func(a *Accepted) *problem.Code { return &a.Code })},
		{Key: "findings[].provider", Kind: Text, take: asOne(provider.ParsePattern, func(a *Accepted) *provider.Pattern { return &a.Provider })},
		{Key: "findings[].reason", Kind: Text, Required: true, take: asOne(asGiven(isReason), func(a *Accepted) *string { return &a.Reason })},
		{Key: "findings[].accepted-by", Kind: Text, take: asText(func(a *Accepted) *string { return &a.By })},
		{Key: "findings[].date", Kind: Text, take: asOne(policy.ParseDay, func(a *Accepted) *time.Time { return &a.Date })},
		{Key: "findings[].until", Kind: Text, Required: true, take: asOne(policy.ParseDay, func(a *Accepted) *time.Time { return &a.Until })},
	}},
}}

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
	file, problems := parseFile(src, name, baselineFile)
	if len(problems) > 0 {
		return nil, problems
	}
	var all []Accepted
	for _, r := range file.Values["findings"].Items {
		a := Accepted{Place: r.Place}
		fill(&a, baselineFile.settings[1].Fields, r)
		all = append(all, a)
	}
	return all, nil
}
