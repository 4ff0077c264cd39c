package pr

import "github.com/relock-dev/relock/internal/github"

// pullStep is what happens to the pull request.
type pullStep int

const (
	keepPull pullStep = iota
	openPull
	editPull
	mergePull // ask again for auto-merge, or note that it is on
	warnPull  // comment that relock stops because of somebody else's commits
	closePull // and delete the branch
)

// plan has the smallest set of changes that makes GitHub hold what is wanted.
type plan struct {
	push   bool // make a new commit on the base, and point the branch to it
	update bool // ask GitHub to merge the base into the branch
	pull   pullStep
	drop   bool // delete the branch
	// unsettled is as in Outcome.
	unsettled bool
	waits     bool  // do nothing until there is room
	until     Until // what has to happen first, if no pull request is open
	reason    string
	err       error
}

// decide compares a proposal with the state on GitHub.
func decide(p Proposal, s state, opts Options) plan {
	current := s.current(p)
	switch {
	case len(s.dependents) > 0 && !s.open():
		return s.waitForDependents(p)
	case s.done():
		// The branch was merged, and the base has changed since. So the new commit goes on
		// top of the base.
		return plan{push: true, pull: openPull}
	case s.head != "" && s.owner == foreign:
		return plan{err: taken(s.branch)}
	case s.queued():
		return plan{reason: inQueue(s.pull.Number)}
	case s.owner == touched && !opts.Recreate:
		return leave(s)
	case !current && p.From != nil && s.standing(p.Base) != p.From.Head:
		return plan{reason: movedMeanwhile}
	case s.strangers(p.Base):
		return plan{reason: waitsForDependents([]int{s.pull.Number})}
	case s.open() && s.pull.Base != p.Base:
		return plan{reason: rebased(s.pull.Number, s.pull.Base)}
	case s.open() && current:
		return finish(p, s, opts)
	case s.open():
		return plan{push: true, pull: editPull}
	case s.rejected == p.Digest && !opts.Again.has(p):
		return plan{drop: s.marker.Leaves && s.head == s.pull.Head, reason: refusedAs(s.pull.Number), until: ForAPerson}
	case current && (s.pull == nil || !s.pull.Merged):
		return plan{push: s.fork != s.base.SHA, pull: openPull} // nobody has reviewed it yet
	}
	return plan{push: true, pull: openPull}
}

// waitForDependents is the plan for a branch that other pull requests need. A push would
// change them, and a deletion would close them.
func (s state) waitForDependents(p Proposal) plan {
	if s.rejected == p.Digest {
		return plan{reason: refusedAs(s.pull.Number), until: ForAPerson}
	}
	return plan{reason: waitsForDependents(s.dependents)}
}

// current reports whether the branch holds the wanted files, was made from the files that
// the base has now, and brings nothing back that the base has lost.
func (s state) current(p Proposal) bool {
	return s.owner == ours && !s.contained && !s.judged.rewritten && s.mark.Digest == p.Digest && s.mark.Ground == ground(p.Files)
}

// queued reports whether the pull request is in the merge queue of its base. A push would
// remove it from the queue, or merge content that nobody reviewed. So relock waits until
// the pull request is merged or leaves the queue [renovatebot/renovate#45252].
func (s state) queued() bool { return s.open() && s.pull.Queued }

// standing is the commit of the group's current proposal; empty if there is none.
func (s state) standing(base string) string {
	if s.contained {
		return ""
	}
	return standingAt(s.head, s.pull, s.marker, base)
}

// finish is the plan for a branch that holds what is wanted and has a pull request.
func finish(p Proposal, s state, opts Options) plan {
	box := asksForRebase(s.pull.Body)
	todo := plan{push: (box || opts.Rebase || opts.Recreate) && s.behind()}
	if !todo.push {
		todo.update, todo.unsettled = s.overdue(opts.RebaseWhen), s.unsettled(opts.RebaseWhen)
	}
	// A body that a person has replaced, with its marker, belongs to that person.
	anew := opts.Recreate && s.pull.Title != p.Title
	if box || anew || s.marked && !s.marker.describes(p) {
		todo.pull = editPull
	} else if !todo.push && !todo.update {
		todo.reason = "already up to date"
		if s.marked && s.awaitsAutoMerge(p) {
			todo.pull = mergePull
		}
	}
	return todo
}

// overdue reports whether the branch must get the new commits of its base now. The merge
// state that GitHub reports decides. BEHIND means that only an update of the branch is
// missing. BLOCKED means that something else is missing, too. It hides whether the base
// requires up-to-date branches, so a ruleset must say that. An unknown state decides nothing.
func (s state) overdue(when RebaseWhen) bool {
	merge := s.pull.MergeState
	switch {
	case !s.behind() || s.asked || when == RebaseConflicted:
		return false
	case when == RebaseBehindBase:
		return merge == github.MergeBehind || merge == github.MergeBlocked && s.strict
	}
	return merge == github.MergeBehind && s.awaited()
}

// unsettled reports whether the branch may need an update after an event that no list of
// pull requests shows. Examples: a check passes, or GitHub computes the merge state again.
func (s state) unsettled(when RebaseWhen) bool {
	return s.behind() && (when == RebaseBehindBase || when != RebaseConflicted && s.awaited())
}

// behind reports whether the base has commits that the branch lacks.
func (s state) behind() bool { return s.fork != s.base.SHA }

// awaited reports whether a person has approved the pull request, or auto-merge is on.
func (s state) awaited() bool { return s.pull.Approved || s.pull.AutoMerge }

// awaitsAutoMerge reports whether relock must still ask for auto-merge and GitHub may accept
// it, or whether auto-merge is on and the marker does not know. GitHub refuses auto-merge if
// nothing blocks the merge.
func (s state) awaitsAutoMerge(p Proposal) bool {
	ready := s.pull.MergeState == github.MergeClean || s.pull.MergeState == github.MergeUnstable
	return p.mergesItself() && s.marker.AutoMerge && (s.pull.AutoMerge || !ready)
}

// describes reports whether a pull request with the marker needs no edit. Its title and
// body must be those of the proposal, and the marker must hold nothing outdated. A marker
// is outdated after a person reopened what relock had closed, or after people removed their
// commits.
func (m Marker) describes(p Proposal) bool {
	return m.Digest == p.Digest && (m.Facts == p.Facts || p.KeepText) && m.Closed == "" && !m.Leaves && !m.Stopped
}

// leave is the plan for a branch that somebody else has pushed to.
func leave(s state) plan {
	l := plan{reason: pushedTo}
	if s.open() && !s.marker.Stopped {
		l.pull = warnPull
	}
	return l
}

// unwanted is the plan for one of our branches without a proposal.
func unwanted(s state, base string) plan {
	switch {
	case s.done():
		return s.dropping(plan{reason: "it is merged"})
	case s.queued():
		return plan{reason: inQueue(s.pull.Number)}
	case s.owner == touched:
		return leave(s)
	case s.strangers(base):
		return plan{reason: leftOver + neededBy([]int{s.pull.Number})}
	case s.orphan && s.open():
		// GitHub has moved it to the new name of the base, or a person to another branch.
		return s.dropping(plan{pull: closePull, reason: baseGone})
	case s.open() && s.pull.Base != base:
		return plan{reason: rebased(s.pull.Number, s.pull.Base)}
	case s.open():
		return s.dropping(plan{pull: closePull, reason: "nothing left to do"})
	case s.orphan && s.pull != nil && s.pull.Head == s.head && turnedDown(*s.pull, s.marker):
		// GitHub closed the pull request with its base. No person has turned it down.
		return s.dropping(plan{pull: closePull, reason: baseGone})
	}
	return s.dropping(plan{reason: leftOver})
}

// dropping adds the deletion of the branch to a plan, unless the deletion would close other
// pull requests.
func (s state) dropping(p plan) plan {
	p.drop = len(s.dependents) == 0
	if !p.drop {
		p.reason += neededBy(s.dependents)
	}
	return p
}

// operation is the name of the plan in an outcome.
func (p plan) operation() Operation {
	switch {
	case p.pull == openPull:
		return Created
	case p.pull == editPull || p.push || p.update:
		return Updated
	case p.pull == closePull:
		return Closed
	}
	return None
}

// idle reports whether the plan does nothing, and refuses nothing either.
func (p plan) idle() bool {
	return !p.push && !p.update && !p.drop && p.pull == keepPull && p.err == nil
}

func taken(branch string) error {
	return refusal(nil, "rename or delete that branch", "branch %s exists, and its commits are not relock's", branch)
}
