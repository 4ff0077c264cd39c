package pr

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// Options describe one run over one base branch.
type Options struct {
	// Base is the branch that the pull requests are for, and SHA the commit of
	// it that the proposals were made from.
	Base, SHA string
	// Prefix begins the names of our branches, as it was given to New;
	// DefaultPrefix if empty.
	Prefix string
	// Partial says that the proposals need not be all that is wanted, because
	// something was left out or failed: then no pull request is closed.
	Partial bool
	// DryRun decides and writes nothing.
	DryRun bool
	// Log hears of what is written; nothing is logged if it is nil.
	Log *slog.Logger
}

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

// Outcome is what became of one group.
type Outcome struct {
	Group     string // empty if all groups failed together
	Operation Operation
	Number    int    // of the pull request; 0 if there is none
	URL       string // of it, for people
	Branch    string
	HeadSHA   string // of the branch
	Reason    string // why nothing was done, or why it was closed; untrusted
	Err       error  // *provider.Error
}

// Propose makes GitHub hold one branch and one pull request for each proposal,
// with the least that this takes, and closes our pull requests for the base
// that no proposal stands for any more. The outcomes are those of the proposals
// in their order, then those of what was closed or left over, by branch. One
// that fails does not stop the others.
//
// Where nothing is to be done it costs a request, and two more for each
// proposal. The proposals must be of the base's present head: Propose writes
// nothing if the base has moved since.
func Propose(ctx context.Context, repo *github.Repository, proposals []Proposal, opts Options) []Outcome {
	r := &run{repo: repo, opts: opts}
	if r.opts.Log == nil {
		r.opts.Log = slog.New(slog.DiscardHandler)
	}
	r.opts.Prefix = cmp.Or(opts.Prefix, DefaultPrefix)
	heads, err := repo.Branches(ctx, r.opts.Prefix)
	if err != nil {
		return failAll(proposals, err)
	}
	var outcomes []Outcome
	wanted := make(map[string]bool)
	for _, p := range proposals {
		wanted[p.Branch] = true
		outcomes = append(outcomes, r.propose(ctx, p, heads[p.Branch]))
	}
	if opts.Partial {
		return outcomes
	}
	for _, branch := range slices.Sorted(maps.Keys(heads)) {
		if wanted[branch] || !branchForm.MatchString(strings.TrimPrefix(branch, r.opts.Prefix)) {
			continue
		}
		if o, ok := r.retire(ctx, branch, heads[branch]); ok {
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// branchForm is the form of names that Branch makes, behind the prefix.
var branchForm = regexp.MustCompile(`^[a-z0-9-]+-[0-9a-f]{8}$`)

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
