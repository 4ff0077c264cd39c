// Package pr is the life of relock's pull requests: what is proposed, on which branch, and
// when the pull request is updated, left alone or closed.
//
// A group of changes has one branch and at most one open pull request. A branch is ours if
// three things are true of its newest commit: it has our trailers, it has the tree that
// they name, and its parent is the commit that they name. The person who pushed it proves
// nothing, since every workflow acts as github-actions[bot]. The digest in the trailers
// identifies the proposal: while it stays the same, relock pushes and edits nothing.
//
// [Propose] reads, decides and writes in this order: a surveyor reads the state, decide is
// pure, and a task writes. It begins again if GitHub reports that something has moved
// meanwhile. It never force-pushes over a commit that it has not read.
// Some facts must survive from run to run, such as the ignores that people ask for in
// comments. They are in a [Marker], hidden in the body. The package writes titles, commit
// subjects and notes about its pull requests. The caller computes the changes, and writes
// the text of a body.
package pr

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
)

// File is a file of a proposal.
type File struct {
	Path string // slash-separated, relative to the top of the repository
	Mode string // of git; an ordinary file, 100644, if empty
	// Content is the proposed content of the file.
	Content []byte
	// Old is the content on the base, nil if the base has no such file. If the base changes
	// it, relock makes the proposal again on top of that.
	Old []byte
}

func (f File) mode() string { return cmp.Or(f.Mode, "100644") }

// Proposal is what should be merged into a base branch for one group of changes. New sets
// the fields that must agree with each other.
type Proposal struct {
	Group  string
	Branch string
	Base   string // a branch
	Digest string
	Files  []File // sorted by path

	Title   string // of the pull request
	Subject string // of the commit, at most maxSubject characters
	Summary string // of the commit, below the subject; may be empty
	// Styled returns Subject in the style of the base, with a prefix such as "chore(deps):
	// ". It is called if most of the base's newest commits follow Conventional Commits.
	// nil: Subject is used in any case.
	Styled func(prefix string) string
	Body   safe.Markdown // of the pull request
	// Write makes the body on demand, if that is expensive; nil: Body is the body. Propose
	// calls it before its first write. It calls it later only if something has moved.
	Write func() safe.Markdown
	// Facts is a digest of the facts that the text has and the files do not, such as a
	// release that was held back, and why. If it changes, relock writes the text again.
	Facts string
	// From is the group's current proposal when a run that did not see everything chose the
	// files; nil: the run saw everything. If GitHub has another one by now, the outcome is
	// Stale, and nothing is done.
	From *Standing
	// KeepText keeps the text of a pull request with the same files. The text comes from a
	// run that saw as much as this one, or more.
	KeepText bool
	// Alone is why the group's current proposal is left as it is. If it is set, the
	// proposal has no files.
	Alone LeftAlone

	Presentation
}

// Presentation is how a pull request is presented to people. relock applies it at the
// opening and never again. A person who removes a label, or asks another reviewer, meant
// to. Only auto-merge is tried again by later runs, until it is on.
type Presentation struct {
	settings.PullRequest // a Limit of 0: Options.Limit applies
	// NoAutoMerge says that a person must merge this proposal. relock turns auto-merge off
	// before the branch gets anything new. A later proposal without NoAutoMerge turns it on
	// again.
	NoAutoMerge bool
}

// DefaultPrefix begins the names of our branches.
const DefaultPrefix = "relock/"

// New returns a proposal of the files without its texts. Its branch begins with
// the prefix, DefaultPrefix if that is empty.
func New(group, base, prefix string, files []File) Proposal {
	group = named(group)
	sorted := byPath(files)
	return Proposal{
		Group: group, Base: base, Files: sorted,
		Branch: Branch(group, base, prefix), Digest: Digest(group, base, sorted),
	}
}

// named is a group's name in the form of a trailer. The group of all changes has no name,
// and is "all".
func named(group string) string { return cmp.Or(oneLine(group), "all") }

func byPath(files []File) []File {
	return slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Branch returns the name of a group's branch: <prefix><slug>-<8 hex>. An empty prefix
// means DefaultPrefix. The name holds no version, so that the next proposal uses it again.
// The number is different for each base, and for groups with the same slug. Because of it,
// no name is a directory of another, and none ends in ".lock", which git refuses.
func Branch(group, base, prefix string) string {
	return cmp.Or(prefix, DefaultPrefix) + branchName(group, base)
}

// branchName is the name of a group's branch without the prefix.
func branchName(group, base string) string {
	h := sha256.New()
	frame(h, named(group))
	frame(h, base)
	return slug(named(group)) + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// longestSlug keeps branch names readable in lists.
const longestSlug = 40

// slug keeps the characters of a group's name that are safe in the name of a branch.
func slug(group string) string {
	words := strings.FieldsFunc(strings.ToLower(group), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	s := strings.Join(words, "-")
	if len(s) > longestSlug {
		s = strings.TrimRight(s[:longestSlug], "-")
	}
	return cmp.Or(s, "group")
}

// Digest identifies a proposal by its group, its base branch, and the path, mode and new
// content of each file, in any order. The base's commit and the text are not part of it.
func Digest(group, base string, files []File) string {
	h := sha256.New()
	frame(h, group)
	frame(h, base)
	for _, f := range byPath(files) {
		frame(h, f.Path)
		frame(h, f.mode())
		frame(h, string(f.Content))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ground identifies the files that a proposal replaces.
func ground(files []File) string {
	h := sha256.New()
	for _, f := range files {
		frame(h, f.Path)
		if f.Old == nil {
			io.WriteString(h, "-")
			continue
		}
		frame(h, string(f.Old))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// frame writes a string with its length, so that two different sequences never write the
// same.
func frame(h hash.Hash, s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
