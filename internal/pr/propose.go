package pr

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// Options describe one run over one base branch.
type Options struct {
	// Base is the branch that the pull requests are for, and SHA the commit of
	// it that the proposals were made from.
	Base, SHA string
	// Holds reports whether the proposals would be the same from another commit,
	// which the base has moved to; nil: they would not.
	Holds func(ctx context.Context, sha string) (bool, error)
	// Bases are all branches that there should be pull requests for. Those of ours
	// for another base are closed. Empty: the other bases are not known, and
	// their pull requests are left alone.
	Bases []string
	// Survey is what Look has found for the base; its zero value is nothing.
	Survey Survey
	// Prefix begins the names of our branches, as it was given to New;
	// DefaultPrefix if empty.
	Prefix string
	// Limit is the number of our open pull requests, whatever their base, beyond
	// which none is opened: a group that has none waits. Those that are open are
	// updated. 0: no limit.
	Limit int
	// Budget bounds what is opened and written, beside the limit; nil sets no bound.
	Budget Budget
	// Only is the branch that the run is about; empty: all of ours.
	Only string
	// Head is the commit that the branch Only must be at: where it is not,
	// somebody has pushed since it was looked at, and nothing is done. Empty: any.
	Head string
	// Rebase rebuilds a branch that proposes the same already on the present
	// base. Recreate does so over the commits that others have pushed to it.
	Rebase, Recreate bool
	// RebaseWhen says when a branch that proposes the same already gets what its base has
	// got since.
	RebaseWhen RebaseWhen
	// Ready is asked just before a branch is made, moved or deleted, and before a pull request
	// is closed. Its error is the outcome's. It may be nil.
	Ready func(context.Context) error
	// Spare reports whether a pull request of a group that proposes these files is not
	// ended though no proposal stands for it: the run did not see all of that, and the
	// base does not have the rest. nil: the run saw everything.
	Spare func(group string, files []File) bool
	// Begins reports whether the work on another branch may begin; nil: it may. It is
	// asked before each.
	Begins func() bool
	// Done hears of an outcome, when it is one; nil if no caller wants it.
	Done func(Outcome)
	// Past are proposals that are made though the limit is reached, and Again those that are
	// made though a person has closed the pull request that proposed the same, and so too.
	Again, Past Digests
	// DryRun decides and writes nothing. Without a token there is no other run.
	DryRun bool
	// Checkout says that a dry run is about what is checked out, wherever the base is:
	// another commit there is a warning.
	Checkout bool
	// Log hears of what is written; nothing is logged if it is nil.
	Log *slog.Logger
}

// Budget bounds what is opened and written in all the repositories of a run.
type Budget interface {
	// TryOpen takes the place of one new pull request, and reports whether there was one.
	// It may be called twice about a branch.
	TryOpen(branch string) bool
	// MayWrite reports whether anything may be written now: GitHub lets only so much be
	// made in an hour.
	MayWrite() bool
}

// Digests are proposals that somebody has asked for: the beginnings of their digests, by
// branch.
type Digests map[string]string

// has reports whether a proposal is one of them.
func (d Digests) has(p Proposal) bool {
	return d[p.Branch] != "" && strings.HasPrefix(p.Digest, d[p.Branch])
}

// Until is what a proposal without an open pull request waits for.
type Until string

// The waits. The zero value is none.
const (
	ForRoom    Until = "room"   // until fewer pull requests are open
	ForTheNext Until = "run"    // until a later run may make more
	ForAPerson Until = "person" // who has closed its pull request
)

// Operation is what happened to a pull request. Its values are those of the
// action's output pull-request-operation.
type Operation string

// The operations.
const (
	Created Operation = "created"
	Updated Operation = "updated"
	Closed  Operation = "closed"
	None    Operation = "none"
)

// Outcome is what happened to one group.
type Outcome struct {
	Group     string // empty if all groups failed together
	Operation Operation
	Number    int    // of the pull request; 0 if there is none
	URL       string // of it, for people
	Branch    string
	HeadSHA   string // of the branch
	Reason    string // why nothing was done, or why it was closed; untrusted
	Waits     bool   // work waits for room
	// Until is what a proposal without an open pull request waits for.
	Until Until
	// ClosedNumber and ClosedURL are those of the pull request that a person has closed,
	// where it waits for one.
	ClosedNumber int
	ClosedURL    string
	// Stale says that nothing was done since the proposal was made from another commit
	// than stands for the group by now: it must be made again.
	Stale bool
	// Unsettled says that the branch is behind, and that GitHub may say later, without anything
	// that a list of pull requests shows, that it must be updated.
	Unsettled bool
	Err       error // *problem.Error
	Unbegun   bool  // Options.Begins was against it
	// Warnings are what could not be done to a pull request that was opened all
	// the same: each a *problem.Error.
	Warnings []error
}

// Propose makes GitHub hold one branch and one pull request for each proposal,
// with the least that this takes, and closes our pull requests for the base
// that no proposal stands for any more. The outcomes are those of the proposals
// in their order, then those of what was closed or left over, by branch. One
// that fails does not stop the others.
//
// Where there is nothing to do it costs a request, none after Look, and two more for
// each proposal or branch of ours. The proposals must be of the base's present head: where
// that has moved and Options.Holds says no, the outcome is an error that wraps a
// Moved, and nothing is written. Without a token there are dry runs alone.
func Propose(ctx context.Context, repo *github.Repository, proposals []Proposal, opts Options) []Outcome {
	r := newRun(repo, opts)
	if opts.Only != "" {
		proposals = slices.DeleteFunc(slices.Clone(proposals), func(p Proposal) bool { return p.Branch != opts.Only })
	}
	heads, err := opts.Survey.heads, error(nil)
	if heads == nil {
		heads, err = repo.Branches(ctx, r.opts.Prefix)
	}
	if err != nil {
		return failAll(proposals, err)
	}
	r.branches = slices.DeleteFunc(slices.Sorted(maps.Keys(heads)), func(b string) bool { return !r.named(b) })
	if repo.Anonymous() {
		return r.preview(ctx, proposals, heads)
	}
	// What is closed makes room for what waits.
	ended := r.retireAll(ctx, proposals, heads)
	var outcomes []Outcome
	for _, p := range proposals {
		o := Outcome{Group: p.Group, Operation: None, Branch: p.Branch, Unbegun: !r.begins()}
		if !o.Unbegun {
			o = r.propose(ctx, p, heads[p.Branch])
			r.done(o)
		}
		outcomes = append(outcomes, o)
	}
	return append(outcomes, ended...)
}

func failAll(proposals []Proposal, err error) []Outcome {
	if len(proposals) == 0 {
		return []Outcome{{Operation: None, Err: err}}
	}
	var outcomes []Outcome
	for _, p := range proposals {
		outcomes = append(outcomes, Outcome{Group: p.Group, Operation: None, Branch: p.Branch, Err: err})
	}
	return outcomes
}
