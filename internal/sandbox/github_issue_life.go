package sandbox

import (
	"net/http"
	"strings"
	"time"
)

// gone is the reason why an issue cannot be found any more.
type gone string

const (
	deletedIssue     gone = "deleted"
	transferredIssue gone = "transferred"
)

// Refusals of issues [docs.github.com, REST API, "Issues"].
var (
	errNoIssues     = refusal(http.StatusGone, "Issues has been disabled in this repository.")
	errDeletedIssue = refusal(http.StatusGone, "This issue was deleted")
)

// writeIssues is the right to write issues that are no pull requests.
var writeIssues = right{"issues=write", RoleRead}

// gqlActor is the person who acted; nil for nobody, and for a deleted user.
func gqlActor(login string) gqlObject {
	name, bot := strings.CutSuffix(login, "[bot]")
	switch {
	case login == "":
		return nil
	case bot:
		return gqlObject{"__typename": scalar("Bot"), "login": scalar(name)}
	}
	return gqlObject{"__typename": scalar("User"), "login": scalar(name)}
}

// Issue is an issue that is no pull request, as people see it.
type Issue struct {
	Number              int
	Title, Body, Author string
	Editor              string // of the body; empty if nobody has edited it
	Edited              time.Time
	Open, Locked        bool
	Labels              []string
	Comments            []Comment
}
