package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/typed"
)

// SeverityOf is the severity of findings with a code, according to the configured
// severities.
func SeverityOf(s settings.Severities, code problem.Code, strict bool) problem.Severity {
	meaning, _ := problem.MeaningOf(code)
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

// Sound says what is wrong with the severities, or nil.
func Sound(s settings.Severities) error {
	for _, codes := range []map[problem.Code]problem.Severity{s.Chosen, s.Given, s.Raised} {
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			if _, known := problem.MeaningOf(code); !known {
				return typed.NoCode(code)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.Raised)) {
		meaning, _ := problem.MeaningOf(code)
		if _, given := s.Given[code]; !given && s.Raised[code] > meaning.Severity {
			return fmt.Errorf("%s is of the severity %s, and a repository's own configuration file may not make it a %s", code, meaning.Severity, s.Raised[code])
		}
	}
	return nil
}
