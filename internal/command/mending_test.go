package command

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// A comment is offered only where the base answers it, where the head is no fork's, and
// where it does what the check wants.
func TestWhereACommentMends(t *testing.T) {
	t.Parallel()
	const answers, other = "on: issue_comment\njobs: {a: {steps: [{uses: relock-dev/relock@v1}]}}\n", "on: push # not issue_comment, for relock\n"
	red := report.Report{Verb: verbs.Check, Touched: true, Modules: []report.Module{{Dir: "live", Pending: true}}}
	green, wide, old := red, red, red
	green.Modules, wide.Touched = []report.Module{{Dir: "live"}}, false
	old.Modules = []report.Module{{Dir: "live", Pending: true, OnBase: true}}
	own := event{pull: true}
	for name, tt := range map[string]struct {
		base, head, name, from string
		report                 report.Report
		event                  event
		want                   bool
	}{
		"the base answers":           {answers, answers, "a.yml", "acme/infra", red, own, true},
		"by another ending":          {answers, answers, "a.yaml", "acme/infra", red, own, true},
		"the head alone answers":     {other, answers, "a.yml", "acme/infra", red, own, false},
		"the head does so no more":   {answers, other, "a.yml", "acme/infra", red, own, false},
		"no workflow":                {answers, answers, "a.txt", "acme/infra", red, own, false},
		"a fork's head":              {answers, answers, "a.yml", "stranger/infra", red, own, false},
		"a merge queue":              {answers, answers, "a.yml", "acme/infra", red, event{}, false},
		"nothing is wrong":           {answers, answers, "a.yml", "acme/infra", green, own, false},
		"the base is wrong, too":     {answers, answers, "a.yml", "acme/infra", old, own, false},
		"others are looked at, too":  {answers, answers, "a.yml", "acme/infra", wide, own, false},
		"relock is on another event": {"on: push\n# relock\n", "on: push\n# relock\n", "a.yml", "acme/infra", red, own, false},
	} {
		dir, payload := t.TempDir(), filepath.Join(t.TempDir(), "event.json")
		workflow := filepath.Join(dir, ".github", "workflows", tt.name)
		put(t, workflow, tt.base)
		base := committed(t, dir)
		put(t, workflow, tt.head)
		put(t, payload, fmt.Sprintf(`{"pull_request": {"head": {"repo": {"full_name": %q}}, "base": {"sha": %q, "repo": {"full_name": "acme/infra"}}}}`, tt.from, base))
		env := inWorkflow("GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH="+payload)
		env.WorkDir = dir
		got := mendingOf(t.Context(), env, settings.Settings{}, verbs.Lock, tt.report, tt.event)
		if got.Comments != tt.want || got.Verb != verbs.Lock {
			t.Errorf("%s: %+v, want Comments %t", name, got, tt.want)
		}
	}
}
