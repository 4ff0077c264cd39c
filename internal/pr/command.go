package pr

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Owned is a pull request of relock in whose comments a person gave a command. To rebase or
// recreate it, call Propose with Only.
type Owned struct {
	Pull        github.PullRequest
	Group, Base string // those of the branch; a person may have changed Pull.Base
	Marker      Marker
	// Touched says that somebody else has pushed to the branch.
	Touched bool
}

// Find reports whether a pull request is relock's: its branch is in this repository, has a
// name of ours and holds our commits. Find makes at most one request, and four more where
// the base was merged into the branch.
func Find(ctx context.Context, repo *github.Repository, pull github.PullRequest, prefix string) (Owned, bool, error) {
	r := newSurveyor(repo, Options{Base: pull.Base, Prefix: prefix})
	if pull.Fork || !r.named(pull.HeadBranch) {
		return Owned{}, false, nil
	}
	s := state{branch: pull.HeadBranch, head: pull.Head}
	if err := r.readBranch(ctx, &s, pull.Base); err != nil || s.owner == foreign {
		return Owned{}, false, err
	}
	if err := r.decideOwner(ctx, &s); err != nil {
		return Owned{}, false, err
	}
	o := Owned{Pull: pull, Group: s.mark.Group, Base: s.mark.Base, Touched: s.owner == touched}
	o.Marker, _ = ParseMarker(pull.Body)
	return o, true, nil
}

// Close closes a pull request because a person asked for it. relock does not propose the
// same again. Close deletes the branch, with three exceptions: somebody else has pushed to
// it, the server cannot delete it safely, or other open pull requests need it. Close then
// returns a sentence that says so. If the deletion fails, a later run deletes the branch.
func Close(ctx context.Context, repo *github.Repository, o Owned) (kept safe.Markdown, err error) {
	var needed []int
	var unsupported bool
	if !o.Touched {
		needed, err = repo.Dependents(ctx, o.Pull.HeadBranch, o.Pull.Number)
		unsupported = errors.Is(err, github.ErrUnsupported) // this server cannot delete the branch either
		if err != nil && !unsupported {
			return kept, err
		}
	}
	m := o.Marker
	m.Closed, m.Leaves = "", !o.Touched && !unsupported // in case the deletion fails now
	if _, err := repo.EditPullRequest(ctx, o.Pull.Number, github.PullRequestEdit{Body: remark(o.Pull.Body, m), Close: true}); err != nil {
		return kept, err
	}
	if len(needed) > 0 {
		return branchStays(needed), nil
	}
	if o.Touched || unsupported {
		return kept, nil
	}
	err = deleteSurely(ctx, repo, o.Pull.HeadBranch, o.Pull.Head)
	if errors.Is(err, github.ErrConflict) {
		return safe.Const("GitHub does not delete its branch now; a later run tries again."), nil
	}
	if errors.Is(err, github.ErrUnsupported) {
		err = nil
	}
	return kept, err
}

// deleteSurely deletes a branch that is at a commit. After a refusal or an unclear answer
// it reads the branch again. It leaves a branch that has moved, since somebody else uses it
// now. After an unclear answer it deletes the branch again.
func deleteSurely(ctx context.Context, repo *github.Repository, branch, at string) error {
	err := repo.DeleteBranch(ctx, branch, at)
	uncertain := errors.Is(err, github.ErrUncertain)
	if !uncertain && !errors.Is(err, github.ErrConflict) {
		return err
	}
	now, lookErr := repo.Head(ctx, branch)
	if errors.Is(lookErr, github.ErrNotFound) || lookErr == nil && now != at {
		return nil
	}
	if lookErr == nil && uncertain {
		return repo.DeleteBranch(ctx, branch, at)
	}
	return err
}

// Reopen opens a closed pull request again, with its old commit.
func Reopen(ctx context.Context, repo *github.Repository, o Owned) error {
	if o.Pull.Merged {
		return cannotReopen(o, "it is merged", "")
	}
	head, err := repo.Head(ctx, o.Pull.HeadBranch)
	if errors.Is(err, github.ErrNotFound) {
		head = o.Pull.Head
		err = repo.CreateBranch(ctx, o.Pull.HeadBranch, head)
	}
	if err != nil {
		return err
	}
	if head != o.Pull.Head {
		return cannotReopen(o, "its branch proposes something else by now", "look for the newer pull request of the same branch")
	}
	m := o.Marker
	m.Closed, m.Leaves = "", false
	_, err = repo.EditPullRequest(ctx, o.Pull.Number, github.PullRequestEdit{Body: remark(o.Pull.Body, m), Reopen: true})
	return err
}

func cannotReopen(o Owned, why, hint string) error {
	return refusal(nil, hint, "reopening pull request #%d: %s", o.Pull.Number, why)
}

// SetIgnores replaces the ignores of a pull request's group, and shows them in the body. It
// applies the difference between o and ignores. So it keeps the changes that other comments
// have made meanwhile.
func SetIgnores(ctx context.Context, repo *github.Repository, o Owned, ignores []policy.Ignore) error {
	for _, i := range ignores {
		if err := i.Check(); err != nil {
			return err
		}
	}
	now, err := repo.PullRequest(ctx, o.Pull.Number)
	if err != nil {
		return err
	}
	m, _ := ParseMarker(now.Body)
	m.Ignores = merge(m.Ignores, o.Marker.Ignores, ignores)
	if len(m.String()) > largestMarker {
		return &problem.Error{
			Problem: problem.Problem{
				Code:    problem.CodeSettings,
				Message: fmt.Sprintf("pull request #%d cannot remember so much", now.Number),
				Hint:    "move what it ignores to rules in .github/relock.yml",
			},
		}
	}
	_, err = repo.EditPullRequest(ctx, now.Number, github.PullRequestEdit{Body: remark(now.Body, m)})
	return err
}

// merge applies the difference between from and to to a list.
func merge(list, from, to []policy.Ignore) []policy.Ignore {
	list = slices.DeleteFunc(slices.Clone(list), func(i policy.Ignore) bool { return slices.Contains(from, i) && !slices.Contains(to, i) })
	for _, i := range to {
		if !slices.Contains(from, i) && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}
