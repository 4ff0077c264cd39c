package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// Of an entry a few findings are shown: not the first ones, but the worst.
func TestWarningsHideNoError(t *testing.T) {
	t.Parallel()
	m := module("envs/prod")
	m.Verified = &report.Verified{}
	for i := range 9 {
		f := found(provider.CodeH1Missing, "envs/prod", "hashicorp/aws", "5.31.0", 1)
		f.Platform = provider.Platform{OS: fmt.Sprintf("os%d", i), Arch: "amd64"}
		m.Findings = append(m.Findings, f)
	}
	m.Findings = append(m.Findings, forged("envs/prod", "h1:forged=", 8))
	r := report.Report{Verb: report.VerbVerify, Modules: []report.Module{m}}
	for format, got := range map[string]string{
		"text": text(t, r, report.TextOptions{}), "markdown": report.Markdown(r, 0), "annotations": fmt.Sprint(m.Brief()), "html": webpage(t, r),
	} {
		if !strings.Contains(got, "h1:forged=") || !strings.Contains(got, "5 more findings") {
			t.Errorf("%s does not show the error behind nine warnings:\n%s", format, got)
		}
	}
}
