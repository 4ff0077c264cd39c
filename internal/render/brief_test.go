package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// Of many findings about one entry, the worst are shown, not the first.
func TestWarningsHideNoError(t *testing.T) {
	t.Parallel()
	m := module("envs/prod")
	m.Verified = &report.Verified{}
	for i := range 9 {
		f := found(problem.CodeH1Missing, "envs/prod", "hashicorp/aws", "5.31.0", 1)
		f.Subject.Platform = provider.Platform{OS: fmt.Sprintf("os%d", i), Arch: "amd64"}
		m.Findings = append(m.Findings, f)
	}
	m.Findings = append(m.Findings, forged("envs/prod", "h1:forged=", 8))
	r := report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}
	for format, got := range map[string]string{
		"text": text(t, r, render.TextOptions{}), "markdown": render.Markdown(r, 0).String(), "annotations": fmt.Sprint(outline.Brief(m.Findings)), "html": webpage(t, r),
	} {
		if !strings.Contains(got, "h1:forged=") || !strings.Contains(got, "5 more findings") {
			t.Errorf("%s does not show the error behind nine warnings:\n%s", format, got)
		}
	}
}

// A scan of many root modules shows what they share, unless the user asks for
// each of them.
func TestScanOfManyIsBrief(t *testing.T) {
	t.Parallel()
	var few, many []report.Module
	for i := range 21 {
		m := report.FromScan(scan.RootModule{Root: scan.Root{Dir: fmt.Sprintf("envs/%d", i), Tool: provider.Newest(provider.Terraform)}})
		many = append(many, m)
		if i < 20 {
			few = append(few, m)
		}
	}
	no := false
	for name, tt := range map[string]struct {
		modules []report.Module
		options render.TextOptions
		each    bool
	}{
		"few":      {few, render.TextOptions{}, true},
		"many":     {many, render.TextOptions{}, false},
		"in full":  {many, render.TextOptions{Summary: &no}, true},
		"verbose":  {many, render.TextOptions{Verbose: true}, true},
		"question": {many, render.TextOptions{Why: []provider.Pattern{{}}}, false}, // that none of them answers
	} {
		got := text(t, report.Report{Verb: verbs.Scan, Modules: tt.modules}, tt.options)
		if strings.Contains(got, "envs/7 (") != tt.each {
			t.Errorf("%s: the root modules are listed: %t, want %t:\n%s", name, !tt.each, tt.each, got)
		}
		hint := "--summary=false shows each of 21 root modules by itself\n21 root modules, 0 with a lock file\n"
		if strings.HasSuffix(got, hint) != (name == "many") {
			t.Errorf("%s ends with\n%s", name, got)
		}
	}
}

// A joined file may hold problems without a message.
func TestAProblemWithoutAMessageIsNamedByItsCode(t *testing.T) {
	t.Parallel()
	coded := problem.Problem{Code: problem.CodeSyntax}
	r := report.Report{
		Verb: verbs.PR, Diagnostics: []problem.Problem{coded, {}},
		Modules: []report.Module{{Dir: "prod", Diagnostics: []problem.Problem{coded}, Findings: []problem.Problem{{}}}},
	}
	for format, got := range map[string]string{
		"text": text(t, r, render.TextOptions{}), "body": render.Body(r).String(), "html": webpage(t, r),
	} {
		if !strings.Contains(got, "syntax") || !strings.Contains(got, "a problem without a message") {
			t.Errorf("%s does not name the problems:\n%s", format, got)
		}
	}
}
