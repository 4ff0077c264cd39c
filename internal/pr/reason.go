package pr

import (
	"fmt"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Reasons that several cases share: why relock does nothing about a pull request or a
// branch, or why it closes it. They follow another text, so they begin with a small letter
// and have no full stop.
const (
	movedMeanwhile = "its branch has moved since it was looked at"
	pushedTo       = "somebody else pushed to the branch"
	leftOver       = "its branch was left over"
	baseGone       = "its base is gone, or has another name now"
	notSeen        = "this run did not look at everything that it proposes"
)

// refusal is an error about what GitHub holds. cause is what it wraps, or nil.
func refusal(cause error, hint, format string, args ...any) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeGitHub, Message: fmt.Sprintf(format, args...), Hint: hint}, Err: cause}
}

// inQueue is the reason where the merge queue has the pull request.
func inQueue(number int) string { return fmt.Sprintf("pull request #%d is in the merge queue", number) }

// refusedAs is the reason if a person has closed a pull request that proposed the same.
func refusedAs(number int) string {
	return fmt.Sprintf("somebody closed pull request #%d, which proposed the same", number)
}

// rebased is the reason if a person has given the pull request another base.
func rebased(number int, base string) string {
	return fmt.Sprintf("somebody changed the base of pull request #%d to %s", number, base)
}

// waitsForRoom is the reason of a group without a pull request if the limit is reached.
func waitsForRoom(open, limit int) string {
	return fmt.Sprintf("waits: %s open (limit %d)", safe.Count(open, "pull request is", "pull requests are").Plain(), limit)
}

// waitsForDependents is the reason of a group whose pull request has ended, and whose
// branch other pull requests need.
func waitsForDependents(pulls []int) string {
	return "it waits, since " + needing(pulls).Plain()
}

// neededBy says that other pull requests have the branch as their base or head. It follows
// the reason if a branch is not deleted, or says why nothing is pushed to it.
func neededBy(pulls []int) string {
	return "; its branch stays, since " + needing(pulls).Plain()
}

// branchStays is the last sentence of a closed pull request whose branch is not deleted.
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
