package verify

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// A repository may raise the severity of a finding, but not lower it. The operator may do
// both.
func TestSeverityIsRaisedByARepositoryAndChosenByTheOperator(t *testing.T) {
	t.Parallel()
	of := func(code problem.Code, s problem.Severity) map[problem.Code]problem.Severity {
		return map[problem.Code]problem.Severity{code: s}
	}
	const unsigned = problem.CodeUnsigned // a warning, and an error under Strict
	for name, tt := range map[string]struct {
		s            settings.Severities
		want, strict problem.Severity
		unsound      string
	}{
		"nobody says anything":           {settings.Severities{}, problem.SeverityWarning, problem.SeverityError, ""},
		"raised":                         {settings.Severities{Raised: of(unsigned, problem.SeverityError)}, problem.SeverityError, problem.SeverityError, ""},
		"raised to what it is":           {settings.Severities{Raised: of(unsigned, problem.SeverityWarning)}, problem.SeverityWarning, problem.SeverityError, ""},
		"lowered by a repository":        {settings.Severities{Raised: of(unsigned, problem.SeverityNote)}, problem.SeverityWarning, problem.SeverityError, "may not make it a note"},
		"another code raised":            {settings.Severities{Raised: of(problem.CodeKeyExpired, problem.SeverityError)}, problem.SeverityWarning, problem.SeverityError, ""},
		"chosen, higher":                 {settings.Severities{Chosen: of(unsigned, problem.SeverityError)}, problem.SeverityError, problem.SeverityError, ""},
		"chosen, lower":                  {settings.Severities{Chosen: of(unsigned, problem.SeverityNote)}, problem.SeverityNote, problem.SeverityNote, ""},
		"raised, and chosen lower":       {settings.Severities{Raised: of(unsigned, problem.SeverityError), Chosen: of(unsigned, problem.SeverityNote)}, problem.SeverityNote, problem.SeverityNote, ""},
		"given, lower":                   {settings.Severities{Given: of(unsigned, problem.SeverityNote)}, problem.SeverityNote, problem.SeverityNote, ""},
		"given, and raised":              {settings.Severities{Given: of(unsigned, problem.SeverityNote), Raised: of(unsigned, problem.SeverityWarning)}, problem.SeverityWarning, problem.SeverityWarning, ""},
		"given, and raised to less":      {settings.Severities{Given: of(unsigned, problem.SeverityError), Raised: of(unsigned, problem.SeverityNote)}, problem.SeverityError, problem.SeverityError, ""},
		"given, and chosen":              {settings.Severities{Given: of(unsigned, problem.SeverityError), Chosen: of(unsigned, problem.SeverityNote)}, problem.SeverityNote, problem.SeverityNote, ""},
		"a code that is none, given":     {settings.Severities{Given: of("odd", problem.SeverityNote)}, problem.SeverityWarning, problem.SeverityError, "no code \"odd\""},
		"a code that is none":            {settings.Severities{Chosen: of("odd", problem.SeverityNote)}, problem.SeverityWarning, problem.SeverityError, "no code \"odd\""},
		"a code that is none, in a file": {settings.Severities{Raised: of("odd", problem.SeverityNote)}, problem.SeverityWarning, problem.SeverityError, "no code \"odd\""},
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
