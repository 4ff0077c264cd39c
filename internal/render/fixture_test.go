package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// The words of fixtures.
var (
	terraform = provider.Tool{Name: provider.Terraform, Version: provider.Version{Major: 1, Minor: 11, Patch: 4}}
	opentofu  = provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}}
	hashicorp = provider.Signer{KeyID: "34365D9472D7468F", Label: "HashiCorp"}
	partner   = provider.Signer{KeyID: "0C0AF313E5FD9F80", Label: "partner"}
	nobody    = provider.Signer{Label: "unsigned"}

	linux   = provider.Platform{OS: "linux", Arch: "amd64"}
	mac     = provider.Platform{OS: "darwin", Arch: "arm64"}
	windows = provider.Platform{OS: "windows", Arch: "amd64"}
)

func addr(s string) provider.Addr {
	a, err := provider.ParseAddr(s, provider.Terraform)
	if err != nil {
		panic(err)
	}
	return a
}

func version(s string) provider.Version {
	if s == "" {
		return provider.Version{}
	}
	v, err := provider.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func constraints(s string) provider.Constraints {
	if s == "" {
		return provider.Constraints{}
	}
	c, err := provider.ParseConstraints(s)
	if err != nil {
		panic(err)
	}
	return c
}

// term is one term at a place.
func term(constraint, module, file string, line int) scan.Term {
	t := scan.Term{Module: module, Place: problem.Place{Path: file, Line: line}}
	if constraint != "" {
		t.Constraint = constraints(constraint).Terms()[0]
	}
	return t
}

// hashes makes n distinct hashes.
func hashes(label string, n int) []provider.Hash {
	list := make([]provider.Hash, n)
	for i := range list {
		list[i] = provider.Hash(fmt.Sprintf("h1:%s%02d=", label, i))
	}
	return list
}

// change is a change from one version to another, as diff makes it.
func change(kind diff.Kind, name, from, to string) report.Change {
	c := report.Change{Change: diff.Change{Addr: addr(name), Kind: kind, From: version(from), To: version(to)}}
	if from != "" && to != "" {
		c.Bump = provider.BumpBetween(c.From, c.To)
	}
	return c
}

func upgraded(name, from, to string, s provider.Signer) report.Change {
	c := change(diff.Upgraded, name, from, to)
	c.HashesAdded, c.HashesRemoved = hashes("new", 16), hashes("old", 12)
	c.Coverage = []provider.Platform{mac, linux}
	c.Signer = s
	return c
}

var heldByVPC = upgrade.Held{
	Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: term("~> 5.0", "vpc", "modules/vpc/main.tf", 4),
	Published: day("2026-11-06"),
	Help: upgrade.Advice{Version: version("6.1.0"), Measures: []upgrade.Measure{
		{Kind: upgrade.MeasureEdit, Term: term("~> 5.0", "vpc", "modules/vpc/main.tf", 4), Becomes: bound("~> 6.0")},
	}},
}

func bound(text string) provider.Term { return term(text, "", "", 0).Constraint }

func day(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

// everyKind has one change of each kind.
func everyKind() []report.Change {
	aws := upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp)
	aws.Held = []upgrade.Held{heldByVPC}

	completed := change(diff.Completed, "hashicorp/random", "3.6.0", "3.6.0")
	completed.HashesAdded = hashes("random", 2)
	completed.Platforms = []provider.Platform{mac, windows}
	completed.Coverage = []provider.Platform{mac, linux, windows}
	completed.Signer = hashicorp
	completed.Marks = []provider.Mark{provider.MarkMirror, provider.MarkReported}

	constrained := change(diff.Constrained, "hashicorp/tls", "4.0.5", "4.0.5")
	constrained.ConstraintsFrom, constrained.ConstraintsTo = constraints("~> 4.0"), constraints(">= 4.0, < 5.0")

	rereleased := change(diff.ReReleased, "acme/tool", "1.2.0", "1.2.0")
	rereleased.HashesAdded, rereleased.HashesRemoved = hashes("b", 3), hashes("a", 3)

	moved := change(diff.Moved, "registry.opentofu.org/hashicorp/null", "3.2.1", "3.2.2")
	moved.AddrFrom = addr("hashicorp/null")

	vanished := change(diff.Signer, "acme/vanished", "1.0.0", "1.0.0")
	vanished.Signer = nobody
	resigned := change(diff.Signer, "acme/resigned", "1.0.0", "1.0.0")
	resigned.Signer = partner

	added := change(diff.Added, "hashicorp/time", "", "0.11.1")
	added.Coverage, added.Signer = []provider.Platform{linux}, hashicorp
	added.Missing, added.Serving = []provider.Platform{mac}, version("0.11.0")
	added.ConstraintsTo = constraints("~> 0.11")
	added.HashesAdded = hashes("time", 12)

	major := upgraded("hashicorp/google", "5.44.2", "6.9.0", hashicorp)
	major.Warnings = []string{"This provider is archived. See https://example.com/why."}

	major.SignerFrom, major.Published = partner, day("2026-10-01")

	lost := upgraded("acme/lost", "1.0.0", "1.1.0", nobody)
	lost.SignerFrom = partner

	return []report.Change{
		rereleased, resigned, vanished, aws, major, completed, constrained,
		added,
		change(diff.Downgraded, "hashicorp/vault", "4.2.0", "3.25.0"),
		change(diff.Removed, "hashicorp/template", "2.2.0", ""),
		change(diff.Normalised, "hashicorp/local", "2.4.1", "2.4.1"),
		upgraded("acme/patch", "1.0.0", "1.0.1", nobody),
		moved,
		lost,
	}
}

func module(dir string, changes ...report.Change) report.Module {
	return report.Module{
		Dir: dir, LockPath: strings.TrimPrefix(dir+"/"+lockfile.Name, "./"), Tool: terraform,
		Changes: changes, Pending: len(changes) > 0,
	}
}

// fixtures are reports by the names of their golden files.
func fixtures(t *testing.T) map[string]report.Report {
	t.Helper()
	return map[string]report.Report{
		"kinds":      {Verb: verbs.Upgrade, Modules: []report.Module{written(module("envs/prod", everyKind()...))}},
		"check":      {Verb: verbs.Check, Modules: []report.Module{module(".", everyKind()[5]), module("up/to/date")}},
		"empty":      {Verb: verbs.Upgrade},
		"up-to-date": {Verb: verbs.Upgrade, Modules: []report.Module{module("a"), module("b")}},
		"normalised": {Verb: verbs.Lock, Modules: []report.Module{{Dir: "a", Tool: opentofu, Pending: true, Written: true}}},
		"failures":   failures(),
		"monorepo":   monorepo(),
		"pr":         pullRequests(),
		"notes":      noted(),
		"held":       held(),
		"diff": {Verb: verbs.Diff, Modules: []report.Module{
			{LockPath: "new/.terraform.lock.hcl", Changes: everyKind()[:4]},
		}},
		"diff-failed": {Verb: verbs.Diff, Modules: []report.Module{{
			LockPath: "new.hcl",
			Diagnostics: []problem.Problem{
				{Code: problem.CodeInvalidLock, Place: problem.Place{Path: "new.hcl", Line: 3}, Message: "invalid provider source address"},
			},
		}}},
		"scan": scanned(t),
	}
}

func written(m report.Module) report.Module {
	m.Written = true
	return m
}

// failures has every failure, of one root module and of the run.
func failures() report.Report {
	partly := written(module("envs/dev", upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp)))
	partly.Diagnostics = []problem.Problem{{
		Code: problem.CodeUnauthorized, Host: "registry.example.com", Subject: problem.Subject{Addr: addr("registry.example.com/acme/secret")},
		Message: "registry.example.com requires credentials for acme/secret",
		Hint:    "set TF_TOKEN_registry_example_com",
	}}
	broken := module("envs/broken")
	broken.Diagnostics = []problem.Problem{
		{Code: problem.CodeSyntax, Place: problem.Place{Path: "envs/broken/main.tf", Line: 7}, Message: "unclosed configuration block"},
		{Severity: problem.SeverityWarning, Code: problem.CodeInvalidLock, Place: problem.Place{Path: "envs/broken/.terraform.lock.hcl", Line: 2}, Message: "module blocks are ignored"},
	}
	unread := module("envs/git")
	unread.Unread = []scan.Unread{{
		Module: "network.subnets", Source: "git::https://example.com/subnets.git", Reason: "its source is not on disk",
		Place: problem.Place{Path: "envs/git/main.tf", Line: 12},
	}}
	unread.Diagnostics = []problem.Problem{{Code: problem.CodeUnreadModule, Message: "requirements are not complete", Place: problem.Place{Path: "envs/git"}, Hint: "vendor the module"}}
	readOnly := module("envs/read-only", upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp))
	readOnly.Diagnostics = []problem.Problem{{Code: problem.CodeUnwritable, Message: "the lock file could not be written: permission denied"}}
	return report.Report{
		Verb: verbs.Upgrade, Modules: []report.Module{broken, partly, unread, readOnly},
		Diagnostics: []problem.Problem{{
			Code: problem.CodeCLIConfig, Place: problem.Place{Path: "/home/me/.terraformrc", Line: 3}, Message: "unknown block type plugins",
			Hint: "remove the block",
		}},
	}
}

// monorepo has equal changes in many root modules.
func monorepo() report.Report {
	r := report.Report{Verb: verbs.PR, Stats: report.Stats{
		Requests: 41, Bytes: 3 << 20, Packages: 4, PeakBytes: 31 << 20,
		Stages: []report.Stage{{Name: "scan", Took: report.Elapsed(212345 * time.Microsecond)}, {Name: "hashes", Took: report.Elapsed(13 * time.Second)}},
	}}
	for i := range 6 {
		m := module(fmt.Sprintf("envs/e%d", i), upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp))
		if i == 5 {
			m.Changes = append(m.Changes, change(diff.Completed, "hashicorp/random", "3.6.0", "3.6.0"))
		}
		m.InUse = []report.Use{{Addr: addr("hashicorp/aws"), Version: version("5.34.0")}, {Addr: addr("hashicorp/random"), Version: version("3.6.0")}}
		r.Modules = append(r.Modules, m)
	}
	old := module("envs/old")
	old.InUse = []report.Use{{Addr: addr("hashicorp/aws"), Version: version("4.67.0")}, {Addr: addr("hashicorp/random"), Version: version("3.6.0")}}
	older := module("envs/older")
	older.InUse = []report.Use{{Addr: addr("hashicorp/aws"), Version: version("3.76.1")}}
	r.Modules = append(r.Modules, old, older)
	kept := module("envs/kept")
	kept.Kept = []report.Kept{{Addr: addr("hashicorp/aws"), Version: version("5.34.0"), Facts: upgrade.Facts{Held: []upgrade.Held{heldByVPC}}}}
	other := module("envs/tofu", upgraded("registry.opentofu.org/hashicorp/aws", "5.31.0", "5.34.0", hashicorp))
	other.Tool = opentofu
	r.Modules = append(r.Modules, kept, other)
	return r
}

// noted has the release notes of a major upgrade, and an upgrade whose notes are
// missing.
func noted() report.Report {
	google := everyKind()[4]
	google.SignerFrom = provider.Signer{}
	r := report.Report{Verb: verbs.PR, Modules: []report.Module{
		module("envs/prod", google, everyKind()[3]), module("envs/dev", google),
	}}
	repository := provider.Repository{Host: "github.com", Owner: "hashicorp", Name: "terraform-provider-google", Tag: "v6.9.0"}
	r.Notes = []notes.Notes{
		{Addr: addr("hashicorp/aws"), From: version("5.31.0"), To: version("5.34.0"), Problem: "the registry does not say where the source is"},
		{
			Addr: addr("hashicorp/google"), From: version("5.44.2"), To: version("6.9.0"), Repository: repository, More: 12,
			Releases: []notes.Release{
				{
					Version: version("6.9.0"), URL: repository.URL("releases", "tag", "v6.9.0"), Published: provider.Day(day("2026-10-01")),
					Sections: []notes.Section{{Kind: notes.Other, Title: "BUG FIXES", Text: "* compute: fixed a crash ([#20000](https://github.com/hashicorp/terraform-provider-google/pull/20000))"}},
				},
				{Version: version("6.8.0")},
				{
					Version: version("6.0.0"), URL: repository.URL("releases", "tag", "v6.0.0"), Published: provider.Day(day("2026-08-26")),
					Sections: []notes.Section{
						{Kind: notes.Breaking, Title: "BREAKING CHANGES", Text: "* compute: removed `google_x`\n* container: `y` is required\n* sql: changed the default of `z`\n* storage: removed `w`"},
						{Kind: notes.Note, Title: "NOTES", Text: "* provider: see the upgrade guide, thanks @octocat"},
					},
				},
			},
		},
	}
	return r
}

// pullRequests has each outcome of a pull request.
func pullRequests() report.Report {
	r := report.Report{Verb: verbs.PR, Modules: []report.Module{module("envs/prod", everyKind()[3])}}
	r.PullRequests = []report.PullRequest{
		{Operation: "created", Repository: "acme/infra", Number: 12, URL: "https://github.com/acme/infra/pull/12", Title: "Bump hashicorp/aws from 5.31.0 to 5.34.0 in envs/prod", Branch: "relock/all-0a1b2c3d", Base: "main", HeadSHA: "d6cd1e2bd19e03a81132a23b2025920577f84e37", Directories: []string{"envs/prod"}},
		{Operation: "closed", Number: 7, URL: "https://github.com/acme/infra/pull/7", Branch: "relock/old-0a1b2c3d", Base: "main", Reason: "nothing left to do"},
		{Operation: "none", Branch: "relock/x-0a1b2c3d", Reason: "somebody else pushed to the branch"},
	}
	return r
}

// held has each reason for which a release is held.
func held() report.Report {
	rule := upgrade.Held{Version: version("4.0.0"), By: policy.Hold{Reason: policy.HeldByRule, Rule: ".github/relock.yml:12"}, Published: day("2026-11-02")}
	hold := upgrade.Held{Version: version("3.9.0"), By: policy.Hold{Reason: policy.HeldByHold, Rule: "a comment by @octocat", Eligible: day("2027-01-31")}}
	age := upgrade.Held{Version: version("5.36.0"), Published: day("2026-11-09"), By: policy.Hold{Reason: policy.HeldByAge, Rule: ".github/relock.yml:17", Eligible: day("2026-11-12").Add(15 * time.Hour)}}
	unknown := upgrade.Held{Version: version("2.1.0"), By: policy.Hold{Reason: policy.HeldByAge}}
	platform := upgrade.Held{Version: version("1.5.0"), By: policy.Hold{Reason: upgrade.HeldByPlatform}}
	protocol := upgrade.Held{Version: version("0.9.0"), By: policy.Hold{Reason: upgrade.HeldByProtocol}, Published: day("2026-10-01")}
	many := heldByVPC
	for i := range 4 {
		many.Others = append(many.Others, term("< 6.0.0", "", "main.tf", i+1))
	}
	facts := func(name, at string, held ...upgrade.Held) report.Kept {
		return report.Kept{Addr: addr(name), Version: version(at), Facts: upgrade.Facts{Held: held}}
	}
	aws := upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp)
	aws.Held = []upgrade.Held{many, age}
	m := module("envs/prod", aws)
	m.Kept = []report.Kept{
		facts("acme/age", "5.35.0", age), facts("acme/hold", "3.1.0", hold), facts("acme/rule", "3.2.0", rule, hold), facts("acme/unknown", "2.0.0", unknown),
		facts("acme/platform", "1.4.0", platform), facts("acme/protocol", "0.8.0", protocol),
	}
	m.Kept = append(m.Kept, advised()...)
	return report.Report{Verb: verbs.PR, Modules: []report.Module{m}}
}

// advised are providers with each kind of measure.
func advised() []report.Kept {
	limit := term("< 2.0.0", "vpc", "main.tf", 3)
	limit.Place.Package = "acme/vpc/aws"
	call := upgrade.HoldingCall{Module: "vpc", Place: problem.Place{Path: "envs/prod/main.tf", Line: 12}, Source: "acme/vpc/aws", Version: "5.8.1", Constraint: "~> 5.8"}
	git := upgrade.HoldingCall{Module: "net", Place: problem.Place{Path: "envs/prod/main.tf", Line: 20}, Source: "github.com/acme/net", Ref: "v1.0.0"}
	var all []report.Kept
	for i, measures := range [][]upgrade.Measure{
		{{Kind: upgrade.MeasureEdit, Term: term("!= 2.1.0", "", "envs/prod/main.tf", 3)}},
		{{Kind: upgrade.MeasureListed, Term: limit, Call: call, Release: "5.13.0", CallBecomes: "~> 5.13"}, {Kind: upgrade.MeasureEdit, Term: term("< 2.0.0", "", "envs/prod/main.tf", 3), Becomes: bound("< 3.0.0")}},
		{{Kind: upgrade.MeasureListed, Term: limit, Call: call, Release: "5.13.0", CallBecomes: "~> 5.13", ByName: true}},
		{{Kind: upgrade.MeasureRead, Term: limit, Call: git, Release: "v2.0.0", CallBecomes: "v2.0.0"}},
		{{Kind: upgrade.MeasureRefuted, Term: limit, Call: call, Release: "5.13.0", Against: limit}},
		{{Kind: upgrade.MeasureUnread, Term: limit, Call: call, Release: "5.13.0", Why: "registry.terraform.io does not answer"}},
		{{Kind: upgrade.MeasureUnknown, Term: limit, Call: git}},
		{{Kind: upgrade.MeasureNone, Term: limit, Call: call}},
		{{Kind: upgrade.MeasureNone, Term: limit, Call: call, Release: "6.0.0"}},
		{{Kind: upgrade.MeasureClash, Call: call, Release: "5.13.0", Provider: addr("acme/other"), Term: limit, Against: term("~> 3.0", "", "envs/prod/main.tf", 4)}},
		{{Kind: upgrade.MeasureFixed, Term: limit}},
	} {
		h := upgrade.Held{
			Version: version("2.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: measures[0].Term,
			Help: upgrade.Advice{Version: version("2.1.0"), Measures: measures},
		}
		all = append(all, report.Kept{Addr: addr(fmt.Sprintf("acme/held%d", i)), Version: version("1.9.0"), Facts: upgrade.Facts{Held: []upgrade.Held{h}}})
	}
	return all
}

// scanned is the report of a scan of three root modules.
func scanned(t *testing.T) report.Report {
	t.Helper()
	lock, problems := lockfile.Parse([]byte(`provider "registry.terraform.io/hashicorp/aws" {
  version     = "5.31.0"
  constraints = "~> 5.0"
  hashes = [
    "h1:ltxyuBWIy9cq0kIKDJH1jeWJy/y7XJLjS4QrsQK4plA=",
  ]
}

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.1"
}

provider "registry.terraform.io/hashicorp/tls" {
  version = "3.4.0"
}
`), "envs/prod/.terraform.lock.hcl")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	locked := scan.RootModule{
		Root: scan.Root{Dir: "envs/prod", Tool: terraform, Lock: lock},
		Tree: scan.ModuleTree{Requirements: []scan.Requirement{
			{Addr: addr("hashicorp/aws"), Terms: []scan.Term{
				term(">= 5.0", "", "envs/prod/main.tf", 4), term("", "", "envs/prod/main.tf", 9), term("~> 5.20", "vpc", "modules/vpc/main.tf", 4),
			}},
			{Addr: addr("hashicorp/random"), Terms: []scan.Term{term("", "vpc.names", "modules/names/main.tf", 1)}},
			{Addr: addr("hashicorp/tls"), Terms: []scan.Term{term("~> 4.0", "", "envs/prod/main.tf", 5)}},
		}},
	}
	unlocked := scan.RootModule{
		Root: scan.Root{Dir: "envs/new", Tool: opentofu},
		Tree: scan.ModuleTree{Requirements: []scan.Requirement{{Addr: addr("registry.opentofu.org/hashicorp/aws"), Terms: []scan.Term{term("!= 5.1.0", "", "envs/new/main.tofu", 3)}}},
			Unread: []scan.Unread{{
				Module: "app", Source: "git::https://example.com/app.git", Reason: "its source is not on disk", Place: problem.Place{Path: "envs/new/main.tofu", Line: 8},
			}}},
	}
	broken := scan.RootModule{Root: scan.Root{Dir: "envs/broken", Tool: terraform}, Tree: scan.ModuleTree{Diagnostics: []problem.Problem{
		{Code: problem.CodeSyntax, Place: problem.Place{Path: "envs/broken/main.tf", Line: 7}, Message: "unclosed configuration block", Hint: "close the block that begins on line 3"},
	}}}
	return report.Report{Verb: verbs.Scan, Modules: []report.Module{
		report.FromScan(broken), report.FromScan(unlocked), report.FromScan(locked),
	}}
}
