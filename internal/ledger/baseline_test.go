package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestBaselineAcceptsWhatItNamesForATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	f := problem.Problem{Code: problem.CodeHashUnknown, Subject: problem.Subject{Addr: must(provider.ParseAddr("hashicorp/null", provider.Terraform)), Hash: "h1:x"}, Place: problem.Place{Path: "a/.terraform.lock.hcl", Line: 3}}
	moved, other := f, f
	moved.Place.Line, other.Subject.Hash = 9, "h1:y"
	if moved.Fingerprint() != f.Fingerprint() || other.Fingerprint() == f.Fingerprint() {
		t.Error("a fingerprint is not that of the finding alone")
	}
	print, warning := `fingerprint: "`+f.Fingerprint()+`"`, f
	warning.Code = problem.CodeHashUnproven
	for name, tt := range map[string]struct {
		line              string
		finding           problem.Problem
		problem, idle     string
		accepted, refused bool
	}{
		"by its fingerprint":       {print + ", reason: r, until: 2026-11-22", moved, "", "", true, false},
		"another hash":             {print + ", reason: r, until: 2026-11-22", other, "", "accepts no finding", false, false},
		"another code":             {print + ", code: unsigned, reason: r, until: 2026-11-22", f, "", "accepts no finding", false, false},
		"expired":                  {print + ", reason: r, until: 2026-11-21", f, "", "expired on 2026-11-21", false, false},
		"by pattern":               {"code: hash-unproven, provider: hashicorp/*, reason: r, until: 2027-11-22", warning, "", "", true, false},
		"of another provider":      {"code: hash-unproven, provider: acme/*, reason: r, until: 2027-11-22", warning, "", "accepts no finding", false, false},
		"pinned, by pattern":       {"code: hash-unknown, provider: hashicorp/*, reason: r, until: 2026-11-22", f, "fingerprint alone", "", false, true},
		"unknown code":             {"code: hash-odd, provider: hashicorp/*, reason: r, until: 2026-11-22", f, "no code", "", false, true},
		"for more than a year":     {print + ", reason: r, until: 2027-11-23", f, "more than a year", "", false, true},
		"a year from an old date":  {print + ", reason: r, date: 2026-01-01, until: 2027-01-02", f, "more than a year", "", false, true},
		"a date to come":           {print + ", reason: r, date: 2026-12-01, until: 2027-01-02", f, "is to come", "", false, true},
		"without reason":           {print + ", until: 2026-11-22", f, "reason is missing", "", false, true},
		"with the reason unfilled": {print + `, reason: "", until: 2026-11-22`, f, "say why", "", false, true},
		"without until":            {print + ", reason: r", f, "until is missing", "", false, true},
		"about everything":         {"reason: r, until: 2026-11-22", f, "must hold a fingerprint", "", false, true},
		"code without provider":    {"code: unsigned, reason: r, until: 2026-11-22", f, "must hold a fingerprint", "", false, true},
		"unknown key":              {print + ", reason: r, until: 2026-11-22, because: x", f, "unknown key", "", false, true},
	} {
		b, problems := ReadBaseline([]byte("version: 1\nfindings:\n  - {"+tt.line+"}\n"), "b.yml", now)
		if tt.refused {
			if len(problems) != 1 || !strings.Contains(problems[0].Message, tt.problem) || problems[0].Place.Line != 3 || b != nil {
				t.Errorf("%s: problems %v, want one that says %q", name, problems, tt.problem)
			}
			continue
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		standing, accepted := b.Accept([]problem.Problem{tt.finding})
		if (len(accepted) == 1) != tt.accepted || len(standing)+len(accepted) != 1 {
			t.Errorf("%s: accepted %v, standing %v", name, accepted, standing)
		}
		idle := b.Idle()
		if tt.idle == "" && len(idle) > 0 || tt.idle != "" && (len(idle) != 1 || !strings.Contains(idle[0].Message, tt.idle)) {
			t.Errorf("%s: idle %v, want %q", name, idle, tt.idle)
		}
	}
}

// A pattern must not accept a refuted hash, nor a finding about all hashes of an entry.
func TestBaselinePatternsAcceptNoHash(t *testing.T) {
	t.Parallel()
	for _, code := range []problem.Code{
		problem.CodeHashUnknown, problem.CodeHashOfOther, problem.CodeReReleased, problem.CodeReleaseGone, problem.CodeListGone, problem.CodeSignatureBad, problem.CodeTamperedBoth,
	} {
		src := "version: 1\nfindings:\n  - {code: " + string(code) + ", provider: hashicorp/*, reason: r, until: 2026-12-31}\n"
		if _, problems := ReadBaseline([]byte(src), "b.yml", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)); len(problems) != 1 {
			t.Errorf("%s is accepted by a pattern", code)
		}
	}
}
