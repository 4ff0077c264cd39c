package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// MaxBaselineSize bounds a baseline: some 5,000 findings.
const MaxBaselineSize = 1 << 20

// Accepted is a line of a baseline: findings that somebody has looked into and
// lives with until a day.
type Accepted struct {
	Fingerprint string // of one finding; empty: of all that Code and Provider say
	Code        provider.Code
	Provider    provider.Pattern // zero: not given
	Reason, By  string
	Date, Until time.Time // Date is zero if it is not given
	Position
}

// baselineFile is the format of a baseline.
var baselineFile = form{what: "the baseline", limit: MaxBaselineSize, settings: []Setting{
	{Key: "version", Kind: Number, check: isVersion1},
	{Key: "findings", Kind: Records, sound: acceptedSoundly, Fields: []Setting{
		{Key: "findings[].fingerprint", Kind: Text},
		{Key: "findings[].code", Kind: Text},
		{Key: "findings[].provider", Kind: Text, check: isPattern},
		{Key: "findings[].reason", Kind: Text, Required: true, check: isReason},
		{Key: "findings[].accepted-by", Kind: Text},
		{Key: "findings[].date", Kind: Text, check: isDate},
		{Key: "findings[].until", Kind: Text, Required: true, check: isDate},
	}},
}}

// isReason refuses the empty reason that a baseline is written with.
func isReason(s string) error {
	if s == "" {
		return errors.New("it is empty; say why the finding is accepted")
	}
	return nil
}

func acceptedSoundly(_ []record, r record) error {
	if r.text("findings[].fingerprint") == "" && (r.text("findings[].code") == "" || r.text("findings[].provider") == "") {
		return errors.New("the line must hold a fingerprint, or a code and a provider")
	}
	if date, until := r.text("findings[].date"), r.text("findings[].until"); date != "" && until < date {
		return fmt.Errorf("until %s is before date %s", until, date)
	}
	return nil
}

// ParseBaseline reads a baseline. Problems carry the file and the line; with any of
// them nothing is accepted.
func ParseBaseline(src []byte, name string) ([]Accepted, []provider.Diagnostic) {
	file, problems := parseFile(src, name, baselineFile)
	if len(problems) > 0 {
		return nil, problems
	}
	var all []Accepted
	for _, r := range file.Values["findings"].records {
		a := Accepted{
			Fingerprint: r.text("findings[].fingerprint"), Code: provider.Code(r.text("findings[].code")),
			Reason: r.text("findings[].reason"), By: r.text("findings[].accepted-by"),
			Until: date(r.text("findings[].until")), Position: r.Position,
		}
		if text := r.text("findings[].provider"); text != "" {
			a.Provider = must(provider.ParsePattern(text))
		}
		if text := r.text("findings[].date"); text != "" {
			a.Date = date(text)
		}
		all = append(all, a)
	}
	return all, nil
}
