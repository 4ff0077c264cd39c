package report

import (
	"fmt"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// namedFindings bounds the findings about one entry that people are shown. The
// JSON report has more.
const namedFindings = 5

// Brief returns the findings as people are shown them, the worst first: of each entry
// a few, the last of which counts the rest.
func (m Module) Brief() []problem.Finding { return brief(m.Findings) }

func brief(all []problem.Finding) []problem.Finding {
	all = bySeverity(all)
	total := map[provider.Addr]int{}
	for _, f := range all {
		total[f.Addr]++
	}
	var shown []problem.Finding
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

type findingJSON struct {
	Code     problem.Code  `json:"code"`
	Severity string        `json:"severity"`
	Provider string        `json:"provider"`
	Version  string        `json:"version"`
	Hash     provider.Hash `json:"hash,omitempty"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Column   int           `json:"column,omitempty"`
	Platform string        `json:"platform,omitempty"`
	ProvenBy string        `json:"proven_by,omitempty"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
}

func findingOf(f problem.Finding) findingJSON {
	j := findingJSON{
		Code: f.Code, Severity: f.Severity.String(), Hash: f.Hash, File: f.Place.File(), Line: f.Place.Line, Column: f.Place.From,
		ProvenBy: f.ProvenBy, Message: f.Message, Hint: f.Hint,
	}
	if f.Addr != (provider.Addr{}) { // else it is about the whole file
		j.Provider = f.Addr.String()
	}
	if f.OfEntry {
		j.Version = f.Version.String()
	}
	if f.Platform != (provider.Platform{}) {
		j.Platform = f.Platform.String()
	}
	return j
}
