package pr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
)

// trailers are what a commit of ours says of itself: git trailers in the last paragraph of
// its message.
type trailers struct {
	Group  string
	Base   string // the name of the branch when relock named ours
	Digest string // of the proposal
	Ground string // of the files that it replaces
	// Tree is the commit's own tree. A person who amends our commit keeps its message.
	// Because of Tree, the amended commit does not count as ours.
	Tree string
	// On is the commit of the base that our commit is on. A person may put our tree on a
	// newer base, and so revert what that has changed. Because of On, such a commit does
	// not count as ours.
	On string
	// summary is the paragraph above the trailers: a table of the changes.
	summary string
}

// The keys of the trailers.
const (
	keyGroup  = "Relock-Group"
	keyBase   = "Relock-Base"
	keyDigest = "Relock-Digest"
	keyGround = "Relock-Replaces"
	keyTree   = "Relock-Tree"
	keyOn     = "Relock-Base-Commit"
)

type trailer struct {
	key   string
	value *string
}

// all lists the trailers in the order of writing.
func (t *trailers) all() []trailer {
	return []trailer{
		{keyGroup, &t.Group}, {keyBase, &t.Base}, {keyDigest, &t.Digest}, {keyGround, &t.Ground}, {keyOn, &t.On}, {keyTree, &t.Tree},
	}
}

// message returns the message of a proposal's commit with a tree, on a commit of the
// base.
func message(p Proposal, tree, on string) string {
	t := trailers{Group: p.Group, Base: p.Base, Digest: p.Digest, Ground: ground(p.Files), Tree: tree, On: on}
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

// oneLine replaces line breaks by blanks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// parseTrailers reads the trailers of a message. It reports whether each of them occurs
// once.
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
	if len(paragraphs) > 2 {
		t.summary = paragraphs[len(paragraphs)-2]
	}
	missing := slices.ContainsFunc(t.all(), func(f trailer) bool { return *f.value == "" })
	return t, !missing
}

// name reports whether the branch is that of the trailers' group and base. A commit of
// another group on the branch is not ours.
func (t trailers) name(branch string) bool {
	return strings.HasSuffix(branch, branchName(t.Group, t.Base))
}

// made reports whether the commit with the trailers is unchanged.
func (t trailers) made(c github.Commit) bool {
	return c.Tree == t.Tree && len(c.Parents) > 0 && c.Parents[len(c.Parents)-1] == t.On
}

// owner says whose a branch is.
type owner int

const (
	foreign owner = iota // no commit on it is ours
	touched              // our commit, but somebody has pushed to it or rewritten it
	// unsettled means that trees must decide. The branch has a merge of the base by GitHub,
	// or a rebase by a person. Each may hold other changes, too. surveyor.decideOwner
	// decides.
	unsettled
	ours
)

// judged is the result of comparing a branch with its base.
type judged struct {
	owner owner
	mark  trailers      // of own
	own   github.Commit // our newest commit along the first parents
	head  github.Commit
	// rewritten says that own is on a commit that the base once had, and has lost.
	rewritten bool
}

// base is the commit of the base under our own.
func (j judged) base() string { return j.own.Parents[len(j.own.Parents)-1] }

// rebased reports whether git or GitHub made our commit again, as at a rebase.
func (j judged) rebased() bool { return !j.mark.made(j.own) }

// judge decides who owns a branch, from the commits that it has and its base lacks. It does
// not read below a commit of ours. When relock made that commit, the history below it was
// ours, or merged, or a person asked relock to discard it. On a server that cannot replace
// a branch, discarded commits stay there, without effect on the tree.
func judge(branch string, c github.Comparison, head string) judged {
	all := c.Own
	if len(all) == 0 {
		// The base has all commits of the branch: it was merged.
		all = []github.Commit{c.Fork}
	}
	commits := make(map[string]github.Commit, len(all))
	var found judged
	for _, commit := range all {
		commits[commit.SHA] = commit
		if t, ok := parseTrailers(commit.Message); ok && t.name(branch) {
			found.mark, found.own = t, commit
		}
	}
	if found.own.SHA == "" {
		return judged{}
	}
	found.owner, found.head = touched, commits[head]
	own, mark, ok := newestOfOurs(commits, branch, head)
	if !ok || len(c.Own) < c.Total {
		return found
	}
	found.own, found.mark = own, mark
	if len(own.Parents) == 0 {
		return found
	}
	_, found.rewritten = commits[found.base()]
	switch {
	case found.rebased() && (len(own.Parents) > 1 || found.rewritten): // GitHub rebases no merges, and rebases only onto the base
	case own.SHA == head && !found.rebased():
		found.owner = ours
	case own.SHA == head, found.head.Parents[1] == c.Fork.SHA: // an older base would revert what the branch had of a newer one
		found.owner = unsettled
	}
	return found
}

// newestOfOurs follows first parents, past merges of the base, to a commit with our
// trailers. It reports whether there are no other commits on the way.
func newestOfOurs(commits map[string]github.Commit, branch, head string) (own github.Commit, mark trailers, ok bool) {
	for sha := head; ; {
		c, known := commits[sha]
		if t, ok := parseTrailers(c.Message); ok && t.name(branch) {
			return c, t, true
		}
		if !known || len(c.Parents) != 2 {
			return github.Commit{}, trailers{}, false
		}
		if _, other := commits[c.Parents[1]]; other {
			return github.Commit{}, trailers{}, false
		}
		sha = c.Parents[0]
	}
}
