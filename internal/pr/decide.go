package pr

import (
	"fmt"

	"github.com/relock-dev/relock/internal/provider"
)

// pullStep is what happens to the pull request.
type pullStep int

const (
	keepPull pullStep = iota
	openPull
	editPull
	warnPull  // comment that somebody else's commits stop us
	closePull // and delete its branch
)

// plan is the least that makes GitHub hold what is wanted.
type plan struct {
	push   bool // a new commit on the base becomes the branch
	pull   pullStep
	drop   bool // the branch is deleted
	reason string
	err    error
}

// decide compares a proposal with what is there.
func decide(p Proposal, s state) plan {
	current := s.owner == ours && s.mark.Digest == p.Digest && s.mark.Ground == ground(p.Files)
	switch {
	case s.head != "" && s.owner == foreign:
		return plan{err: taken(s.branch)}
	case s.head != "" && s.owner == touched:
		return leave(s)
	case s.open() && s.pull.Base != p.Base:
		return plan{reason: rebased(s)}
	case s.open() && current:
		return finish(p, s)
	case s.open():
		return plan{push: true, pull: editPull}
	case s.rejected == p.Digest:
		return plan{reason: fmt.Sprintf("somebody closed pull request #%d, which proposed the same", s.pull.Number)}
	case current && (s.pull == nil || !s.pull.Merged):
		return plan{pull: openPull}
	}
	// After a merge the branch still holds the old commit, whose changes the
	// base has undone since: they come back on top of the base only.
	return plan{push: true, pull: openPull}
}

// finish is for a branch that holds what is wanted and has a pull request. Its
// title and body lag behind only if a run ended between push and edit. A body
// that somebody has rewritten, marker and all, is theirs.
func finish(p Proposal, s state) plan {
	if s.marked && s.marker.Digest != p.Digest {
		return plan{pull: editPull}
	}
	return plan{reason: "it is proposed already"}
}

// leave is for a branch that somebody else has pushed to.
func leave(s state) plan {
	l := plan{reason: "somebody else pushed to the branch"}
	if s.open() && !s.marker.Stopped {
		l.pull = warnPull
	}
	return l
}

// unwanted decides about one of our branches for which there is no proposal.
func unwanted(s state, base string) plan {
	switch {
	case s.owner == touched:
		return leave(s)
	case s.open() && s.pull.Base != base:
		return plan{reason: rebased(s)}
	case s.open():
		return plan{pull: closePull, drop: true, reason: closedDone}
	}
	return plan{drop: true, reason: "its branch was left over"}
}

// operation names the plan as an outcome does.
func (p plan) operation() Operation {
	switch {
	case p.pull == openPull:
		return Created
	case p.pull == editPull:
		return Updated
	case p.pull == closePull:
		return Closed
	}
	return None
}

func rebased(s state) string {
	return fmt.Sprintf("somebody changed the base of pull request #%d to %s", s.pull.Number, s.pull.Base)
}

func taken(branch string) error {
	return &provider.Error{
		Code:    provider.CodeGitHub,
		Message: fmt.Sprintf("branch %s exists, and its commits are not relock's", branch),
		Hint:    "rename or delete that branch",
	}
}
