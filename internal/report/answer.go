package report

import (
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// The answers to comments, in Markdown. Who asked, and what was done, is the
// caller's.

// Started is the answer while a command is carried out.
const Started = "On it."

// NothingPushed is the answer where there was nothing to do.
const NothingPushed = "Nothing was pushed."

// NothingPushedFor is the answer where nothing was done for a reason, such as
// NothingForGroup.
func NothingPushedFor(why safe.Markdown) safe.Markdown {
	return safe.Format("Nothing was pushed: %s.", why)
}

// NothingForGroup is why nothing was pushed where the group has no changes any more.
const NothingForGroup = "there is nothing to propose for this group"

// What was done about a pull request of relock, or what follows the answer that says so.
const (
	OpenedAgain  = "Opened again."
	TextUpdated  = "The text is up to date again; nothing had to be pushed."
	BeingRebuilt = "The pull request is being rebuilt."
	BranchKept   = "The branch stays as it is, since somebody else has pushed to it."
	RebuiltWhole = "relock rebuilds its own pull requests as a whole, whatever the command names. " +
		"`/relock ignore` leaves a provider out."
)

// DidNotWork is the answer where a command failed.
func DidNotWork(d problem.Diagnostic) safe.Markdown {
	return safe.Format("This did not work.\n\n%s", Problems([]problem.Diagnostic{d}))
}

// NobodyTold is what the report of a run adds where an answer could not be given.
func NobodyTold(d problem.Diagnostic) safe.Markdown {
	return safe.Format("The answer could not be posted:\n\n%s", Problems([]problem.Diagnostic{d}))
}

// ApprovalNeeded says what the workflows on a push of the workflow's own token
// wait for.
const ApprovalNeeded = "Workflows on what the workflow's own token pushes wait until somebody with write access approves them; " +
	"older GitHub Enterprise Servers start none. With the token of a GitHub App they start by themselves."

// WrittenBy names the run that wrote a text, by its address; empty for none.
func WrittenBy(run string) safe.Markdown {
	if !safe.Linkable(run) {
		return safe.Markdown{}
	}
	return safe.Format("Written by %s.\n\n", safe.Link(safe.Const("this run"), run))
}

// Pushed says which commit was pushed.
func Pushed(commit string) safe.Markdown {
	return safe.Format("Pushed commit %s.", safe.Text(commit))
}

// Rebuilt says where a branch was rebuilt.
func Rebuilt(base, commit string) safe.Markdown {
	return safe.Format("Rebuilt on %s: commit %s.", safe.Code(base), safe.Text(commit))
}

// NotPushed says why nothing was pushed, and how a person does it by these command
// lines.
func NotPushed(why safe.Markdown, lines ...string) safe.Markdown {
	return safe.Join(" ", NothingPushedFor(why), ByHand(lines...))
}

// ByHand says how a person does the same.
func ByHand(lines ...string) safe.Markdown {
	return safe.Format("Run this at the top of a checkout of the branch, and commit the result:\n\n%s", safe.Fenced(strings.Join(lines, "\n"), 4096))
}
