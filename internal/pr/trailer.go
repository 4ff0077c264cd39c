package pr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// trailers are what a commit of ours says of itself, in the last paragraph of
// its message as git's trailers.
type trailers struct {
	Group  string
	Base   string // the branch, as it was called when ours was named for it
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
	t := trailers{Group: p.Group, Base: cmp.Or(p.former, p.Base), Digest: p.Digest, Ground: ground(p.Files), Tree: tree}
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
	// merging is ours, if the merge of its base that is its head holds nothing else:
	// "Update branch" makes such a merge, for us or for a person, and so may anybody
	// make one that changes what they like. State.settle finds out.
	merging
	ours
)

// judged is what a comparison with the base tells of a branch.
type judged struct {
	owner owner
	mark  trailers      // of own
	own   github.Commit // the newest commit of ours along the first parents
	head  github.Commit
}

// judge decides whose a branch is, from what it has and its base has not.
func judge(branch string, c github.Comparison, head string) judged {
	all := c.Own
	if len(all) == 0 {
		// All of it is in the base, so its head is where they meet: merged.
		all = []github.Commit{c.Fork}
	}
	var found judged
	commits := make(map[string]github.Commit, len(all))
	marked, intact, merges := 0, 0, 0
	for _, commit := range all {
		commits[commit.SHA] = commit
		t, ok := parseTrailers(commit.Message)
		switch {
		case ok && t.name(branch):
			found.mark, found.own = t, commit
			marked++
			if t.Tree == commit.Tree {
				intact++
			}
		case len(commit.Parents) == 2:
			merges++
		}
	}
	found.head = commits[head]
	switch {
	case marked == 0:
		return judged{}
	case intact+merges < len(all), intact < marked, len(c.Own) < c.Total, !inLine(commits, head):
		found.owner = touched
		return found
	}
	found.owner = ours
	found.own = newestOfOurs(commits, branch, head)
	found.mark, _ = parseTrailers(found.own.Message)
	// What is below a commit of ours was looked at when that was made.
	if found.own.SHA != head {
		found.owner = merging
		// An older base would take back what the branch had of a newer one.
		if found.head.Parents[1] != c.Fork.SHA {
			found.owner = touched
		}
	}
	return found
}

// newestOfOurs follows first parents, past merges, to a commit with our trailers.
func newestOfOurs(commits map[string]github.Commit, branch, head string) github.Commit {
	for sha := head; ; {
		c := commits[sha]
		if t, ok := parseTrailers(c.Message); ok && t.name(branch) || len(c.Parents) == 0 {
			return c
		}
		sha = c.Parents[0]
	}
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
