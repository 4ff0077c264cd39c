package upgrade

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// zh and dirH1 are well-formed hashes made from a name.
func zh(name string) provider.Hash {
	return provider.ZH(fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
}

func dirH1(name string) provider.Hash {
	sum := sha256.Sum256([]byte(name))
	return provider.Hash("h1:" + base64.StdEncoding.EncodeToString(sum[:]))
}

// carryCase is a run after an earlier one, which proposed a and b at 1.1.0 instead of
// 1.0.0. It also has the changes in between.
type carryCase struct {
	name     string
	requires []string
	locks    []string                         // none: unchanged
	proposed func(string) string              // how a person edited the proposal
	earlier  func(*Options)                   // options of the earlier run
	later    func(*scan.RootModule, *Options) // changes for this run
	fails    func(provider.Want) error        // requests for a package that fail
	lacks    string                           // a provider whose registry does not answer
	refuted  func([]Result) []Result          // other findings of the run
	take     func(provider.Addr) bool         // none: all
	want     []string                         // versions; "same" for the bytes of the proposal, none for no file
	carried  string                           // the providers that the plan reports as carried over
	// overtaken and refused are the providers that the plan reports as not carried over, by
	// reason.
	overtaken, refused string
	check              func(*testing.T, Result) // more checks
}

func unreachable(typ string) func(provider.Want) error {
	return failing(typ, problem.CodeUnreachable, "")
}

func failing(typ string, code problem.Code, v string) func(provider.Want) error {
	return func(want provider.Want) error {
		if want.Addr.Type != typ {
			return nil
		}
		e := &problem.Error{Problem: problem.Problem{Code: code, Subject: problem.Subject{Addr: want.Addr, Version: want.Version}, Message: "no luck"}}
		if v != "" {
			e.Problem.Subject.Version = version(v)
		}
		return e
	}
}

// hashOfB is a hash of b 1.1.0.
func hashOfB(h provider.Hash) problem.Subject {
	return problem.Subject{Addr: addr("b"), Version: version("1.1.0"), Versioned: true, Hash: h}
}

func carryCases() []carryCase {
	strict := func(_ *scan.RootModule, o *Options) { o.Strict = true }
	yes := true
	return []carryCase{
		{name: "a registry is down", lacks: "b", want: []string{"same"}, carried: "b"},
		{name: "packages cannot be had", fails: unreachable("b"), want: []string{"same"}, carried: "b"},
		{name: "everything is down", lacks: "a b", want: []string{"same"}, carried: "a b"},
		{name: "nothing fails", want: []string{"same"}},
		{name: "what is new elsewhere goes on", lacks: "b", requires: []string{"a = 1.0.5", "b"}, want: []string{"a 1.0.5 1.0.5", "b 1.1.0"}, carried: "b"},
		{name: "a module cannot be read", later: func(m *scan.RootModule, _ *Options) {
			m.Tree.Unread = []scan.Unread{{Module: "x", Reason: "gone"}}
			m.Tree.Requirements = m.Tree.Requirements[:1]
		}, want: []string{"same"}, carried: "a b"},
		{name: "the configuration is broken", later: func(m *scan.RootModule, _ *Options) {
			m.Tree.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax}}
			m.Tree.Requirements = nil
		}, want: []string{"same"}, carried: "a b"},
		{name: "strict keeps all", lacks: "b", later: strict, want: []string{"same"}, carried: "a b"},
		{name: "exact keeps all", lacks: "b", earlier: func(o *Options) { o.Exact = true }, want: []string{"same"}, carried: "a b"},
		{name: "strict keeps all or nothing", lacks: "b", later: strict, requires: []string{"a < 1.1.0", "b"}, refused: "a"},
		{name: "the constraints allow it no more", refused: "b", lacks: "b", requires: []string{"a", "b < 1.1.0"}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "the constraints are others and allow it", lacks: "b", requires: []string{"a", "b ~> 1.0"}, want: []string{"a 1.1.0", "b 1.1.0 ~> 1.0"}, carried: "b"},
		{name: "the old entry has changed", overtaken: "b", lacks: "b", locks: []string{"a 1.0.0; h1:a", "b 1.0.5; h1:b"}, want: []string{"a 1.1.0", "b 1.0.5"}},
		{name: "another old entry has changed", lacks: "b", locks: []string{"a 1.0.5; h1:a", "b 1.0.0; h1:b"}, want: []string{"same"}, carried: "b"},
		{name: "it is merged", lacks: "a b", locks: []string{"a 1.0.0; h1:a", "b 1.1.0; " + join([]provider.Hash{dirH1("b-1.1.0"), zh("b-1.1.0")})},
			want: []string{"same"}, carried: "a"},
		{name: "somebody ignores it", refused: "b", lacks: "b", later: func(_ *scan.RootModule, o *Options) {
			o.Policy.Rules = []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/b")}, Updates: []provider.Bump{provider.BumpMinor}, Ignore: &yes}}
		}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "somebody ignores it in a module that cannot be read", refused: "b", later: func(m *scan.RootModule, o *Options) {
			m.Tree.Unread = []scan.Unread{{Module: "x", Reason: "gone"}}
			o.Policy.Rules = []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/b")}, Ignore: &yes}}
		}, want: []string{"a 1.1.0", "b 1.0.0"}, carried: "a"},
		{name: "only another provider is asked for", later: func(_ *scan.RootModule, o *Options) { o.Only = patterns("hashicorp/a") },
			want: []string{"same"}, carried: "b", check: func(t *testing.T, r Result) {
				for _, s := range r.Selections {
					if s.Unasked != s.FromPull {
						t.Errorf("%s is asked for: %t, carried over: %t", s.Requirement.Addr, !s.Unasked, s.FromPull)
					}
				}
			}},
		{name: "the old entry of another provider than was asked for has changed", locks: []string{"a 1.0.0; h1:a", "b 1.0.5; h1:b"},
			later: func(_ *scan.RootModule, o *Options) { o.Only = patterns("hashicorp/a") }, want: []string{"a 1.1.0", "b 1.0.5"}, overtaken: "b"},
		{name: "another provider than was asked for is ignored by now", later: func(_ *scan.RootModule, o *Options) {
			o.Only, o.Policy.Rules = patterns("hashicorp/a"), []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/b")}, Ignore: &yes}}
		}, want: []string{"a 1.1.0", "b 1.0.0"}, refused: "b"},
		{name: "it is of another group", lacks: "b", take: about("a"), want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "a bad signature", refused: "b", fails: failing("b", problem.CodeBadSignature, ""), want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "a bad signature of another release", fails: failing("b", problem.CodeBadSignature, "1.2.0"), want: []string{"same"}, carried: "b"},
		{name: "a checksum that is not that of the list", refused: "b", fails: failing("b", problem.CodeBadChecksum, ""), want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "a finding that names another hash", refused: "b", lacks: "b", refuted: func(all []Result) []Result {
			all[0].Findings = []problem.Problem{{Code: problem.CodeReReleased, Subject: hashOfB(zh("first"))}}
			all[0].Refuted = []problem.Subject{hashOfB(zh("first")), hashOfB(zh("b-1.1.0"))}
			return all
		}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "a finding about hashes that are not proposed", lacks: "b", refuted: func(all []Result) []Result {
			all[0].Findings = []problem.Problem{{Code: problem.CodeReReleased, Subject: hashOfB(zh("replaced"))}}
			all[0].Refuted = []problem.Subject{hashOfB(zh("replaced"))}
			return all
		}, want: []string{"same"}, carried: "b"},
		{name: "another root module saw another list", refused: "b", lacks: "b", refuted: func(all []Result) []Result {
			other := Result{New: []lockfile.Lock{lockfile.New(addr("b"), version("1.1.0"), provider.Constraints{}, []provider.Hash{zh("new")})}}
			other.Selections = []Selection{{Requirement: scan.Requirement{Addr: addr("b")}, To: version("1.1.0"), Facts: Facts{Signer: provider.Signer{KeyID: "K"}}}}
			return append(all, other)
		}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "another root module saw the same list", lacks: "b", refuted: func(all []Result) []Result {
			other := Result{New: []lockfile.Lock{lockfile.New(addr("b"), version("1.1.0"), provider.Constraints{}, []provider.Hash{zh("b-1.1.0"), zh("more")})}}
			other.Selections = []Selection{{Requirement: scan.Requirement{Addr: addr("b")}, To: version("1.1.0"), Facts: Facts{Signer: provider.Signer{KeyID: "K"}}}}
			return append(all, other)
		}, want: []string{"same"}, carried: "b"},
		{name: "a version that went down", refused: "b", lacks: "b", proposed: func(s string) string {
			return strings.Replace(s, "hashicorp/b\" {\n  version = \"1.1.0\"", "hashicorp/b\" {\n  version = \"0.9.0\"", 1)
		}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "no hashes", refused: "b", lacks: "b", proposed: func(s string) string {
			i := strings.Index(s, "hashicorp/b\"")
			return s[:i] + "hashicorp/b\" {\n  version = \"1.1.0\"\n}\n"
		}, want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "a hash that is none", refused: "b", lacks: "b", proposed: func(s string) string { return strings.ReplaceAll(s, string(zh("b-1.1.0")), "zh:evil") },
			want: []string{"a 1.1.0", "b 1.0.0"}},
		{name: "words of somebody's are not taken over", lacks: "b", proposed: func(s string) string {
			return strings.Replace(s, "hashicorp/b\" {", "hashicorp/b\" { # evil", 1)
		}, want: []string{"a 1.1.0", "b 1.1.0"}, carried: "b", check: func(t *testing.T, r Result) {
			if bytes.Contains(r.File, []byte("evil")) {
				t.Errorf("the file is\n%s", r.File)
			}
		}},
		{name: "an entry that is required no more", later: func(m *scan.RootModule, _ *Options) { m.Tree.Requirements = m.Tree.Requirements[:1] }, want: []string{"a 1.1.0"}},
		{name: "a provider is new", requires: []string{"a", "b", "c"}, lacks: "c", want: []string{"a 1.1.0", "b 1.1.0"}, carried: "a b"},
	}
}

func TestCarry(t *testing.T) {
	t.Parallel()
	for _, tt := range carryCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

func (tt carryCase) run(t *testing.T) {
	releases := map[string]map[string][]string{"c": {"1.0.0": {"linux_amd64"}}}
	for _, typ := range []string{"a", "b"} {
		releases[typ] = map[string][]string{"1.0.0": {"linux_amd64"}, "1.0.5": {"linux_amd64"}, "1.1.0": {"linux_amd64"}}
	}
	src := &offer{releases: releases, edit: func(want provider.Want, h *provider.Hashes) error {
		name := fmt.Sprint(want.Addr.Type, "-", want.Version)
		h.Sum.H1, h.Sum.ZH, h.Listed = dirH1(name), zh(name), []provider.Hash{zh(name)}
		return nil
	}}
	locks := []string{"a 1.0.0; h1:a", "b 1.0.0; h1:b"}
	opts := Options{Platforms: linux}
	if tt.earlier != nil {
		tt.earlier(&opts)
	}
	first := Plan(t.Context(), src, []scan.RootModule{module(t, []string{"a", "b"}, locks)}, opts)[0]
	proposed := first.File
	if tt.proposed != nil {
		proposed = []byte(tt.proposed(string(first.File)))
	}
	after, problems := lockfile.Parse(proposed, "lock")
	if len(problems) > 0 || tt.proposed != nil && bytes.Equal(proposed, first.File) {
		t.Fatalf("the proposal is\n%s%v", proposed, problems)
	}
	standing := proposedEntries{before: first.Old, after: after.Locks, take: func(provider.Addr) bool { return true }}
	if tt.take != nil {
		standing.take = tt.take
	}

	if tt.requires == nil {
		tt.requires = []string{"a", "b"}
	}
	if tt.locks != nil {
		locks = tt.locks
	}
	m := module(t, tt.requires, locks)
	if tt.later != nil {
		tt.later(&m, &opts)
	}
	src.releases = maps.Clone(releases)
	for _, typ := range strings.Fields(tt.lacks) {
		delete(src.releases, typ)
	}
	if edit := src.edit; tt.fails != nil {
		src.edit = func(want provider.Want, h *provider.Hashes) error {
			if err := tt.fails(want); err != nil {
				return err
			}
			return edit(want, h)
		}
	}
	results := Plan(t.Context(), src, []scan.RootModule{m}, opts)
	if tt.refuted != nil {
		results = tt.refuted(results)
	}
	standing.refuted = refutedBy(results)
	got, became := results[0].carry(standing, opts)
	if became.FromPull != (tt.carried != "") {
		t.Errorf("Carry() = %t", became.FromPull)
	}
	var overtaken, refused []string
	for _, addr := range became.Overtaken {
		overtaken = append(overtaken, addr.Type)
	}
	for _, l := range became.Refused {
		refused = append(refused, l.Addr.Type)
	}
	if got := strings.Join(overtaken, " "); got != tt.overtaken {
		t.Errorf("overtaken are %q, want %q", got, tt.overtaken)
	}
	if got := strings.Join(refused, " "); got != tt.refused {
		t.Errorf("refused are %q, want %q", got, tt.refused)
	}
	var told []string
	for _, s := range got.Selections {
		if s.FromPull {
			told = append(told, s.Requirement.Addr.Type)
		}
	}
	if strings.Join(told, " ") != tt.carried {
		t.Errorf("carried over are %q, want %q", told, tt.carried)
	}
	switch {
	case len(tt.want) == 1 && tt.want[0] == "same":
		if diff := cmp.Diff(string(proposed), string(got.File)); diff != "" {
			t.Errorf("the file is not the proposal (-want +got):\n%s", diff)
		}
	case len(tt.want) == 0 && got.File != nil:
		t.Errorf("the file is\n%s", got.File)
	case len(tt.want) > 0:
		if diff := cmp.Diff(tt.want, versions(got)); diff != "" {
			t.Errorf("versions (-want +got):\n%s", diff)
		}
	}
	if tt.check != nil {
		tt.check(t, got)
	}
}

// unseenOf is the plan of a root module that this run has not read. An earlier plan has
// proposed a and b.
func unseenOf(t *testing.T, opts Options, refuted func(lockfile.Lock) bool) (got Result, became Carriage, proposed []byte) {
	t.Helper()
	entry := func(typ, v string) lockfile.Lock {
		return lockfile.New(addr(typ), version(v), provider.Constraints{}, []provider.Hash{dirH1(typ + v), zh(typ + v)})
	}
	proposed = append([]byte("# somebody's words\n"), (&lockfile.File{Tool: provider.Terraform, Locks: []lockfile.Lock{entry("a", "1.1.0"), entry("b", "1.1.0")}}).Print()...)
	after, problems := lockfile.Parse(proposed, "lock")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	standing := proposedEntries{before: []lockfile.Lock{entry("a", "1.0.0"), entry("gone", "1.0.0")}, after: after.Locks, refuted: refuted}
	m := scan.RootModule{Root: scan.Root{Dir: "live"}}
	m.Tool.Name = provider.Terraform
	got, became = unreadRoot(m, standing, proposed, opts)
	return got, became, proposed
}

func TestWhatNobodyLookedAtStaysAsItStands(t *testing.T) {
	t.Parallel()
	got, became, proposed := unseenOf(t, Options{}, nil)
	if !bytes.Equal(got.File, proposed) || !became.FromPull || len(became.Refused)+len(became.Overtaken) > 0 {
		t.Errorf("unreadRoot() = %+v with the file\n%s", became, got.File)
	}
	var told []string
	for _, s := range got.Selections {
		told = append(told, fmt.Sprint(s.Requirement.Addr.Type, " ", s.From, " ", s.To, " ", s.FromPull, " ", s.Unasked))
	}
	if diff := cmp.Diff([]string{"a 1.0.0 1.1.0 true true", "b 0.0.0 1.1.0 true true", "gone 1.0.0 0.0.0 true true"}, told); diff != "" {
		t.Errorf("selections (-want +got):\n%s", diff)
	}
}

func TestWhatNobodyLookedAtIsNotKeptAgainstTheRules(t *testing.T) {
	t.Parallel()
	below, err := provider.ParseConstraints("< 1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opts    Options
		refuted func(lockfile.Lock) bool
		want    []string
		refused string
	}{
		"rule":    {Options{Policy: policy.Rulebook{Rules: []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/a")}, Allow: &below}}}}, nil, []string{"a 1.0.0", "b 1.1.0"}, "a"},
		"refuted": {Options{}, func(l lockfile.Lock) bool { return l.Addr.Type == "b" }, []string{"a 1.1.0"}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, became, _ := unseenOf(t, tt.opts, tt.refuted)
			if diff := cmp.Diff(tt.want, versions(got)); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if len(became.Refused) != 1 || became.Refused[0].Addr.Type != tt.refused {
				t.Errorf("refused = %+v, want %s", became.Refused, tt.refused)
			}
		})
	}
}

// TestCarrierKeepsUnseenFiles is about lock files of a proposal beside root modules that the
// run has not read. Each holds entry a at 1.1.0 instead of 1.0.0.
func TestCarrierKeepsUnseenFiles(t *testing.T) {
	file := func(v string) []byte {
		l := lockfile.New(addr("a"), version(v), provider.Constraints{}, []provider.Hash{dirH1("a-" + v)})
		return (&lockfile.File{Tool: provider.Terraform, Locks: []lockfile.Lock{l}}).Print()
	}
	before, after := file("1.0.0"), file("1.1.0")
	for name, tt := range map[string]struct {
		on     string // the base's file
		missed bool
		after  []byte
		misfit Misfit
		kept   bool
		covers bool
	}{
		"the base has the old file":     {on: string(before), missed: true, after: after, kept: true},
		"the base has the new file":     {on: string(after), missed: true, after: after, covers: true},
		"the base has another file":     {on: string(file("1.0.5")), missed: true, after: after, misfit: BaseChanged},
		"the base has no file":          {missed: true, after: after, misfit: BaseChanged},
		"the base's file is unreadable": {on: "?", missed: true, after: after, misfit: BaseUnread},
		"the base does not want it":     {on: string(before), after: after, covers: true},
		"the proposal is no lock file":  {on: string(before), missed: true, after: []byte("provider {"), misfit: OtherFile},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			if tt.on != "" {
				files["live/.terraform.lock.hcl"] = &fstest.MapFile{Data: []byte(tt.on)}
			}
			if tt.on == "?" { // a directory
				files = fstest.MapFS{"live/.terraform.lock.hcl/x": &fstest.MapFile{}}
			}
			k := NewCarrier(nil, Options{}, files, func(dir string) bool { return dir == "live" && tt.missed })
			f := Proposed{Path: "live/.terraform.lock.hcl", Old: before, New: tt.after}
			got, became := k.Unseen("all", f)
			if became.Misfit != tt.misfit || (got.File != nil) != tt.kept || tt.kept && !bytes.Equal(got.File, tt.after) {
				t.Errorf("Unseen() = %+v with the file %q", became, got.File)
			}
			if got := k.Covers([]Proposed{f}); got != tt.covers {
				t.Errorf("Covers() = %t, want %t", got, tt.covers)
			}
		})
	}
}
