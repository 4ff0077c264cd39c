package outline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

func TestOneCauseIsOneTopic(t *testing.T) {
	t.Parallel()
	addr := func(n int) provider.Addr {
		a, err := provider.ParseFullAddr(fmt.Sprintf("registry.example.com/acme/p%d", n))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	refused := problem.Outage{Server: "files.example.com", Reason: "the connection was refused"}
	troubled := problem.Outage{Server: "files.example.com", Reason: "503 Service Unavailable", Answered: true}
	silent := problem.Outage{Server: "files.example.com"}
	gone := "recovering the platforms of the lock file from hashicorp/local 2.5.3: it is no longer offered"
	of := func(message string, n int, o problem.Outage) problem.Problem {
		return problem.Problem{Code: problem.CodeUnreachable, Message: message, Subject: problem.Subject{Addr: addr(n)}, Outage: o}
	}
	warned := problem.Problem{Severity: problem.SeverityWarning, Message: "files.example.com does not answer", Outage: refused, Hint: "run again"}
	call := scan.Unread{Module: "net", Source: "git::https://files.example.com/net.git", Place: problem.Place{Path: "main.tf", Line: 2}, Outage: refused, Reason: "no"}
	ofCall := problem.Problem{Code: problem.CodeUnreadModule, Message: "module.net could not be read: no", Place: call.Place, Outage: refused}
	with := func(problems ...problem.Problem) report.Module {
		return report.Module{Dir: "live", Diagnostics: problems}
	}
	for name, tt := range map[string]struct {
		r    report.Report
		want []string
	}{
		"one question says what was asked": {
			report.Report{Modules: []report.Module{with(of("asking for p1: the connection was refused", 1, refused))}},
			[]string{"Failed: asking for p1: the connection was refused"},
		},
		"one host": {
			report.Report{Modules: []report.Module{with(of("asking for p1", 1, refused), of("asking for p2", 2, silent)), with(of("asking for p1", 1, refused))}},
			[]string{"Failed: files.example.com cannot be reached: the connection was refused; 2 providers need it"},
		},
		"one provider, asked twice": {
			report.Report{Modules: []report.Module{with(of("asking for p1", 1, silent), of("asking for p1 again", 1, silent))}},
			[]string{"Failed: files.example.com cannot be reached; 1 provider needs it"},
		},
		"the run says so, too": {
			report.Report{Diagnostics: []problem.Problem{warned}, Modules: []report.Module{with(of("asking for p1", 1, silent))}},
			[]string{"Failed: files.example.com cannot be reached: the connection was refused; 1 provider needs it"},
		},
		"modules and providers": {
			report.Report{Modules: []report.Module{{Dir: "a", Unread: []scan.Unread{call}, Diagnostics: []problem.Problem{ofCall, of("asking for p1", 1, refused)}}}},
			[]string{"Failed: files.example.com cannot be reached: the connection was refused; 1 provider and 1 module package need it"},
		},
		"a host in trouble": {
			report.Report{Modules: []report.Module{with(of("a", 1, troubled), of("b", 2, troubled))}},
			[]string{"Failed: files.example.com answers 503 Service Unavailable; 2 providers need it"},
		},
		"two hosts": {
			report.Report{Modules: []report.Module{with(of("a", 1, refused), of("b", 2, problem.Outage{Server: "other.example.com", Reason: "no"}))}},
			[]string{"Failed: a", "Failed: b"},
		},
		"another reason": {
			report.Report{Modules: []report.Module{with(of("a", 1, refused), of("b", 2, problem.Outage{Server: "files.example.com", Reason: "no answer in time"}))}},
			[]string{"Failed: files.example.com cannot be reached: the connection was refused, and 1 more reason; 2 providers need it"},
		},
		"the same words of several providers": {
			report.Report{Modules: []report.Module{with(of(gone, 1, problem.Outage{}), of(gone, 2, problem.Outage{})), with(of(gone, 3, problem.Outage{}))}},
			[]string{"Failed: " + gone},
		},
		"other words of several providers": {
			report.Report{Modules: []report.Module{with(of("a", 1, problem.Outage{}), of("b", 2, problem.Outage{}), of("c", 2, problem.Outage{}))}},
			[]string{"Failed: a", "Failed: b, and 1 more like it"},
		},
	} {
		tt.r.Verb = verbs.Upgrade
		var got []string
		o := Of(tt.r)
		for _, c := range o.Review {
			got = append(got, string(c.Concern)+": "+c.Said().Plain())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
