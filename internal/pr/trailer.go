package pr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// trailers are what a commit of ours says of itself, in the last paragraph of
// its message as git's trailers.
type trailers struct {
	Group  string
	Base   string // the branch
	Digest string // of the proposal
	Ground string // of what it replaces
	// Tree is the commit's own tree. Somebody who amends our commit keeps its
	// message; without this the amended commit would pass for ours.
	Tree string
}

// The keys of the trailers.
const (
	keyGroup  = "Relock-Group"
	keyBase   = "Relock-Base"
	keyDigest = "Relock-Digest"
	keyGround = "Relock-Replaces"
	keyTree   = "Relock-Tree"
)

type trailer struct {
	key   string
	value *string
}

// all lists the trailers in the order in which they are written.
func (t *trailers) all() []trailer {
	return []trailer{
		{keyGroup, &t.Group}, {keyBase, &t.Base}, {keyDigest, &t.Digest}, {keyGround, &t.Ground}, {keyTree, &t.Tree},
	}
}

// message returns the message of a proposal's commit.
func message(p Proposal, tree string) string {
	t := trailers{Group: p.Group, Base: p.Base, Digest: p.Digest, Ground: ground(p.Files), Tree: tree}
	paragraphs := []string{oneLine(p.Subject)}
	if s := strings.TrimSpace(p.Summary); s != "" {
		paragraphs = append(paragraphs, s)
	}
	var last strings.Builder
	for _, f := range t.all() {
		fmt.Fprintf(&last, "%s: %s\n", f.key, oneLine(*f.value))
	}
	return strings.Join(append(paragraphs, last.String()), "\n\n")
}

// oneLine keeps a value within its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// parseTrailers reads the trailers of a message. It reports whether each of
// them is there once.
func parseTrailers(message string) (trailers, bool) {
	message = strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	paragraphs := strings.Split(message, "\n\n")
	var t trailers
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		key, value, _ := strings.Cut(line, ": ")
		for _, f := range t.all() {
			if f.key != key {
				continue
			}
			if *f.value != "" {
				return trailers{}, false
			}
			*f.value = strings.TrimSpace(value)
		}
	}
	missing := slices.ContainsFunc(t.all(), func(f trailer) bool { return *f.value == "" })
	return t, !missing
}

// name reports whether the branch is the one of the trailers' group and base.
// A commit of another group on it is not ours.
func (t trailers) name(branch string) bool {
	return strings.HasSuffix(branch, branchName(t.Group, t.Base))
}

// owner says whose a branch is.
type owner int

const (
	foreign owner = iota // no commit on it is ours
	touched              // ours, but somebody has pushed to it or rewritten it
	ours
)

// judge decides whose a branch is, from what it has and its base has not. The
// trailers are those of the newest commit of ours: of the head, if all are.
func judge(branch string, c github.Comparison, head string) (owner, trailers) {
	own := c.Own
	if len(own) == 0 {
		// All of it is in the base, so its head is where they meet: merged.
		own = []github.Commit{c.Fork}
	}
	var newest trailers
	commits := make(map[string]github.Commit, len(own))
	marked, intact := 0, 0
	for _, commit := range own {
		commits[commit.SHA] = commit
		t, ok := parseTrailers(commit.Message)
		if !ok || !t.name(branch) {
			continue
		}
		newest = t
		marked++
		if t.Tree == commit.Tree {
			intact++
		}
	}
	switch {
	case marked == 0:
		return foreign, trailers{}
	case intact < len(own), len(c.Own) < c.Total, !inLine(commits, head):
		return touched, newest
	}
	newest, _ = parseTrailers(commits[head].Message)
	return ours, newest
}

// inLine reports whether all the commits follow each other by first parents and
// have no other parents among them: the others are commits of the base.
func inLine(commits map[string]github.Commit, head string) bool {
	seen := 0
	for sha := head; ; seen++ {
		c, ok := commits[sha]
		if !ok {
			return seen == len(commits)
		}
		for _, other := range c.Parents[min(1, len(c.Parents)):] {
			if _, ok := commits[other]; ok {
				return false
			}
		}
		if len(c.Parents) == 0 {
			return seen+1 == len(commits)
		}
		sha = c.Parents[0]
	}
}
