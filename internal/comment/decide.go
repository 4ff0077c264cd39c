package comment

import (
	"strings"

	"github.com/relock-dev/relock/internal/safe"
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

// Refusal is why a command is not carried out, for the person who gave it.
type Refusal struct {
	Why safe.Markdown // as Markdown.Sentence takes it, with what to do next
	// NoVerb says that the command has no verb of the language, so that its author may
	// want to see the table.
	NoVerb bool
}

// Error returns why.
func (r *Refusal) Error() string { return r.Why.String() }

// Refuse returns the error that a command is not carried out, a *Refusal.
func Refuse(why safe.Markdown) error { return &Refusal{Why: why} }

// May reports whether a permission is one of those who may give commands:
// admin or write, of which maintain is a kind.
func May(permission string) bool { return permission == "admin" || permission == "write" }

// Decide says whether a command is carried out. Its errors are each a *Refusal.
func Decide(c Command, s Situation) (Decision, error) {
	u, ok := usageOf(c.Verb)
	switch {
	case !May(s.Permission):
		return Decision{}, Refuse(safe.Const("commands are for people who may write to this repository"))
	case !ok:
		return Decision{}, unknown("")
	case u.Own && !s.Ours:
		return Decision{}, Refuse(safe.Const("this is for pull requests that relock opened"))
	case s.Merged && !u.Closed, s.Merged && c.Verb == Reopen:
		return Decision{}, Refuse(safe.Const("the pull request is merged"))
	case !s.Open && !u.Closed:
		return Decision{}, Refuse(safe.Const("the pull request is closed"))
	case s.Open && c.Verb == Reopen:
		return Decision{}, Refuse(safe.Const("the pull request is open"))
	case s.Ours && s.Touched && u.rebuilds:
		return Decision{}, Refuse(safe.Const("somebody else has pushed to the branch; `/relock recreate` discards their commits"))
	case c.SHA != "" && !strings.HasPrefix(s.Head, c.SHA):
		return Decision{}, Refuse(safe.Const("the branch is not at the commit that --sha names; look at what was pushed, then ask again"))
	}
	return Decision{ReportOnly: !s.Writable && u.Pushes && !u.Own}, nil
}
