package worktree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/relock-dev/relock/internal/collect"
)

// Branches are the facts of a clone about the branches of a repository, without a
// request.
type Branches struct {
	// Remote is the name of the remote that is the repository; empty if none is.
	Remote string
	// Current is the branch that is checked out; empty for a commit that is on none.
	Current string
	// Default is the default branch, and From the ref that says so. From is empty
	// without such a ref. Default is empty, too, if nothing else suggests a
	// branch.
	Default, From string
}

// usualDefaults are the names that a default branch mostly has: GitHub's, and git's own.
var usualDefaults = []string{"main", "master"}

// BranchesOf returns the branches of the working tree at root for a repository, OWNER/NAME,
// on a GitHub server. The default branch is what the remote's HEAD named when it was
// cloned. Without that it is the only one of main and master that the remote has, or the
// branch that is checked out if nothing was fetched from the remote.
func BranchesOf(root, server, repository string) (Branches, error) {
	c, err := OpenClone(root)
	if err != nil {
		return Branches{}, err
	}
	var b Branches
	head, err := c.stored.Reference(plumbing.HEAD)
	if err != nil {
		return Branches{}, fmt.Errorf("reading the HEAD of the git repository at %s: %w", root, err)
	}
	if head.Type() == plumbing.SymbolicReference {
		b.Current = head.Target().Short()
	}
	b.Remote, err = remoteOf(c, server, repository)
	if err != nil || b.Remote == "" {
		return b, err
	}
	b.Default, b.From, err = defaultOf(c, b.Remote)
	if err == nil && b.Default == "" && !fetchedFrom(c, b.Remote) {
		b.Default = b.Current
	}
	return b, err
}

// remoteOf is the remote of a repository: origin before others.
func remoteOf(c Clone, server, repository string) (string, error) {
	all, err := remotesOf(c)
	there := collect.Those(all, func(r remote) bool { return r.host == server && strings.EqualFold(r.repository, repository) })
	if err != nil || len(there) == 0 {
		return "", err
	}
	return chosen(there).name, nil
}

// defaultOf is the default branch of a remote by what was fetched, and the ref that says it.
func defaultOf(c Clone, remote string) (branch, from string, err error) {
	prefix := "refs/remotes/" + remote + "/"
	head, err := c.stored.Reference(plumbing.ReferenceName(prefix + "HEAD"))
	if err == nil && head.Type() == plumbing.SymbolicReference && strings.HasPrefix(head.Target().String(), prefix) {
		return strings.TrimPrefix(head.Target().String(), prefix), prefix + "HEAD", nil
	}
	if err != nil && !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", "", err
	}
	var there []string
	for _, name := range usualDefaults {
		_, err := c.stored.Reference(plumbing.ReferenceName(prefix + name))
		if err == nil {
			there = append(there, name)
		} else if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return "", "", err
		}
	}
	if len(there) != 1 {
		return "", "", nil
	}
	return there[0], prefix + there[0], nil
}

// fetchedFrom reports whether the clone has any branch of a remote, as far as it can be read.
func fetchedFrom(c Clone, remote string) bool {
	refs, err := c.stored.IterReferences()
	if err != nil {
		return true
	}
	found := false
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		found = found || strings.HasPrefix(ref.Name().String(), "refs/remotes/"+remote+"/")
		return nil
	})
	return found || err != nil
}
