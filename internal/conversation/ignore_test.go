package conversation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// What is ignored under a pull request after a command, and that the person hears it.
func TestIgnoresAfterACommand(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	all := policy.Ignore{Provider: "hashicorp/aws", By: "octo", When: "2026-01-01"}
	major := policy.Ignore{Provider: "hashicorp/aws", What: "major", By: "octo", When: "2026-01-01"}
	other := policy.Ignore{Provider: "hashicorp/null", By: "octo", When: "2026-01-01"}
	by := func(i policy.Ignore) policy.Ignore {
		i.By, i.When = "monalisa", "2026-03-04"
		return i
	}
	for _, tt := range []struct {
		line string
		now  []policy.Ignore
		want []policy.Ignore
		said string
	}{
		{"/relock ignore hashicorp/aws", []policy.Ignore{other}, []policy.Ignore{other, by(all)}, "is left alone here."},
		{"/relock ignore hashicorp/aws major", []policy.Ignore{other}, []policy.Ignore{other, by(major)}, "for major updates."},
		{"/relock ignore hashicorp/aws", []policy.Ignore{all, major}, []policy.Ignore{major, by(all)}, "is left alone here."},
		{"/relock unignore hashicorp/aws", []policy.Ignore{all, other, major}, []policy.Ignore{other}, "not ignored any more"},
		{"/relock unignore hashicorp/aws", []policy.Ignore{other}, []policy.Ignore{other}, "is not ignored here"},
	} {
		command, err := comment.Parse(tt.line, comment.UnderPull)
		if err != nil {
			t.Fatal(err)
		}
		got, said := ignoresAfter(command, tt.now, "monalisa", day)
		if diff := cmp.Diff(tt.want, got); diff != "" || !strings.Contains(said.String(), tt.said) {
			t.Errorf("%s: said %q (-want +got):\n%s", tt.line, said, diff)
		}
	}
}

// show tells of rules and groups, and of ignores only where the pull request is ours.
func TestShowsWhatIsInForce(t *testing.T) {
	t.Parallel()
	pattern, err := provider.ParsePattern("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	book := policy.Rulebook{
		Rules: []policy.Rule{{
			Where: policy.Where{Providers: []provider.Pattern{pattern}}, Updates: []provider.Bump{provider.BumpMajor}, Ignore: &yes,
			Place: problem.Place{Path: "relock.yml", Line: 3},
		}},
		GroupBy: policy.ByDirectory, Groups: []policy.Group{{Name: "cloud"}},
	}
	owned := []group{{name: "all", ignores: []policy.Ignore{{Provider: "hashicorp/null", By: "octo", When: "2026-01-01"}}}}
	others, ours := inForce(nil, book).String(), inForce(owned, book).String()
	for _, want := range []string{"`relock.yml:3`: `", "major updates: ignored", "the rest by directory**\n\n- `cloud`"} {
		if !strings.Contains(others, want) {
			t.Errorf("what is in force is\n%s\nwant %q in it", others, want)
		}
	}
	if strings.Contains(others, "Ignored in the group") || !strings.Contains(ours, "`hashicorp/null`, by `octo` on 2026-01-01") {
		t.Errorf("ignores under another's pull request:\n%s\nunder ours:\n%s", others, ours)
	}
}
