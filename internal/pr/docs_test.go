package pr

import (
	"os"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/safe"
)

// DocumentedRows are the rows of the first table of docs/pull-requests.md: the branch,
// the pull request, what is wanted, and what relock does.
func DocumentedRows(t *testing.T) [][4]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/pull-requests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "| branch | pull request |")
	table, _, _ := strings.Cut(after, "\n\n")
	var rows [][4]string
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) == 4 && !strings.HasPrefix(cells[0], "---") && cells[0] != "what is wanted" {
			rows = append(rows, [4]string(cells))
		}
	}
	if len(rows) < 30 {
		t.Fatalf("%d rows were read", len(rows))
	}
	return rows
}

// TestDecideIsWhatIsDocumented compares each row with what is decided.
func TestDecideIsWhatIsDocumented(t *testing.T) {
	for _, row := range DocumentedRows(t) {
		if got := planned(t, row[0], row[1], row[2]); got != row[3] {
			t.Errorf("%q is documented, and decided is: %s", row, got)
		}
	}
}

// planned is what is decided about a row, in its words.
func planned(t *testing.T, branch, pull, wanted string) string {
	t.Helper()
	was := New("all", "main", "", []File{{Path: "a", Content: []byte("new"), Old: []byte("old")}})
	was.AutoMerge = "squash"
	s := state{branch: was.Branch, base: github.Commit{SHA: "base"}, fork: "base"}
	switch branch {
	case "none":
	case "ours, as wanted", "ours, as wanted, base rewritten", "somebody else's commits", "ours, base gone", "ours, base renamed":
		s.head, s.owner, s.mark = "head", ours, trailers{Group: "all", Base: "main", Digest: was.Digest, Ground: ground(was.Files)}
		s.judged.rewritten = branch == "ours, as wanted, base rewritten"
		s.orphan = branch == "ours, base gone" || branch == "ours, base renamed"
		if branch == "somebody else's commits" {
			s.owner = touched
		}
	case "not ours":
		s.head = "head"
	default:
		t.Fatalf("no branch is %q", branch)
	}
	readPull(t, &s, pull, was)
	if wanted == "nothing" {
		return words(unwanted(s, "main"))
	}
	if branch == "ours, base renamed" {
		s.pull.Base = "trunk"
		anew := New("all", "trunk", "", was.Files)
		return words(decide(anew, state{branch: anew.Branch}, Options{Base: "trunk"})) + ", and " + words(unwanted(s, "main"))
	}
	p := was
	if wanted == "something else" {
		p = New("all", "main", "", []File{{Path: "a", Content: []byte("newer"), Old: []byte("old")}})
	}
	return words(decide(p, s, Options{Base: "main", RebaseWhen: WhenOf(pull)}))
}

// WhenOf is the setting of a row.
func WhenOf(pull string) RebaseWhen {
	for _, when := range []RebaseWhen{RebaseBehindBase, RebaseConflicted} {
		if strings.HasSuffix(pull, ", "+string(when)) {
			return when
		}
	}
	return RebaseAuto
}

// readPull puts the pull request of a row into the state.
func readPull(t *testing.T, s *state, text string, was Proposal) {
	t.Helper()
	if strings.HasPrefix(text, "none") {
		if text != "none" {
			s.fork = "earlier"
		}
		return
	}
	s.pull, s.marked = &github.PullRequest{Number: 1, Base: "main", Head: "head", MergeState: github.MergeBlocked}, true
	s.marker = Marker{Digest: was.Digest, Facts: was.Facts}
	for part := range strings.SplitSeq(text, ", ") {
		switch part {
		case "open":
			s.pull.Open = true
		case "open for another base":
			s.pull.Open, s.pull.Base = true, "release"
		case "closed by a person":
			s.rejected = was.Digest
		case "closed by relock":
			s.marker.Closed = closedDone
		case "closed by GitHub":
		case "merged":
			s.pull.Merged = true
		case "others need it":
			s.dependents = []int{2}
		case "of other facts":
			s.marker.Facts = "others"
		case "box checked":
			s.pull.Body = strings.Replace(compose(safe.Markdown{}, s.marker).String(), "- [ ]", "- [x]", 1)
		case "base moved":
			s.fork = "earlier"
		case "base demands it":
			s.pull.MergeState = github.MergeBehind
		case "blocked":
			s.pull.MergeState = github.MergeBlocked
		case "blocked by a ruleset":
			s.pull.MergeState, s.strict = github.MergeBlocked, true
		case "not computed":
			s.pull.MergeState = github.MergeUnknown
		case "approved":
			s.pull.Approved = true
		case "merges by itself":
			s.pull.AutoMerge = true
		case "behind-base", "conflicted": // settings
		case "auto-merge missing":
			s.marker.AutoMerge = true
		case "ready":
			s.pull.MergeState = github.MergeClean
		case "in a merge queue":
			s.pull.Queued = true
		case "told":
			s.marker.Stopped = true
		default:
			t.Fatalf("no pull request is %q", part)
		}
	}
}

// words are a plan in those of the table.
func words(p plan) string {
	switch {
	case p.err != nil:
		return "refuses: the name is taken"
	case p.push && p.pull == openPull:
		return "pushes and opens a pull request"
	case p.push && p.pull == editPull:
		return "pushes and edits the text"
	case p.push:
		return "pushes"
	case p.update:
		return "asks GitHub to update the branch"
	case p.pull == openPull:
		return "opens a pull request"
	case p.pull == editPull:
		return "edits the text"
	case p.pull == mergePull:
		return "asks again for auto-merge"
	case p.pull == warnPull:
		return "comments once"
	case p.pull == closePull && !p.drop:
		return "closes with a sentence"
	case p.pull == closePull:
		return "closes with a sentence and deletes the branch"
	case p.drop:
		return "deletes the branch"
	}
	return "does nothing"
}
