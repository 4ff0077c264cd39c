package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// plot is a root module with one entry, its registry and the policy. Everything is right
// until a test plants a fault.
type plot struct {
	src    *release
	hashes []string
	lock   func(string) string // changes the text of the lock file
	module func(*scan.RootModule)
	policy Policy
}

// sound is a plot in which every hash is right.
func sound() *plot {
	names := []string{"linux_amd64", "darwin_arm64"}
	return &plot{
		src:    &release{platforms: names, known: names},
		hashes: []string{"h1 linux_amd64", "h1 darwin_arm64", "zh linux_amd64", "zh darwin_arm64"},
		lock:   func(s string) string { return s }, module: func(*scan.RootModule) {},
		policy: Policy{Options: Options{Allowance: NewAllowance(1 << 20), Jobs: 2}},
	}
}

// verify runs the plot.
func (p *plot) verify(t *testing.T) Verification {
	t.Helper()
	r, _ := p.prove(t)
	return r
}

func (p *plot) prove(t *testing.T) (Verification, []problem.Problem) {
	t.Helper()
	tool := provider.Newest(provider.Terraform)
	written := lockOf(t, p.hashes...)
	constraints := must(provider.ParseConstraints("~> 1.0"))
	for i, l := range written.Locks {
		written.Locks[i] = lockfile.New(l.Addr, l.Version, constraints, l.Hashes)
	}
	text := p.lock(string((&lockfile.File{Tool: tool.Name, Locks: written.Locks}).Print()))
	file, problems := lockfile.Parse([]byte(text), "root/.terraform.lock.hcl")
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	m := scan.RootModule{Root: scan.Root{Dir: "root", Tool: tool, Lock: file}}
	for _, term := range constraints.Terms() {
		m.Tree.Requirements = append(m.Tree.Requirements, scan.Requirement{
			Addr: written.Locks[0].Addr, Terms: []scan.Term{{Constraint: term, Place: problem.Place{Path: "root/main.tf", Line: 3}}},
		})
	}
	p.module(&m)
	results, problems := Prove(t.Context(), p.src, []scan.RootModule{m}, p.policy)
	return results[0], problems
}

// codesOf are the codes of findings, with the severity if it is no error.
func codesOf(findings []problem.Problem) []string {
	var all []string
	for _, f := range findings {
		text := string(f.Code)
		if f.Severity != problem.SeverityError {
			text = f.Severity.String() + " " + text
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func gone(code problem.Code) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: "404 Not Found"}, Finding: code}
}

// plants has a plot for each code that makes a run find it.
var plants = map[string]func(p *plot){
	"hash-unknown":  func(p *plot) { p.hashes = append(p.hashes, forged) },
	"hash-unproven": func(p *plot) { p.src.known, p.policy.Options.Allowance = nil, NewAllowance(0) },
	"hash-scheme":   func(p *plot) { p.hashes = append(p.hashes, "h3:new") },
	"re-released":   func(p *plot) { p.src.lists = map[string]string{"": "darwin_386 plan9_386"} },
	"list-gone":     func(p *plot) { p.src.broken = gone(problem.CodeListGone) },
	"signature-bad": func(p *plot) {
		p.src.broken = &problem.Error{Problem: problem.Problem{Code: problem.CodeBadSignature, Message: "forged"}}
	},
	"release-gone":   func(p *plot) { p.src.platforms = nil },
	"signer-refused": func(p *plot) { p.policy.Signers = pinTo("0000" + fingerprint[4:]) },
	"signer-changed": func(p *plot) { p.policy.Ledger = ledgerOf("zh:" + strings.Repeat("0", 64) + " 0000" + fingerprint[4:]) },
	"entry-missing": func(p *plot) {
		p.module = func(m *scan.RootModule) {
			beta := m.Tree.Requirements[0]
			beta.Addr.Type = "beta"
			m.Tree.Requirements = append(m.Tree.Requirements, beta)
		}
	},
	"version-outside": func(p *plot) {
		p.module = func(m *scan.RootModule) {
			m.Tree.Requirements[0].Terms[0].Constraint = must(provider.ParseConstraints("> 2.0")).Terms()[0]
		}
	},
	"warning unsigned":         func(p *plot) { p.src.unsigned = true },
	"warning key-expired":      func(p *plot) { p.src.expired = true },
	"warning key-short-id":     func(p *plot) { p.policy.Signers = pinTo(fingerprint[24:]) },
	"warning platform-missing": func(p *plot) { p.hashes = []string{"h1 linux_amd64", "zh linux_amd64"}; p.demand("darwin_arm64") },
	"warning h1-missing":       func(p *plot) { p.hashes = slices.Delete(p.hashes, 1, 2); p.demand("darwin_arm64") },
	"note platform-missing":    func(p *plot) { p.demand("plan9_386") },
	"warning zh-missing":       func(p *plot) { p.hashes = p.hashes[:2] },
	"note hash-reported": func(p *plot) {
		p.hashes, p.src.reported = append(p.hashes, forged), []provider.Hash{dirH1("somebody")}
	},
	"hash-reported": func(p *plot) {
		p.hashes, p.src.reported, p.policy.Strict = append(p.hashes, forged), []provider.Hash{dirH1("somebody")}, true
	},
	"note hash-mirror": func(p *plot) { p.src.mirrored = true },
	"hash-mirror":      func(p *plot) { p.src.mirrored, p.policy.Strict = true, true },
	"package-content": func(p *plot) {
		p.policy.Packages, p.src.content = true, map[string][]string{"darwin_arm64": {"it has no program"}}
	},
	"note entry-stale": func(p *plot) { p.module = func(m *scan.RootModule) { m.Tree.Requirements = nil } },
	"note constraints-differ": func(p *plot) {
		p.lock = func(s string) string { return strings.Replace(s, "~> 1.0", ">= 1.0.0", 1) }
	},
	"note not-normal":  func(p *plot) { p.lock = func(s string) string { return s + "\n" } },
	"note tool-header": func(p *plot) { p.module = func(m *scan.RootModule) { m.Tool = provider.Newest(provider.OpenTofu) } },
}

func (p *plot) demand(name string) { p.policy.Platforms = []provider.Platform{platform(name)} }

func pinTo(key string) provider.Signers {
	return provider.Signers{must(provider.ParsePattern("hashicorp/alpha")): {key}}
}

const (
	fingerprint  = "AAAABBBBCCCCDDDDEEEEFFFF0123456789ABCDEF"
	ledgerHeader = "relock ledger 1"
)

// ledgerOf is a ledger that has seen a package of another version.
func ledgerOf(zhAndKey string) *ledger.Ledger {
	line := "registry.terraform.io/hashicorp/alpha 0.9.0 linux_amd64 " + zhAndKey + " 2026-01-02\n"
	return must(ledger.ReadLedger([]byte(ledgerHeader+"\n"+line), "relock.ledger"))
}

func TestEveryCodeIsFoundWhereItIsPlanted(t *testing.T) {
	t.Parallel()
	if found := sound().verify(t).Findings; len(found) > 0 {
		t.Fatalf("a sound root module has %+v", found)
	}
	for code, plant := range plants {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			p := sound()
			plant(p)
			r := p.verify(t)
			if got := codesOf(r.Findings); !slices.Contains(got, code) {
				t.Fatalf("found %v, want %s", got, code)
			}
			for _, f := range r.Findings {
				if f.Place.Path == "" || f.Place.Line == 0 || f.Message == "" || f.Hint == "" {
					t.Errorf("%+v lacks its place, its message or the way out", f)
				}
			}
			if n := r.Counts.Hashes(); n != len(p.hashes) {
				t.Errorf("%d verdicts on %d hashes", n, len(p.hashes))
			}
		})
	}
}

// TestEveryRuleIsPlanted holds that some run finds every code. Codes that other packages or
// tests find are named.
func TestEveryRuleIsPlanted(t *testing.T) {
	t.Parallel()
	elsewhere := []problem.Code{
		problem.CodeHashOfOther, problem.CodeLockInCache, problem.CodeTamperedBoth,
		problem.CodeProviderRefused, problem.CodeVersionRefused, problem.CodeTooYoung, // package ruling finds them
		problem.CodeModuleMoved, problem.CodeModuleForeign, // TestEntriesOfModulesAreJudged finds them
	}
	for _, r := range problem.Meanings {
		planted := slices.Contains(elsewhere, r.Code)
		for name := range plants {
			planted = planted || name == string(r.Code) || strings.HasSuffix(name, " "+string(r.Code))
		}
		if !planted {
			t.Errorf("nothing plants %s", r.Code)
		}
	}
}

func TestFindingPointsAtItsHash(t *testing.T) {
	t.Parallel()
	p := sound()
	p.hashes = append(p.hashes, forged)
	f := p.verify(t).Findings[0]
	want := string(dirH1("somebody"))
	if f.Place.Line == 0 || f.Place.From != 5 || f.Place.To != 5+len(want)+2 || f.Subject.Hash != dirH1("somebody") {
		t.Errorf("finding at %d:%d-%d of %s, want column 5 and the hash's length", f.Place.Line, f.Place.From, f.Place.To, f.Subject.Hash)
	}
}

func TestHashOfAnotherReleaseIsToldSo(t *testing.T) {
	t.Parallel()
	p := sound()
	p.lock, p.src.byType = func(s string) string {
		beta := strings.ReplaceAll(s, "hashicorp/alpha", "hashicorp/beta")
		return strings.Replace(s, string(zh("linux_amd64")), string(zh("other")), 1) + beta[strings.Index(beta, "\nprovider"):]
	}, map[string]string{"beta": "linux_amd64 darwin_arm64 other"}
	found := p.verify(t).Findings
	if !slices.ContainsFunc(found, func(f problem.Problem) bool {
		return f.Code == problem.CodeHashOfOther && f.Subject.Hash == zh("other") && strings.Contains(f.Message, "hashicorp/beta 1.0.0")
	}) {
		t.Errorf("found %+v, want that the hash is beta's", found)
	}
}

// TestWhatCannotBeAskedIsUnproven holds that every hash without an answer has a reason.
func TestWhatCannotBeAskedIsUnproven(t *testing.T) {
	t.Parallel()
	for reason, plant := range map[Obstacle]func(*plot){
		ForOffline: func(p *plot) { p.policy.Offline = true },
		ForHost:    func(p *plot) { p.policy.Options.Admits = func(string) bool { return false } },
		ForBudget:  func(p *plot) { p.src.known, p.policy.Options.Allowance = nil, NewAllowance(0) },
		ForUnreachable: func(p *plot) {
			p.src.broken = &problem.Error{Problem: problem.Problem{Code: problem.CodeBadAnswer, Message: "a page of a proxy"}}
		},
		ForUnauthorized: func(p *plot) {
			p.src.broken = &problem.Error{Problem: problem.Problem{Code: problem.CodeUnauthorized, Message: "401"}}
		},
		ForInterrupt: func(p *plot) {
			p.src.broken = &problem.Error{Problem: problem.Problem{Code: problem.CodeCancelled, Message: "interrupted"}}
		},
	} {
		p := sound()
		plant(p)
		r := p.verify(t)
		want := fmt.Sprintf("could not be checked: %s; ", reason.inWords())
		if r.Counts[Unproven] == 0 || r.Counts[Disproven] > 0 || !strings.Contains(r.Findings[0].Message, want) {
			t.Errorf("%s: counts %v, findings %+v", reason, r.Counts, r.Findings)
		}
		if (reason == ForOffline || reason == ForHost) && len(p.src.asked) > 0 {
			t.Errorf("%s: asked %v", reason, p.src.asked)
		}
	}
}

// TestMalformedHashNeedsNobody holds that a hash that no tool writes is refuted, even if no
// source answers.
func TestMalformedHashNeedsNobody(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*plot){
		"offline": func(p *plot) { p.policy.Offline = true },
		"host":    func(p *plot) { p.policy.Options.Admits = func(string) bool { return false } },
		"unreachable": func(p *plot) {
			p.src.broken = &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
		},
		"gone": func(p *plot) { p.src.platforms = nil },
	} {
		p := sound()
		plant(p)
		p.hashes = append(p.hashes, "h1:AAAA", "zh:"+strings.Repeat("AB", 32), "h3:new")
		r := p.verify(t)
		var told []string
		for _, f := range r.Findings {
			if f.Code == problem.CodeHashUnknown || f.Code == problem.CodeHashScheme {
				told = append(told, string(f.Subject.Hash))
			}
		}
		if want := slices.Sorted(slices.Values(p.hashes[4:])); r.Counts[Disproven] != 3 || !slices.Equal(told, want) {
			t.Errorf("%s: counts %v, found %v, want that these are refuted: %v", name, r.Counts, told, want)
		}
	}
}

// TestPackagesAreLookedInto holds which packages are inspected, what that downloads, and
// that the result names the others.
func TestPackagesAreLookedInto(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plant     func(*plot)
		asked     []string
		unchecked string
	}{
		"covered":  {func(p *plot) { p.src.platforms = append(p.src.platforms, "plan9_386") }, []string{"darwin_arm64 inside 100", "linux_amd64 inside 100"}, ""},
		"demanded": {func(p *plot) { p.demand("linux_amd64") }, []string{"linux_amd64 inside 100"}, ""},
		"had":      {func(p *plot) { p.src.fresh, p.policy.Options.Allowance = true, NewAllowance(0) }, []string{"darwin_arm64 inside 1", "linux_amd64 inside 1"}, ""},
		"budget":   {func(p *plot) { p.policy.Options.Allowance = NewAllowance(150) }, []string{"darwin_arm64 inside 100"}, "budget"},
		"no size": {func(p *plot) {
			p.src.known, p.src.size = nil, map[string]int64{"linux_amd64": 0}
			p.demand("linux_amd64")
			p.hashes = p.hashes[2:]
		}, []string{"linux_amd64 inside 1048576"}, ""},
		"failed":     {func(p *plot) { p.src.fail = map[string]error{"linux_amd64": gone(problem.CodeListGone)} }, []string{"darwin_arm64 inside 100", "linux_amd64 inside 100"}, "404"},
		"offline":    {func(p *plot) { p.policy.Offline = true }, nil, "offline"},
		"a mirror's": {func(p *plot) { p.src.mirrored = true }, nil, "mirror"},
	} {
		p := sound()
		p.policy.Packages = true
		tt.plant(p)
		r := p.verify(t)
		asked := slices.DeleteFunc(slices.Sorted(slices.Values(p.src.asked)), func(s string) bool { return !strings.Contains(s, " inside ") })
		if !slices.Equal(asked, tt.asked) || (tt.unchecked != "") != (len(r.Unchecked) == 1) || !strings.Contains(strings.Join(r.Unchecked, ""), tt.unchecked) {
			t.Errorf("%s: asked %v, unchecked %v, want %v and %q", name, p.src.asked, r.Unchecked, tt.asked, tt.unchecked)
		}
	}
	p := sound()
	p.src.content = map[string][]string{"linux_amd64": {"it has no program"}}
	if r := p.verify(t); len(r.Findings) > 0 || len(p.src.asked) > 0 {
		t.Errorf("asked %v, found %v though nobody wants to know", p.src.asked, r.Findings)
	}
}

// TestMirrorsAreAskedWithinTheBudget holds that a mirror's packages are charged before
// their download, those of one tier together. Packages at hand are not charged.
func TestMirrorsAreAskedWithinTheBudget(t *testing.T) {
	t.Parallel()
	five := []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"}
	for name, tt := range map[string]struct {
		size    int64
		allowed int64
		counts  Counts
		asked   int // number of questions for packages
	}{
		"enough":  {100, 500, Counts{ByMirror: 4}, 5},
		"little":  {100, 150, Counts{ByMirror: 2, Unproven: 2}, 1},
		"none":    {100, 0, Counts{Unproven: 4}, 0},
		"at hand": {provider.AtHand, 0, Counts{ByMirror: 4}, 5},
	} {
		p := sound()
		p.src.platforms, p.src.mirrored, p.src.size = five, true, map[string]int64{}
		for _, platform := range five {
			p.src.size[platform] = tt.size
		}
		p.hashes = []string{"h1 darwin_amd64", "zh darwin_amd64", "h1 windows_amd64", "zh windows_amd64"}
		p.policy.Options.Allowance = NewAllowance(tt.allowed)
		r := p.verify(t)
		packages := slices.DeleteFunc(slices.Clone(p.src.asked), func(s string) bool { return strings.HasSuffix(s, "?") })
		if r.Counts.String() != tt.counts.String() || len(packages) != tt.asked {
			t.Errorf("%s: counts %v after %v, want %v and %d packages", name, r.Counts, p.src.asked, tt.counts, tt.asked)
		}
	}
}

// TestCompleteReleaseCostsNoListOfVersions holds that hashes that the list and the cache
// prove need no other question.
func TestCompleteReleaseCostsNoListOfVersions(t *testing.T) {
	t.Parallel()
	p := sound()
	p.verify(t)
	if len(p.src.asked) > 0 || p.src.versions > 0 {
		t.Errorf("asked %v and %d lists of versions, want the checksum list alone", p.src.asked, p.src.versions)
	}
}

// TestEntryWithoutHashesIsOneFinding holds that the missing h1 is no second finding.
func TestEntryWithoutHashesIsOneFinding(t *testing.T) {
	t.Parallel()
	p := sound()
	p.lock = func(s string) string { return s[:strings.Index(s, "  hashes")] + "}\n" }
	if got := codesOf(p.verify(t).Findings); !slices.Equal(got, []string{"hash-unproven"}) {
		t.Errorf("found %v, want that there is no hash", got)
	}
}

// TestReplacedPackageIsOneFinding holds that a zh that no list has any more is one finding,
// with its place.
func TestReplacedPackageIsOneFinding(t *testing.T) {
	t.Parallel()
	p := sound()
	p.hashes = []string{"h1 linux_amd64", "zh replaced"}
	r := p.verify(t)
	if got := codesOf(r.Findings); len(r.Findings) != 1 || got[0] != "re-released" || r.Findings[0].Subject.Hash != zh("replaced") || r.Findings[0].Place.From == 0 {
		t.Errorf("found %+v, want re-released at its hash", r.Findings)
	}
	p.policy.Options.AcceptReReleased = []provider.ReleasePattern{must(provider.ParseReleasePattern("hashicorp/alpha@1.0.0"))}
	if got := codesOf(p.verify(t).Findings); !slices.Equal(got, []string{"hash-unknown"}) {
		t.Errorf("found %v where that is accepted, want that the hash is in no list", got)
	}
}

// TestChangedHashIsNoReplacedRelease is about an entry with some zh in the list. It holds
// that each other zh is a finding, and that the hint names accepting a replaced release
// last.
func TestChangedHashIsNoReplacedRelease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hashes []string
		want   []string
	}{
		"one of two":   {[]string{"h1 linux_amd64", "zh linux_amd64", "zh forged"}, []string{"1 of 2 recorded zh is in no list: somebody changed the file, or one package was replaced"}},
		"two of three": {[]string{"h1 linux_amd64", "zh linux_amd64", "zh forged", "zh other"}, []string{"2 of 3 recorded zh are in no list", "2 of 3 recorded zh are in no list"}},
		"an h1 beside": {[]string{"zh linux_amd64", "zh forged", forged}, []string{"1 of 2 recorded zh is in no list", "belongs to no package"}},
	} {
		p := sound()
		p.hashes = tt.hashes
		found := p.verify(t).Findings
		if len(found) != len(tt.want) {
			t.Fatalf("%s: found %+v, want %d", name, found, len(tt.want))
		}
		slices.SortFunc(found, func(f, g problem.Problem) int { return strings.Compare(string(g.Subject.Hash), string(f.Subject.Hash)) })
		for i, f := range found {
			if f.Code != problem.CodeHashUnknown || !strings.Contains(f.Message, tt.want[i]) || !strings.HasPrefix(f.Hint, "find out who added it") || !strings.HasSuffix(f.Hint, "--accept-re-released hashicorp/alpha@1.0.0`") {
				t.Errorf("%s: found %+v, want %q", name, f, tt.want[i])
			}
		}
	}
}

// TestContentOfAReplacedPackageIsToldSo holds that the hint about an h1 names the replaced
// package.
func TestContentOfAReplacedPackageIsToldSo(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"zh replaced": "were replaced", "zh darwin_arm64": "git log"} {
		p := sound()
		p.hashes = []string{"h1 linux_amd64", "h1 replaced", name}
		found := p.verify(t).Findings
		i := slices.IndexFunc(found, func(f problem.Problem) bool { return f.Code == problem.CodeHashUnknown })
		if i < 0 || !strings.Contains(found[i].Hint, want) {
			t.Errorf("with %s: found %+v, want that a hash is unknown, and %q as what to do", name, found, want)
		}
	}
}

// TestPackagesOfNamedPlatformsAreLookedAtFirst holds that the allowance is used for
// packages whose hashes are probably recorded.
func TestPackagesOfNamedPlatformsAreLookedAtFirst(t *testing.T) {
	t.Parallel()
	p := sound()
	p.src.platforms, p.src.known, p.policy.Options.Allowance = []string{"linux_amd64", "plan9_386"}, nil, NewAllowance(100)
	p.hashes = []string{"h1 plan9_386", "zh linux_amd64", "zh plan9_386"}
	p.demand("plan9_386")
	if r := p.verify(t); r.Counts[Unproven] > 0 {
		t.Errorf("counts %v after %v, want that the package for plan9_386 proves its h1", r.Counts, p.src.asked)
	}
}

// TestStrictHashesWhatIsReported holds that under Strict the package proves an h1, and not
// the registry's word.
func TestStrictHashesWhatIsReported(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]Verdict{false: ByReport, true: ByPackage} {
		p := sound()
		p.hashes, p.policy.Strict = p.hashes[:1], strict
		p.src.known, p.src.reported, p.src.fresh = nil, []provider.Hash{dirH1("linux_amd64")}, true
		if r := p.verify(t); r.Counts[want] != 1 {
			t.Errorf("strict is %t: counts %v, asked %v; want %s", strict, r.Counts, p.src.asked, want)
		}
	}
}

func TestUnreadModulesSayNothingOfStaleEntries(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scan.RootModule){
		"unread module": func(m *scan.RootModule) { m.Tree.Requirements, m.Tree.Unread = nil, []scan.Unread{{Module: "vpc"}} },
		"terragrunt unit": func(m *scan.RootModule) {
			m.Tree.Requirements, m.Kind, m.StandIn = nil, scan.TerragruntUnit, scan.StandInAll
		},
		"broken configuration": func(m *scan.RootModule) {
			m.Tree.Requirements, m.Tree.Diagnostics = nil, []problem.Problem{{Code: problem.CodeSyntax}}
		},
	} {
		p := sound()
		p.hashes, p.module = append(p.hashes, forged), change
		r := p.verify(t)
		if got := codesOf(r.Findings); !slices.Equal(got, []string{"hash-unknown"}) || len(r.Unchecked) != 1 {
			t.Errorf("%s: found %v, unchecked %v; want the hash alone, and what was not checked", name, got, r.Unchecked)
		}
	}
}

func TestLedgerRemembersWhatVanishes(t *testing.T) {
	t.Parallel()
	p := sound()
	first := must(ledger.ReadLedger(nil, "relock.ledger"))
	p.policy.Ledger = first
	r := p.verify(t)
	day := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	if !first.Note(r.Seen, day) || first.Note(r.Seen, day.AddDate(0, 0, 1)) {
		t.Fatal("the ledger notes packages once")
	}
	again := must(ledger.ReadLedger(first.Print(), "relock.ledger"))
	if string(again.Print()) != string(first.Print()) {
		t.Errorf("printed again:\n%s", again.Print())
	}
	p = sound()
	p.policy.Ledger = again
	if found := p.verify(t).Findings; len(found) > 0 {
		t.Errorf("the same release has %+v", found)
	}
	p.hashes = []string{"h1 linux_amd64", "zh linux_amd64"}
	p.src.lists = map[string]string{"": "linux_amd64"}
	if got := codesOf(p.verify(t).Findings); !slices.Equal(got, []string{"re-released"}) {
		t.Errorf("found %v where a package has vanished, want re-released", got)
	}
}

// TestAlarmAboutASignerRingsAgain holds that a run that finds another key does not write it
// to the ledger.
func TestAlarmAboutASignerRingsAgain(t *testing.T) {
	t.Parallel()
	ledger := ledgerOf("zh:" + strings.Repeat("0", 64) + " 0000" + fingerprint[4:])
	for day := range 2 {
		p := sound()
		p.policy.Ledger = ledger
		r := p.verify(t)
		if got := codesOf(r.Findings); !slices.Equal(got, []string{"signer-changed"}) {
			t.Fatalf("run %d found %v, want signer-changed", day, got)
		}
		ledger.Note(r.Seen, time.Date(2026, 3, 1+day, 0, 0, 0, 0, time.UTC))
	}
}

// TestReleasesOfTwoKeysAreLockedSideBySide holds that a release is compared with its own
// signer in the ledger.
func TestReleasesOfTwoKeysAreLockedSideBySide(t *testing.T) {
	t.Parallel()
	newer := "registry.terraform.io/hashicorp/alpha 2.0.0 linux_amd64 zh:" + strings.Repeat("0", 64) + " 0000" + fingerprint[4:] + " 2026-01-02\n"
	own := "registry.terraform.io/hashicorp/alpha 1.0.0 linux_amd64 " + string(zh("linux_amd64")) + " " + fingerprint + " 2026-01-01\n"
	for text, want := range map[string][]string{
		newer + own: nil,
		newer:       {"signer-changed"},
		newer + strings.Replace(own, fingerprint, "1111"+fingerprint[4:], 1): {"signer-changed"},
	} {
		p := sound()
		p.policy.Ledger = must(ledger.ReadLedger([]byte(ledgerHeader+"\n"+text), "relock.ledger"))
		if got := codesOf(p.verify(t).Findings); !slices.Equal(got, want) {
			t.Errorf("found %v by this ledger, want %v:\n%s", got, want, text)
		}
	}
}

func TestSignerMayChangeWhereSomebodySaysSo(t *testing.T) {
	t.Parallel()
	old := "0000" + fingerprint[4:]
	for name, tt := range map[string]struct {
		rotate string
		pins   provider.Signers
		want   bool
	}{
		"nobody":         {want: true},
		"the ledger":     {rotate: "rotate registry.terraform.io/hashicorp/alpha " + old + " " + fingerprint + " 2026-02-03 they told us\n"},
		"the policy":     {pins: provider.Signers{must(provider.ParsePattern("hashicorp/*")): {old, fingerprint}}},
		"of the new key": {pins: pinTo(fingerprint), want: true},
	} {
		p := sound()
		p.policy.Signers = tt.pins
		text := string(ledgerOf("zh:" + strings.Repeat("0", 64) + " " + old).Print())
		p.policy.Ledger = must(ledger.ReadLedger([]byte(text+tt.rotate), "l"))
		if got := slices.Contains(codesOf(p.verify(t).Findings), "signer-changed"); got != tt.want {
			t.Errorf("%s: signer-changed is found: %t, want %t", name, got, tt.want)
		}
	}
}

func TestRecheckFindsAWrongCache(t *testing.T) {
	t.Parallel()
	p := sound()
	p.policy.Recheck = 1
	p.src.wrong = &problem.Error{Problem: problem.Problem{Code: problem.CodeBadChecksum, Message: "the hash cache is wrong"}}
	_, problems := p.prove(t)
	if len(problems) != 1 || problems[0].Code != problem.CodeBadChecksum || len(p.src.asked) != 1 {
		t.Errorf("problems %v after %v, want one of the one package that was asked for", problems, p.src.asked)
	}
	p = sound()
	p.policy.Recheck, p.policy.Options.Allowance = 5, NewAllowance(150)
	if _, problems := p.prove(t); len(problems) > 0 || len(p.src.asked) != 1 {
		t.Errorf("problems %v after %v, want what the allowance is enough for", problems, p.src.asked)
	}
}
