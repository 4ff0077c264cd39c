package report

import (
	"io"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/problem"
)

// SettingsShown are those that are in force for a repository, with what tells of them.
type SettingsShown struct {
	Repository, Branch string // on GitHub; empty: the checkout
	All                []config.Explanation
	Warnings           []problem.Diagnostic
}

type settingsJSON struct {
	FormatVersion int           `json:"format_version"`
	Repository    string        `json:"repository"`
	Branch        string        `json:"branch"`
	Settings      []settingJSON `json:"settings"`
	Warnings      []problemJSON `json:"warnings"`
}

type settingJSON struct {
	Name    string         `json:"name"`
	Value   any            `json:"value"`
	Sources []sourceJSON   `json:"sources"`
	Over    []replacedJSON `json:"over"`
}

type replacedJSON struct {
	Value   any          `json:"value"`
	Sources []sourceJSON `json:"sources"`
}

type sourceJSON struct {
	By   config.GivenBy `json:"by"`
	Text string         `json:"text"`
	File string         `json:"file,omitempty"`
	Line int            `json:"line,omitempty"`
	// Value is what this one says of it, where several make the value.
	Value any `json:"value,omitempty"`
}

// SettingsJSON writes settings for programs. The error is the writer's.
func SettingsJSON(w io.Writer, s SettingsShown) error {
	_, warnings := problemsJSON(s.Warnings)
	return encode(w, settingsJSON{
		FormatVersion: formatVersion, Repository: s.Repository, Branch: s.Branch, Settings: list(s.All, settingOf), Warnings: warnings,
	}, "  ")
}

func settingOf(s config.Explanation) settingJSON {
	return settingJSON{Name: s.Name, Value: s.Value, Sources: list(s.Sources, partOf), Over: list(s.Over, func(was config.Explanation) replacedJSON {
		return replacedJSON{Value: was.Value, Sources: list(was.Sources, partOf)}
	})}
}

func partOf(p config.Share) sourceJSON {
	return sourceJSON{By: p.Given.By, Text: p.Given.Source, File: p.Given.File, Line: p.Given.Line, Value: p.Value}
}
