package report

import (
	"fmt"
	"strings"
)

// The answers to comments, in Markdown. Who asked, and what was done, is the
// caller's.

// Started is the answer while a command is carried out.
const Started = "On it."

// NothingPushed is the answer where there was nothing to do.
const NothingPushed = "Nothing was pushed."

// ApprovalNeeded says what the workflows on a push of the workflow's own token
// wait for.
const ApprovalNeeded = "Workflows on what the workflow's own token pushes wait until somebody with write access approves them; " +
	"older GitHub Enterprise Servers start none. With the token of a GitHub App they start by themselves."

// Pushed says which commit was pushed.
func Pushed(commit string) string { return "Pushed commit " + commit + "." }

// Rebuilt says where a branch was rebuilt.
func Rebuilt(base, commit string) string {
	return fmt.Sprintf("Rebuilt on %s: commit %s.", Code(base), commit)
}

// NotPushed says why nothing was pushed, and how a person does it by these command
// lines.
func NotPushed(why string, lines ...string) string {
	return "Nothing was pushed: " + why + ". " + ByHand(lines...)
}

// ByHand says how a person does the same.
func ByHand(lines ...string) string {
	return "Run this at the top of a checkout of the branch, and commit the result:\n\n" + Fenced(strings.Join(lines, "\n"), 4096)
}
