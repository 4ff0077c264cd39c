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
	FormatVersion int                  `json:"format_version"`
	Repository    string               `json:"repository"`
	Branch        string               `json:"branch"`
	Settings      []config.Explanation `json:"settings"`
	Warnings      []problemJSON        `json:"warnings"`
}

// SettingsJSON writes settings for programs. The error is the writer's.
func SettingsJSON(w io.Writer, s SettingsShown) error {
	_, warnings := problemsJSON(s.Warnings)
	return encode(w, settingsJSON{
		FormatVersion: formatVersion, Repository: s.Repository, Branch: s.Branch, Settings: array(s.All), Warnings: warnings,
	}, "  ")
}
