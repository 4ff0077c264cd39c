package report

import (
	"fmt"

	"github.com/relock-dev/relock/internal/provider"
)

// namedFindings bounds the findings about one entry that people are shown. The
// JSON report has more.
const namedFindings = 5

// Brief returns the findings as people are shown them: of each entry a few, the
// last of which counts the rest.
func (m Module) Brief() []provider.Finding { return brief(m.Findings) }

func brief(all []provider.Finding) []provider.Finding {
	total := map[provider.Addr]int{}
	for _, f := range all {
		total[f.Addr]++
	}
	var shown []provider.Finding
	told := map[provider.Addr]int{}
	for _, f := range all {
		told[f.Addr]++
		if rest := total[f.Addr] - namedFindings; told[f.Addr] == namedFindings && rest > 0 {
			f.Message += fmt.Sprintf("; %s of the entry", count(rest, "more finding", "more findings"))
		}
		if told[f.Addr] <= namedFindings {
			shown = append(shown, f)
		}
	}
	return shown
}

// findings writes what was found in a lock file and, if asked for everything, of
// what it is not known.
func (t *text) findings(m Module) {
	for _, f := range m.Brief() {
		t.paragraph(tableIndent, cell{"finding:", red}, t.d.diagnostic(f.Diagnostic()))
		if f.Hint != "" {
			t.paragraph(tableIndent+2, cell{"next:", dim}, Plain(f.Hint))
		}
	}
	if !t.o.Verbose {
		return
	}
	for _, f := range brief(m.Undecided) {
		t.paragraph(tableIndent, cell{"not proven:", dim}, t.d.diagnostic(f.Diagnostic()))
	}
}

// finding adds one without its line: root modules may have the same in theirs.
func (all *alerts) finding(d dialect, f provider.Finding, dir string) {
	p := f.Diagnostic()
	p.File, p.Line = "", 0
	c := concernHash
	if f.Code == provider.CodeReReleased {
		c = concernReReleased
	}
	all.problem(c, d, p, dir)
}

type findingJSON struct {
	Code     provider.Code `json:"code"`
	Severity string        `json:"severity"`
	Provider string        `json:"provider"`
	Version  string        `json:"version"`
	Hash     provider.Hash `json:"hash,omitempty"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
}

func findingOf(f provider.Finding) findingJSON {
	severity := "error"
	if f.Severity == provider.SeverityWarning {
		severity = "warning"
	}
	return findingJSON{
		Code: f.Code, Severity: severity, Provider: f.Addr.String(), Version: f.Version.String(), Hash: f.Hash,
		File: f.File, Line: f.Line, Message: f.Message, Hint: f.Hint,
	}
}

// shownFindings are findings with every path replaced by what show makes of it.
func shownFindings(findings []provider.Finding, show func(string) string) []provider.Finding {
	return mapped(findings, func(f provider.Finding) provider.Finding {
		f.File = show(f.File)
		return f
	})
}
