package pr

import (
	"fmt"

	"github.com/relock-dev/relock/internal/safe"
)

// The reasons why nothing is done about a pull request or a branch, or why it ends.
// They stand behind what was done, so that they begin small and end without a stop.
const (
	alreadyProposed = "already up to date"
	movedMeanwhile  = "its branch has moved since it was looked at"
	pushedTo        = "somebody else pushed to the branch"
	alreadyMerged   = "it is merged"
	nothingLeft     = "nothing left to do"
	baseGone        = "its base is gone"
	leftOver        = "its branch was left over"
	NotSeen         = "this run did not look at all that it proposes"
	NotReadable     = "this run did not look at everything, and what it proposes is not what relock has committed"
)

// branchStays follows the reason where a branch cannot be deleted.
const branchStays = "; its branch stays, since it cannot be deleted safely"

// neededBy follows the reason where a branch is not deleted, or says why nothing is
// pushed to it: other pull requests have it as their base or head.
func neededBy(pulls []int) string {
	return "; its branch stays, since " + needing(pulls).Plain()
}

// waitsForDependents is the reason of a group whose branch other pull requests need,
// and whose own pull request has ended.
func waitsForDependents(pulls []int) string {
	return "it waits, since " + needing(pulls).Plain()
}

// mostNeeding is how many pull requests a sentence names.
const mostNeeding = 5

func needing(pulls []int) safe.Markdown {
	var names []safe.Markdown
	for _, n := range pulls[:min(len(pulls), mostNeeding)] {
		names = append(names, safe.Format("#%s", safe.Int(n)))
	}
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

// inQueue is the reason where the merge queue has the pull request.
func inQueue(number int) string { return fmt.Sprintf("pull request #%d is in the merge queue", number) }

// refusedAs is the reason where a person has closed the same.
func refusedAs(number int) string {
	return fmt.Sprintf("somebody closed pull request #%d, which proposed the same", number)
}

// rebased is the reason where a person has given the pull request another base.
func rebased(number int, base string) string {
	return fmt.Sprintf("somebody changed the base of pull request #%d to %s", number, base)
}

// waits is the reason of a group that waits for others to be merged.
func waits(open, limit int) string {
	return fmt.Sprintf("it waits, since %d pull requests are open and the limit is %d", open, limit)
}

// waitsForAll is the reason of a group that waits since a run has opened as many pull
// requests as it may.
const waitsForAll = "it waits, since this run opens no more pull requests"

// waitsForHour is the reason of a group that waits since GitHub lets only so much be made
// in an hour.
const waitsForHour = "it waits, since GitHub lets this run make no more in this hour"

// nothingLeftOn is the comment with which a pull request is closed that its base needs
// no more.
func nothingLeftOn(base string) safe.Markdown {
	return safe.Format("Nothing is left to do here: the lock files on %s need none of these changes any more, "+
		"or another pull request has them.", safe.Code(base))
}

// noBaseOfOurs is that comment where the base is none of the configured ones any more.
func noBaseOfOurs(base string) safe.Markdown {
	return safe.Format("relock is no longer configured to propose to %s.", safe.Code(base))
}

// baseIsGone is that comment where the base is no branch any more.
func baseIsGone(base string) safe.Markdown {
	return safe.Format("The branch %s is gone, so relock proposes nothing for it any more.", safe.Code(base))
}

// ignoredHere stands above the rules that comments have made, as the configuration
// file has them.
const ignoredHere = "Ignored here by comments. To ignore the same everywhere, copy this to `.github/relock.yml`:"
