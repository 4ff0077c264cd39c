package pr

import "github.com/relock-dev/relock/internal/safe"

// RebaseWhen says what is done about a branch that proposes what is wanted and has not all of
// its base. Whatever it says, one that proposes something else, or conflicts, is made again.
type RebaseWhen string

// The choices. The zero value is RebaseAuto.
const (
	// RebaseAuto updates a branch if that alone keeps the pull request from being merged, and
	// a person has approved it or GitHub merges it by itself.
	RebaseAuto RebaseWhen = "auto"
	// RebaseBehindBase updates it whenever the base demands branches that have all of it.
	RebaseBehindBase RebaseWhen = "behind-base"
	// RebaseConflicted leaves it as it is.
	RebaseConflicted RebaseWhen = "conflicted"
)

// lag is what happens to a branch that has not all of its base.
type lag int

const (
	caughtUp lag = iota // it has, or nobody demands that, or nobody knows of such a demand
	overdue             // GitHub is asked to merge the base
	onHold              // the same, but later
)

// behindBase is what a body says of a branch that is not updated yet.
func behindBase(base string) safe.Markdown {
	if base == "" {
		return safe.Markdown{}
	}
	return safe.Format("This branch is behind %s; updated when approved or set to merge by itself, if nothing else keeps it from being merged.", safe.Code(base))
}
