package github

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-github/v60/github"
)

const branchRefs = "refs/heads/"

// mostOfPrefix bounds the branches that begin with a prefix. A repository with more
// of them shares the prefix with something else.
const mostOfPrefix = 10_000

// Branches returns the branches whose names begin with the prefix, by name,
// with the commit that each points to. It is an error if they are over 10,000.
func (r *Repository) Branches(ctx context.Context, prefix string) (map[string]string, error) {
	heads := make(map[string]string)
	opts := &github.ReferenceListOptions{Ref: "heads/" + prefix}
	for {
		refs, resp, err := r.client.rest.Git.ListMatchingRefs(ctx, r.owner, r.name, opts)
		if err != nil {
			return nil, r.explain(ctx, "listing the branches "+prefix+"*", readContents, err)
		}
		for _, ref := range refs {
			heads[strings.TrimPrefix(ref.GetRef(), branchRefs)] = ref.GetObject().GetSHA()
		}
		if len(heads) > mostOfPrefix {
			return nil, r.explain(ctx, "listing the branches "+prefix+"*", readContents, &finding{
				message: fmt.Sprintf("there are more than %d of them", mostOfPrefix),
				hint:    "choose another pull-request.branch-prefix, under which relock alone makes branches",
			})
		}
		if resp.NextPage == 0 {
			return heads, nil
		}
		opts.Page = resp.NextPage
	}
}

// Head returns the SHA of the commit that a branch points to. If there is no such branch,
// the error is an ErrNotFound.
func (r *Repository) Head(ctx context.Context, branch string) (string, error) {
	ref, _, err := r.client.rest.Git.GetRef(ctx, r.owner, r.name, branchRefs+branch)
	if err != nil {
		return "", r.explain(ctx, "reading branch "+branch, readContents, err)
	}
	return ref.GetObject().GetSHA(), nil
}

// CreateBranch makes a branch. It returns an ErrConflict if there is one of
// that name.
func (r *Repository) CreateBranch(ctx context.Context, branch, sha string) error {
	_, _, err := r.client.rest.Git.CreateRef(ctx, r.owner, r.name, &github.Reference{
		Ref:    github.String(branchRefs + branch),
		Object: &github.GitObject{SHA: github.String(sha)},
	})
	if err == nil {
		return nil
	}
	err = r.explain(ctx, "creating branch "+branch, writeContents, err)
	if errors.Is(err, ErrConflict) {
		return r.inTheWay(ctx, branch, err)
	}
	return err
}

// inTheWay returns why no branch of a name can be made: git has no branch relock/x beside a
// branch relock [renovatebot/renovate#1982]. Where there is no such branch it returns err.
func (r *Repository) inTheWay(ctx context.Context, branch string, err error) error {
	for dir := path.Dir(branch); dir != "."; dir = path.Dir(dir) {
		if _, none := r.Head(ctx, dir); none != nil {
			continue
		}
		return r.explain(ctx, "creating branch "+branch, writeContents, &finding{
			message: fmt.Sprintf("the branch %s is in the way: git has no branch below the name of another", dir),
			hint:    fmt.Sprintf("rename or delete the branch %s, or choose another pull-request.branch-prefix", dir),
		})
	}
	return err
}

// FastForward moves a branch to a commit that has the branch's present one
// among its ancestors. It returns an ErrConflict if it has not.
func (r *Repository) FastForward(ctx context.Context, branch, sha string) error {
	_, _, err := r.client.rest.Git.UpdateRef(ctx, r.owner, r.name, &github.Reference{
		Ref:    github.String(branchRefs + branch),
		Object: &github.GitObject{SHA: github.String(sha)},
	}, false)
	return r.explain(ctx, "moving branch "+branch, writeContents, err)
}

// ReplaceBranch moves a branch from one commit to another, related or not. It
// returns an ErrConflict if the branch is not at the first one any more, and an
// ErrUnsupported if the server cannot compare and swap.
func (r *Repository) ReplaceBranch(ctx context.Context, branch, before, after string) error {
	return r.updateRef(ctx, "replacing branch "+branch, branch, before, after)
}

// DeleteBranch removes a branch that is at the commit. Its errors are those of
// ReplaceBranch.
func (r *Repository) DeleteBranch(ctx context.Context, branch, before string) error {
	return r.updateRef(ctx, "deleting branch "+branch, branch, before, noObject)
}
