package sandbox

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// mergeBranch merges a branch or a commit into a branch. A file that both sides
// changed is a conflict; GitHub merges its lines.
func (c *apiCall) mergeBranch() (any, error) {
	var in struct {
		Base, Head    string
		CommitMessage string `json:"commit_message"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	name := plumbing.NewBranchReferenceName(in.Base)
	base := c.repo.ref(name)
	if base.IsZero() {
		return nil, refusal(http.StatusNotFound, "Base does not exist")
	}
	head, ok := c.repo.commitAt(in.Head)
	if !ok {
		return nil, refusal(http.StatusNotFound, "Head does not exist")
	}
	if !c.mayMove(c.repo, name) {
		return nil, c.refuse()
	}
	if c.repo.contains(base, head.Hash) {
		return rawAnswer{status: http.StatusNoContent}, nil
	}
	tree, err := c.repo.mergeTrees(base, head.Hash)
	if err != nil {
		return nil, refusal(http.StatusConflict, "Merge conflict")
	}
	now := c.hub.signature(c.who.Login)
	hash := c.repo.writeCommit(object.Commit{
		Author: now, Committer: now, TreeHash: tree, ParentHashes: []plumbing.Hash{base, head.Hash},
		Message: cmp.Or(in.CommitMessage, fmt.Sprintf("Merge %s into %s", in.Head, in.Base)),
	})
	if err := c.mayHold(c.repo, refUpdate{name: name, after: hash}); err != nil {
		return nil, err
	}
	if err := c.hub.updateRefs(c.repo, c.who.Login, refUpdate{name: name, after: hash}); err != nil {
		return nil, err
	}
	merged, err := c.repo.commit(hash)
	if err != nil {
		return nil, err
	}
	return c.repositoryCommitDoc(merged), nil
}
