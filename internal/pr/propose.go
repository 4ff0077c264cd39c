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
	// Base is the branch that the pull requests are for. SHA is the commit of it that the
	// proposals were made from.
	Base, SHA string
	// Holds reports whether another commit, to which the base has moved, has the same of all
	// that matters to the proposals; nil: it does not.
	Holds func(ctx context.Context, sha string) (bool, error)
	// Bases are all branches that should have pull requests. relock closes its pull
	// requests for other bases. Empty: the bases are not known, and those pull requests
	// stay as they are.
	Bases []string
	// Survey is the result of Look for the base; the zero value: Look was not called.
	Survey Survey
	// Prefix begins the names of our branches, as in New; DefaultPrefix if empty.
	Prefix string
	// Limit bounds the number of our open pull requests for all bases together. At the
	// limit, a group without a pull request waits. Open pull requests are still updated. 0:
	// no limit.
	Limit int
	// Budget also bounds what is opened and written; nil: no bound.
	Budget Budget
	// Only limits the run to one branch; empty: all of our branches.
	Only string
	// Head is the commit that the branch Only must be at. If somebody has pushed to the
	// branch since, nothing is done. Empty: any commit.
	Head string
	// Rebase rebuilds a branch on the present base, even if it already proposes the same.
	// Recreate also discards commits that others have pushed to it.
	Rebase, Recreate bool
	// RebaseWhen says when a branch that already proposes the same gets new commits of the
	// base.
	RebaseWhen RebaseWhen
	// Ready is called just before a branch is made, moved or deleted, and before a pull
	// request is closed. Its error becomes that of the outcome. nil: always ready.
	Ready func(context.Context) error
	// Spare reports whether a pull request stays open though no proposal is for its group.
	// It does if the run did not see all of these files, and the base lacks the unseen
	// content. nil: the run saw everything.
	Spare func(group string, files []File) bool
	// Begins reports whether the work on another branch may begin. It is called before each
	// branch. nil: always.
	Begins func() bool
	// Written is called when the expected texts are made, before the first write to GitHub.
	// A call of Proposal.Write after it should ask nothing. nil: no caller wants it.
	Written func()
	// Done receives each outcome as soon as it exists; nil: no caller wants it.
	Done func(Outcome)
	// Past are proposals that are made although the limit is reached. Again are also made
	// although a person has closed a pull request that proposed the same.
	Again, Past Digests
	// DryRun decides and writes nothing. Without a token, only dry runs work.
	DryRun bool
	// Log receives what is written; nil: nothing is logged.
	Log *slog.Logger
}

// Budget bounds what a run opens and writes in all its repositories.
type Budget interface {
	// TryOpen takes the place of one new pull request, and reports whether there was a free
	// one. It may be called twice about a branch.
	TryOpen(branch string) bool
	// MayWrite reports whether relock may write now. GitHub limits how much may be created
	// in an hour.
	MayWrite() bool
}

// Digests are proposals that somebody has asked for: by branch, the first characters of the
// digests.
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
	ForAPerson Until = "person" // until the person who closed the pull request acts
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
	Reason    string // why nothing was done, or why the pull request was closed; untrusted
	Waits     bool   // work waits until fewer pull requests are open
	// Until is what a proposal without an open pull request waits for.
	Until Until
	// ClosedNumber and ClosedURL are those of the pull request that a person has closed, if
	// the proposal waits for that person.
	ClosedNumber int
	ClosedURL    string
	// Unsettled says that the branch is behind, and may need an update later. The event
	// that decides it is in no list of pull requests.
	Unsettled bool
	Err       error // *problem.Error
	Unbegun   bool  // Options.Begins returned false
	// Warnings are the parts of an opened pull request that failed: each is a
	// *problem.Error.
	Warnings []error
}

// Propose makes GitHub hold one branch and one pull request for each proposal, with as few
// changes as possible. It closes our pull requests for the base that no proposal is for.
// The outcomes come in the order of the proposals. Those of closed and remaining pull
// requests follow, by branch. A failed proposal does not stop the others.
//
// Before its first write, Propose makes the texts of the pull requests that it expects to
// open or edit. If something moves meanwhile, it makes another text later.
//
// If there is nothing to do, Propose makes one request, or none after Look. It makes two
// more for each proposal or branch of ours, but none for a proposal without a branch that
// waits for room. The proposals must be made from a commit of the
// base. If the base has moved since and Options.Holds returns false, each outcome that would
// write has a Moved as its error, and nothing is written. Without a token, only dry runs
// work.
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
	if !repo.Anonymous() {
		proposals = r.makeTexts(ctx, proposals, heads)
	}
	// Closed pull requests make room for those that wait, and so do those closed last.
	ended := r.retireAll(ctx, r.unwantedBranches(proposals), heads)
	r.closed(ended)
	r.leave(r.displaced)
	var outcomes []Outcome
	numbers := map[string]int{}
	for _, p := range proposals {
		o := Outcome{Group: p.Group, Operation: None, Branch: p.Branch, Unbegun: !r.begins()}
		if !o.Unbegun {
			o = r.propose(ctx, p, heads[p.Branch])
			r.done(o)
		}
		outcomes = append(outcomes, o)
		numbers[o.Branch] = o.Number
	}
	r.successors = numbers
	return slices.Concat(outcomes, ended, r.retireAll(ctx, r.displaced, heads))
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
