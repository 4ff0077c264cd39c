package verify

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// A repository may make findings worse and never less bad; the operator may do both.
func TestSeverityIsRaisedByARepositoryAndChosenByTheOperator(t *testing.T) {
	t.Parallel()
	of := func(code problem.Code, s problem.Severity) map[problem.Code]problem.Severity {
		return map[problem.Code]problem.Severity{code: s}
	}
	const unsigned = problem.CodeUnsigned // a warning, and an error where strict
	for name, tt := range map[string]struct {
		s            settings.Severities
		want, strict problem.Severity
		unsound      string
	}{
		"nobody says anything":           {settings.Severities{}, asWarning, asError, ""},
		"raised":                         {settings.Severities{Raised: of(unsigned, asError)}, asError, asError, ""},
		"raised to what it is":           {settings.Severities{Raised: of(unsigned, asWarning)}, asWarning, asError, ""},
		"lowered by a repository":        {settings.Severities{Raised: of(unsigned, asNote)}, asWarning, asError, "may not make it a note"},
		"another code raised":            {settings.Severities{Raised: of(problem.CodeKeyExpired, asError)}, asWarning, asError, ""},
		"chosen, higher":                 {settings.Severities{Chosen: of(unsigned, asError)}, asError, asError, ""},
		"chosen, lower":                  {settings.Severities{Chosen: of(unsigned, asNote)}, asNote, asNote, ""},
		"raised, and chosen lower":       {settings.Severities{Raised: of(unsigned, asError), Chosen: of(unsigned, asNote)}, asNote, asNote, ""},
		"given, lower":                   {settings.Severities{Given: of(unsigned, asNote)}, asNote, asNote, ""},
		"given, and raised":              {settings.Severities{Given: of(unsigned, asNote), Raised: of(unsigned, asWarning)}, asWarning, asWarning, ""},
		"given, and raised to less":      {settings.Severities{Given: of(unsigned, asError), Raised: of(unsigned, asNote)}, asError, asError, ""},
		"given, and chosen":              {settings.Severities{Given: of(unsigned, asError), Chosen: of(unsigned, asNote)}, asNote, asNote, ""},
		"a code that is none, given":     {settings.Severities{Given: of("odd", asNote)}, asWarning, asError, "no code \"odd\""},
		"a code that is none":            {settings.Severities{Chosen: of("odd", asNote)}, asWarning, asError, "no code \"odd\""},
		"a code that is none, in a file": {settings.Severities{Raised: of("odd", asNote)}, asWarning, asError, "no code \"odd\""},
	} {
		for strict, want := range map[bool]problem.Severity{false: tt.want, true: tt.strict} {
			p := sound()
			p.src.unsigned, p.policy.Severities, p.policy.Strict = true, tt.s, strict
			if r := p.verify(t); len(r.Findings) != 1 || r.Findings[0].Severity != want {
				t.Errorf("%s, strict %t: found %v, want one %s", name, strict, codesOf(r.Findings), want)
			}
		}
		if err := Sound(tt.s); (err == nil) != (tt.unsound == "") || err != nil && !strings.Contains(err.Error(), tt.unsound) {
			t.Errorf("%s is unsound: %v, want %q", name, err, tt.unsound)
		}
	}
}
