package pr_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

// TestWhatIsDocumentedHappens brings about what each row of the table in
// docs/pull-requests.md begins with, and looks what a run makes of it.
func TestWhatIsDocumentedHappens(t *testing.T) {
	for _, row := range pr.DocumentedRows(t) {
		t.Run(strings.Join(row[:3], "/"), func(t *testing.T) {
			s, wanted := bringAbout(t, row[0], row[1], row[2])
			base := map[bool]string{true: "trunk", false: "main"}[row[0] == "ours, base renamed"]
			opts := pr.Options{Base: base, Bases: []string{base}, RebaseWhen: pr.WhenOf(row[1])}
			s.lookAt(base) // so that GitHub knows how a merge stands
			opts.Survey = s.lookAt(base)
			if got := s.observed(opts, wanted); got != row[3] {
				t.Errorf("a run %s, and documented is: %s; requests: %q", got, row[3], s.wrote())
			}
		})
	}
}

// bringAbout makes the scene of a row, and what is proposed in it.
func bringAbout(t *testing.T, branch, pull, wanted string) (*scene, []pr.Proposal) {
	t.Helper()
	s, p := merging(t, map[bool]int{true: 3}[strings.Contains(pull, "auto-merge missing")])
	if !strings.Contains(pull, "auto-merge") {
		s.must(s.hub.Protect(repoName, "main", nil))
		p.AutoMerge = ""
	}
	if strings.HasSuffix(pull, ", ready") {
		s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{}))
	}
	s.pushTo("main", "README.md", "First.\n")
	s.bringBranch(&p, branch, pull)
	for part := range strings.SplitSeq(pull, ", ") {
		s.bringPull(&p, part)
	}
	switch {
	case branch == "somebody else's commits":
		s.pushTo(p.Branch, "main.tf", "# mine\n")
	case strings.HasSuffix(branch, ", base rewritten"):
		s.push(sandbox.Push{Branch: "main", Amend: true, Files: map[string]sandbox.File{"README.md": {Mode: sandbox.ModeFile, Content: []byte("Other.\n")}}})
	}
	if strings.Contains(pull, "in a merge queue") { // a push would take it out
		s.must(s.hub.Enqueue(repoName, 1, "monalisa"))
	}
	if strings.HasSuffix(pull, ", told") {
		s.one(p)
	}
	if branch == "ours, base renamed" {
		s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
		p.Base, p.Branch, p.Digest = "trunk", pr.Branch("all", "trunk", ""), pr.Digest("all", "trunk", p.Files)
	}
	switch wanted {
	case "nothing":
		return s, nil
	case "something else":
		return s, []pr.Proposal{proposal(nextLock)}
	}
	return s, []pr.Proposal{p}
}

// bringBranch makes the branch of a row, and its pull request if it has one.
func (s *scene) bringBranch(p *pr.Proposal, branch, pull string) {
	s.Helper()
	switch {
	case branch == "not ours":
		s.pushTo(p.Branch, "main.tf", "# mine\n")
		return
	case branch == "ours, base gone":
		*p = pr.New("all", "release", "", p.Files)
		p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("What changes.")
		s.want(s.only(s.proposeWith(pr.Options{Base: "release"}, *p)), pr.Created, 1)
		s.must(s.hub.DeleteBranch(repoName, "release"))
		return
	case pull == "none" && branch == "none":
		return
	case strings.HasPrefix(pull, "none"): // the run ended between the two
		s.fault("POST /github/api/v3/repos/octo/infra/pulls 403 times=1")
		s.propose(*p)
		return
	}
	s.one(*p)
	if branch != "none" && pull == "closed by relock" {
		s.hub.WithoutUpdateRefs() // so that the branch stays
	}
	if branch == "none" && pull == "closed by a person" {
		s.must(s.hub.Close(repoName, 1, "monalisa"))
		s.must(s.hub.DeleteBranch(repoName, p.Branch))
	}
}

// bringPull changes the pull request as a word of a row says.
func (s *scene) bringPull(p *pr.Proposal, part string) {
	s.Helper()
	switch part {
	case "none", "open", "closed by GitHub", "auto-merge missing", "ready", "told", "behind-base", "conflicted":
	case "of other facts":
		p.Facts = "others"
	case "base moved":
		s.pushTo("main", "README.md", "More.\n")
	case "box checked":
		s.must(s.hub.Tick(repoName, 1, "rebuild the branch"))
	case "base demands it":
		s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Strict: true}))
	case "blocked":
		s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Strict: true, Checks: true}))
	case "blocked by a ruleset":
		s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Strict: true, Checks: true, Ruleset: true}))
	case "not computed":
		s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.MergeStates = "never" }))
	case "approved":
		s.must(s.hub.Approve(repoName, 1, "monalisa"))
	case "merges by itself":
		s.must(s.hub.EnableAutoMerge(repoName, 1, "monalisa"))
	case "in a merge queue":
		s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Queue: true}))
	case "open for another base":
		s.must(s.hub.Retarget(repoName, 1, "release"))
	case "others need it":
		s.stack(p.Branch)
	case "closed by a person":
		if s.pull(1).State == "open" {
			s.must(s.hub.Close(repoName, 1, "monalisa"))
		}
	case "closed by relock":
		if s.head(p.Branch) != "" {
			s.one()
		}
	case "merged":
		s.merge(1)
	default:
		s.Fatalf("no pull request is %q", part)
	}
}

// observed is what a run does, in the words of the table.
func (s *scene) observed(opts pr.Options, wanted []pr.Proposal) string {
	s.Helper()
	branch := pr.Branch("all", "main", "")
	if len(s.pulls()) > 0 {
		branch = s.pull(1).Head
	}
	head, pulls := s.head(branch), s.pulls()
	outcomes := s.proposeWith(opts, wanted...)
	for _, o := range outcomes {
		if o.Err != nil && strings.Contains(o.Err.Error(), "its commits are not relock's") {
			return "refuses: the name is taken"
		}
		if o.Err != nil {
			s.Fatal(o.Err)
		}
	}
	sent := func(method, end string) bool {
		return slices.ContainsFunc(s.wrote(), func(w string) bool { return strings.HasPrefix(w, method) && strings.HasSuffix(w, end) })
	}
	opened, now := len(s.pulls()) > len(pulls), s.head(branch)
	pushed, said, edited := now != head && now != "", sent("POST", "/comments"), sent("PATCH", "/pulls/1")
	switch {
	case opened && now == "" && head != "" && said && edited && pulls[0].Base == s.pull(2).Base:
		return "pushes and opens a pull request, and closes with a sentence and deletes the branch"
	case sent("PUT", "/update-branch"):
		return "asks GitHub to update the branch"
	case now == "" && head != "" && said && edited:
		return "closes with a sentence and deletes the branch"
	case now == "" && head != "":
		return "deletes the branch"
	case said && edited && pulls[0].State == "open" && s.pull(1).State == "closed":
		return "closes with a sentence"
	case said && edited && !pushed:
		return "comments once"
	case pushed && opened:
		return "pushes and opens a pull request"
	case opened:
		return "opens a pull request"
	case pushed && edited:
		return "pushes and edits the text"
	case len(pulls) > 0 && s.pull(1).AutoMerge != pulls[0].AutoMerge:
		return "asks again for auto-merge"
	case edited:
		return "edits the text"
	case len(s.wrote()) > 0:
		return "writes"
	}
	return "does nothing"
}
