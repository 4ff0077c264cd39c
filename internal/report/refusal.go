package report

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Why a command is not carried out, as Markdown.Sentence takes it: for the person who
// gave it, with what to do next.
const (
	BaseChanged   = "somebody has changed the base of the pull request, so that relock leaves it alone"
	BaseMerged    = "the base has been merged meanwhile; look at what is there, then ask again"
	HeadMoved     = "the branch has moved since it was read, and nothing was pushed; look at what is there, then ask again"
	MayNotPush    = "relock may not push to the branch of this fork"
	NothingToLock = "the pull request touches no root module that has a lock file; name a directory to take one all the same"
)

// UnusableConfig is the refusal where the base's configuration file has errors.
func UnusableConfig(base string, why error) safe.Markdown {
	return safe.Format("the configuration on the branch %s cannot be used: %s", safe.Code(base), safe.Text(why.Error()))
}

// UnusableLedger is the refusal where the base's ledger cannot be read.
func UnusableLedger(name, base string, why error) safe.Markdown {
	return safe.Format("the ledger %s on the branch %s cannot be used: %s", safe.Code(name), safe.Code(base), safe.Text(why.Error()))
}

// Unmergeable is the refusal where one lock file of the two sides cannot be read.
func Unmergeable(d problem.Diagnostic) safe.Markdown { return safe.Text(d.Error()) }

// Conflicts is the refusal where the base conflicts in other files too.
func Conflicts(base string, byHand safe.Markdown) safe.Markdown {
	return safe.Format("the pull request conflicts with %s in more than lock files, and nothing was pushed. %s", safe.Code(base), byHand)
}

// MergeRefused is the refusal where GitHub does not merge the base, and no conflict
// is why.
func MergeRefused(base string, why error, byHand safe.Markdown) safe.Markdown {
	return safe.Format("the pull request conflicts with %s in lock files, and GitHub refuses the merge: %s. "+
		"It may do so where the base has changed workflows and the token may not write any "+
		"(workflows: write, which only an App or a person can have). %s", safe.Code(base), safe.Text(why.Error()), byHand)
}

// TooManyFiles is the refusal where nobody says which root modules a pull request
// touches.
func TooManyFiles(most int) safe.Markdown {
	return safe.Format("the pull request changes more than %s files; name the directories", safe.Int(most))
}

// MayBeChanged is the refusal where nobody says whether a pull request changes what it
// is judged by.
func MayBeChanged(name string, most int) safe.Markdown {
	return safe.Format("the pull request changes more than %s files, and %s may be one of them", safe.Int(most), safe.Code(name))
}

// InQueueOf is the refusal to push to what waits in the merge queue of its base.
func InQueueOf(base string) safe.Markdown {
	return safe.Format("the pull request is in the merge queue of %s; ask again when it is merged or out of there", safe.Code(base))
}

// NewerPull is the refusal to note something where nobody would look for it.
func NewerPull(number int) safe.Markdown {
	return safe.Format("there is a newer pull request of this group; say it under #%s", safe.Int(number))
}

// NotThere is the refusal of what the command names and is nowhere.
func NotThere(missing []problem.Diagnostic) safe.Markdown {
	return safe.Format("nothing was done: %s", safe.Join("; ", list(missing, func(d problem.Diagnostic) safe.Markdown {
		if d.Hint == "" {
			return safe.Text(d.Message)
		}
		return safe.Format("%s (%s)", safe.Text(d.Message), safe.Text(d.Hint))
	})...))
}
