package pr

import (
	"fmt"

	"github.com/relock-dev/relock/internal/safe"
)

// Reasons why nothing is done about a pull request or a branch, or why it ends, as far as
// several cases have them. They are behind what was done, so that they begin small and
// end without a stop.
const (
	movedMeanwhile = "its branch has moved since it was looked at"
	pushedTo       = "somebody else pushed to the branch"
	leftOver       = "its branch was left over"
	notSeen        = "this run did not look at everything that it proposes"
)

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

// waitsForDependents is the reason of a group whose branch other pull requests need,
// and whose own pull request has ended.
func waitsForDependents(pulls []int) string {
	return "it waits, since " + needing(pulls).Plain()
}

// neededBy follows the reason where a branch is not deleted, or says why nothing is
// pushed to it: other pull requests have it as their base or head.
func neededBy(pulls []int) string {
	return "; its branch stays, since " + needing(pulls).Plain()
}

// branchStays is the sentence with which a pull request ends whose branch stays.
func branchStays(pulls []int) safe.Markdown {
	return safe.Format("Its branch stays, since %s. relock pushes nothing to it, and deletes it when nothing needs it any more.", needing(pulls))
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
