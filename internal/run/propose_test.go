package run

import (
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// The digest of what a text tells changes with each of these, and with nothing else.
func TestFactsOfAText(t *testing.T) {
	t.Parallel()
	aws := addrOf(t, "hashicorp/aws")
	module := func(edit func(*report.Module)) []report.Module {
		m := report.Module{Dir: "live", Changes: []report.Change{{Change: diff.Change{Addr: aws}}}, Kept: []report.Kept{{Addr: aws}}}
		if edit != nil {
			edit(&m)
		}
		return []report.Module{m}
	}
	known := map[string]string{facts(module(nil), nil): "nothing"}
	for name, edit := range map[string]func(*report.Module){
		"held":       func(m *report.Module) { m.Kept[0].Held = []upgrade.Held{{By: policy.Hold{Reason: policy.HeldByAge}}} },
		"missing":    func(m *report.Module) { m.Changes[0].Missing = []provider.Platform{{OS: "linux", Arch: "amd64"}} },
		"signer":     func(m *report.Module) { m.Changes[0].Signer.KeyID = "A" },
		"carried":    func(m *report.Module) { m.Changes[0].FromPull = true },
		"unread":     func(m *report.Module) { m.Unread = []scan.Unread{{Module: "vpc"}} },
		"finding":    func(m *report.Module) { m.Findings = []problem.Problem{{Subject: problem.Subject{Hash: "h1:x"}}} },
		"diagnostic": func(m *report.Module) { m.Diagnostics = []problem.Problem{{Code: problem.CodeNoVersion}} },
	} {
		digest := facts(module(edit), nil)
		if other, same := known[digest]; same {
			t.Errorf("the digest of %s is that of %s", name, other)
		}
		known[digest] = name
	}
	told := facts(module(nil), []problem.Problem{{Code: problem.CodeUnseen, Message: "1 lock file"}})
	if known[told] != "" {
		t.Error("what belongs to no root module does not change the digest")
	}
	if again := facts(module(nil), []problem.Problem{{Code: problem.CodeUnseen, Message: "2 lock files"}}); again != told {
		t.Error("the message of what belongs to no root module changes the digest")
	}
	// A digest is in each open pull request: another one for the same facts writes them anew.
	const kept = "6b5c04654a0ec014"
	if digest := facts(module(func(m *report.Module) {
		f := &m.Changes[0].Facts
		f.Missing, f.Warnings = []provider.Platform{{OS: "linux", Arch: "amd64"}}, []string{"deprecated"}
		f.Marks = []provider.Mark{provider.MarkUnsigned}
		f.Signer = provider.Signer{KeyID: "A", Label: "partner", Fingerprint: "FA", Expired: true}
		f.SignerFrom = provider.Signer{KeyID: "B", Label: "HashiCorp", Ahead: true}
		f.Held = []upgrade.Held{{By: policy.Hold{Reason: policy.HeldByAge}}}
	}), nil); digest != kept {
		t.Errorf("the digest is %s, want %s, which is in open pull requests", digest, kept)
	}
	dated := facts(module(func(m *report.Module) { m.Changes[0].Published = time.Unix(1, 0) }), nil)
	if known[dated] != "nothing" {
		t.Error("a date changes the digest, though it is asked for only where a text is written")
	}
}

// Only a run that looked at everything, and that nothing stopped, need not look at what
// a pull request proposes before it ends it.
func TestSawAll(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(*proposer)
		want bool
	}{
		"all":           {func(*proposer) {}, true},
		"one_directory": {func(p *proposer) { p.unseen.dirs = []string{"live"} }, false},
		"one_provider":  {func(p *proposer) { p.unseen.only = []provider.Pattern{pattern(t, "hashicorp/aws")} }, false},
		"a_link":        {func(p *proposer) { p.unseen.missed = []missed{{cause: behindLink, name: "a"}} }, false},
		"excluded":      {func(p *proposer) { p.unseen.missed = []missed{{cause: notWanted, name: "a"}} }, true},
		"interrupted":   {func(p *proposer) { p.report.Diagnostics = []problem.Problem{{Code: problem.CodeCancelled}} }, false},
		"a_failure": {func(p *proposer) {
			p.report.Modules = []report.Module{{Diagnostics: []problem.Problem{{Severity: problem.SeverityError}}}}
		}, false},
		"no_lock_file": {func(p *proposer) {
			p.report.Diagnostics = []problem.Problem{{Severity: problem.SeverityError, Code: problem.CodeUnlocked}}
		}, true},
	} {
		p := &proposer{planned: planned{inventory: inventory{unseen: unseenLocks{dirs: []string{everything}}}}}
		tt.edit(p)
		if got := p.sawAll(); got != tt.want {
			t.Errorf("%s: sawAll() = %t, want %t", name, got, tt.want)
		}
	}
}
