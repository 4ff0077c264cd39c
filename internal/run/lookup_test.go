package run

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

func addrOf(t *testing.T, text string) provider.Addr {
	t.Helper()
	a, err := provider.ParseFullAddr("registry.terraform.io/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// having is what was found of one repository: a root module, live, that requires
// some providers, with calls that could not be followed.
func having(t *testing.T, unread int, providers ...string) inventory {
	t.Helper()
	m := scan.RootModule{Root: scan.Root{Dir: "live"}}
	for _, p := range providers {
		m.Tree.Requirements = append(m.Tree.Requirements, scan.Requirement{Addr: addrOf(t, p)})
	}
	m.Tree.Unread = make([]scan.Unread, unread)
	in := tree{root: "/repo", dirs: []string{everything}}
	return inventory{trees: []tree{in}, found: []found{{tree: in, module: m}}, lost: map[string]problem.Problem{}}
}

// ruling are settings by which a repository's own file has a rule about a provider.
func havingRule(t *testing.T, about string) settings.Settings {
	t.Helper()
	rule := policy.Rule{Where: policy.Where{Providers: []provider.Pattern{pattern(t, about)}}, Place: problem.Place{Path: "relock.yml"}}
	return settings.Settings{Own: "relock.yml", Policy: policy.Rulebook{Rules: []policy.Rule{rule}}}
}

// A name is a contract: whoever misspells one must not read that all is well.
func TestNamesAreHonoured(t *testing.T) {
	t.Parallel()
	ruled := havingRule(t, "hashicorp/nul")
	ruled.Policy.Groups = []policy.Group{{Name: "live", Where: policy.Where{Directories: []string{"live/**", "live"}}, Place: problem.Place{Path: ruled.Own}}}
	tests := map[string]struct {
		named    string
		settings settings.Settings
		unread   int
		part     bool
		fails    bool
		told     []string // SEVERITY MESSAGE: HINT
	}{
		"there":             {named: "hashicorp/null"},
		"misspelt":          {named: "hashicorp/nul", fails: true, told: []string{"0 no root module requires or locks hashicorp/nul: run `relock scan`, which lists the providers of each root module"}},
		"a_pattern":         {named: "acme/*", told: []string{"1 no root module requires or locks acme/*: run `relock scan`"}},
		"not_all_was_read":  {named: "acme/else", unread: 1, told: []string{"0 acme/else was not found in what could be read: make readable"}},
		"a_rule_for_nobody": {settings: ruled, told: []string{"1 the rule matches nothing in this repository: run `relock scan`, which lists the providers of each root module"}},
		"a_rule_for_others": {settings: ruled, unread: 1},
		"one_of_several":    {named: "acme/else", part: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job{Session: &Session{}, ask: Ask{verb: verbs.PR}, settings: tt.settings, visit: Visit{Lookup: &Lookup{several: tt.part}}}
			if tt.named != "" {
				j.ask.named = []provider.Pattern{pattern(t, tt.named)}
			}
			told, err := checkNamed(j, having(t, tt.unread, "hashicorp/null"))
			var missing problem.Several
			if errors.As(err, &missing); tt.fails != (err != nil) {
				t.Errorf("checkNamed() fails with %v, want a failure: %t", err, tt.fails)
			}
			all := slices.Concat(told, missing)
			if len(all) != len(tt.told) {
				t.Fatalf("told %v, want %q", all, tt.told)
			}
			for i, want := range tt.told {
				if got := string('0'+rune(all[i].Severity)) + " " + all[i].Message + ": " + all[i].Hint; !strings.HasPrefix(got, want) {
					t.Errorf("told %q, want %q", got, want)
				}
			}
		})
	}
}

// Rules are held against a whole repository only: what was left out may be what they
// are about.
func TestRulesAreHeldAgainstAllOfARepository(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*job, *inventory){
		"one_directory": func(_ *job, in *inventory) { in.trees[0].dirs = []string{"live"} },
		"one_provider": func(j *job, _ *inventory) {
			j.plan = upgrade.Options{Only: []provider.Pattern{pattern(t, "hashicorp/null")}}
		},
		"what_changed": func(_ *job, in *inventory) { in.extent.touched = func(scan.RootModule) bool { return true } },
		"nothing":      func(_ *job, in *inventory) { in.found = nil },
	} {
		in, j := having(t, 0, "hashicorp/null"), job{Session: &Session{}, ask: Ask{verb: verbs.PR}, settings: havingRule(t, "acme/else")}
		edit(&j, &in)
		if told, err := checkNamed(j, in); len(told) > 0 || err != nil {
			t.Errorf("%s: checkNamed() = %v, %v, want nothing", name, told, err)
		}
	}
}

// A directory that is misspelt, and one that holds no root module, end a run before
// it begins.
func TestDirectoriesAreHonoured(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"lvie": listsRoots, "docs/live": "name a directory that holds configuration", "docs": "name a directory that holds", "live": ""} {
		t.Run(strings.ReplaceAll(dir, "/", "_"), func(t *testing.T) {
			t.Parallel()
			ask := ToUpgrade(forLinux, Checkout{}, []string{dir})
			s, lock := openedSession(t, ask)
			root := filepath.Dir(filepath.Dir(lock))
			worktreetest.Write(t, root, map[string]string{"docs/README.md": "a", "docs/live/README.md": "a"})
			_, err := Run(t.Context(), s, ask)
			if err == nil && dir == "live" {
				return
			}
			d := problem.Of(err)
			var missing problem.Several
			if errors.As(err, &missing) {
				d = missing[0]
			}
			if dir == "live" || d.Code != problem.CodeNotFound || !strings.Contains(d.Hint, want) {
				t.Errorf("Run(in %s) = %v with the hint %q, want %q", dir, err, d.Hint, want)
			}
		})
	}
}

// By files alone nothing is said where something is not known without asking.
func TestIdle(t *testing.T) {
	t.Parallel()
	root := locked(t, 0, "live")
	ruled := havingRule(t, "acme/else")
	if told, err := Idle(t.Context(), root, ruled); err != nil || len(told) != 1 || told[0].Message != "the rule matches nothing in this repository" {
		t.Errorf("Idle() = %v, %v, want a warning", told, err)
	}
	worktreetest.Write(t, root, map[string]string{"other/main.tf": "module \"m\" {\n  source = \"acme/m/aws\"\n}\n", "other/.terraform.lock.hcl": "provider {"})
	if told, err := Idle(t.Context(), root, ruled); err != nil || len(told) > 0 {
		t.Errorf("Idle(with a module elsewhere) = %v, %v, want nothing", told, err)
	}
	if told, err := Idle(t.Context(), t.TempDir(), ruled); err != nil || len(told) > 0 {
		t.Errorf("Idle(without a repository) = %v, %v, want nothing", told, err)
	}
}
