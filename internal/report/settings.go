package report

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// SettingsShown are the settings in force for a repository, with explanations.
type SettingsShown struct {
	Repository, Branch string // on GitHub; empty for the checkout
	All                []settings.Explanation
	Warnings           []problem.Problem
}
