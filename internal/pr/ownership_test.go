package pr

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/github"
)

func TestTrailersOfAMessage(t *testing.T) {
	p := New("prod\n/ eu", "release/1.x", "bot/", []File{{Path: "a", Content: []byte("1")}})
	p.Subject = "Bump\nhashicorp/aws"
	p.Summary = "Relock-Group: somebody's\n"
	got, ok := parseTrailers(message(p, "f00", "b0"))
	want := trailers{Group: "prod / eu", Base: "release/1.x", Digest: p.Digest, Ground: ground(p.Files), Tree: "f00", On: "b0", summary: "Relock-Group: somebody's"}
	if !ok || got != want {
		t.Errorf("parseTrailers(message) = %+v, %t, want %+v", got, ok, want)
	}
	if !got.name(p.Branch) {
		t.Errorf("the trailers %+v do not name branch %s", got, p.Branch)
	}
	if subject, _, _ := strings.Cut(message(p, "f00", "b0"), "\n"); subject != "Bump hashicorp/aws" {
		t.Errorf("subject = %q, want it in one line", subject)
	}
}

func TestTrailersThatAreNotOurs(t *testing.T) {
	whole := "Relock-Group: all\nRelock-Base: main\nRelock-Digest: d\nRelock-Replaces: r\nRelock-Base-Commit: b\nRelock-Tree: t"
	tests := map[string]struct {
		message string
		ok      bool
	}{
		"whole":               {"Bump\n\n" + whole + "\n", true},
		"with_others":         {"Bump\n\nSigned-off-by: me\n" + whole, true},
		"windows_lines":       {strings.ReplaceAll("Bump\n\n"+whole+"\n", "\n", "\r\n"), true},
		"one_missing":         {"Bump\n\n" + strings.Replace(whole, "Relock-Tree: t", "", 1), false},
		"one_twice":           {"Bump\n\n" + whole + "\nRelock-Tree: u", false},
		"quoted_further_up":   {"Squashed\n\n" + whole + "\n\nReviewed by me", false},
		"indented_by_a_quote": {"Revert\n\n" + strings.ReplaceAll(whole, "Relock", "> Relock"), false},
		"nothing":             {"", false},
	}
	for name, test := range tests {
		if _, ok := parseTrailers(test.message); ok != test.ok {
			t.Errorf("%s: parseTrailers(%q) reports %t, want %t", name, test.message, ok, test.ok)
		}
	}
}

// commitOf is a commit of the proposal with its tree.
func commitOf(p Proposal, sha, tree string, parents ...string) github.Commit {
	return github.Commit{SHA: sha, Tree: tree, Message: message(p, tree, parents[len(parents)-1]), Parents: parents}
}

func TestJudge(t *testing.T) {
	p := New("all", "main", "", []File{{Path: "a", Content: []byte("1")}})
	first := commitOf(p, "c1", "t1", "b1")
	second := commitOf(p, "c2", "t2", "c1", "b2")
	update := github.Commit{SHA: "m1", Tree: "tm", Message: "Merge branch 'main'", Parents: []string{"c1", "b2"}}
	alien := github.Commit{SHA: "x1", Tree: "tx", Message: "Fix", Parents: []string{"c1"}}
	tests := map[string]struct {
		comparison github.Comparison
		head       string
		want       owner
	}{
		"one_commit_of_ours":           {github.Comparison{Own: []github.Commit{first}, Total: 1}, "c1", ours},
		"two_with_the_base":            {github.Comparison{Own: []github.Commit{first, second}, Total: 2}, "c2", ours},
		"merged_whole":                 {github.Comparison{Fork: first}, "c1", ours},
		"a_branch_of_the_base":         {github.Comparison{Fork: github.Commit{SHA: "b1", Message: "Start"}}, "b1", foreign},
		"nothing_of_ours":              {github.Comparison{Own: []github.Commit{{SHA: "x1", Message: "Fix"}}, Total: 1}, "x1", foreign},
		"a_commit_on_top":              {github.Comparison{Own: []github.Commit{first, alien}, Total: 2}, "x1", touched},
		"the_base_merged_into_it":      {github.Comparison{Own: []github.Commit{first, update}, Total: 2, Fork: github.Commit{SHA: "b2"}}, "m1", unsettled},
		"an_older_base_merged_into_it": {github.Comparison{Own: []github.Commit{first, update}, Total: 2, Fork: github.Commit{SHA: "b3"}}, "m1", touched},
		"ours_over_such_a_merge": {github.Comparison{
			Own: []github.Commit{first, update, commitOf(p, "c3", "t3", "m1", "b3")}, Total: 3, Fork: github.Commit{SHA: "b3"},
		}, "c3", ours},
		"ours_and_the_base_over_what_was_discarded": {github.Comparison{
			Own: []github.Commit{first, alien, commitOf(p, "c3", "t3", "x1", "b2")}, Total: 3,
		}, "c3", ours},
		"ours_without_the_base_over_somebodys": {github.Comparison{
			Own: []github.Commit{first, alien, {SHA: "c3", Tree: "t3", Message: message(p, "t3", "b1"), Parents: []string{"x1"}}}, Total: 3,
		}, "c3", touched},
		"an_amended_one_over_what_was_discarded": {github.Comparison{
			Own: []github.Commit{first, alien, {SHA: "c3", Tree: "other", Message: first.Message, Parents: []string{"x1", "b2"}}}, Total: 3,
		}, "c3", touched},
		"a_merge_of_what_is_not_of_the_base": {github.Comparison{
			Own: []github.Commit{first, {SHA: "x1", Parents: []string{"b1"}}, {SHA: "m1", Parents: []string{"c1", "x1"}}}, Total: 3,
		}, "m1", touched},
		"on_what_the_base_has_lost": {github.Comparison{
			Own: []github.Commit{{SHA: "b1", Message: "Start", Parents: []string{"b0"}}, first}, Total: 2,
		}, "c1", ours},
		"rebased": {github.Comparison{
			Own: []github.Commit{{SHA: "c1", Tree: "other", Message: first.Message, Parents: []string{"b2"}}}, Total: 1,
		}, "c1", unsettled},
		"the_same_tree_on_another_base": {github.Comparison{
			Own: []github.Commit{{SHA: "c1", Tree: "t1", Message: first.Message, Parents: []string{"b2"}}}, Total: 1,
		}, "c1", unsettled},
		"rebased_onto_somebodys": {github.Comparison{
			Own: []github.Commit{{SHA: "x2", Parents: []string{"b1"}}, {SHA: "c1", Tree: "t1", Message: first.Message, Parents: []string{"x2"}}}, Total: 2,
		}, "c1", touched},
		"amended": {github.Comparison{
			Own: []github.Commit{{SHA: "c1", Tree: "other", Message: first.Message, Parents: []string{"b1"}}}, Total: 1,
		}, "c1", unsettled},
		"of_another_group": {github.Comparison{
			Own: []github.Commit{commitOf(New("aws", "main", "", nil), "c1", "t1", "b1")}, Total: 1,
		}, "c1", foreign},
		"more_than_was_listed": {github.Comparison{Own: []github.Commit{first}, Total: 2}, "c1", touched},
		"other_parent_is_not_of_the_base": {github.Comparison{
			Own: []github.Commit{first, commitOf(p, "c9", "t9", "b1"), {SHA: "c2", Tree: "t2", Message: message(p, "t2", "b2"), Parents: []string{"c1", "c9"}}}, Total: 3,
		}, "c2", touched},
	}
	for name, test := range tests {
		got := judge(p.Branch, test.comparison, test.head)
		if got.owner != test.want {
			t.Errorf("%s: judge = %d, want %d", name, got.owner, test.want)
		}
		if got.owner != foreign && got.mark.Group != "all" {
			t.Errorf("%s: trailers = %+v, want ours", name, got.mark)
		}
	}
}
