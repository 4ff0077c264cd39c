package terragrunt

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
)

// causeKind is the consequence of a cause.
type causeKind int

const (
	standIn   causeKind = iota // the recorded constraints are used
	unknown                    // there are none
	leftAlone                  // the lock file is left to its owner
	excluded                   // there must be no lock file
	assumed                    // a value is assumed
)

// cause is why units are not read as usual, or what is assumed about them.
type cause struct {
	kind       causeKind
	text, hint string
	place      problem.Place
}

// toldCauses are the causes of all units, each with its units. Causes that differ only in
// their place are one, with the first place.
type toldCauses struct {
	order    []cause
	dirs     map[cause][]string
	unlocked []string
	problems []problem.Problem // of stacks
}

func (c *toldCauses) note(why cause, dir string) {
	if c.dirs == nil {
		c.dirs = map[cause][]string{}
	}
	first := why
	why.place = problem.Place{}
	if c.dirs[why] == nil {
		c.order = append(c.order, first)
	}
	if !slices.Contains(c.dirs[why], dir) {
		c.dirs[why] = append(c.dirs[why], dir)
	}
}

// unitsOf are the units that have a cause.
func (c *toldCauses) unitsOf(why cause) []string {
	why.place = problem.Place{}
	return c.dirs[why]
}

// diagnostics reports each cause once.
func (c *toldCauses) diagnostics() []problem.Problem {
	var told []problem.Problem
	for _, why := range c.order {
		dirs := c.unitsOf(why)
		d := problem.Problem{Severity: problem.SeverityWarning, Code: problem.CodeTerragruntUnit, Place: why.place, Hint: why.hint}
		subject := "1 Terragrunt unit"
		if len(dirs) > 1 {
			subject, d.Dirs = fmt.Sprintf("%d Terragrunt units", len(dirs)), problem.DirsOf(dirs)
		}
		switch why.kind {
		case standIn:
			d.Message = fmt.Sprintf("the requirements of %s are known in part: %s. The recorded constraints are used for the rest in %s", subject, why.text, collect.First(dirs, mostUnits))
		case unknown:
			d.Message = fmt.Sprintf("the requirements of %s are known in part: %s. No lock file records the rest in %s", subject, why.text, collect.First(dirs, mostUnits))
		case leftAlone:
			d.Message = fmt.Sprintf("%s %s left alone, since copy_terraform_lock_file is false: %s", subject, agreed(len(dirs), "is", "are"), collect.First(dirs, mostUnits))
		case excluded:
			d.Message = fmt.Sprintf("%s %s no lock file, since the exclude block keeps Terragrunt from running init: %s", subject, agreed(len(dirs), "gets", "get"), collect.First(dirs, mostUnits))
		case assumed:
			d.Message = fmt.Sprintf("for %s it is assumed that %s: %s", subject, why.text, collect.First(dirs, mostUnits))
		}
		told = append(told, d)
	}
	for _, dir := range c.unlocked {
		told = append(told, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeUnlocked, Place: problem.Place{Path: dir},
			Message: "the Terragrunt unit has no lock file",
		})
	}
	return append(told, c.problems...)
}

// agreed is the form of a word for a number.
func agreed(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// mostUnits is how many units a message names.
const mostUnits = 10
