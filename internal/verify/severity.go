package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// Severities are what people make of the severities of findings, by their codes.
type Severities struct {
	// Chosen are those of the operator of a run, whatever their codes and a repository say.
	Chosen map[problem.Code]problem.Severity
	// Given are those of the operator in place of those of the codes.
	Given map[problem.Code]problem.Severity
	// Raised are those of a scanned repository: they make findings worse, never less
	// bad.
	Raised map[problem.Code]problem.Severity
}

// Of is the severity of findings of a code.
func (s Severities) Of(code problem.Code, strict bool) problem.Severity {
	meaning, _ := MeaningOf(code)
	severity := meaning.Severity
	if strict {
		severity = meaning.Strict
	}
	if given, ok := s.Given[code]; ok {
		severity = given
	}
	if raised, ok := s.Raised[code]; ok {
		severity = min(severity, raised)
	}
	if chosen, ok := s.Chosen[code]; ok {
		severity = chosen
	}
	return severity
}

// Unsound says what is wrong with them; nothing if all is well.
func (s Severities) Unsound() error {
	for _, codes := range []map[problem.Code]problem.Severity{s.Chosen, s.Given, s.Raised} {
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			if _, known := MeaningOf(code); !known {
				return fmt.Errorf("there is no code %q", code)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.Raised)) {
		meaning, _ := MeaningOf(code)
		if _, given := s.Given[code]; !given && s.Raised[code] > meaning.Severity {
			return fmt.Errorf("%s is of the severity %s, and a repository's own configuration file may not make it a %s", code, meaning.Severity, s.Raised[code])
		}
	}
	return nil
}
