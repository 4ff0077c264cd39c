package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// TestInterrupted counts the unfinished work of a run in one line. A few
// providers are named. Many are only counted, and their root modules count as
// left alone.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	cut := func(name string) problem.Problem {
		addr, err := provider.ParseFullAddr("registry.terraform.io/acme/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return problem.Problem{Code: problem.CodeCancelled, Subject: problem.Subject{Addr: addr}, Message: "recovering the platforms of " + name + ": interrupted"}
	}
	unread := scan.Unread{Module: "vpc", Source: "acme/vpc/aws", Code: problem.CodeCancelled, Reason: "interrupted", Place: problem.Place{Path: "main.tf", Line: 3}}
	other := problem.Problem{Code: problem.CodeNoVersion, Message: "no release is allowed"}
	many := make([]report.Module, 192)
	for i := range many {
		many[i] = report.Module{Dir: fmt.Sprintf("root%03d", i), Diagnostics: []problem.Problem{cut(fmt.Sprintf("p%d", i)), cut("null")}}
	}
	many[0].Diagnostics = nil
	many[1] = report.Module{Dir: "root001", Unread: []scan.Unread{unread}, Diagnostics: []problem.Problem{
		{Code: problem.CodeUnreadModule, Message: "module vpc: interrupted", Place: problem.Place{Path: "main.tf", Line: 3}}, other,
	}}
	unproven := func(names ...string) []report.Module {
		found := []problem.Problem{{Code: problem.CodeHashUnknown, Message: "it belongs to no package"}}
		for _, name := range names {
			f := cut(name)
			f.Code, f.Outage = problem.CodeHashUnproven, problem.Outage{Server: "registry.terraform.io", Reason: string(verify.ForInterrupt)}
			found = append(found, f, f)
		}
		return []report.Module{{Dir: "live", Findings: found}, {Dir: "prod"}}
	}
	tests := map[string]struct {
		modules []report.Module
		rest    report.Unbegun
		want    string
		errors  int // beside the line
		left    int
	}{
		"nothing is known": {want: "the run was interrupted before its root modules were known, and nothing was changed"},
		"everything was finished": {
			modules: []report.Module{{Dir: "live"}},
			want:    "the run was interrupted: 1 of 1 root module is finished; what was not finished stays as it is",
		},
		"one provider": {
			modules: []report.Module{{Dir: "live", Diagnostics: []problem.Problem{cut("null")}}, {Dir: "prod"}}, errors: 1,
			want: "the run was interrupted: 1 of 2 root modules are finished; what was not finished stays as it is",
		},
		"many": {
			modules: many, errors: 1, left: 191,
			want: "the run was interrupted: 1 of 192 root modules are finished; what was not finished stays as it is",
		},
		"few proofs": {
			modules: unproven("a", "b", "c"), errors: 7,
			want: "the run was interrupted: 1 of 2 root modules are finished; what was not finished stays as it is",
		},
		"many proofs": {
			modules: unproven("a", "b", "c", "d"), errors: 1, left: 1,
			want: "the run was interrupted: 1 of 2 root modules are finished; what was not finished stays as it is",
		},
		"what was not begun": {
			modules: []report.Module{{Dir: "live"}}, rest: report.Unbegun{PullRequests: 1, Repositories: 2},
			want: "the run was interrupted: 1 of 1 root module is finished, 2 repositories were not looked at, 1 pull request was not begun; what was not finished stays as it is",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report.Report{Verb: verbs.Upgrade, Modules: tt.modules, Diagnostics: []problem.Problem{report.Interruption}}
			got := report.Interrupted(r, tt.rest)
			if len(got.Diagnostics) != 1 || got.Diagnostics[0].Message != tt.want {
				t.Errorf("it says %q, want %q", got.Diagnostics, tt.want)
			}
			errors, left := 0, 0
			for _, m := range got.Modules {
				errors += len(m.Diagnostics) + len(m.Findings)
				if m.Left {
					left++
				}
			}
			if errors != tt.errors || left != tt.left || !got.Failed() {
				t.Errorf("%d errors beside it, %d left alone; want %d and %d", errors, left, tt.errors, tt.left)
			}
			var text bytes.Buffer
			if err := render.Text(&text, got, render.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "no root module was found") || text.Len() > 600 {
				t.Errorf("people read\n%s", &text)
			}
		})
	}
}
