package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// Severities are what people make of the severities of rules.
type Severities struct {
	// Chosen are those of the operator of a run, whatever the rules and a repository say.
	Chosen map[problem.Code]problem.Severity
	// Given are those of the operator in place of the rules'.
	Given map[problem.Code]problem.Severity
	// Raised are those of a scanned repository: they make findings worse, never less
	// bad.
	Raised map[problem.Code]problem.Severity
}

// Of is the severity of findings of a code.
func (s Severities) Of(code problem.Code, strict bool) problem.Severity {
	rule, _ := RuleOf(code)
	severity := rule.Severity
	if strict {
		severity = rule.Strict
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
			if _, known := RuleOf(code); !known {
				return fmt.Errorf("there is no code %q", code)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.Raised)) {
		rule, _ := RuleOf(code)
		if _, given := s.Given[code]; !given && s.Raised[code] > rule.Severity {
			return fmt.Errorf("%s is of the severity %s, and a repository's own configuration file may not make it a %s", code, rule.Severity, s.Raised[code])
		}
	}
	return nil
}
