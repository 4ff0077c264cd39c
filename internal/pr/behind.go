package pr

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
