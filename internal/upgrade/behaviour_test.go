package upgrade

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// behaviourCase is a root module whose plan changes with one row of the table of behaviour.
type behaviourCase struct {
	module scan.RootModule
	src    *offer
	opts   Options
}

// behaviourCases has a case for each row.
func behaviourCases(t *testing.T) map[string]behaviourCase {
	t.Helper()
	old := provider.Tool{Name: provider.Terraform, Version: version("1.13.0")} // providers lock reads no test files
	ignoring := []policy.Rule{{Where: policy.Where{Providers: patterns("hashicorp/a")}, Ignore: yes()}}
	pair := "a 1.0.0 ~> 1.0; h1:1 h1:2"
	offering := func() *offer { return &offer{releases: simple} }
	on := func(o Options) Options {
		if len(o.Platforms.List) == 0 {
			o.Platforms = linux
		}
		return o
	}
	testOnly := module(t, []string{"a ~> 1.0"}, nil)
	testOnly.Tool = old
	testOnly.Tree, testOnly.Tests = testOnly.Tests, testOnly.Tree
	made := module(t, []string{"a ~> 1.0"}, []string{pair})
	made.Kind, made.StandIn = scan.CDK, scan.StandInAll
	half := module(t, []string{"a ~> 1.0"}, []string{pair})
	half.Tree.Unread = []scan.Unread{{Module: "net", Reason: "it is elsewhere", Place: problem.Place{Path: "main.tf", Line: 1}}}
	moved := func(namespace, constraints string) scan.RootModule {
		m := module(t, []string{"a " + constraints}, []string{pair})
		m.Tool = provider.Newest(provider.OpenTofu)
		twin := addr("a")
		twin.Namespace = namespace
		m.Lock.Locks = []lockfile.Lock{lockfile.New(twin, version("1.0.0"), provider.Constraints{}, []provider.Hash{"h1:old"})}
		m.Tree.Requirements[0].Addr.Host, m.Tree.Requirements[0].Addr.Namespace = provider.OpenTofu.DefaultHost(), namespace
		return m
	}
	gone := module(t, []string{"a ~> 1.0"}, []string{"a 1.1.5 ~> 1.0; h1:1 h1:2"})
	locked := func(requirement string, locks ...string) scan.RootModule {
		return module(t, []string{requirement}, locks)
	}
	refuse := func(provider.Want, *provider.Hashes) error {
		return &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
	}
	unsigned := func(_ provider.Want, h *provider.Hashes) error {
		h.Signer = provider.Signer{}
		return nil
	}
	return map[string]behaviourCase{
		"readsTests":       {testOnly, offering(), on(Options{})},
		"settlesConflicts": {merged(t, []string{"a ~> 1.0"}, nil, []string{"a 1.0.0; h1:1"}, []string{"a 1.1.0; h1:a-1.1.0-linux_amd64"}), offering(), on(Options{Mode: Complete})},
		"leavesGenerated":  {made, offering(), on(Options{})},
		"takesRecorded":    {half, offering(), on(Options{Preserve: true})},
		"twoCommands":      {testOnly, offering(), on(Options{Exact: true, Platforms: Platforms{List: platforms(two...)}})},
		"skipsOverridden":  {locked("a ~> 1.0", pair), offering(), on(Options{Overridden: map[provider.ToolName][]provider.Addr{provider.Terraform: {addr("a")}}})},

		"keepsVersions":  {locked("a ~> 1.0", pair), offering(), on(Options{Mode: Complete})},
		"keepsWithdrawn": {gone, &offer{releases: simple, mirror: true}, on(Options{Mode: Complete})},
		"lowers":         {gone, offering(), on(Options{})},
		"carriesAll":     {moved("acme", "~> 1.0"), offering(), on(Options{Mode: Complete})},
		"reselects":      {moved("hashicorp", "~> 2.0"), offering(), on(Options{Mode: Complete})},
		"tellsHeld":      {locked("a ~> 1.0"), offering(), on(Options{})},
		"spares":         {locked("a ~> 1.0", pair), offering(), on(Options{Policy: policy.Rulebook{Rules: ignoring}})},
		"forgives":       {locked("a ~> 1.0", pair), &offer{releases: simple, edit: refuse}, on(Options{Mode: Complete, Policy: policy.Rulebook{Rules: ignoring}})},

		"packagesFrom":   {locked("a ~> 1.0"), &offer{releases: simple, edit: mirroring(false)}, on(Options{Platforms: Platforms{List: platforms(two...)}})},
		"skipsPlatforms": {locked("a ~> 1.0"), offering(), on(Options{Platforms: Platforms{List: platforms("linux_amd64", "plan9_386")}})},
		"provenOnly":     {locked("a ~> 1.0"), &offer{releases: simple, edit: unsigned}, on(Options{})},
		"refuses":        {locked("a ~> 1.0", "a 1.1.0 ~> 1.0; zh:a-1.1.0-darwin_arm64-old zh:a-1.1.0-linux_amd64"), offering(), on(Options{Platforms: Platforms{List: platforms(two...)}})},
		"refusesAltered": {locked("a ~> 1.0"), &offer{releases: simple, edit: mirroring(false)}, on(Options{HashesFrom: FromBoth})},

		"keepsUnknown":      {locked("a ~> 1.0", "a 1.1.0 ~> 1.0; h2:x zh:a-1.1.0-linux_amd64"), offering(), on(Options{})},
		"keepsHashes":       {locked("a ~> 1.0", "a 1.1.0 ~> 1.0; h1:surplus "+twoZH), offering(), on(Options{Mode: Complete})},
		"keepsUnreferenced": {locked("a ~> 1.0", pair, "b 1.0.0; h1:b"), offering(), on(Options{})},
		"allOrNothing":      {module(t, []string{"a ~> 1.0", "gone ~> 1.0"}, []string{"a 1.0.0 ~> 1.0; h1:old", "gone 1.0.0; h1:gone"}), offering(), on(Options{})},
		"allBytes":          {handwritten(t), &offer{releases: map[string]map[string][]string{"a": {"1.1.0": two}, "b": {"2.0.0": {"linux_amd64"}}}}, on(Options{})},
	}
}

// outcome is the part of a plan that people and registries see.
func (c behaviourCase) outcome(ctx context.Context, b behaviour) string {
	c.src.asked = nil
	r := plan([]scan.RootModule{c.module}, b, asker{ctx, c.src, Options{Jobs: 1}, nil})[0]
	text := fmt.Sprintf("%q\n", r.File)
	for _, s := range r.Selections {
		text += fmt.Sprintln(s.Requirement.Addr, s.From, s.To, s.Held, s.Missing, s.Marks, s.Err)
	}
	for _, d := range r.Diagnostics {
		text += fmt.Sprintln(d.Severity, d.Code, d.Message)
	}
	slices.Sort(c.src.asked)
	return text + fmt.Sprint(c.src.asked)
}

// Every row of the table matters to some plan: with another value in that row alone, the
// outcome changes.
func TestEachRowOfBehaviourMatters(t *testing.T) {
	t.Parallel()
	cases := behaviourCases(t)
	row := reflect.TypeFor[behaviour]()
	for i := range row.NumField() {
		name := row.Field(i).Name
		if name == "options" { // the one field that is no row
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, ok := cases[name]
			if !ok {
				t.Fatalf("no case shows what %s means", name)
			}
			b := c.opts.behaviour()
			usual := c.outcome(t.Context(), b)
			for _, other := range otherwise(b, name) {
				if c.outcome(t.Context(), other) == usual {
					t.Errorf("%s = %+v changes nothing:\n%s", name, other, usual)
				}
			}
		})
	}
}

// otherwise are the behaviours that differ in one row.
func otherwise(b behaviour, row string) []behaviour {
	switch row {
	case "packagesFrom":
		first, origins := b, b
		first.packagesFrom, origins.packagesFrom = fromMethodsFirst, fromOrigins
		return []behaviour{first, origins}
	case "refuses":
		first, none := b, b
		first.refuses, none.refuses = refuseFirst, refuseNone
		return []behaviour{first, none}
	}
	flips := map[string]*bool{
		"readsTests": &b.readsTests, "settlesConflicts": &b.settlesConflicts, "leavesGenerated": &b.leavesGenerated,
		"takesRecorded": &b.takesRecorded, "twoCommands": &b.twoCommands, "skipsOverridden": &b.skipsOverridden, "keepsVersions": &b.keepsVersions,
		"keepsWithdrawn": &b.keepsWithdrawn, "lowers": &b.lowers, "carriesAll": &b.carriesAll, "reselects": &b.reselects,
		"tellsHeld": &b.tellsHeld, "spares": &b.spares, "forgives": &b.forgives, "skipsPlatforms": &b.skipsPlatforms,
		"provenOnly": &b.provenOnly, "refusesAltered": &b.refusesAltered, "keepsUnknown": &b.keepsUnknown,
		"keepsHashes": &b.keepsHashes, "keepsUnreferenced": &b.keepsUnreferenced, "allOrNothing": &b.allOrNothing, "allBytes": &b.allBytes,
	}
	flip := flips[row]
	*flip = !*flip
	return []behaviour{b}
}
