package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// required adds a term about the provider a to a root module. The term's place is in the
// module's own main.tf. If a fetched call leads to the module, it is in the call's package.
func required(t *testing.T, m *scan.RootModule, module, text, place string) {
	t.Helper()
	if len(m.Tree.Requirements) == 0 {
		m.Tree.Requirements = []scan.Requirement{{Addr: addr("a")}}
	}
	at := problem.Place{Path: place, Line: 3}
	if pkg, name, ok := strings.Cut(place, "//"); ok {
		at.Package, at.Path = pkg, name
	}
	for _, c := range constraints(t, text).Terms() {
		m.Tree.Requirements[0].Terms = append(m.Tree.Requirements[0].Terms, scan.Term{Constraint: c, Module: module, Place: at})
	}
}

// releasesOfModule is a registry's list. Each line is "VERSION PATH SOURCE CONSTRAINT". The
// SOURCE - means none. A line with a VERSION alone gives no terms.
func releasesOfModule(t *testing.T, lines ...string) *scan.ModuleVersions {
	t.Helper()
	v := &scan.ModuleVersions{}
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		if n := len(v.Releases); n == 0 || v.Releases[n-1].Version != words[0] {
			v.Releases = append(v.Releases, scan.ModuleRelease{Version: words[0]})
		}
		if len(words) == 1 {
			continue
		}
		p := scan.ListedProvider{Name: "a", Source: strings.TrimPrefix(words[2], "-"), Valid: words[3] != "?"}
		if p.Valid {
			p.Constraints = constraints(t, words[3])
		}
		r := &v.Releases[len(v.Releases)-1]
		r.Modules = append(r.Modules, scan.ListedModule{Path: words[1], Providers: []scan.ListedProvider{p}})
	}
	return v
}

// helpText is an Advice in short.
func helpText(h Advice) string {
	var steps []string
	for _, s := range h.Measures {
		text := fmt.Sprintf("%s %s", s.Kind, s.Term.Constraint)
		switch s.Kind {
		case MeasureEdit:
			text += fmt.Sprintf(" -> %s", s.Becomes)
			if s.Becomes == (provider.Term{}) {
				text = fmt.Sprintf("%s %s goes", s.Kind, s.Term.Constraint)
			}
		case MeasureFixed:
		default:
			text += fmt.Sprintf(" in %s %s", s.Call.Module, s.Call.Version)
		}
		if s.Release != "" {
			text += " -> " + s.Release
		}
		if s.ByName {
			text += " by name"
		}
		steps = append(steps, text)
	}
	if len(steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", h.Version, strings.Join(steps, "; "))
}

// TestAdvice checks, for each way in which constraints hold a provider, the advice to let
// it move on.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const own, vpc = "main.tf", "acme/vpc/aws//main.tf"
	type term struct{ module, text, place string }
	call := func(module string, v *scan.ModuleVersions) scan.Fetched {
		return scan.Fetched{
			Module: module, Place: problem.Place{Path: "main.tf", Line: 12}, Source: "acme/vpc/aws", Version: "1.1.0", Dir: ".", Versions: v,
			Call: scan.Call{Source: "acme/vpc/aws", Version: "~> 1.1.0", Versioned: true},
		}
	}
	spoken := releasesOfModule(t, "1.0.0 . hashicorp/a >= 1", "1.1.0 . hashicorp/a ~> 1.0", "1.2.0 . hashicorp/a ~> 1.5", "1.3.0 . hashicorp/a >= 1.5", "2.0.0 . hashicorp/a >= 2")
	tests := map[string]struct {
		terms   []term
		fetched []scan.Fetched
		policy  policy.Rulebook
		want    string
	}{
		"nothing is held":      {terms: []term{{"", ">= 1.0", own}}, want: ""},
		"a root's own term":    {terms: []term{{"", ">= 1, ~> 1.0", own}}, want: "2.5.0: edit ~> 1.0 -> ~> 2.0"},
		"several own terms":    {terms: []term{{"", "~> 1.0, < 2", own}}, want: "2.5.0: edit ~> 1.0 -> ~> 2.0; edit < 2.0.0 -> < 3.0.0"},
		"an exclusion":         {terms: []term{{"", ">= 1, != 2.5.0", own}}, want: "2.5.0: edit != 2.5.0 goes"},
		"an exclusion alone":   {terms: []term{{"", "!= 2.5.0", own}}, want: "2.5.0: edit != 2.5.0 -> >= 2.5.0"},
		"a local module's":     {terms: []term{{"net", "~> 1.0", "modules/net/main.tf"}}, want: "2.5.0: edit ~> 1.0 -> ~> 2.0"},
		"called twice":         {terms: []term{{"one", "~> 1.0", "modules/net/main.tf"}, {"two", "~> 1.0", "modules/net/main.tf"}}, want: "2.5.0: edit ~> 1.0 -> ~> 2.0"},
		"a record of the lock": {terms: []term{{"", "~> 1.0", "root/.terraform.lock.hcl"}}, want: "2.5.0: fixed ~> 1.0"},
		"another program's":    {terms: []term{{"", "~> 1.0", "github.com/acme/unit//main.tf"}}, want: "2.5.0: fixed ~> 1.0"},
		"what rules forbid is no aim": {
			terms:  []term{{"", "~> 1.0", own}},
			policy: policy.Rulebook{Rules: []policy.Rule{{Allow: allowing(t, "< 2.5")}}},
			want:   "2.1.0: edit ~> 1.0 -> ~> 2.0",
		},
		"what rules forbid alone is not held by the term": {
			terms:  []term{{"", "< 2", own}},
			policy: policy.Rulebook{Rules: []policy.Rule{{Allow: allowing(t, "< 2")}}},
			want:   "",
		},
		"a listed module":    {terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", spoken)}, want: "2.5.0: listed ~> 1.0 in vpc 1.1.0 -> 1.3.0"},
		"by a local caller":  {terms: []term{{"net.vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("net.vpc", spoken)}, want: "2.5.0: listed ~> 1.0 in net.vpc 1.1.0 -> 1.3.0"},
		"a list of versions": {terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0", "1.2.0"))}, want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0"},
		"the newest release": {terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.0.0", "1.1.0"))}, want: "2.5.0: none ~> 1.0 in vpc 1.1.0"},
		"no list":            {terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", nil)}, want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0"},
		"a version that is not listed": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.0.0", "1.2.0 . hashicorp/a >= 1"))},
			want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0",
		},
		"no release allows it": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . hashicorp/a ~> 1.0", "1.2.0 . hashicorp/a ~> 1.1"))},
			want: "2.5.0: none ~> 1.0 in vpc 1.1.0 -> 1.2.0",
		},
		"the list is silent of some": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . hashicorp/a ~> 1.0", "1.2.0", "1.3.0 . hashicorp/a ?"))},
			want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0",
		},
		"by its name": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . - ~> 1.0", "1.2.0 . - >= 1.0"))},
			want: "2.5.0: listed ~> 1.0 in vpc 1.1.0 -> 1.2.0 by name",
		},
		// The list is wrong about the release in use.
		"a list that lies": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . hashicorp/a >= 0", "1.2.0 . hashicorp/a >= 0"))},
			want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0",
		},
		"a list of another provider": {
			terms: []term{{"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . acme/a ~> 1.0", "1.2.0 . acme/a >= 1.0"))},
			want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0",
		},
		"a module within the package": {
			terms: []term{{"vpc", ">= 1", vpc}, {"vpc.x", "~> 1.0", "acme/vpc/aws//modules/x/main.tf"}},
			fetched: []scan.Fetched{call("vpc", releasesOfModule(t,
				"1.1.0 . hashicorp/a >= 1", "1.1.0 modules/x hashicorp/a ~> 1.0",
				"1.2.0 . hashicorp/a < 2", "1.2.0 modules/x hashicorp/a >= 1.0", // the module at the top does not allow it
				"1.3.0 . hashicorp/a >= 1", // the list says nothing about the holder
				"1.4.0 . hashicorp/a >= 1", "1.4.0 modules/x hashicorp/a >= 1.0",
			))},
			want: "2.5.0: listed ~> 1.0 in vpc 1.1.0 -> 1.4.0",
		},
		"a module of another package below": {
			terms: []term{{"vpc", ">= 1", vpc}, {"vpc.sub", "~> 1.0", "acme/sub/aws//main.tf"}}, fetched: []scan.Fetched{call("vpc", spoken), call("vpc.sub", spoken)},
			want: "2.5.0: unknown ~> 1.0 in vpc 1.1.0",
		},
		"several holders": {
			terms: []term{{"", "< 2", own}, {"vpc", "~> 1.0", vpc}}, fetched: []scan.Fetched{call("vpc", spoken)},
			want: "2.5.0: edit < 2.0.0 -> < 3.0.0; listed ~> 1.0 in vpc 1.1.0 -> 1.3.0",
		},
		"one without help": {
			terms: []term{{"", "~> 1.0", own}, {"vpc", "< 2.1", vpc}}, fetched: []scan.Fetched{call("vpc", releasesOfModule(t, "1.1.0 . hashicorp/a < 2.1"))},
			want: "2.0.0: edit ~> 1.0 -> ~> 2.0",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module(t, nil, nil)
			for _, term := range tt.terms {
				required(t, &m, term.module, term.text, term.place)
			}
			m.Tree.Fetched = tt.fetched
			src := &offer{releases: map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two, "2.0.0": two, "2.1.0": two, "2.5.0": two, "3.0.0-rc1": two}}}
			r := Plan(t.Context(), src, []scan.RootModule{m}, Options{Platforms: linux, Policy: tt.policy})[0]
			got := ""
			for _, h := range r.Selections[0].Held {
				got += helpText(h.Help)
			}
			if got != tt.want {
				t.Errorf("the help is %q, want %q (diagnostics: %v)", got, tt.want, r.Diagnostics)
			}
		})
	}
}

// TestAdviceIsAPlanOfAllProviders holds that a change is advised only if every provider of
// the root module has a version with it. b has the same releases as a.
func TestAdviceIsAPlanOfAllProviders(t *testing.T) {
	t.Parallel()
	listed := func(lines ...string) *scan.ModuleVersions {
		v := &scan.ModuleVersions{}
		for _, line := range lines { // VERSION A B
			words := strings.Fields(line)
			m := scan.ListedModule{Path: "."}
			for i, name := range []string{"a", "b"} {
				m.Providers = append(m.Providers, scan.ListedProvider{Name: name, Source: "hashicorp/" + name, Constraints: constraints(t, words[1+i]), Valid: true})
			}
			v.Releases = append(v.Releases, scan.ModuleRelease{Version: words[0], Modules: []scan.ListedModule{m}})
		}
		return v
	}
	for name, tt := range map[string]struct {
		call     string // the constraint of the call
		versions *scan.ModuleVersions
		b        string // the root module's own constraint on b
		rule     string // what a rule allows of b
		want     string
	}{
		"nobody minds":                  {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 >=1 >=1"), "", "", "change ~> 1.1 to ~> 2.0"},
		"another term must change":      {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 >=2 >=2"), "~> 1.0", "", "change ~> 1.1 to ~> 2.0, change ~> 1.0 to ~> 2.0"},
		"the next release of it":        {"1.1.0", listed("1.1.0 <2 <2", "1.2.0 >=2 >3", "2.0.0 >=2 >=2"), "", "", "change 1.1.0 to 2.0.0"},
		"what the new range selects":    {"~> 1.1.0", listed("1.1.0 <2 <2", "1.2.0 >=2 >=1", "1.2.1 >=2 >3", "1.3.0 >=2 >=1"), "", "", "change ~> 1.1.0 to ~> 1.3.0"},
		"several terms in a call":       {">= 1, < 2", listed("1.1.0 <2 <2", "2.0.0 >=1 >=1"), "", "", "change >= 1, < 2 to >= 1, < 3.0.0"},
		"a spelling of an exact one":    {"= 1.1.0", listed("1.1.0 <2 <2", "2.0.0 >=1 >=1"), "", "", "change = 1.1.0 to = 2.0.0"},
		"nothing is left of the other":  {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 >=2 >3"), "", "", "clash"},
		"a rule would be overruled":     {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 >=2 >=2"), "", "< 2", "clash"},
		"an older release of it helps":  {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 <2.5 >=1"), "", "", "change ~> 1.1 to ~> 2.0"},
		"a list without a newer answer": {"~> 1.1", listed("1.1.0 <2 <2", "2.0.0 <2 <2"), "", "", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module(t, nil, nil)
			in := scan.Term{Constraint: constraints(t, "< 2").Terms()[0], Module: "m", Place: problem.Place{Package: "acme/m/x", Path: "main.tf", Line: 3}}
			m.Tree.Requirements = []scan.Requirement{{Addr: addr("a"), Terms: []scan.Term{in}}, {Addr: addr("b"), Terms: []scan.Term{in}}}
			if tt.b != "" {
				own := scan.Term{Constraint: constraints(t, tt.b).Terms()[0], Place: problem.Place{Path: "main.tf", Line: 9}}
				m.Tree.Requirements[1].Terms = append(m.Tree.Requirements[1].Terms, own)
			}
			m.Tree.Fetched = []scan.Fetched{{Module: "m", Source: "acme/m/x", Version: "1.1.0", Dir: ".", Versions: tt.versions, Call: scan.Call{Source: "acme/m/x", Version: tt.call, Versioned: true}}}
			releases := map[string][]string{"1.0.0": two, "1.1.0": two, "2.0.0": two, "2.5.0": two}
			opts := Options{Platforms: linux}
			if tt.rule != "" {
				opts.Policy.Rules = []policy.Rule{{Allow: allowing(t, tt.rule), Where: policy.Where{Providers: patterns("b")}}}
			}
			r := Plan(t.Context(), &offer{releases: map[string]map[string][]string{"a": releases, "b": releases}}, modules(m), opts)[0]
			var got []string
			for _, h := range r.Selections[0].Held {
				for _, m := range h.Help.Measures {
					from, to := m.Change()
					got = append(got, fmt.Sprintf("change %s to %s", from, to))
					if !h.Help.Helps() {
						got = []string{string(m.Kind)}
					}
				}
			}
			if said := strings.Join(got, ", "); said != tt.want {
				t.Errorf("the advice is %q, want %q", said, tt.want)
			}
		})
	}
}

// TestAdviceReadsPathsFromTheTopOfTheModule holds that the paths of a registry's list begin
// at the top of the module, for every directory that a call can lead to.
func TestAdviceReadsPathsFromTheTopOfTheModule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ source, dir, place, want string }{
		"top":                   {"acme/vpc/aws", ".", "acme/vpc/aws//main.tf", "."},
		"archive with a folder": {"acme/vpc/aws", "vpc-1.1.0", "acme/vpc/aws//vpc-1.1.0/modules/x/main.tf", "modules/x"},
		"submodule":             {"acme/vpc/aws//modules/x", "modules/x", "acme/vpc/aws//modules/x/main.tf", "modules/x"},
		"submodule's neighbour": {"acme/vpc/aws//modules/x", "vpc-1/modules/x", "acme/vpc/aws//vpc-1/modules/y/main.tf", "modules/y"},
		"a folder of that name": {"acme/vpc/aws//modules/x", "elsewhere", "acme/vpc/aws//elsewhere/main.tf", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module(t, nil, nil)
			required(t, &m, "vpc", "~> 1.0", tt.place)
			terms := m.Tree.Requirements[0].Terms
			a := adviser{tool: m.Tool, fetched: []scan.Fetched{{Module: "vpc", Dir: tt.dir, Call: scan.Call{Source: tt.source}}}}
			got := a.paths(a.holders(terms, version("2.0.0"))[0], terms)
			if strings.Join(got, " ") != tt.want && (tt.want != "none" || len(got) > 0) {
				t.Errorf("the path is %q, want %q", got, tt.want)
			}
		})
	}
}
