// Package pr is the life of relock's pull requests: what is proposed, on which
// branch, when it is updated, left alone or closed.
//
// A group of changes has one branch and at most one open pull request. A branch
// is ours if its newest commit carries our trailers, has the tree and is on the
// commit that they name; who pushed it proves nothing, since every workflow speaks
// as github-actions[bot]. The digest in the trailers says what
// is proposed: while it stays the same, nothing is pushed and nothing edited.
//
// [Propose] reads, decides and writes in this order, and begins again when
// GitHub says that something moved meanwhile. It never forces a branch from a
// commit that it has not read. What it must remember from run to run, as the
// ignores that people ask for in comments, is in a [Marker] hidden in the body.
// It writes titles, commit subjects and what it says of its pull requests. What the
// changes are, and the text of a body, is the caller's.
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
	// Content is the file as proposed.
	Content []byte
	// Old is the file as it is on the base, nil if there is none. If the
	// base changes it, the proposal is made again on top of that.
	Old []byte
}

func (f File) mode() string { return cmp.Or(f.Mode, "100644") }

// Proposal is what should be merged into a base branch for one group of changes.
// New makes the fields that must agree with each other.
type Proposal struct {
	Group  string
	Branch string
	Base   string // a branch
	// former is what the base was called when the branch was named; empty: as now.
	former string
	Digest string
	Files  []File // sorted by path

	Title   string // of the pull request
	Subject string // of the commit, at most maxSubject characters
	Summary string // of the commit, below the subject; may be empty
	// Styled is the subject behind the prefix with which the newest commits of the
	// base begin theirs, where most of them follow Conventional Commits; nil: it is
	// Subject, whatever they do.
	Styled func(prefix string) string
	Body   safe.Markdown // of the pull request
	// Write makes the body when it is needed, for one that is dear; nil if Body
	// is it.
	Write func() safe.Markdown
	// Facts is a digest of what the text says that is not in the files, as what
	// was held back and why. The text is written again when it changes.
	Facts string
	// From is what stood for the group when the files were chosen, by a run that did
	// not see everything; nil: it saw everything. Where something else stands by now,
	// the outcome is Stale, and nothing is done.
	From *Standing
	// KeepText leaves the text of a pull request that has the same files as it is,
	// since it comes from a run that saw more, or as much.
	KeepText bool
	// Alone is why what stands for the group is left as it is. A proposal with a reason
	// has no files.
	Alone LeftAlone

	Presentation
}

// Presentation is how a pull request is presented to people. It is applied when
// it is opened and never again: anyone who takes a label off, or asks another
// reviewer, meant it. What GitHub has refused is tried again by later runs, and so is
// auto-merge until it holds.
type Presentation struct {
	settings.PullRequest // a Limit of 0: Options.Limit holds
	// NoAutoMerge says that what is proposed now is for a person to merge: what made
	// GitHub merge it is taken back before the branch gets anything new. A later
	// proposal without it merges by itself again.
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

// named is a group's name as a trailer can say it. The group without a name is
// that of all changes.
func named(group string) string { return cmp.Or(oneLine(group), "all") }

func byPath(files []File) []File {
	return slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Branch returns the name of a group's branch: <prefix><slug>-<8 hex>, where the
// empty prefix stands for DefaultPrefix. It holds
// no version, so that the next proposal uses it again. The number tells groups
// with the same slug apart, and bases; with it no name is a directory of another
// and none ends in ".lock", which git refuses.
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

// slug keeps of a group's name what is safe and plain in a branch's name.
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

// Digest identifies what is proposed: group, base branch, and path, mode and new
// content of each file, whatever their order. Neither the base's commit nor the
// text of the pull request is in it.
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

// ground identifies what the files of a proposal replace.
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

// frame writes a string so that no other sequence of strings writes the same.
func frame(h hash.Hash, s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
