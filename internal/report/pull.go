package report

import (
	"fmt"

	"github.com/relock-dev/relock/internal/safe"
)

// What relock says of and in its pull requests, beside their titles and bodies. What
// became of one, and when to say it, is the caller's.

// The reasons why nothing is done about a pull request or a branch, or why it ends.
// They stand behind what was done, so that they begin small and end without a stop.
const (
	AlreadyProposed = "already up to date"
	MovedMeanwhile  = "its branch has moved since it was looked at"
	PushedTo        = "somebody else pushed to the branch"
	AlreadyMerged   = "it is merged"
	NothingLeft     = "nothing left to do"
	BaseGone        = "its base is gone"
	LeftOver        = "its branch was left over"
	NotSeen         = "this run did not look at all that it proposes"
	NotRead         = "this run did not look at all that it proposes, and what that is could not be read"
	NotReadable     = "this run did not look at everything, and what it proposes is not what relock has committed"
	Overtaken       = "the base has changed a lock file since, and this run did not look at all of it"
)

// sentence says what a pull request keeps unseen; empty if that is nothing.
func (c CarriedOver) sentence(d dialect) string {
	switch {
	case c.Roots == 0:
		return ""
	case c.Roots == 1:
		return "1 root module stays as commit " + d.code(c.Commit[:min(len(c.Commit), 7)]) + " of this pull request has it, since this run did not look at it."
	}
	return fmt.Sprintf("%d root modules stay as commit %s of this pull request has them, since this run did not look at them.", c.Roots, d.code(c.Commit[:min(len(c.Commit), 7)]))
}

// BranchStays follows the reason where a branch cannot be deleted.
const BranchStays = "; its branch stays, since it cannot be deleted safely"

// NeededBy follows the reason where a branch is not deleted, or says why nothing is
// pushed to it: other pull requests have it as their base or head.
func NeededBy(pulls []int) string {
	return "; its branch stays, since " + needing(pulls).Plain()
}

// WaitsForDependents is the reason of a group whose branch other pull requests need,
// and whose own pull request has ended.
func WaitsForDependents(pulls []int) string {
	return "it waits, since " + needing(pulls).Plain()
}

// mostNeeding is how many pull requests a sentence names.
const mostNeeding = 5

func needing(pulls []int) safe.Markdown {
	names := list(pulls[:min(len(pulls), mostNeeding)], func(n int) safe.Markdown { return safe.Format("#%s", safe.Int(n)) })
	if more := len(pulls) - mostNeeding; more > 0 {
		names = append(names, safe.Format("%s more", safe.Int(more)))
	}
	if len(pulls) == 1 {
		return safe.Format("open pull request %s needs the branch", names[0])
	}
	return safe.Format("open pull requests need the branch: %s", safe.Join(", ", names...))
}

// KeptFor is the sentence with which a pull request ends whose branch stays.
func KeptFor(pulls []int) safe.Markdown {
	return safe.Format("Its branch stays, since %s. relock pushes nothing to it, and deletes it when nothing needs it any more.", needing(pulls))
}

// InQueue is the reason where the merge queue has the pull request.
func InQueue(number int) string { return fmt.Sprintf("pull request #%d is in the merge queue", number) }

// TurnedDown is the reason where a person has closed the same.
func TurnedDown(number int) string {
	return fmt.Sprintf("somebody closed pull request #%d, which proposed the same", number)
}

// Rebased is the reason where a person has given the pull request another base.
func Rebased(number int, base string) string {
	return fmt.Sprintf("somebody changed the base of pull request #%d to %s", number, base)
}

// Waits is the reason of a group that waits for others to be merged.
func Waits(open, limit int) string {
	return fmt.Sprintf("it waits, since %d pull requests are open and the limit is %d", open, limit)
}

// WaitsForAll is the reason of a group that waits since a run has opened as many pull
// requests as it may.
const WaitsForAll = "it waits, since this run opens no more pull requests"

// WaitsForHour is the reason of a group that waits since GitHub lets only so much be made
// in an hour.
const WaitsForHour = "it waits, since GitHub lets this run make no more in this hour"

// NothingLeftOn is the comment with which a pull request is closed that its base needs
// no more.
func NothingLeftOn(base string) safe.Markdown {
	return safe.Format("Nothing is left to do here: the lock files on %s need none of these changes any more, "+
		"or another pull request has them.", safe.Code(base))
}

// NoBaseOfOurs is that comment where the base is none of the configured ones any more.
func NoBaseOfOurs(base string) safe.Markdown {
	return safe.Format("relock is no longer configured to propose to %s.", safe.Code(base))
}

// BaseIsGone is that comment where the base is no branch any more.
func BaseIsGone(base string) safe.Markdown {
	return safe.Format("The branch %s is gone, so relock proposes nothing for it any more.", safe.Code(base))
}

// LeftAlone is the comment under a pull request that somebody else has pushed to.
func LeftAlone(branch string) safe.Markdown {
	return safe.Format("Somebody else has pushed to %s, so relock leaves this pull request alone: it will neither update nor close it.\n\n"+
		"To get a new proposal without these commits, comment `/relock recreate`, or delete the branch.", safe.Code(branch))
}

// RebaseBox stands beside the box of a body that asks for a rebase.
const RebaseBox = "Check this box to rebuild the branch on its base in the next run."

// IgnoredHere stands above the rules that comments have made, as the configuration
// file has them.
const IgnoredHere = "Ignored here by comments. To ignore the same everywhere, copy this to `.github/relock.yml`:"
