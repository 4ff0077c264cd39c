package upgrade

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// offer is a Source over a table: provider -> version -> platforms. The hashes of a package
// are made from its name, so that a test can state them.
type offer struct {
	releases  map[string]map[string][]string
	edit      func(provider.Want, *provider.Hashes) error
	mirror    bool              // not the providers' own registry
	methods   []provider.Method // nil: the registry or the mirror
	remembers bool              // the hashes of its packages
	mu        sync.Mutex
	asked     []string
}

func (o *offer) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, fmt.Sprintf(format, args...))
}

func (o *offer) Versions(ctx context.Context, _ provider.Tool, addr provider.Addr) (provider.Offer, error) {
	o.note("%s", addr.Type)
	versions, ok := o.releases[addr.Type]
	if !ok {
		return provider.Offer{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnknownProvider, Subject: problem.Subject{Addr: addr}, Message: "no such provider"}}
	}
	var releases []provider.Release
	for v, platforms := range versions {
		r := provider.Release{Version: version(v)}
		for _, p := range platforms {
			r.Platforms = append(r.Platforms, platform(p))
		}
		releases = append(releases, r)
	}
	return provider.Offer{Releases: releases, Methods: o.asks(addr)}, ctx.Err()
}

// asks are the installation methods that answered about a provider.
func (o *offer) asks(addr provider.Addr) []provider.Method {
	switch {
	case o.methods != nil:
		return o.methods
	case o.mirror:
		return []provider.Method{{Name: "network mirror https://mirror.example/", Host: "mirror.example", Mirror: true, Listed: true}}
	}
	return []provider.Method{{Name: "registry registry.terraform.io", Host: addr.Host, Listed: true}}
}

// Listing knows the content of packages of remembered releases.
func (o *offer) Listing(_ context.Context, _ provider.Tool, want provider.Want) (provider.Listing, error) {
	name := want.Addr.Type + "-" + want.Version.String() + "-"
	var l provider.Listing
	for _, p := range o.releases[want.Addr.Type][want.Version.String()] {
		f := provider.ListedFile{Platform: platform(p), Sum: provider.Sum{ZH: provider.Hash("zh:" + name + p)}}
		if h := provider.Hash("h1:" + name + p); o.remembers {
			f.Sum.H1, f.Sum.H1Zip = h, h
		}
		l.Files = append(l.Files, f)
	}
	return l, nil
}

func (o *offer) Hashes(ctx context.Context, _ provider.Tool, want provider.Want) (provider.Hashes, error) {
	o.note("%s %s %s", want.Addr.Type, want.Version, want.Platform)
	platforms := o.releases[want.Addr.Type][want.Version.String()]
	if !slices.Contains(platforms, want.Platform.String()) {
		return provider.Hashes{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeNoPackage, Subject: problem.Subject{Addr: want.Addr}, Message: "no package for " + want.Platform.String()}}
	}
	name := want.Addr.Type + "-" + want.Version.String() + "-"
	h := provider.Hashes{
		Platform: want.Platform,
		Sum: provider.Sum{
			ZH:    provider.Hash("zh:" + name + want.Platform.String()),
			H1:    provider.Hash("h1:" + name + want.Platform.String()),
			H1Zip: provider.Hash("h1:" + name + want.Platform.String()),
		},
		Signer: provider.Signer{KeyID: "0123456789ABCDEF", Fingerprint: "C874011F0AB405110D0210550123456789ABCDEF"},
	}
	for _, p := range platforms {
		h.Listed = append(h.Listed, provider.Hash("zh:"+name+p))
	}
	if o.edit != nil {
		if err := o.edit(want, &h); err != nil {
			return provider.Hashes{}, err
		}
	}
	return h, ctx.Err()
}

func version(s string) provider.Version {
	v, err := provider.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func platform(s string) provider.Platform {
	p, err := provider.ParsePlatform(s)
	if err != nil {
		panic(err)
	}
	return p
}

func addr(typ string) provider.Addr {
	return provider.Addr{Host: provider.Terraform.DefaultHost(), Namespace: "hashicorp", Type: typ}
}

// module is a root module with the requirements "TYPE CONSTRAINTS". Its lock file has the
// entries "TYPE VERSION CONSTRAINTS; HASH HASH…".
func module(t *testing.T, requirements, locks []string) scan.RootModule {
	t.Helper()
	m := scan.RootModule{Root: scan.Root{Dir: "root", Tool: provider.Newest(provider.Terraform)}}
	for i, r := range requirements {
		typ, text, _ := strings.Cut(r, " ")
		req := scan.Requirement{Addr: addr(typ)}
		if text == "" {
			req.Terms = []scan.Term{{Place: problem.Place{Path: "main.tf", Line: i + 1}}}
		} else {
			for _, c := range constraints(t, text).Terms() {
				req.Terms = append(req.Terms, scan.Term{Constraint: c, Place: problem.Place{Path: "main.tf", Line: i + 1}})
			}
		}
		m.Tree.Requirements = append(m.Tree.Requirements, req)
	}
	if locks == nil {
		return m
	}
	source := (&lockfile.File{Tool: provider.Terraform, Locks: entries(t, locks)}).Print()
	file, diagnostics := lockfile.Parse(source, "root/.terraform.lock.hcl")
	if len(diagnostics) > 0 {
		t.Fatalf("Parse: %v", diagnostics)
	}
	m.Lock = file
	return m
}

func constraints(t *testing.T, s string) provider.Constraints {
	t.Helper()
	if s == "" {
		return provider.Constraints{}
	}
	c, err := provider.ParseConstraints(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func entries(t *testing.T, locks []string) []lockfile.Lock {
	t.Helper()
	var list []lockfile.Lock
	for _, l := range locks {
		head, hashes, _ := strings.Cut(l, ";")
		fields := strings.SplitN(strings.TrimSpace(head), " ", 3)
		var hs []provider.Hash
		for h := range strings.FieldsSeq(hashes) {
			hs = append(hs, provider.Hash(h))
		}
		text := ""
		if len(fields) == 3 {
			text = fields[2]
		}
		list = append(list, lockfile.New(addr(fields[0]), version(fields[1]), constraints(t, text), hs))
	}
	return list
}

// summary is a plan's new lock file, one line for each entry.
func summary(r Result) []string {
	if r.File == nil {
		return nil
	}
	lines := []string{}
	for _, l := range r.New {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", l.Addr.Type, l.Version, l.Constraints))+"; "+join(l.Hashes))
	}
	return lines
}

func join(hashes []provider.Hash) string {
	texts := make([]string, len(hashes))
	for i, h := range hashes {
		texts[i] = string(h)
	}
	return strings.Join(texts, " ")
}

var (
	linux  = Platforms{List: []provider.Platform{{OS: "linux", Arch: "amd64"}}}
	two    = []string{"linux_amd64", "darwin_arm64"}
	twoZH  = "zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64"
	simple = map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two, "2.0.0": two, "2.1.0-beta1": two}}
)

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		releases     map[string]map[string][]string
		requirements []string
		locks        []string
		opts         Options
		want         []string // nil: nothing is written
		missing      []string // platforms
		problems     []problem.Code
	}{
		{
			name: "a fresh entry has the h1 of the platforms and every listed zh", requirements: []string{"a ~> 1.0"},
			opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "no constraint selects the newest release, never a prerelease", requirements: []string{"a"},
			opts: Options{Platforms: linux},
			want: []string{"a 2.0.0; h1:a-2.0.0-linux_amd64 zh:a-2.0.0-darwin_arm64 zh:a-2.0.0-linux_amd64"},
		},
		{
			name: "an exact constraint selects a prerelease", requirements: []string{"a 2.1.0-beta1"},
			opts: Options{Platforms: linux},
			want: []string{"a 2.1.0-beta1 2.1.0-beta1; h1:a-2.1.0-beta1-linux_amd64 zh:a-2.1.0-beta1-darwin_arm64 zh:a-2.1.0-beta1-linux_amd64"},
		},
		{
			name: "another version drops every old hash", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old zh:old h2:old"}, opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "the same version keeps old hashes, of unknown schemes too", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:other h2:x zh:a-1.1.0-linux_amd64"}, opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 h1:other h2:x " + twoZH},
		},
		{
			name: "exact drops hashes of unknown schemes as init does", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h2:x zh:a-1.1.0-linux_amd64"}, opts: Options{Platforms: linux, Exact: true},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "changed constraints alone are written", requirements: []string{"a >= 1.0, < 2.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH}, opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 >= 1.0.0, < 2.0.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "nothing new writes nothing", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH}, opts: Options{Platforms: linux},
		},
		{
			name: "an entry that nothing requires is dropped", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "b 1.0.0; h1:b"}, opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "an entry that is named to be kept stays", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old", "b 1.0.0; h1:b"}, opts: Options{Platforms: linux, Keep: patterns("hashicorp/b")},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "b 1.0.0; h1:b"},
		},
		{
			name: "a provider that fails keeps its entry and its siblings go on", requirements: []string{"a ~> 1.0", "gone ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old", "gone 1.0.0; h1:gone"}, opts: Options{Platforms: linux},
			want:     []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "gone 1.0.0; h1:gone"},
			problems: []problem.Code{problem.CodeUnknownProvider},
		},
		{
			name: "a provider that fails without an entry leaves the file alone", requirements: []string{"a ~> 1.0", "gone ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old"}, opts: Options{Platforms: linux},
			problems: []problem.Code{problem.CodeUnknownProvider},
		},
		{
			name: "under exact a failure leaves the file alone", requirements: []string{"a ~> 1.0", "gone ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old", "gone 1.0.0; h1:gone"}, opts: Options{Platforms: linux, Exact: true},
			problems: []problem.Code{problem.CodeUnknownProvider},
		},
		{
			name: "constraints that nothing meets", requirements: []string{"a ~> 9.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old"}, opts: Options{Platforms: linux},
			problems: []problem.Code{problem.CodeNoVersion},
		},
		{
			name: "a platform that is not published is left out with a notice", requirements: []string{"a ~> 1.0"},
			opts:    Options{Platforms: Platforms{List: []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "plan9", Arch: "386"}}}},
			want:    []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
			missing: []string{"plan9_386"},
		},
		{
			name: "and fails the root module under strict", requirements: []string{"a ~> 1.0"},
			opts:     Options{Strict: true, Platforms: Platforms{List: []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "plan9", Arch: "386"}}}},
			problems: []problem.Code{problem.CodeNoPackage},
		},
		{
			name: "a re-released version is refused", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64-old zh:a-1.1.0-linux_amd64-old"}, opts: Options{Platforms: linux},
			problems: []problem.Code{problem.CodeReReleased},
		},
		{
			name: "also where one of its recorded zips is still listed", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:old zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64-old"}, opts: Options{Platforms: linux},
			problems: []problem.Code{problem.CodeReReleased},
		},
		{
			name: "unless it is accepted: then its hashes are replaced", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64-old zh:a-1.1.0-linux_amd64-old"},
			opts:  Options{Platforms: linux, AcceptReReleased: releases("hashicorp/a@1.1.0")},
			want:  []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "another version's acceptance is none", requirements: []string{"a ~> 1.0"},
			locks:    []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64-old zh:a-1.1.0-linux_amd64-old"},
			opts:     Options{Platforms: linux, AcceptReReleased: releases("hashicorp/a@1.0.0")},
			problems: []problem.Code{problem.CodeReReleased},
		},
		{
			name: "providers lock keeps the hashes of both, which exact bytes repeat with a warning", requirements: []string{"a ~> 1.0"},
			locks:    []string{"a 1.1.0 ~> 1.0; zh:a-1.1.0-linux_amd64-old"},
			opts:     Options{Mode: Complete, Exact: true, Platforms: linux},
			want:     []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64 zh:a-1.1.0-linux_amd64-old"},
			problems: []problem.Code{problem.CodeReReleased},
		},
		{
			name: "every unreferenced entry stays on request", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old", "b 1.0.0; h1:b"}, opts: Options{Platforms: linux, KeepUnreferenced: true},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "b 1.0.0; h1:b"},
		},
		{
			name: "a release that grew by a platform is not re-released", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; zh:a-1.1.0-darwin_arm64"}, opts: Options{Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "complete keeps the version and adds hashes", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-darwin_arm64 zh:a-1.0.0-linux_amd64", "b 1.0.0; h1:b"},
			opts:  Options{Mode: Complete, Platforms: linux},
			want:  []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-linux_amd64 zh:a-1.0.0-darwin_arm64 zh:a-1.0.0-linux_amd64", "b 1.0.0; h1:b"},
		},
		{
			name: "complete refuses a locked version that is not allowed", requirements: []string{"a ~> 2.0"},
			locks: []string{"a 1.0.0 ~> 1.0; h1:old"}, opts: Options{Mode: Complete, Platforms: linux},
			problems: []problem.Code{problem.CodeLockedVersion},
		},
		{
			name: "complete refuses a locked version that is not offered", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.0.5 ~> 1.0; h1:old"}, opts: Options{Mode: Complete, Platforms: linux},
			problems: []problem.Code{problem.CodeLockedVersion},
		},
		{
			name: "prune drops surplus hashes", requirements: []string{"a ~> 1.0"},
			locks: []string{"a 1.1.0 ~> 1.0; h1:surplus " + twoZH}, opts: Options{Mode: Complete, Prune: true, Platforms: linux},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH},
		},
		{
			name: "auto keeps a set of two platforms", releases: map[string]map[string][]string{"a": {
				"1.0.0": {"linux_amd64", "darwin_arm64", "freebsd_386", "windows_amd64"}, "1.1.0": {"linux_amd64", "darwin_arm64", "freebsd_386", "windows_amd64"},
			}},
			requirements: []string{"a ~> 1.0"},
			locks:        []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-freebsd_386 h1:a-1.0.0-linux_amd64"},
			want:         []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-freebsd_386 h1:a-1.1.0-linux_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-freebsd_386 zh:a-1.1.0-linux_amd64 zh:a-1.1.0-windows_amd64"},
		},
		{
			name: "auto takes one platform for whoever ran init last", releases: map[string]map[string][]string{"a": {
				"1.1.0": {"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "freebsd_386"},
			}},
			requirements: []string{"a ~> 1.0"},
			locks:        []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-freebsd_386"},
			want: []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-darwin_amd64 h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-freebsd_386 h1:a-1.1.0-linux_amd64 h1:a-1.1.0-linux_arm64 h1:a-1.1.0-windows_amd64 " +
				"zh:a-1.1.0-darwin_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-freebsd_386 zh:a-1.1.0-linux_amd64 zh:a-1.1.0-linux_arm64 zh:a-1.1.0-windows_amd64"},
		},
		{
			name: "auto keeps all where all are covered", releases: map[string]map[string][]string{"a": {
				"1.0.0": two, "1.1.0": {"linux_amd64", "darwin_arm64", "freebsd_386"},
			}},
			requirements: []string{"a ~> 1.0"},
			locks:        []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-darwin_arm64 h1:a-1.0.0-linux_amd64"},
			want:         []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-freebsd_386 h1:a-1.1.0-linux_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-freebsd_386 zh:a-1.1.0-linux_amd64"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &offer{releases: tt.releases}
			if src.releases == nil {
				src.releases = simple
			}
			r := Plan(t.Context(), src, []scan.RootModule{module(t, tt.requirements, tt.locks)}, tt.opts)[0]
			if diff := cmp.Diff(tt.want, summary(r)); diff != "" {
				t.Errorf("new lock file (-want +got):\n%s\ndiagnostics: %v", diff, r.Diagnostics)
			}
			var missing []string
			for _, s := range r.Selections {
				for _, p := range s.Missing {
					missing = append(missing, p.String())
				}
			}
			if diff := cmp.Diff(tt.missing, missing); diff != "" && r.File != nil {
				t.Errorf("missing platforms (-want +got):\n%s", diff)
			}
			var codes []problem.Code
			for _, d := range r.Diagnostics {
				codes = append(codes, d.Code)
			}
			if diff := cmp.Diff(tt.problems, codes); diff != "" {
				t.Errorf("codes of diagnostics (-want +got):\n%s%v", diff, r.Diagnostics)
			}
		})
	}
}

func releases(texts ...string) []provider.ReleasePattern {
	var list []provider.ReleasePattern
	for _, s := range texts {
		r, err := provider.ParseReleasePattern(s)
		if err != nil {
			panic(err)
		}
		list = append(list, r)
	}
	return list
}

func patterns(texts ...string) []provider.Pattern {
	var list []provider.Pattern
	for _, s := range texts {
		p, err := provider.ParsePattern(s)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

func TestPlanNarrowedToAProviderKeepsOtherBytes(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a ~> 1.0", "b"}, []string{"a 1.0.0 ~> 1.0; h1:old", "b 1.0.0; h1:b"})
	odd := strings.Replace(string(m.Lock.Source), `version = "1.0.0"`, `version =    "1.0.0" # by hand`, 1)
	file, diagnostics := lockfile.Parse([]byte(odd), "root/.terraform.lock.hcl")
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	m.Lock = file
	src := &offer{releases: simple}
	r := Plan(t.Context(), src, []scan.RootModule{m}, Options{Platforms: linux, Only: patterns("hashicorp/a")})[0]
	if !strings.Contains(string(r.File), `version =    "1.0.0" # by hand`) {
		t.Errorf("the entry of b changed:\n%s", r.File)
	}
	if !strings.Contains(string(r.File), `"1.1.0"`) {
		t.Errorf("the entry of a did not:\n%s", r.File)
	}
	if slices.ContainsFunc(src.asked, func(q string) bool { return strings.HasPrefix(q, "b") }) {
		t.Errorf("asked %v, want nothing about b", src.asked)
	}
}

// A lock file that the tools would write again as it is stays, also under Exact.
func TestExactLeavesTheBytesOfTheTools(t *testing.T) {
	t.Parallel()
	src, opts := &offer{releases: simple}, Options{Exact: true, Platforms: linux}
	m := module(t, []string{"a ~> 1.0"}, nil)
	first := Plan(t.Context(), src, []scan.RootModule{m}, opts)[0]
	lock, problems := lockfile.Parse(first.File, lockfile.Name)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m.Lock = lock
	if again := Plan(t.Context(), src, []scan.RootModule{m}, opts)[0]; again.File != nil {
		t.Errorf("the second plan writes\n%sover\n%s", again.File, first.File)
	}
}

func TestPlanAsksEachQuestionOnce(t *testing.T) {
	t.Parallel()
	var modules []scan.RootModule
	for range 20 {
		modules = append(modules, module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-linux_amd64 h1:a-1.0.0-darwin_arm64"}))
	}
	src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": append(two, "freebsd_386"), "1.1.0": append(two, "freebsd_386")}}}
	Plan(t.Context(), src, modules, Options{})
	asked := slices.Clone(src.asked)
	slices.Sort(asked)
	if once := slices.Compact(slices.Clone(asked)); len(once) != len(asked) {
		t.Errorf("questions were repeated: %v", asked)
	}
}

// Values that the entries of thousands of root modules share are in memory once. Values
// that differ stay separate.
func TestPlanSharesWhatEntriesCover(t *testing.T) {
	t.Parallel()
	var modules []scan.RootModule
	for range 20 {
		modules = append(modules, module(t, []string{"a ~> 1.0"}, nil), module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-freebsd_386 h1:a-1.0.0-linux_amd64"}))
	}
	src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": append(two, "freebsd_386"), "1.1.0": append(two, "freebsd_386")}}}
	maps, covered := map[uintptr]bool{}, map[string]bool{}
	for _, r := range Plan(t.Context(), src, modules, Options{}) {
		maps[reflect.ValueOf(r.Selections[0].Hashes).Pointer()] = true
		covered[fmt.Sprint(r.Selections[0].Coverage)] = true
	}
	if len(maps) >= len(modules) || len(covered) != 2 {
		t.Errorf("%d root modules that cover %v keep %d maps of that", len(modules), covered, len(maps))
	}
}

func TestPlanNamesWhatHoldsAProvider(t *testing.T) {
	t.Parallel()
	m := module(t, []string{"a >= 1.0"}, nil)
	m.Tree.Requirements[0].Terms = append(m.Tree.Requirements[0].Terms, scan.Term{
		Constraint: constraints(t, "~> 1.0").Terms()[0], Module: "vpc", Place: problem.Place{Path: "modules/vpc/main.tf", Line: 4},
	})
	r := Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{m}, Options{Platforms: linux})[0]
	local := m.Tree.Requirements[0].Terms[1]
	want := []Held{{
		Version: version("2.0.0"), By: policy.Hold{Reason: HeldByConstraint}, Term: local,
		Help: Advice{Version: version("2.0.0"), Measures: []Measure{{Kind: MeasureEdit, Term: local, Becomes: constraints(t, "~> 2.0").Terms()[0]}}},
	}}
	if diff := cmp.Diff(want, r.Selections[0].Held); diff != "" {
		t.Errorf("Held (-want +got):\n%s", diff)
	}
}

func TestPlanLeavesWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	unread := module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:old"})
	unread.Tree.Unread = []scan.Unread{{Module: "vpc", Reason: "it is not on disk", Place: problem.Place{Path: "main.tf", Line: 9}}}
	broken := module(t, []string{"a ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:old"})
	broken.Tree.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax, Place: problem.Place{Path: "main.tf", Line: 1}}}
	for i, r := range Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{unread, broken}, Options{Platforms: linux}) {
		if r.File != nil || !problem.AnyError(r.Diagnostics) {
			t.Errorf("module %d: File = %q, Diagnostics = %v, want no file and an error", i, r.File, r.Diagnostics)
		}
	}
}

// interrupting is an offer whose packages of a arrive before an interrupt.
type interrupting struct {
	*offer
	once    sync.Once
	arrived chan struct{}
	cancel  context.CancelFunc
}

func (s *interrupting) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	if want.Addr.Type != "a" {
		<-s.arrived
		s.cancel()
		return provider.Hashes{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeCancelled, Message: "interrupted"}, Err: ctx.Err()}
	}
	defer s.once.Do(func() { close(s.arrived) })
	return s.offer.Hashes(ctx, tool, want)
}

// TestPlanKeepsWhatIsCompleteOnceInterrupted interrupts the plan when the packages of a
// have arrived. b keeps its entry. c has none, so its whole root module stays as it is.
func TestPlanKeepsWhatIsCompleteOnceInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := simple["a"]
	src := &interrupting{offer: &offer{releases: map[string]map[string][]string{"a": a, "b": a, "c": a}}, arrived: make(chan struct{}), cancel: cancel}
	lock := []string{"a 1.0.0 ~> 1.0; h1:old", "b 1.0.0 ~> 1.0; h1:old"}
	results := Plan(ctx, src, []scan.RootModule{module(t, []string{"a ~> 1.0", "b ~> 1.0"}, lock), module(t, []string{"a ~> 1.0", "c ~> 1.0"}, lock[:1])}, Options{Platforms: linux})
	want := []string{"a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, "b 1.0.0 ~> 1.0; h1:old"}
	if diff := cmp.Diff(want, summary(results[0])); diff != "" || results[0].File == nil || !problem.AnyError(results[0].Diagnostics) {
		t.Errorf("File = %q, Diagnostics = %v (-want +got):\n%s", results[0].File, results[0].Diagnostics, diff)
	}
	if r := results[1]; r.File != nil || !problem.AnyError(r.Diagnostics) {
		t.Errorf("without an entry for c: File = %q, Diagnostics = %v, want no file and an error", r.File, r.Diagnostics)
	}
}

func TestPlanRecordsWhatOpenTofuRecords(t *testing.T) {
	t.Parallel()
	report := func(_ provider.Want, h *provider.Hashes) error {
		h.Reported = map[provider.Platform][]provider.Hash{
			platform("darwin_arm64"): {"h1:a-1.1.0-darwin_arm64", "zh:a-1.1.0-darwin_arm64"},
			platform("linux_amd64"):  {"h1:a-1.1.0-linux_amd64", "zh:a-1.1.0-linux_amd64"},
		}
		return nil
	}
	m := module(t, []string{"a ~> 1.0"}, nil)
	m.Tool = provider.Newest(provider.OpenTofu)
	// The mark is for hashes that only the registry reports.
	marked := []provider.Mark{provider.MarkReported}
	for _, tt := range []struct {
		platforms Platforms
		strict    bool
		want      string
		marks     []provider.Mark
	}{
		{linux, false, "a 1.1.0 ~> 1.0; h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 " + twoZH, marked},
		{Platforms{List: platforms(two...)}, false, "a 1.1.0 ~> 1.0; h1:a-1.1.0-darwin_arm64 h1:a-1.1.0-linux_amd64 " + twoZH, nil},
		{linux, true, "a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 " + twoZH, nil},
	} {
		r := Plan(t.Context(), &offer{releases: simple, edit: report}, []scan.RootModule{m}, Options{Platforms: tt.platforms, Strict: tt.strict})[0]
		if diff := cmp.Diff([]string{tt.want}, summary(r)); diff != "" {
			t.Errorf("strict %v (-want +got):\n%s", tt.strict, diff)
		}
		if diff := cmp.Diff(tt.marks, r.Selections[0].Marks); diff != "" {
			t.Errorf("strict %v on %v: marks (-want +got):\n%s", tt.strict, tt.platforms.List, diff)
		}
	}
}

func TestPlanRefusesUnsignedListsUnderStrict(t *testing.T) {
	t.Parallel()
	unsign := func(_ provider.Want, h *provider.Hashes) error { h.Signer = provider.Signer{}; return nil }
	m := module(t, []string{"a ~> 1.0"}, nil)
	for _, strict := range []bool{false, true} {
		r := Plan(t.Context(), &offer{releases: simple, edit: unsign}, []scan.RootModule{m}, Options{Platforms: linux, Strict: strict})[0]
		if got := r.File == nil; got != strict {
			t.Errorf("strict %v: refused = %v, want %v", strict, got, strict)
		}
	}
}

func TestNewestAmongBuildMetadata(t *testing.T) {
	t.Parallel()
	all := []provider.Release{{Version: version("1.0.0+b")}, {Version: version("1.0.0")}, {Version: version("1.0.0+c")}}
	tests := []struct {
		name, locked string
		releases     []provider.Release
		want         string
	}{
		{"the locked one", "1.0.0+b", all, "1.0.0+b"},
		{"else one without metadata", "0.9.0", all, "1.0.0"},
		{"else the bytewise greatest", "0.9.0", []provider.Release{all[0], all[2]}, "1.0.0+c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := chosen{wanted: &wanted{}, old: lockfile.Lock{Version: version(tt.locked)}, offered: offered{releases: tt.releases}}
			got := c.newest(behaviour{})
			if got.err != nil || got.release.Version != version(tt.want) {
				t.Errorf("newest(locked %s) = %v, %v, want %s", tt.locked, got.release.Version, got.err, tt.want)
			}
		})
	}
}

// A module that moved from Terraform to OpenTofu has entries of the other registry. Their
// versions are the ones in use.
func TestPlanCarriesVersionsFromTheOtherRegistry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, namespace, constraints string
		opts                         Options
		want                         string // the version; empty: nothing is written
	}{
		{"lock keeps the version", "hashicorp", "~> 1.0", Options{Mode: Complete}, "1.0.0"},
		{"of every namespace", "acme", "~> 1.0", Options{Mode: Complete}, "1.0.0"},
		{"upgrade does not", "hashicorp", "~> 1.0", Options{}, "1.1.0"},
		{"exact bytes keep it for hashicorp", "hashicorp", "~> 1.0", Options{Mode: Complete, Exact: true}, "1.0.0"},
		{"and for nobody else", "acme", "~> 1.0", Options{Mode: Complete, Exact: true}, "1.1.0"},
		{"a version that is not allowed is selected anew", "hashicorp", "~> 2.0", Options{Mode: Complete}, "2.0.0"},
		{"which OpenTofu refuses", "hashicorp", "~> 2.0", Options{Mode: Complete, Exact: true}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := module(t, []string{"a " + tt.constraints}, []string{"a 1.0.0 ~> 1.0; h1:old"})
			m.Tool = provider.Newest(provider.OpenTofu)
			twin := addr("a")
			twin.Namespace = tt.namespace
			m.Lock.Locks = []lockfile.Lock{lockfile.New(twin, version("1.0.0"), provider.Constraints{}, []provider.Hash{"h1:old"})}
			required := &m.Tree.Requirements[0].Addr
			required.Host, required.Namespace = provider.OpenTofu.DefaultHost(), tt.namespace
			tt.opts.Platforms = linux
			r := Plan(t.Context(), &offer{releases: simple}, []scan.RootModule{m}, tt.opts)[0]
			got := ""
			for _, l := range r.New {
				if l.Addr == *required && r.File != nil {
					got = l.Version.String()
				}
			}
			if got != tt.want {
				t.Errorf("version = %q, want %q; %v", got, tt.want, r.Diagnostics)
			}
		})
	}
}

// Root modules share packages, tools share releases, and remembered packages are not
// downloaded again.
func TestPlanAnnouncesWhatMayBeDownloaded(t *testing.T) {
	t.Parallel()
	two := []string{"linux_amd64", "darwin_arm64"}
	for _, remembers := range []bool{false, true} {
		src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": two}, "b": {"1.0.0": two, "2.0.0": two}}, remembers: remembers}
		first, second := module(t, []string{"a", "b"}, nil), module(t, []string{"a"}, nil)
		second.Tool.Version = version("1.0.0")
		var announced []int
		opts := Options{
			Platforms: Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64")}},
			Announce: func(d provider.Downloads) {
				announced = append(announced, d.Packages)
				if i := slices.IndexFunc(src.asked, func(q string) bool { return strings.HasSuffix(q, "linux_amd64") }); i >= 0 {
					t.Errorf("%q was asked for before", src.asked[i])
				}
			},
		}
		Plan(t.Context(), src, modules(first, second), opts)
		want := []int{4}
		if remembers {
			want = []int{0}
		}
		if !slices.Equal(announced, want) {
			t.Errorf("with a source that remembers (%t), announced %v packages, want %v", remembers, announced, want)
		}
	}
}

// sized is an offer that knows how large packages are, by provider. 0 means not known; a
// missing provider is an error. The sizes of the provider late come after the packages.
type sized struct {
	*offer
	sizes map[string]int64
	late  string
}

func (s *sized) Size(ctx context.Context, _ provider.Tool, want provider.Want) (int64, error) {
	s.note("size of %s %s %s", want.Addr.Type, want.Version, want.Platform)
	if want.Addr.Type == s.late {
		<-ctx.Done()
	}
	size, ok := s.sizes[want.Addr.Type]
	if !ok {
		return 0, errors.New("no answer")
	}
	return size, nil
}

// One package of each release gives the size of the others, and nothing waits for it.
func TestPlanAnnouncesHowLargeDownloadsAre(t *testing.T) {
	t.Parallel()
	two := []string{"linux_amd64", "darwin_arm64"}
	for _, tt := range []struct {
		name  string
		sizes map[string]int64
		late  string
		want  []provider.Downloads
	}{
		{"all", map[string]int64{"a": 10, "b": 3}, "", []provider.Downloads{{Packages: 4}, {Sized: 4, Size: 26}}},
		{"one is at hand", map[string]int64{"a": 10, "b": provider.AtHand}, "", []provider.Downloads{{Packages: 4}, {Sized: 4, Size: 20}}},
		{"one is not known", map[string]int64{"a": 10, "b": 0}, "", []provider.Downloads{{Packages: 4}, {Sized: 2, Size: 20}}},
		{"more than any package has", map[string]int64{"a": 10, "b": math.MaxInt64}, "", []provider.Downloads{{Packages: 4}, {Sized: 2, Size: 20}}},
		{"no answer", nil, "", []provider.Downloads{{Packages: 4}, {}}},
		{"too late", map[string]int64{"a": 10, "b": 3}, "b", []provider.Downloads{{Packages: 4}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &sized{&offer{releases: map[string]map[string][]string{"a": {"1.0.0": two}, "b": {"1.0.0": two}}}, tt.sizes, tt.late}
			known := make(chan bool, 2)
			src.edit = func(provider.Want, *provider.Hashes) error {
				if tt.late == "" { // packages take longer than the questions about sizes
					<-known
					known <- true
				}
				return nil
			}
			var announced []provider.Downloads
			Plan(t.Context(), src, modules(module(t, []string{"a", "b"}, nil)), Options{
				Platforms: Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64")}},
				Sizes:     src,
				Announce: func(d provider.Downloads) {
					if announced = append(announced, d); len(announced) == 2 {
						known <- true
					}
				},
			})
			if !slices.Equal(announced, tt.want) {
				t.Errorf("announced %+v, want %+v", announced, tt.want)
			}
			asked := slices.DeleteFunc(src.asked, func(q string) bool { return !strings.HasPrefix(q, "size of ") })
			if slices.Sort(asked); !slices.Equal(asked, []string{"size of a 1.0.0 darwin_arm64", "size of b 1.0.0 darwin_arm64"}) {
				t.Errorf("asked for %q, want one package of each release", asked)
			}
		})
	}
}

// init selects a prerelease that only tests name. providers lock refuses it, since it does
// not read tests; from Terraform 1.14 on it reads them.
func TestPrereleaseThatTestsAloneName(t *testing.T) {
	t.Parallel()
	src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": {"linux_amd64"}, "1.1.0-rc1": {"linux_amd64"}}}}
	for name, tt := range map[string]struct {
		tool, tree string
		exact      bool
		want       string
	}{
		"exact":               {"1.13.0", "a >= 1.0.0", true, "1.1.0-rc1 is required by tests alone"},
		"exact_unbounded":     {"1.13.0", "a", true, "required by tests alone"},
		"read_by_both":        {"1.14.0", "a >= 1.0.0", true, ""},
		"in_the_tree_as_well": {"1.13.0", "a 1.1.0-rc1", true, ""},
		"not_exact":           {"1.13.0", "a >= 1.0.0", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module(t, []string{tt.tree}, nil)
			m.Tool.Version = version(tt.tool)
			m.Tests = module(t, []string{"a 1.1.0-rc1"}, nil).Tree
			r := Plan(t.Context(), src, modules(m), Options{Exact: tt.exact, Platforms: Platforms{List: []provider.Platform{platform("linux_amd64")}}})[0]
			s := r.Selections[0]
			if (tt.want == "") != (s.Err == nil) || s.Err != nil && !strings.Contains(s.Err.Error(), tt.want) || (r.File == nil) != (s.Err != nil) {
				t.Errorf("selected %s, error %v and %d bytes; want an error with %q", s.To, s.Err, len(r.File), tt.want)
			}
		})
	}
}
