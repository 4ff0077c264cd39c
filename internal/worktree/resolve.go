package worktree

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// revisionStep is a step from a commit to one before it, or to the commit of a tag
// [gitrevisions, "SPECIFYING REVISIONS"].
var revisionStep = regexp.MustCompile(`^(?:\^\{(?:commit)?\}|([\^~])([0-9]*))`)

// resolve finds the commit that a revision names: by its hash or the beginning of one,
// or by HEAD, @, a tag, a branch, or a branch of a remote. Behind the name may be steps,
// as in HEAD~2 and main^. Other forms are errors, such as HEAD@{1} and :/text.
func (c Clone) resolve(revision string) (*object.Commit, error) {
	name, steps := revision, ""
	if i := strings.IndexAny(revision, "^~"); i >= 0 {
		name, steps = revision[:i], revision[i:]
	}
	commit, err := c.named(name)
	for steps != "" && err == nil {
		step := revisionStep.FindStringSubmatch(steps)
		if step == nil {
			return nil, fmt.Errorf("%q is no form of a revision that relock reads", steps)
		}
		steps = steps[len(step[0]):]
		commit, err = ancestorOf(commit, step[1], step[2])
	}
	return commit, err
}

// ancestorOf takes one step: ^ and a number lead to that parent, ^0 to the commit itself,
// and ~ and a number so many times to the first parent. No number is 1.
func ancestorOf(commit *object.Commit, sign, digits string) (*object.Commit, error) {
	n := 1
	if digits != "" {
		var err error
		n, err = strconv.Atoi(digits)
		if err != nil {
			return nil, err
		}
	}
	if sign == "^" && n > 0 {
		return commit.Parent(n - 1)
	}
	var err error
	for i := 0; sign == "~" && i < n && err == nil; i++ {
		commit, err = commit.Parent(0)
	}
	return commit, err
}

// shortestHash is how many digits of a hash name an object, at least [git-config,
// "core.abbrev"].
const shortestHash = 4

var hashDigits = regexp.MustCompile(`^[0-9a-f]+$`)

// named finds a commit by a name without steps. A whole hash wins over a ref, and a ref
// over the beginning of a hash [git, object-name.c, get_oid_1].
func (c Clone) named(name string) (*object.Commit, error) {
	if name == "@" {
		name = "HEAD"
	}
	digits := hashDigits.MatchString(name)
	if digits && len(name) == 2*len(plumbing.ZeroHash) {
		return c.commit(plumbing.NewHash(name))
	}
	if plumbing.NewBranchReferenceName(name).Validate() != nil {
		return nil, fmt.Errorf("%q is no form of a revision that relock reads", name)
	}
	for _, rule := range plumbing.RefRevParseRules {
		ref, err := storer.ResolveReference(c.stored, plumbing.ReferenceName(fmt.Sprintf(rule, name)))
		if err == nil {
			return c.commit(ref.Hash())
		}
	}
	if digits && len(name) >= shortestHash {
		return c.abbreviated(name)
	}
	return nil, plumbing.ErrReferenceNotFound
}

// abbreviated finds the only commit whose hash begins so.
func (c Clone) abbreviated(digits string) (*object.Commit, error) {
	whole, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil {
		return nil, err
	}
	hashes, err := c.stored.HashesWithPrefix(whole)
	if err != nil {
		return nil, err
	}
	var found *object.Commit
	for _, hash := range hashes {
		commit, err := c.commit(hash)
		if err != nil || !strings.HasPrefix(hash.String(), digits) {
			continue
		}
		if found != nil && found.Hash != commit.Hash {
			return nil, errors.New("several commits begin so")
		}
		found = commit
	}
	if found == nil {
		return nil, plumbing.ErrReferenceNotFound
	}
	return found, nil
}

// commit reads a commit, or the one that a tag is of.
func (c Clone) commit(hash plumbing.Hash) (*object.Commit, error) {
	commit, err := object.GetCommit(c.stored, hash)
	if err == nil {
		return commit, nil
	}
	tag, notTag := object.GetTag(c.stored, hash)
	if notTag != nil {
		return nil, err
	}
	if tag.TargetType == plumbing.TagObject {
		return c.commit(tag.Target)
	}
	return tag.Commit()
}
