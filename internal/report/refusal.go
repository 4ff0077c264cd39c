package report

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Why a command is not carried out, in Markdown, as Sentence takes it: for the person
// who gave it, with what to do next.
const (
	BaseChanged   = "somebody has changed the base of the pull request, so that relock leaves it alone"
	BaseMerged    = "the base has been merged meanwhile; look at what is there, then ask again"
	HeadMoved     = "the branch has moved since it was read, and nothing was pushed; look at what is there, then ask again"
	MayNotPush    = "relock may not push to the branch of this fork"
	NothingToLock = "the pull request touches no root module that has a lock file; name a directory to take one all the same"
)

// UnknownCommand is the refusal of what is no command, with those that there are.
func UnknownCommand(why error, commands string) string {
	return Sentence(why.Error()) + "\n\n" + commands
}

// UnusableConfig is the refusal where the base's configuration file has errors.
func UnusableConfig(base string, why error) string {
	return fmt.Sprintf("the configuration on the branch %s cannot be used: %s", safe.Code(base).String(), safe.Text(why.Error()).String())
}

// UnusableLedger is the refusal where the base's ledger cannot be read.
func UnusableLedger(name, base string, why error) string {
	return fmt.Sprintf("the ledger %s on the branch %s cannot be used: %s", safe.Code(name).String(), safe.Code(base).String(), safe.Text(why.Error()).String())
}

// Unmergeable is the refusal where one lock file of the two sides cannot be read.
func Unmergeable(d problem.Diagnostic) string { return safe.Text(d.Error()).String() }

// Conflicts is the refusal where the base conflicts in other files too.
func Conflicts(base, byHand string) string {
	return fmt.Sprintf("the pull request conflicts with %s in more than lock files, and nothing was pushed. %s", safe.Code(base).String(), byHand)
}

// MergeRefused is the refusal where GitHub does not merge the base, and no conflict
// is why.
func MergeRefused(base string, why error, byHand string) string {
	return fmt.Sprintf("the pull request conflicts with %s in lock files, and GitHub refuses the merge: %s. "+
		"It may do so where the base has changed workflows and the token may not write any "+
		"(workflows: write, which only an App or a person can have). %s", safe.Code(base).String(), safe.Text(why.Error()).String(), byHand)
}

// TooManyFiles is the refusal where nobody says which root modules a pull request
// touches.
func TooManyFiles(most int) string {
	return fmt.Sprintf("the pull request changes more than %d files; name the directories", most)
}

// MayBeChanged is the refusal where nobody says whether a pull request changes what it
// is judged by.
func MayBeChanged(name string, most int) string {
	return fmt.Sprintf("the pull request changes more than %d files, and %s may be one of them", most, safe.Code(name).String())
}

// InQueueOf is the refusal to push to what waits in the merge queue of its base.
func InQueueOf(base string) string {
	return fmt.Sprintf("the pull request is in the merge queue of %s; ask again when it is merged or out of there", safe.Code(base).String())
}

// NewerPull is the refusal to note something where nobody would look for it.
func NewerPull(number int) string {
	return fmt.Sprintf("there is a newer pull request of this group; say it under #%d", number)
}

// NotThere is the refusal of what the command names and is nowhere.
func NotThere(missing []problem.Diagnostic) string {
	return "nothing was done: " + strings.Join(list(missing, func(d problem.Diagnostic) string {
		if d.Hint == "" {
			return safe.Text(d.Message).String()
		}
		return safe.Text(d.Message).String() + " (" + safe.Text(d.Hint).String() + ")"
	}), "; ")
}

// MergeSubject is the subject of a commit that merges the base with its lock files.
func MergeSubject(base, branch string) string { return Shortened("Merge " + base + " into " + branch) }
