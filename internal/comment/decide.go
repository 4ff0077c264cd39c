package comment

import (
	"errors"
	"strings"
)

// Situation is what GitHub said of a pull request and of the person who gives a
// command, when it was asked.
type Situation struct {
	// Permission is what the person may do in the repository now: admin, write,
	// read or none, as GitHub's API has it. What the event says of them
	// (author_association) is older and weaker.
	Permission string
	Open       bool
	Merged     bool
	// Ours says that relock opened the pull request.
	Ours bool
	// Touched says that somebody else has pushed to a branch of ours.
	Touched bool
	// Head is the commit that the branch is at.
	Head string
	// Writable says that relock's token may push to the branch. It may not push
	// to that of a fork, unless the fork's owner lets maintainers edit and the
	// token is more than the workflow's own.
	Writable bool
}

// Decision is what becomes of a command.
type Decision struct {
	// ReportOnly says that the result is shown and not pushed.
	ReportOnly bool
}

// May reports whether a permission is one of those who may give commands:
// admin or write, of which maintain is a kind.
func May(permission string) bool { return permission == "admin" || permission == "write" }

// Decide says whether a command is carried out. Its errors are for the person
// who gave it.
func Decide(c Command, s Situation) (Decision, error) {
	u, ok := usageOf(c.Verb)
	switch {
	case !May(s.Permission):
		return Decision{}, errors.New("commands are for people who may write to this repository")
	case !ok:
		return Decision{}, ErrUnknown
	case u.Own && !s.Ours:
		return Decision{}, errors.New("this is for pull requests that relock opened")
	case s.Merged && !u.Closed, s.Merged && c.Verb == Reopen:
		return Decision{}, errors.New("the pull request is merged")
	case !s.Open && !u.Closed:
		return Decision{}, errors.New("the pull request is closed")
	case s.Open && c.Verb == Reopen:
		return Decision{}, errors.New("the pull request is open")
	case s.Ours && s.Touched && u.rebuilds:
		return Decision{}, errors.New("somebody else has pushed to the branch; `/relock recreate` discards their commits")
	case c.SHA != "" && !strings.HasPrefix(s.Head, c.SHA):
		return Decision{}, errors.New("the branch is not at the commit that --sha names; look at what was pushed, then ask again")
	}
	return Decision{ReportOnly: !s.Writable && u.Pushes && !u.Own}, nil
}
