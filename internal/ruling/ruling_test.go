package ruling_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/ruling"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
)

// world answers what is asked about providers: releases by TYPE, the days by TYPE VERSION.
type world struct {
	releases map[string][]string
	days     map[string]string
	failing  map[string]problem.Code // by TYPE VERSION: who knows the date, or the list, cannot be asked
	signed   map[string]string       // key ID by TYPE VERSION; without one there is no list
	bare     bool                    // releases are listed without platforms
	mu       *sync.Mutex
	asked    []string
}

func (w *world) note(question string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, question)
}

func (w *world) Versions(_ context.Context, _ provider.Tool, addr provider.Addr) (provider.Offer, error) {
	var offer provider.Offer
	for _, text := range w.releases[addr.Type] {
		v, err := provider.ParseVersion(text)
		if err != nil {
			panic(err)
		}
		r := provider.Release{Version: v}
		if !w.bare {
			r.Platforms = []provider.Platform{{OS: "linux", Arch: "amd64"}}
		}
		offer.Releases = append(offer.Releases, r)
	}
	offer.Methods = []provider.Method{{Name: "registry", Listed: true}}
	return offer, nil
}

func (w *world) Listing(_ context.Context, _ provider.Tool, want provider.Want) (provider.Listing, error) {
	name := want.Addr.Type + " " + want.Version.String()
	w.note("list " + name)
	if err := w.failure(name); err != nil {
		return provider.Listing{}, err
	}
	key, ok := w.signed[name]
	if !ok {
		return provider.Listing{}, nil
	}
	return provider.Listing{Files: []provider.ListedFile{{Name: "a.zip"}}, Signer: provider.Signer{KeyID: key, Fingerprint: key}}, nil
}

func (w *world) Hashes(context.Context, provider.Tool, provider.Want) (provider.Hashes, error) {
	panic("a ruling hashes no package")
}

func (w *world) Published(_ context.Context, _ provider.Tool, want provider.Want) (time.Time, error) {
	name := want.Addr.Type + " " + want.Version.String()
	w.note("date " + name)
	if err := w.failure(name); err != nil {
		return time.Time{}, err
	}
	if text, ok := w.days[name]; ok {
		return policy.ParseDay(text)
	}
	return time.Time{}, nil
}

func (w *world) failure(name string) error {
	if code, ok := w.failing[name]; ok {
		return &problem.Error{Problem: problem.Problem{Code: code, Message: "no answer today"}}
	}
	return nil
}

// lockText is a lock file of entries, "HOST/NAMESPACE/TYPE VERSION, …", where a host or a
// namespace that is missing is the usual one. What follows a + goes into each entry.
func lockText(entries string) string {
	entries, more, _ := strings.Cut(entries, " + ")
	var b strings.Builder
	b.WriteString("# A comment.\n")
	for entry := range strings.SplitSeq(entries, ", ") {
		name, version, _ := strings.Cut(entry, " ")
		if !strings.Contains(name, "/") {
			name = "registry.terraform.io/hashicorp/" + name
		}
		fmt.Fprintf(&b, "\nprovider %q {\n  version = %q\n%s}\n", name, version, more)
	}
	return b.String()
}

// treeOf is a file tree of lock files by their directory, and of other files.
func treeOf(locked, files map[string]string) fs.FS {
	all := fstest.MapFS{}
	for dir, entries := range locked {
		all[path.Join(dir, lockfile.Name)] = &fstest.MapFile{Data: []byte(lockText(entries))}
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// question is what is judged, and by what.
type question struct {
	base     map[string]string // lock files by directory; nil: nobody knows them
	head     map[string]string
	before   map[string]string // other files of the base
	after    map[string]string // and of the head
	requires []scan.Requirement
	former   []scan.Requirement // of the base; nil: the same
	tofu     bool
	rules    []policy.Rule
	signers  provider.Signers
	all      bool
	severity settings.Severities
	day      string // of the run; empty: 2026-11-23
	world    world
	want     []string // SEVERITY CODE DIR TYPE VERSION, with what a message says beside
	asked    []string
}

// rulings are the rulings, for the root modules by their directories.
func (q *question) rulings(t *testing.T) []ruling.Ruling {
	t.Helper()
	files := treeOf(q.head, q.after)
	tool := provider.Newest(provider.Terraform)
	if q.tofu {
		tool = provider.Newest(provider.OpenTofu)
	}
	var modules []ruling.Examined
	for _, dir := range slices.Sorted(maps.Keys(q.head)) {
		name := path.Join(dir, lockfile.Name)
		src, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		lock, problems := lockfile.Parse(src, name)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		m := scan.RootModule{Root: scan.Root{Dir: dir, Tool: tool, Lock: lock}, Tree: scan.ModuleTree{Requirements: q.requires}}
		if q.head[dir] == "" {
			m.Lock = nil
		}
		modules = append(modules, ruling.Examined{Root: m, Files: files})
	}
	var base *ruling.Before
	if q.base != nil {
		var err error
		base, err = ruling.ReadBefore(treeOf(q.base, q.before))
		if err != nil {
			t.Fatal(err)
		}
	}
	now, _ := policy.ParseDay(cmp.Or(q.day, "2026-11-23"))
	return ruling.Make(t.Context(), &q.world, modules, base, ruling.Options{
		Rules: policy.Rulebook{Rules: q.rules, Now: now}, Signers: q.signers, All: q.all, Severities: q.severity, Plan: upgrade.Options{Dates: &q.world},
		Former: func(dirs []string) (roots []scan.RootModule) {
			requires := q.requires
			if q.former != nil {
				requires = q.former
			}
			for _, dir := range dirs {
				_, onBase := q.base[dir]
				_, atHand := q.head[dir]
				if onBase || q.base == nil && atHand {
					roots = append(roots, scan.RootModule{Root: scan.Root{Dir: dir, Tool: tool}, Tree: scan.ModuleTree{Requirements: requires}})
				}
			}
			return roots
		},
	})
}

// told are the rulings in short.
func (q *question) told(t *testing.T) (told []string) {
	t.Helper()
	dirs := slices.Sorted(maps.Keys(q.head))
	severities := map[problem.Severity]string{problem.SeverityError: "error", problem.SeverityWarning: "warning", problem.SeverityNote: "note"}
	for i, r := range q.rulings(t) {
		for _, f := range r.Findings {
			text := fmt.Sprintf("%s %s %s %s", severities[f.Severity], f.Code, dirs[i], f.Subject.Addr.Type)
			if f.Subject.Versioned {
				text += " " + f.Subject.Version.String()
			}
			if f.Place.Path == "" || f.Place.Line == 0 || f.Hint == "" {
				t.Errorf("%s is at %v, with the hint %q", text, f.Place, f.Hint)
			}
			if strings.Contains(f.Message, "leave no release") {
				text += ", cornered"
			}
			if day := "old enough on "; strings.Contains(f.Message, day) {
				_, end, _ := strings.Cut(f.Message, day)
				text += ", " + end[:len("2026-11-25")]
			}
			told = append(told, text)
		}
		for _, d := range r.Undecided {
			told = append(told, fmt.Sprintf("%s %s %s not judged", severities[d.Severity], d.Code, dirs[i]))
		}
	}
	return told
}

func constraints(text string) *provider.Constraints {
	c, err := provider.ParseConstraints(text)
	if err != nil {
		panic(err)
	}
	return &c
}

func patterns(texts ...string) policy.Where {
	var w policy.Where
	for _, text := range texts {
		p, err := provider.ParsePattern(text)
		if err != nil {
			panic(err)
		}
		w.Providers = append(w.Providers, p)
	}
	return w
}

// The rules of the tests.
var (
	old     = policy.Rule{Allow: constraints("< 2"), Place: problem.Place{Path: "f", Line: 1}}
	young   = policy.Rule{MinimumAge: new(72 * time.Hour), Place: problem.Place{Path: "f", Line: 2}}
	undated = policy.Rule{UnknownAge: policy.HoldUnknownAge, Place: problem.Place{Path: "f", Line: 3}}
	never   = policy.Rule{Permitted: new(false), Place: problem.Place{Path: "f", Line: 4}}
	noMajor = policy.Rule{Updates: []provider.Bump{provider.BumpMajor}, Allow: constraints("< 2"), Place: problem.Place{Path: "f", Line: 5}}
)

// requirement is what a file requires at its line 3, by some terms.
func requirement(at problem.Place, terms ...string) []scan.Requirement {
	at.Line = 3
	addr, _ := provider.ParseFullAddr("registry.terraform.io/hashicorp/a")
	required := scan.Requirement{Addr: addr, Terms: []scan.Term{{Place: at}}}
	for _, text := range terms {
		required.Terms = append(required.Terms, scan.Term{Place: at, Constraint: constraints(text).Terms()[0]})
	}
	return []scan.Requirement{required}
}

func TestRulings(t *testing.T) {
	t.Parallel()
	in := func(dir, entries string) map[string]string { return map[string]string{dir: entries} }
	keys := provider.Signers{patterns("hashicorp/a").Providers[0]: {"AAAAAAAAAAAAAAAA"}}
	both := map[string][]string{"a": {"1.0.0", "2.0.0"}}
	for name, q := range map[string]question{
		"another version":        {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"a version that was":     {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"one that was, of all":   {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, all: true, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"no base":                {head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"no base, of all":        {head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, all: true, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"an entry more":          {base: in("live", "b 1.0.0"), head: in("live", "a 2.0.0, b 1.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"the order of entries":   {base: in("live", "b 1.0.0, a 2.0.0"), head: in("live", "a 2.0.0, b 1.0.0"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"other constraints":      {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0 +   constraints = \"2.0.0\"\n"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"other hashes":           {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0 +   hashes = [\n    \"zh:00\",\n  ]\n"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"build metadata":         {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0+b"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0+b"}},
		"a file that was moved":  {base: in("live", "a 2.0.0"), head: in("apps/live", "a 2.0.0"), rules: []policy.Rule{old}, want: []string{"warning version-refused apps/live a 2.0.0"}},
		"moved and changed":      {base: in("live", "a 1.0.0"), head: in("apps/live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused apps/live a 2.0.0"}},
		"moved, with one more":   {base: in("live", "a 2.0.0"), head: in("apps/live", "a 2.0.0, b 1.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused apps/live a 2.0.0"}},
		"copied":                 {base: in("live", "a 2.0.0"), head: map[string]string{"live": "a 2.0.0", "new": "a 2.0.0"}, rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"warning version-refused live a 2.0.0", "error version-refused new a 2.0.0"}},
		"moved to where one was": {base: map[string]string{"live": "a 2.0.0", "new": "a 1.0.0"}, head: in("new", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused new a 2.0.0"}},

		"from the twin":               {tofu: true, base: in("live", "a 2.0.0"), head: in("live", "registry.opentofu.org/hashicorp/a 2.0.0"), rules: []policy.Rule{old}, want: []string{"warning version-refused live a 2.0.0"}},
		"from the twin, newer":        {tofu: true, base: in("live", "a 1.0.0"), head: in("live", "registry.opentofu.org/hashicorp/a 2.0.0"), rules: []policy.Rule{noMajor}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"a twin that Terraform lacks": {base: in("live", "a 2.0.0"), head: in("live", "registry.opentofu.org/hashicorp/a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"another host":                {tofu: true, base: in("live", "a 2.0.0"), head: in("live", "example.com/hashicorp/a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},

		"a kind of update":             {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{noMajor}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}},
		"a kind of none":               {base: in("live", "b 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{noMajor}},
		"a kind that was before":       {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{noMajor}, all: true},
		"a kind without a base":        {head: in("live", "a 2.0.0"), rules: []policy.Rule{noMajor}, all: true},
		"a rule for other directories": {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{{Where: policy.Where{Directories: []string{"test/**"}}, Allow: constraints("< 2")}}},

		"too young": {
			base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}, world: world{releases: both, days: map[string]string{"a 2.0.0": "2026-11-22", "a 1.0.0": "2020-01-01"}},
			want: []string{"error too-young live a 2.0.0, 2026-11-25"}, asked: []string{"date a 2.0.0"},
		},
		"old enough":              {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}, world: world{days: map[string]string{"a 2.0.0": "2026-11-20"}}, asked: []string{"date a 2.0.0"}},
		"young before":            {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}},
		"young before, of all":    {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}, all: true, world: world{days: map[string]string{"a 2.0.0": "2020-01-01"}}, asked: []string{"date a 2.0.0"}},
		"one release twice":       {head: map[string]string{"live": "a 2.0.0", "test": "a 2.0.0"}, rules: []policy.Rule{young}, all: true, world: world{days: map[string]string{"a 2.0.0": "2020-01-01"}}, asked: []string{"date a 2.0.0"}},
		"no date":                 {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}, asked: []string{"date a 2.0.0"}},
		"no date, which is held":  {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young, undated}, world: world{releases: both, days: map[string]string{"a 1.0.0": "2020-01-01"}}, want: []string{"error too-young live a 2.0.0"}, asked: []string{"date a 2.0.0"}},
		"an age of nothing":       {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young, {MinimumAge: new(time.Duration)}}},
		"a date nobody can say":   {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young}, world: world{failing: map[string]problem.Code{"a 2.0.0": problem.CodeUnreachable}}, want: []string{"error unreachable live not judged"}, asked: []string{"date a 2.0.0"}},
		"nor allows the unknown":  {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young, undated}, world: world{failing: map[string]problem.Code{"a 2.0.0": problem.CodeGitHub}}, want: []string{"error github live not judged"}, asked: []string{"date a 2.0.0"}},
		"but the rest is decided": {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{young, never}, world: world{failing: map[string]problem.Code{"a 2.0.0": problem.CodeUnreachable}}, want: []string{"error provider-refused live a 2.0.0", "error unreachable live not judged"}, asked: []string{"date a 2.0.0"}},

		"nothing left":           {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"warning version-refused live a 2.0.0, cornered"}, requires: requirement(problem.Place{Path: "main.tf"}, ">= 2.0.0")},
		"nothing left of a kind": {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{noMajor}, world: world{releases: both}, want: []string{"warning version-refused live a 2.0.0, cornered"}, requires: requirement(problem.Place{Path: "main.tf"}, ">= 2.0.0")},
		"the old one is kept":    {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"error version-refused live a 2.0.0"}, requires: requirement(problem.Place{Path: "main.tf"})},
		"nothing left but young": {
			base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{{Updates: noMajor.Updates, MinimumAge: young.MinimumAge, Place: young.Place}}, requires: requirement(problem.Place{Path: "main.tf"}, ">= 2.0.0"),
			world: world{releases: both, days: map[string]string{"a 2.0.0": "2026-11-22"}}, want: []string{"warning too-young live a 2.0.0, cornered, 2026-11-25"}, asked: []string{"date a 2.0.0", "date a 2.0.0"},
		},
		"nothing left, added": {base: in("live", "b 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"warning version-refused live a 2.0.0, cornered"}, requires: requirement(problem.Place{Path: "main.tf"})},
		"a change that corners itself": {
			base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"},
			requires: requirement(problem.Place{Path: "main.tf"}, "= 2.0.0"), former: requirement(problem.Place{Path: "main.tf"}),
		},
		"nothing left of a new provider": {
			base: in("live", "b 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"error version-refused live a 2.0.0"},
			requires: requirement(problem.Place{Path: "main.tf"}), former: []scan.Requirement{},
		},
		"nothing left in a new root module": {
			base: in("other", "b 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"error version-refused live a 2.0.0"},
			requires: requirement(problem.Place{Path: "main.tf"}),
		},
		"another one left":        {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: both}, want: []string{"error version-refused live a 2.0.0"}, requires: requirement(problem.Place{Path: "main.tf"})},
		"nothing required":        {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"error version-refused live a 2.0.0"}},
		"a refusal is no corner":  {base: in("live", "b 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{never}, world: world{releases: map[string][]string{"a": {"2.0.0"}}}, want: []string{"error provider-refused live a 2.0.0"}, requires: requirement(problem.Place{Path: "main.tf"})},
		"refused twice":           {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{never, old}, world: world{releases: both}, want: []string{"error provider-refused live a 2.0.0", "error version-refused live a 2.0.0"}},
		"as bad as is chosen":     {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, severity: settings.Severities{Given: map[problem.Code]problem.Severity{problem.CodeVersionRefused: problem.SeverityNote}}, want: []string{"note version-refused live a 2.0.0"}},
		"no worse than a warning": {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), rules: []policy.Rule{old}, severity: settings.Severities{Given: map[problem.Code]problem.Severity{problem.CodeVersionRefused: problem.SeverityNote}}, want: []string{"note version-refused live a 2.0.0"}},

		"another key":             {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both, signed: map[string]string{"a 2.0.0": "BBBBBBBBBBBBBBBB"}}, want: []string{"error signer-refused live a 2.0.0"}, asked: []string{"list a 2.0.0"}},
		"the key":                 {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both, signed: map[string]string{"a 2.0.0": "AAAAAAAAAAAAAAAA"}}, asked: []string{"list a 2.0.0"}},
		"no key":                  {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both, signed: map[string]string{"a 2.0.0": ""}}, want: []string{"error signer-refused live a 2.0.0"}, asked: []string{"list a 2.0.0"}},
		"a key of before":         {base: in("live", "a 2.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both, signed: map[string]string{"a 2.0.0": "BBBBBBBBBBBBBBBB"}}},
		"a key of another":        {base: in("live", "b 1.0.0"), head: in("live", "b 2.0.0"), signers: keys, world: world{releases: both}},
		"a mirror without a list": {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both}, asked: []string{"list a 2.0.0"}},
		"a list out of reach":     {base: in("live", "a 1.0.0"), head: in("live", "a 2.0.0"), signers: keys, world: world{releases: both, failing: map[string]problem.Code{"a 2.0.0": problem.CodeUnreachable}}, want: []string{"error unreachable live not judged"}, asked: []string{"list a 2.0.0"}},
		"no such release":         {base: in("live", "a 1.0.0"), head: in("live", "a 3.0.0"), signers: keys, world: world{releases: both}, want: []string{"error no-package live not judged"}},

		"required by a new file":     {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Path: "main.tf"}), former: []scan.Requirement{}, after: map[string]string{"main.tf": "x"}, want: []string{"error provider-refused live a"}},
		"by a file that was":         {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Path: "main.tf"}), before: map[string]string{"main.tf": "x"}, after: map[string]string{"main.tf": "x"}, want: []string{"warning provider-refused live a"}},
		"by a file that changed":     {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Path: "main.tf"}), former: []scan.Requirement{}, before: map[string]string{"main.tf": "x"}, after: map[string]string{"main.tf": "y"}, want: []string{"error provider-refused live a"}},
		"in a file that changed":     {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Path: "main.tf"}), before: map[string]string{"main.tf": "x"}, after: map[string]string{"main.tf": "y"}, want: []string{"warning provider-refused live a"}},
		"by a module package":        {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Package: "git::https://example.com/m", Path: "main.tf"}), former: []scan.Requirement{}, before: map[string]string{"main.tf": "x"}, after: map[string]string{"main.tf": "x"}, want: []string{"error provider-refused live a"}},
		"required, without a base":   {head: in("live", "b 1.0.0"), rules: []policy.Rule{{Where: patterns("hashicorp/a"), Permitted: new(false)}}, requires: requirement(problem.Place{Path: "main.tf"}), want: []string{"warning provider-refused live a"}},
		"required and locked":        {base: in("live", "a 1.0.0"), head: in("live", "a 1.0.0"), rules: []policy.Rule{never}, requires: requirement(problem.Place{Path: "main.tf"}), want: []string{"warning provider-refused live a 1.0.0"}},
		"required and not forbidden": {base: in("live", "b 1.0.0"), head: in("live", "b 1.0.0"), rules: []policy.Rule{never, {Permitted: new(true)}}, requires: requirement(problem.Place{Path: "main.tf"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q.world.mu = &sync.Mutex{}
			got := q.told(t)
			if diff := gocmp.Diff(q.want, got); diff != "" {
				t.Errorf("rulings (-want +got):\n%s", diff)
			}
			slices.Sort(q.world.asked)
			if diff := gocmp.Diff(q.asked, q.world.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// A finding is recognised on another day, and when the rule moves to another line.
func TestFindingsAreKnownAgain(t *testing.T) {
	t.Parallel()
	print := func(day string, rule policy.Rule, files map[string]string) string {
		q := question{
			base: map[string]string{"live": "b 1.0.0"}, head: files, rules: []policy.Rule{rule}, day: day,
			world: world{days: map[string]string{"a 2.0.0": "2026-11-22"}, mu: &sync.Mutex{}},
		}
		all := q.rulings(t)
		if len(all) != 1 || len(all[0].Findings) != 1 {
			t.Fatalf("rulings = %+v, want one finding", all)
		}
		return all[0].Findings[0].Fingerprint()
	}
	moved := young
	moved.Place.Line = 9
	first := print("2026-11-23", young, map[string]string{"live": "a 2.0.0, b 1.0.0"})
	if again := print("2026-11-24", moved, map[string]string{"live": "b 1.0.0, a 2.0.0"}); again != first {
		t.Errorf("the fingerprint is %s, and on another day %s", first, again)
	}
	if other := print("2026-11-23", young, map[string]string{"other": "a 2.0.0"}); other == first {
		t.Errorf("the same fingerprint of another file: %s", other)
	}
}
