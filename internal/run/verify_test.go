package run

import (
	"errors"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// TestOnlyWhatThePlanDoesNotKnowBetterIsJudged names the entries that nothing is
// said of, beside one that is judged.
func TestOnlyWhatThePlanDoesNotKnowBetterIsJudged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit                func(*upgrade.Selection, *lockfile.File)
		verb                verbs.Verb
		judged, left, added bool
		depth               verify.Depth
	}{
		"entry_that_stays":    {judged: true, depth: verify.WithPackages},
		"package_of_a_mirror": {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.Marks = []provider.Mark{provider.MarkMirror} }},
		"failed_provider":     {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.Err = errors.New("no") }},
		"replaced_release":    {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.Replaced = true }},
		"entry_that_goes":     {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.To = provider.Version{} }},
		"entry_of_two_sides": {edit: func(s *upgrade.Selection, f *lockfile.File) {
			f.Disputed = map[provider.Addr][]lockfile.Lock{s.Requirement.Addr: f.Locks}
		}},
		"entry_that_is_left":                    {edit: otherVersion, verb: verbs.Upgrade, judged: true, left: true},
		"entry_that_is_left_by_a_check":         {edit: otherVersion, verb: verbs.Check, judged: true, left: true, depth: verify.WithPackages},
		"entry_that_matches_nothing":            {edit: matchesNothing, verb: verbs.Lock},
		"entry_that_matches_nothing_in_a_check": {edit: matchesNothing, verb: verbs.Check, judged: true, left: true},
		"failed_provider_of_a_changed_file":     {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.Err = errors.New("no") }, verb: verbs.Check, added: true, judged: true, depth: verify.Everything},
		"mirror_in_a_changed_file":              {edit: func(s *upgrade.Selection, _ *lockfile.File) { s.Marks = []provider.Mark{provider.MarkMirror} }, verb: verbs.Check, added: true, judged: true, depth: verify.Everything},
		"entry_that_nothing_requires":           {edit: notRequired, verb: verbs.Check},
		"added_entry_that_nothing_requires":     {edit: notRequired, verb: verbs.Check, added: true, judged: true, depth: verify.Everything},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, problems := lockfile.Parse([]byte("provider \"registry.terraform.io/hashicorp/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\"h1:x\"]\n}\n"), "lock")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			l := file.Locks[0]
			s := upgrade.Selection{Requirement: scan.Requirement{Addr: l.Addr}, From: l.Version, To: l.Version}
			if tt.edit != nil {
				tt.edit(&s, file)
			}
			got := suspectsOf(job{ask: Ask{verb: tt.verb}}, found{
				module: scan.RootModule{Root: scan.Root{Lock: file}}, result: upgrade.Result{Selections: []upgrade.Selection{s}}, added: tt.added,
			}, nil, nil)
			if len(got) > 0 != tt.judged {
				t.Fatalf("judged = %v, want %v", len(got) > 0, tt.judged)
			}
			if tt.judged && (got[0].Left != tt.left || got[0].Depth != tt.depth) {
				t.Errorf("left %v, depth %v, want %v, %v", got[0].Left, got[0].Depth, tt.left, tt.depth)
			}
		})
	}
}

// matchesNothing fails a selection for the hashes of its entry.
func matchesNothing(s *upgrade.Selection, _ *lockfile.File) {
	s.Err = &problem.Error{Problem: problem.Problem{Code: problem.CodeReReleased, Message: "no"}}
}

// notRequired makes a selection one of another provider.
func notRequired(s *upgrade.Selection, _ *lockfile.File) {
	s.Requirement.Addr.Type, s.To = "other", provider.Version{}
}

// otherVersion makes a selection leave its version.
func otherVersion(s *upgrade.Selection, _ *lockfile.File) {
	s.To, _ = provider.ParseVersion("2.0.0")
}
