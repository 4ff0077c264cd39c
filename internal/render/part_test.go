package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// planned is a plan for one root module: aws moves up, random is held, and tls
// fails.
func planned(t *testing.T) upgrade.Result {
	t.Helper()
	old := []lockfile.Lock{
		lockfile.New(addr("hashicorp/aws"), version("5.31.0"), constraints("~> 5.0"), hashes("old", 2)),
		lockfile.New(addr("hashicorp/random"), version("3.6.0"), constraints("~> 3.0"), hashes("random", 2)),
		lockfile.New(addr("hashicorp/tls"), version("4.0.0"), constraints("~> 4.0"), hashes("tls", 2)),
	}
	file, problems := lockfile.Parse((&lockfile.File{Tool: provider.Terraform, Locks: old}).Print(), "envs/prod/.terraform.lock.hcl")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m := scan.RootModule{Root: scan.Root{Dir: "envs/prod", Tool: terraform, Lock: file}}
	renewed := lockfile.New(addr("hashicorp/aws"), version("5.34.0"), constraints("~> 5.0"), hashes("new", 2))
	selections := []upgrade.Selection{
		{From: version("5.31.0"), To: version("5.34.0"), Facts: upgrade.Facts{Held: []upgrade.Held{heldByVPC}}},
		{From: version("3.6.0"), To: version("3.6.0"), Facts: upgrade.Facts{Held: []upgrade.Held{{Version: version("4.0.0"), By: policy.Hold{Reason: policy.HeldByRule}}}}},
		{From: version("4.0.0"), Err: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}},
	}
	for i := range selections {
		selections[i].Requirement.Addr = old[i].Addr
	}
	r := upgrade.Result{
		Module: m, Old: file.Locks, New: []lockfile.Lock{renewed, file.Locks[1].Kept(), file.Locks[2].Kept()}, Selections: selections,
		Diagnostics: []problem.Problem{{Code: problem.CodeUnreachable, Message: "no answer", Subject: problem.Subject{Addr: addr("hashicorp/tls")}}},
	}
	r.File = (&lockfile.File{Tool: provider.Terraform, Locks: r.New}).Print()
	return r
}

// part is the body of a pull request about one provider of the plan.
func part(t *testing.T, name string) string {
	t.Helper()
	r := planned(t).Only(func(a provider.Addr) bool { return a == addr(name) })
	whole := report.Report{Verb: verbs.PR, Notes: []notes.Notes{
		{Addr: addr("hashicorp/aws"), From: version("5.31.0"), To: version("5.34.0"), Problem: "no notes of aws"},
		{Addr: addr("hashicorp/random"), From: version("3.5.0"), To: version("3.6.0"), Problem: "no notes of random"},
	}}
	other := module("envs/other")
	other.InUse = []report.Use{{Addr: addr("hashicorp/aws"), Version: version("4.0.0")}, {Addr: addr("hashicorp/random"), Version: version("2.0.0")}}
	return render.Body(whole.About([]report.Module{report.FromPlan(r, diff.Locks(r.Old, r.New, nil)), other})).String()
}

func TestABodyTellsOfItsGroupAlone(t *testing.T) {
	t.Parallel()
	aws := part(t, "hashicorp/aws")
	checkPage(t, aws)
	for text, want := range map[string]bool{
		"| `hashicorp/aws` | 5.31.0 → 5.34.0 | minor | `envs/prod` |": true,
		"- `hashicorp/aws` at 5.34.0 by `~> 5.0`":                     true,
		"- `hashicorp/aws`\n  - 5.34.0 in `envs/prod`\n  - 4.0.0":     true,
		"no notes of aws":    true,
		"hashicorp/random":   false,
		"no notes of random": false,
		"no answer":          false, // of tls
	} {
		if strings.Contains(aws, text) != want {
			t.Errorf("that the body about aws contains %q is %t:\n%s", text, !want, aws)
		}
	}
	if random := part(t, "hashicorp/random"); !strings.HasPrefix(random, "Every lock file is up to date.") || !strings.Contains(random, "- `hashicorp/random` at 3.6.0 by a rule; newest is 4.0.0") {
		t.Errorf("the body about random:\n%s", random)
	}
	if tls := part(t, "hashicorp/tls"); !strings.Contains(tls, "- **Failed** in `envs/prod`: no answer") {
		t.Errorf("the body about tls:\n%s", tls)
	}
}

func TestAboutLeavesTheWholeAsItIs(t *testing.T) {
	t.Parallel()
	r := noted()
	r.PullRequests = pullRequests().PullRequests
	before := render.Summary(r).String()
	if part := r.About(r.Modules[1:]); len(part.Notes) != 1 || len(part.Modules) != 1 || len(part.PullRequests) != 0 {
		t.Errorf("the part has %d notes, %d modules and %d pull requests, want 1, 1 and none", len(part.Notes), len(part.Modules), len(part.PullRequests))
	}
	if diff := cmp.Diff(before, render.Summary(r).String()); diff != "" {
		t.Errorf("the whole changes with its part:\n%s", diff)
	}
}

func TestBodyEndsInItsFooterWhateverIsCut(t *testing.T) {
	t.Parallel()
	for _, r := range []report.Report{monorepo(), large(60, 25)} {
		r.Footer = safe.Ours("- [ ] rebase\n\n" + strings.Repeat("Ignored: `acme/x`\n", 100))
		body := render.Body(r).String()
		if !strings.HasSuffix(body, "\n```\n\n"+r.Footer.String()) {
			t.Errorf("the body ends in %q", body[len(body)-200:])
		}
		if len(body) > 60_000 {
			t.Errorf("the body has %d bytes", len(body))
		}
		checkPage(t, body)
		if strings.Contains(render.Summary(r).String(), "rebase") {
			t.Error("the footer is in the summary")
		}
	}
}

func TestReleaseNotesNameTheRegistryWhereItMatters(t *testing.T) {
	r := noted()
	tofu := everyKind()[4]
	tofu.Addr.Host = provider.OpenTofu.DefaultHost()
	r.Modules = append(r.Modules, module("envs/tofu", tofu))
	want := "<summary><code>registry.terraform.io/hashicorp/google</code>"
	if got := render.Body(r).String(); !strings.Contains(got, want) {
		t.Errorf("Body =\n%s\nwant it to hold %s", got, want)
	}
}

func TestNotesWithoutRoomAreInTheSummary(t *testing.T) {
	t.Parallel()
	r := large(60, 25)
	for j := range 25 {
		// Longer than what the last root module that has room may leave.
		text := strings.Repeat("* everything is other now\n", 200)
		r.Notes = append(r.Notes, notes.Notes{
			Addr: addr(fmt.Sprintf("hashicorp/provider%d", j)), From: version("5.31.0"), To: version(fmt.Sprintf("5.%d.0", 32+j)),
			Releases: []notes.Release{{Version: version("5.32.0"), Sections: []notes.Section{{Kind: notes.Breaking, Title: "BREAKING CHANGES", Text: text}}}},
		})
	}
	body := render.Body(r).String()
	for _, want := range []string{
		"24 more release notes are not shown, to stay within GitHub's limit. The step summary of the run lists them.\n",
		"- **Breaking changes** in 60 root modules: `hashicorp/provider7` 5.31.0 → 5.39.0: everything is other now; ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q", want)
		}
	}
	if summary := render.Summary(r).String(); strings.Count(summary, "##### BREAKING CHANGES") != 25 || len(summary) > 1<<20 {
		t.Errorf("of 25 release notes %d are in a summary of %d bytes", strings.Count(summary, "##### BREAKING CHANGES"), len(summary))
	}
}

// A constraint in a module from elsewhere is found again only by what was fetched.
func TestAPlaceInAFetchedModuleNamesItsVersion(t *testing.T) {
	t.Parallel()
	r := planned(t)
	r.Module.Tree.Fetched = []scan.Fetched{
		{Module: "vpc", Source: "acme/vpc/aws", Version: "1.2.0", ID: "git+https://example.com/vpc@0123456789abcdef"},
		{Module: "net", Source: "git::https://example.com/net.git", ID: "git+https://example.com/net.git@fedcba9876543210"},
		{Module: "tag", Source: "git::https://example.com/tag.git", Ref: "v1.2.0", ID: "git+https://example.com/tag.git@fedcba9876543210"},
		{Module: "pin", Source: "git::https://example.com/pin.git", Ref: "fedcba9876543210", ID: "git+https://example.com/pin.git@fedcba9876543210"},
		{Module: "left", Source: "git::https://example.com/left.git", Ref: "main"}, // by init: nobody says the commit
		{Module: "zip", Source: "https://example.com/m.zip", ID: "zip+sha256:00"},
	}
	fetched := func(module, pkg, file string, line int) scan.Term {
		t := term("~> 5.0", module, file, line)
		t.Place.Package = pkg
		return t
	}
	for place, want := range map[scan.Term]string{
		fetched("vpc.subnets", "acme/vpc/aws", "subnets/main.tf", 4):     "by `~> 5.0` at `acme/vpc/aws//subnets/main.tf:4` (`module.vpc.module.subnets`, version 1.2.0)",
		fetched("net", "git::https://example.com/net.git", "main.tf", 2): "main.tf:2` (`module.net`, commit fedcba98)",
		fetched("tag", "git::https://example.com/tag.git", "main.tf", 2): "at `git::https://example.com/tag.git//main.tf:2` (`module.tag`, ref v1.2.0, commit fedcba98)",
		fetched("pin", "git::https://example.com/pin.git", "main.tf", 2): "(`module.pin`, commit fedcba98)",
		fetched("left", "git::https://example.com/l.git", "main.tf", 2):  "(`module.left`, ref main)",
		fetched("zip", "https://example.com/m.zip", "main.tf", 1):        "main.tf:1` (`module.zip`)",
		term("~> 5.0", "net", "local/main.tf", 1):                        "at `local/main.tf:1` (`module.net`)",
	} {
		r.Selections[0].Held = []upgrade.Held{{Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: place}}
		m := report.FromPlan(r, diff.Locks(r.Old, r.New, nil))
		if got := render.Markdown(report.Report{Verb: verbs.Upgrade, Modules: []report.Module{m}}, 0).String(); !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
}

// An exact version holds a provider as a constraint does, and is not read as another
// release of it.
func TestHeldByAnExactVersion(t *testing.T) {
	t.Parallel()
	for constraint, want := range map[string]string{"5.31.0": "by = 5.31.0 at main.tf:3;", "= 5.31.0": "by = 5.31.0 at main.tf:3;", "~> 5.31.0": "by ~> 5.31.0 at main.tf:3;"} {
		held := []upgrade.Held{{Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: term(constraint, "", "main.tf", 3)}}
		m := report.Module{Dir: "live", Kept: []report.Kept{{Addr: addr("hashicorp/aws"), Version: version("5.31.0"), Facts: upgrade.Facts{Held: held}}}}
		if got := text(t, report.Report{Verb: verbs.Check, Modules: []report.Module{m}}, render.TextOptions{}); !strings.Contains(got, want) {
			t.Errorf("held by %q reads\n%s\nwant %q in it", constraint, got, want)
		}
	}
}

// Whoever starts relock in an empty directory reads once that nothing is there.
func TestNothingIsFoundHere(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Scan, Diagnostics: []problem.Problem{{
		Severity: problem.SeverityWarning, Code: problem.CodeNotRootModule, Place: problem.Place{Path: "."}, Message: "no root module was found here or below", Hint: "name a directory",
	}}}
	want := "warning: no root module was found here or below\n  next: name a directory\n\nno root modules\n"
	if got := text(t, r, render.TextOptions{}); got != want {
		t.Errorf("the report is %q, want %q", got, want)
	}
}

func TestVersionsInUseAreOfWhatWasSelected(t *testing.T) {
	t.Parallel()
	r := monorepo()
	r.Modules[0].InUse = append(r.Modules[0].InUse, report.Use{Addr: addr("acme/other"), Version: version("1.0.0")})
	r.Modules[1].InUse = append(r.Modules[1].InUse, report.Use{Addr: addr("acme/other"), Version: version("2.0.0")})
	pattern, err := provider.ParsePattern("acme/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		asked []provider.Pattern
		aws   bool
	}{{nil, true}, {[]provider.Pattern{pattern}, false}} {
		r.Asked.Providers = tt.asked
		for name, got := range map[string]string{"text": text(t, r, render.TextOptions{}), "body": render.Body(r).String()} {
			_, inUse, _ := strings.Cut(got, "Versions in use\n")
			if aws, other := strings.Contains(inUse, "4.67.0"), strings.Contains(inUse, "acme/other"); aws != tt.aws || !other {
				t.Errorf("%s of %v: that versions of aws are told is %t, want %t; of other %t:\n%s", name, tt.asked, aws, tt.aws, other, inUse)
			}
		}
	}
}

func TestCountsSayWhatHappened(t *testing.T) {
	t.Parallel()
	aws := everyKind()[3]
	pull := func(operation string, number int, dirs ...string) report.PullRequest {
		return report.PullRequest{Operation: operation, Repository: "acme/infra", Number: number, Directories: dirs}
	}
	for name, tt := range map[string]struct {
		pulls  []report.PullRequest
		dryRun bool
		want   string
	}{
		"opened":           {[]report.PullRequest{pull("created", 1, "a", "b")}, false, "2 lock files proposed"},
		"as it was":        {[]report.PullRequest{pull("none", 1, "a", "b")}, false, "2 lock files already proposed"},
		"beyond the limit": {[]report.PullRequest{pull("created", 1, "a"), pull("none", 0, "b")}, false, "1 lock file proposed, 1 not proposed"},
		"of two groups":    {[]report.PullRequest{pull("none", 1, "a", "b"), pull("updated", 2, "b")}, false, "1 lock file proposed, 1 already proposed"},
		"failed":           {nil, false, "2 lock files not proposed"},
		"dry":              {[]report.PullRequest{pull("created", 0, "a", "b")}, true, "2 lock files would change"},
	} {
		r := report.Report{Verb: verbs.PR, DryRun: tt.dryRun, PullRequests: tt.pulls, Modules: []report.Module{module("a", aws), module("b", aws)}}
		if got := text(t, r, render.TextOptions{}); !strings.HasSuffix(got, "\n"+tt.want+"\n") {
			t.Errorf("%s: the report ends in %q, want %q", name, got[strings.LastIndex(strings.TrimSpace(got), "\n")+1:], tt.want)
		}
		for i := range r.Modules {
			r.Modules[i].Dir = "acme/infra//" + r.Modules[i].Dir
		}
		if got := text(t, r, render.TextOptions{}); !strings.HasSuffix(got, "\n"+tt.want+"\n") {
			t.Errorf("%s, not checked out: the report does not end in %q:\n%s", name, tt.want, got)
		}
	}
}

func TestPullRequestsOfSeveralBasesNameThem(t *testing.T) {
	t.Parallel()
	one := report.PullRequest{Operation: "created", Number: 1, URL: "https://github.com/acme/infra/pull/1", Title: "Bump aws", Branch: "relock/aws-0a1b2c3d", Base: "main"}
	two := one
	two.Number, two.URL, two.Base = 2, "https://github.com/acme/infra/pull/2", "release/1"
	r := report.Report{Verb: verbs.PR, PullRequests: []report.PullRequest{one, two}}
	want := "- Created [pull request 1](https://github.com/acme/infra/pull/1) from `relock/aws-0a1b2c3d` into `main`: Bump aws\n" +
		"- Created [pull request 2](https://github.com/acme/infra/pull/2) from `relock/aws-0a1b2c3d` into `release/1`: Bump aws\n"
	if summary := render.Summary(r).String(); !strings.Contains(summary, want) {
		t.Errorf("the summary lacks\n%s:\n%s", want, summary)
	}
	r.PullRequests = r.PullRequests[:1]
	if summary := render.Summary(r).String(); strings.Contains(summary, "`main`") {
		t.Errorf("the summary names the only base:\n%s", summary)
	}
}
