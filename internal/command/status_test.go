package command

import (
	"errors"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// The statuses are a contract; where several apply, the first of usage, failed,
// finding and changes does.
func TestStatusOfAReport(t *testing.T) {
	t.Parallel()
	failure := problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}
	warning := problem.Problem{Code: problem.CodeNotFound, Severity: problem.SeverityWarning, Message: "not in acme/two"}
	missing := problem.Problem{Code: problem.CodeNotFound, Message: "nothing requires it"}
	changed := report.Module{Pending: true}
	found := report.Module{Findings: []problem.Problem{{}}}
	moved := report.Module{Findings: []problem.Problem{{Code: problem.CodeModuleMoved}}}
	noted := report.Module{Findings: []problem.Problem{{Severity: problem.SeverityNote}}}
	for name, tt := range map[string]struct {
		verb        verbs.Verb
		modules     []report.Module
		diagnostics []problem.Problem
		want        int
	}{
		"nothing":                    {verbs.Check, nil, nil, ExitOK},
		"a warning":                  {verbs.Check, nil, []problem.Problem{warning}, ExitOK},
		"changes that are written":   {verbs.Upgrade, []report.Module{changed}, nil, ExitOK},
		"changes that check finds":   {verbs.Check, []report.Module{changed}, nil, ExitChanges},
		"a hash of nothing":          {verbs.Check, []report.Module{changed, found}, nil, ExitFinding},
		"a hash that another tells":  {verbs.Upgrade, []report.Module{found}, nil, ExitOK},
		"a finding of verify":        {verbs.Verify, []report.Module{found}, nil, ExitFinding},
		"a finding that is no error": {verbs.Verify, []report.Module{noted}, nil, ExitOK},
		"a module that has moved":    {verbs.PR, []report.Module{changed, moved}, nil, ExitFinding},
		"a moved one in an answer":   {verbs.Comment, []report.Module{moved}, nil, ExitOK},
		"a failure before a moved":   {verbs.Upgrade, []report.Module{moved}, []problem.Problem{failure}, ExitFailed},
		"a failure before a finding": {verbs.Check, []report.Module{found}, []problem.Problem{failure}, ExitFailed},
		"what is named is nowhere":   {verbs.PR, nil, []problem.Problem{failure, missing}, ExitUsage},
	} {
		err := status(report.Report{Verb: tt.verb, Modules: tt.modules, Diagnostics: tt.diagnostics})
		var got exit
		if errors.As(err, &got); int(got) != tt.want {
			t.Errorf("%s: status %d, want %d", name, got, tt.want)
		}
	}
}

// The verb of a step is the one that is asked for, else that of the event.
func TestVerbOfAStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, event, want string }{
		{"lock", "schedule", "lock"},
		{"auto", "schedule", "pr"},
		{"auto", "pull_request", "check"},
		{"auto", "pull_request_target", ""},
	} {
		got, err := verbOf(tt.command, inWorkflow("GITHUB_EVENT_NAME="+tt.event).runtime())
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s on %s: %q, %v, want %q", tt.command, tt.event, got, err, tt.want)
		}
	}
}
