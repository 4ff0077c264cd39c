package pr

import "github.com/relock-dev/relock/internal/safe"

// RebaseWhen says when a branch that already proposes what is wanted gets new commits of
// its base. A branch that proposes something else, or conflicts with its base, is made
// again in any case.
type RebaseWhen string

// The choices. The zero value is RebaseAuto.
const (
	// RebaseAuto updates a branch under two conditions: only the missing commits block the
	// merge, and a person has approved the pull request or auto-merge is on.
	RebaseAuto RebaseWhen = "auto"
	// RebaseBehindBase updates a branch if the base requires branches to be up to date.
	RebaseBehindBase RebaseWhen = "behind-base"
	// RebaseConflicted leaves the branch as it is.
	RebaseConflicted RebaseWhen = "conflicted"
)

// lag is what happens to a branch that lacks commits of its base.
type lag int

const (
	caughtUp lag = iota // the branch is up to date, or no known rule requires that
	overdue             // GitHub is asked to merge the base
	onHold              // the same, but later
)

// behindBase is the note in a body about a branch that is not updated yet.
func behindBase(base string) safe.Markdown {
	if base == "" {
		return safe.Markdown{}
	}
	return safe.Format("This branch is behind %s; updated when approved or set to merge by itself, if nothing else keeps it from being merged.", safe.Code(base))
}
