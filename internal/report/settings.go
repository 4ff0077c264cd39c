package report

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// SettingsShown are those that are in force for a repository, with what tells of them.
type SettingsShown struct {
	Repository, Branch string // on GitHub; empty: the checkout
	All                []settings.Explanation
	Warnings           []problem.Problem
}
