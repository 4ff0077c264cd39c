package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

const netModule = "mods.example/acme/net/aws"

// forge is a Source with one module in a registry, and a git repository. As module.Client
// does, it serves what a pin names without asking what is offered.
type forge struct {
	versions []string          // of the module in the registry
	commits  map[string]string // of git's refs and of the versions
	branches []string          // the refs that are branches
	both     []string          // the refs that are a branch and a tag
	down     bool

	mu    sync.Mutex
	asked []string
}

func (f *forge) Fetch(_ context.Context, tool provider.Tool, call Call) (Package, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf("%s %s %s", call.Source, call.Version, call.Pin.Hash))
	if call.Pin != (Pin{}) {
		return f.at(call.Pin.Version, strings.TrimPrefix(call.Pin.Hash, "git:")), nil
	}
	if f.down {
		return Package{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Message: "no answer"}}
	}
	a, err := moduleaddr.Parse(call.Source, tool.Name)
	if err != nil {
		return Package{}, err
	}
	if a.Kind == moduleaddr.Registry {
		var allowed goversion.Constraints
		if call.Versioned {
			allowed = goversion.MustConstraints(goversion.NewConstraint(call.Version))
		}
		version, _ := SelectModule(f.versions, allowed, tool)
		p := f.at(version, f.commits[version])
		p.Versions = &ModuleVersions{}
		for _, v := range f.versions {
			p.Versions.Releases = append(p.Versions.Releases, ModuleRelease{Version: v})
		}
		return p, nil
	}
	_, ref := a.Label()
	p := f.at("", f.commits[ref])
	p.Reference = Reference{Kind: RefTag, Ambiguous: slices.Contains(f.both, ref)}
	if slices.Contains(f.branches, ref) {
		p.Reference.Kind = RefBranch
	}
	return p, nil
}

// at is the package at a commit. It requires the provider in the version of the commit.
func (f *forge) at(version, commit string) Package {
	p := Package{
		FS:  fstest.MapFS{"main.tf": {Data: []byte("terraform {\n  required_providers {\n    x = { source = \"acme/x\", version = \">= 1.0." + commit[:1] + "\" }\n  }\n}\n")}},
		Dir: ".", ID: commit, Version: version, Hash: "git:" + commit,
	}
	if version != "" {
		p.Repository = "git::https://git.example/net"
	}
	return p
}

// except are rules that hold some versions.
func except(constraints string) policy.ModuleRules {
	held, err := provider.ParseConstraints(constraints)
	if err != nil {
		panic(err)
	}
	return policy.ModuleRules{Rulebook: policy.Rulebook{Rules: []policy.Rule{{Modules: []string{"*"}, Except: &held}}}}
}

func commit(n int) string { return strings.Repeat(fmt.Sprint(n), 40) }

// entry is a block of a lock file of modules.
func entry(address, version string, n int) modulelock.Entry {
	e := modulelock.Entry{Key: modulelock.Key{Address: address, Version: version}, Hash: "git:" + commit(n)}
	if address == netModule {
		e.Package = "git::https://git.example/net"
	}
	return e
}

// loadLocked reads a root module with a lock file of modules.
func loadLocked(t *testing.T, f *forge, config string, opts Options, entries ...modulelock.Entry) RootModule {
	t.Helper()
	files := fstest.MapFS{
		"main.tf":             {Data: []byte(config)},
		".terraform.lock.hcl": {},
		modulelock.Name:       {Data: (&modulelock.File{Entries: entries}).Print()},
	}
	opts.Dirs = []string{"."}
	roots, diags, err := Find(t.Context(), files, opts)
	if err != nil || len(diags)+len(roots[0].Problems) > 0 {
		t.Fatal(diags, err, roots[0].Problems)
	}
	modules := Load(t.Context(), roots, f, opts)
	return modules[0]
}

// uses are the calls of a module tree with the entries that they use.
func uses(m RootModule) string {
	var all []string
	for _, f := range m.All().Fetched {
		all = append(all, fmt.Sprintf("%s %s@%s", f.Module, f.Locked.Version, strings.TrimPrefix(f.Hash, "git:")[:1]))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func called(name, source, version string) string {
	text := fmt.Sprintf("module %q {\n  source = %q\n", name, source)
	if version != "" {
		text += fmt.Sprintf("  version = %q\n", version)
	}
	return text + "}\n"
}

// TestLoad_modulesAsLocked reads module trees with a lock file of modules. Modules stay or
// move, and what a call adds serves others, too.
func TestLoad_modulesAsLocked(t *testing.T) {
	t.Parallel()
	const repository = "git::https://git.example/net"
	calls := called("a", netModule, "~> 1.0") + called("b", netModule, "= 1.2.0")
	git := called("tag", repository+"?ref=v1", "") + called("branch", repository+"?ref=main", "")
	world := func() *forge {
		return &forge{
			versions: []string{"1.0.0", "1.2.0", "1.3.0", "2.0.0"},
			commits:  map[string]string{"1.0.0": commit(1), "1.2.0": commit(2), "1.3.0": commit(3), "2.0.0": commit(4), "v1": commit(5), "main": commit(6)},
			branches: []string{"main"},
		}
	}
	tests := []struct {
		name, config string
		moves        bool
		rules        policy.ModuleRules
		change       func(f *forge)
		locked       []modulelock.Entry
		uses         string
		kept         string // codes, and held versions
		asked        string // a part of the questions; empty: any
	}{
		{name: "stays", config: called("a", netModule, "~> 1.0"), locked: []modulelock.Entry{entry(netModule, "1.0.0", 1)}, uses: "a 1.0.0@1", asked: commit(1)},
		{name: "newest_of_the_locked", config: called("a", netModule, ""), locked: []modulelock.Entry{entry(netModule, "1.0.0", 1), entry(netModule, "1.2.0", 2)}, uses: "a 1.2.0@2"},
		{name: "new_call_moves_another", config: calls, locked: []modulelock.Entry{entry(netModule, "1.0.0", 1)}, uses: "a 1.2.0@2, b 1.2.0@2"},
		{name: "moves", moves: true, config: calls, locked: []modulelock.Entry{entry(netModule, "1.0.0", 1)}, uses: "a 1.3.0@3, b 1.2.0@2"},
		{name: "content_as_locked", config: git, locked: []modulelock.Entry{entry(repository, "v1", 7), entry(repository, "main", 8)}, uses: "branch main@8, tag v1@7"},
		{name: "tag_stays_and_branch_moves", moves: true, config: git, locked: []modulelock.Entry{entry(repository, "v1", 7), entry(repository, "main", 8)}, uses: "branch main@6, tag v1@7", kept: "module-moved"},
		{name: "release_with_other_content", moves: true, config: called("a", netModule, "1.0.0"), locked: []modulelock.Entry{entry(netModule, "1.0.0", 9)}, uses: "a 1.0.0@9", kept: "module-moved"},
		{name: "moved_and_followed", moves: true, rules: policy.ModuleRules{Accepted: []string{"*"}}, config: git, locked: []modulelock.Entry{entry(repository, "v1", 7), entry(repository, "main", 8)}, uses: "branch main@6, tag v1@5"},
		{name: "version_held", moves: true, rules: except("2.0.0"), config: called("a", netModule, ""), locked: []modulelock.Entry{entry(netModule, "1.0.0", 1)}, uses: "a 1.3.0@3", kept: "held 2.0.0"},
		{name: "held_within_the_constraint", moves: true, rules: except("2.0.0"), config: called("a", netModule, "!= 1.3.0, != 1.2.0"), locked: []modulelock.Entry{entry(netModule, "1.0.0", 1)}, uses: "a 1.0.0@1", kept: "held 2.0.0"},
		{name: "down", moves: true, config: calls + git, change: func(f *forge) { f.down = true },
			locked: []modulelock.Entry{entry(netModule, "1.0.0", 1), entry(netModule, "1.2.0", 2), entry(repository, "v1", 5), entry(repository, "main", 8)},
			uses:   "a 1.2.0@2, b 1.2.0@2, branch main@8, tag v1@5", kept: "unreachable unreachable unreachable unreachable"},
		{name: "nothing_locked", moves: true, config: called("a", netModule, "< 1.2"), uses: "a 1.0.0@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := world()
			if tt.change != nil {
				tt.change(f)
			}
			m := loadLocked(t, f, tt.config, Options{Moves: func(string, string) bool { return tt.moves }, ModuleRules: tt.rules}, tt.locked...)
			var kept []string
			for _, p := range m.Tree.Kept {
				kept = append(kept, string(p.Code))
			}
			for _, h := range m.Tree.Held {
				kept = append(kept, "held "+h.Version)
			}
			if got := uses(m); got != tt.uses || strings.Join(kept, " ") != tt.kept {
				t.Errorf("the calls use %s and the problems are %v, want %s and %q", got, m.Tree.Kept, tt.uses, tt.kept)
			}
			if len(m.Tree.Unread) > 0 || problem.AnyError(m.Tree.Diagnostics) {
				t.Errorf("unread: %v, diagnostics: %v", m.Tree.Unread, m.Tree.Diagnostics)
			}
			if asked := strings.Join(f.asked, "\n"); !strings.Contains(asked, tt.asked) {
				t.Errorf("asked:\n%s\nwant %s", asked, tt.asked)
			}
		})
	}
}

// TestLoad_noModuleLock reads a module tree as before where there is no such file.
func TestLoad_noModuleLock(t *testing.T) {
	t.Parallel()
	f := &forge{versions: []string{"1.0.0"}, commits: map[string]string{"1.0.0": commit(1)}}
	files := fstest.MapFS{"main.tf": {Data: []byte(called("a", netModule, ""))}, ".terraform.lock.hcl": {}}
	for _, tt := range []struct {
		write bool
		hash  string
	}{{false, ""}, {true, "git:" + commit(1)}} {
		roots, _, err := Find(t.Context(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := Load(t.Context(), roots, f, Options{LockModules: tt.write})[0]
		if got := m.Tree.Fetched[0].Hash; got != tt.hash {
			t.Errorf("LockModules %t: the hash is %q, want %q", tt.write, got, tt.hash)
		}
	}
}

// TestLoad_ambiguousRef refuses to lock a ref that is a branch and a tag.
func TestLoad_ambiguousRef(t *testing.T) {
	t.Parallel()
	f := &forge{commits: map[string]string{"v1": commit(1)}, both: []string{"v1"}}
	m := loadLocked(t, f, called("a", "git::https://git.example/net?ref=v1", ""), Options{})
	if d := m.Tree.Diagnostics; len(d) != 1 || d[0].Code != problem.CodeModuleAmbiguous || d[0].Place.Line != 2 {
		t.Errorf("diagnostics: %v", d)
	}
}

// TestLoad_installed has the records of init.
func TestLoad_installed(t *testing.T) {
	t.Parallel()
	f := &forge{versions: []string{"1.0.0"}, commits: map[string]string{"1.0.0": commit(1), "v1": commit(2)}}
	config := called("r", netModule+"//.", "1.0.0") + called("g", "git::https://git.example/net?ref=v1&depth=1", "")
	m := loadLocked(t, f, config, Options{Installed: true})
	var got []string
	for _, i := range m.Installed {
		got = append(got, fmt.Sprintf("%s %s %q %s %s", i.Key, i.Source, i.Version, i.Dir, i.Call.Pin.Hash[:5]))
	}
	slices.Sort(got)
	want := []string{
		`g git::https://git.example/net?ref=v1&depth=1 "" .terraform/modules/g git:2`,
		`r mods.example/acme/net/aws "1.0.0" .terraform/modules/r git:1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("installed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFind_moduleLock finds root modules that have a lock file of modules alone.
func TestFind_moduleLock(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"live/main.tf": {Data: []byte("output \"x\" {\n  value = 1\n}\n")}, "live/" + modulelock.Name: {}, "net/main.tf": {}}
	roots, diags, err := Find(t.Context(), files, Options{})
	if err != nil || len(diags) > 0 || len(roots) != 1 || roots[0].Dir != "live" || roots[0].ModuleLock == nil {
		t.Errorf("found %v, %v, %v", roots, diags, err)
	}
}
