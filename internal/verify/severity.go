package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Severities are what people make of the severities of rules.
type Severities struct {
	// Chosen are those of the operator of a run, whatever the rules say.
	Chosen map[provider.Code]provider.Severity
	// Raised are those of a scanned repository: they make findings worse, never less
	// bad.
	Raised map[provider.Code]provider.Severity
}

// Of is the severity of findings of a code.
func (s Severities) Of(code provider.Code, strict bool) provider.Severity {
	rule, _ := RuleOf(code)
	severity := rule.Severity
	if strict {
		severity = rule.Strict
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
	for _, code := range slices.Sorted(maps.Keys(s.Chosen)) {
		if _, known := RuleOf(code); !known {
			return fmt.Errorf("there is no code %q", code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.Raised)) {
		rule, known := RuleOf(code)
		switch {
		case !known:
			return fmt.Errorf("there is no code %q", code)
		case s.Raised[code] > rule.Severity:
			return fmt.Errorf("%s is of the severity %s, and a repository's own configuration file may not make it a %s", code, rule.Severity, s.Raised[code])
		}
	}
	return nil
}
