package comment

import (
	"context"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// Source is what a decision asks of GitHub. The facts are those of now: what an event says of
// its author (author_association) is older and weaker. Errors of a Source are returned as
// they are.
type Source interface {
	// Permission is what the author of the comment may do in the repository: admin,
	// write (of which maintain is a kind), read or none, as GitHub's API has it.
	Permission(ctx context.Context) (string, error)
	// Pull is the pull request that the comment is under.
	Pull(ctx context.Context) (Pull, error)
	// Ownership says whose that is. It takes the settings of the base branch.
	Ownership(ctx context.Context) (Ownership, error)
}

// Pull is the state of a pull request that decides which commands are possible.
type Pull struct {
	Open   bool
	Merged bool
	// Head is the commit that the branch is at.
	Head string
	// Writable says that relock's token may push to the branch. It may not push
	// to that of a fork, unless the fork's owner lets maintainers edit and the
	// token is more than the workflow's own.
	Writable bool
}

// Ownership says whose a pull request is.
type Ownership struct {
	// Ours says that relock opened it.
	Ours bool
	// Touched says that somebody else has pushed to a branch of ours.
	Touched bool
}

// Decision is that a command is carried out.
type Decision struct {
	Command Command
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

// Error returns the reason as Markdown.
func (r *Refusal) Error() string { return r.Why.String() }

// Refuse returns the error that a command is not carried out, a *Refusal.
func Refuse(why safe.Markdown) error { return &Refusal{Why: why} }

// MayCommand reports whether a permission, as GitHub's API names it, allows commands: admin
// or write. GitHub reports the role maintain as write.
func MayCommand(permission string) bool { return permission == "admin" || permission == "write" }

// Decide decides whether a command, a line of Commands, is carried out.
// It asks for a fact when nothing that is known before refuses the command. So a closed pull
// request costs no settings, and Help no pull request. Under relock's issue the permission
// decides alone. Its errors are each a *Refusal, except for those of the source.
func Decide(ctx context.Context, line string, under Thread, from Source) (Decision, error) {
	permission, err := from.Permission(ctx)
	if err != nil {
		return Decision{}, err
	}
	if !MayCommand(permission) {
		return Decision{}, Refuse(safe.Const("commands are for people who may write to this repository"))
	}
	c, err := Parse(line, under)
	if err != nil || c.Verb == Help || under == UnderPage {
		return Decision{Command: c}, err
	}
	u, _ := usageOf(c.Verb, under) // there is one, or Parse refuses
	pull, err := from.Pull(ctx)
	if err != nil {
		return Decision{}, err
	}
	if err := pull.refuses(u, c.SHA); err != nil {
		return Decision{}, err
	}
	owner, err := from.Ownership(ctx)
	if err != nil {
		return Decision{}, err
	}
	if u.Own && !owner.Ours {
		return Decision{}, Refuse(safe.Const("this is for pull requests that relock opened"))
	}
	if u.rebuilds && owner.Ours && owner.Touched {
		return Decision{}, Refuse(safe.Const("somebody else has pushed to the branch; `/relock recreate` discards their commits"))
	}
	return Decision{Command: c, ReportOnly: !pull.Writable && u.Pushes && !u.Own}, nil
}

// refuses returns why a verb is not for a pull request as it is now, whether it is ours or not;
// nil if it may be. sha is what the commit begins with that the command is about; empty: any.
func (p Pull) refuses(u Usage, sha string) error {
	reopens := u.Verb == Reopen
	switch {
	case p.Merged && (!u.Closed || reopens):
		return Refuse(safe.Const("the pull request is merged"))
	case !p.Open && !u.Closed:
		return Refuse(safe.Const("the pull request is closed"))
	case p.Open && reopens:
		return Refuse(safe.Const("the pull request is open"))
	case sha != "" && !strings.HasPrefix(p.Head, sha):
		return Refuse(safe.Const("the branch is not at the commit that --sha names; look at what was pushed, then ask again"))
	}
	return nil
}
