package comment_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/comment"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	open := comment.Situation{Permission: "write", Open: true, Head: "0123abcd", Writable: true}
	with := func(change func(*comment.Situation)) comment.Situation {
		s := open
		change(&s)
		return s
	}
	ours := with(func(s *comment.Situation) { s.Ours = true })
	closed := with(func(s *comment.Situation) { s.Ours, s.Open = true, false })
	merged := with(func(s *comment.Situation) { s.Ours, s.Open, s.Merged = true, false, true })
	touched := with(func(s *comment.Situation) { s.Ours, s.Touched = true, true })
	fork := with(func(s *comment.Situation) { s.Writable = false })
	tests := []struct {
		name    string
		command string
		now     comment.Situation
		want    string // refusal; "report" for a report alone; empty: carried out
	}{
		{"a writer upgrades", "upgrade", open, ""},
		{"an administrator upgrades", "upgrade", with(func(s *comment.Situation) { s.Permission = "admin" }), ""},
		{"a reader does not", "upgrade", with(func(s *comment.Situation) { s.Permission = "read" }), "people who may write"},
		{"nor gets help", "help", with(func(s *comment.Situation) { s.Permission = "none" }), "people who may write"},
		{"nor somebody of whom GitHub says nothing", "show", with(func(s *comment.Situation) { s.Permission = "" }), "people who may write"},
		{"upgrade on a fork reports", "upgrade", fork, "report"},
		{"lock on a fork reports", "lock", fork, "report"},
		{"check on a fork is a report anyway", "check", fork, ""},
		{"rebase is for ours", "rebase", open, "relock opened"},
		{"rebase on ours", "rebase", ours, ""},
		{"ignore is for ours", "ignore */aws", open, "relock opened"},
		{"ignore on a closed one of ours", "ignore */aws", closed, ""},
		{"close on a closed one", "close", closed, "is closed"},
		{"upgrade on a closed one", "upgrade", closed, "is closed"},
		{"rebase over somebody's commits", "rebase", touched, "recreate"},
		{"upgrade of ours over somebody's commits", "upgrade", touched, "recreate"},
		{"recreate over somebody's commits", "recreate", touched, ""},
		{"ignore on one with somebody's commits", "ignore */aws", touched, ""},
		{"reopen on a closed one of ours", "reopen", closed, ""},
		{"reopen on an open one", "reopen", ours, "is open"},
		{"reopen on a merged one", "reopen", merged, "is merged"},
		{"lock on a merged one", "lock", merged, "is merged"},
		{"ignore on a merged one of ours", "ignore */aws", merged, ""},
		{"show on a merged one", "show", merged, ""},
		{"the commit that was looked at", "upgrade --sha 0123abc", open, ""},
		{"another commit", "upgrade --sha 0123abe", open, "--sha"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := comment.Parse("/relock " + tt.command)
			if err != nil {
				t.Fatal(err)
			}
			got, err := comment.Decide(c, tt.now)
			switch {
			case tt.want == "" && (err != nil || got.ReportOnly):
				t.Errorf("Decide = %+v, %v, want it carried out", got, err)
			case tt.want == "report" && (err != nil || !got.ReportOnly):
				t.Errorf("Decide = %+v, %v, want a report alone", got, err)
			case tt.want != "" && tt.want != "report" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Decide = %v, want a refusal with %q", err, tt.want)
			}
		})
	}
}

// Each verb is in the table once, and its example parses.
func TestTableListsEveryVerb(t *testing.T) {
	t.Parallel()
	table := comment.Table().String()
	seen := map[comment.Verb]bool{}
	for _, u := range comment.Verbs {
		if seen[u.Verb] {
			t.Errorf("%s is in the table twice", u.Verb)
		}
		seen[u.Verb] = true
		if !strings.Contains(table, "| `/relock "+string(u.Verb)) || u.Doc == "" {
			t.Errorf("the table lacks %s", u.Verb)
		}
		words := string(u.Verb)
		if strings.HasPrefix(u.Args, "PROVIDER") {
			words += " hashicorp/aws"
		}
		if c, err := comment.Parse("/relock " + words); err != nil || c.Verb != u.Verb {
			t.Errorf("Parse(/relock %s) = %v, %v", words, c.Verb, err)
		}
	}
}
