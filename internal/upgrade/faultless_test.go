package upgrade

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/transport"
)

var (
	rounds = flag.Int("rounds", 10, "random worlds in which TestFailuresMakeNothingWorse looks for a difference")
	seed   = flag.Uint64("seed", 1, "seed of the first of them")
)

// broken are seeds of worlds that once broke a rule below. The test always plays them.
var broken = []uint64{30448, 50387, 61079, 61924, 62031, 300072}

// TestFailuresMakeNothingWorse makes a registry, a root module and its lock file from a
// seed. It plans in a faultless world, then with failing requests, then until an interrupt.
// These rules hold:
//
//   - Every entry is then that of the faultless world, or the old one.
//   - If the old entries were made for different platforms, and an error reports a failure,
//     an entry may cover others of these platforms. It may cover more if no old entry has
//     more than one h1. If a release serves none of the platforms of the faultless world, its
//     entry may be made for the others, as the faultless world makes it for these.
//   - If an entry differs from the faultless world's, an error says so.
//   - If the options let a withdrawn version go down, it does not stay.
//   - In both worlds no version goes down, and no platform of an old entry is lost. The
//     exceptions: the constraints exclude the locked version, the options ask for it, or the
//     selection names the missing platform.
//
// A registry or mirror that answers 404 for a whole provider says, by its protocol, that it
// does not have it. Another version may then be selected. So only the last rule holds for
// that provider. If one provider can stop or release all others, it is the only rule for
// these, too.
//
// The exception for entries of different platforms is a choice. Such entries do not say
// which platforms were meant for all, so one silent registry would stop the upgrades of all
// others. An error reports what such an entry may lack, and the next run adds it.
//
// To look for longer, and to repeat a failure:
//
//	go test ./internal/upgrade -run FailuresMakeNothingWorse -rounds 100000
//	go test ./internal/upgrade -run FailuresMakeNothingWorse -rounds 1 -seed 4711
func TestFailuresMakeNothingWorse(t *testing.T) {
	t.Parallel()
	seeds := slices.Clone(broken)
	for i := range *rounds {
		seeds = append(seeds, *seed+uint64(i))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newFaultyWorld(t, seed).check(t)
		})
	}
}

// faultyWorld is a registry before and after the lock file was written, and a
// root module.
type faultyWorld struct {
	rand      *rand.Rand
	more      *rand.Rand // for later additions, so that each seed keeps its world
	tool      provider.Tool
	providers []*randomOffer
	module    scan.RootModule
	opts      Options
	cache     *hash.Cache // nil remembers nothing
	mixed     bool        // the entries of the lock file were made for different platforms
	platforms map[provider.Hash]provider.Platform
	before    string // the registry's text when the lock file was written
	after     string // and now
	// methods are the kinds of installation methods, in order. None means no block. The
	// filesystem mirror and the OCI mirror have these packages. The key is a path, the
	// value the address of the package.
	methods  []string
	mirrored map[string]string
	dir      string        // of the filesystem mirror in this plan
	patience time.Duration // the time limit of an answer; 0: the default
}

// randomOffer is a provider of the world.
type randomOffer struct {
	addr        provider.Addr
	platforms   []string
	versions    []string
	later       map[string]bool // versions released after the lock file was written
	gone        map[string]bool // and withdrawn after it
	silent      bool            // its registry lists no platforms
	grows       bool            // later versions serve one more platform
	shrinks     bool            // later versions serve one platform less
	keyless     bool            // no known key signs its lists
	constraints string
}

func newFaultyWorld(t *testing.T, seed uint64) *faultyWorld {
	t.Helper()
	w := &faultyWorld{
		rand: rand.New(rand.NewPCG(seed, 12)), more: rand.New(rand.NewPCG(seed, 13)),
		tool: provider.Newest(provider.Terraform), platforms: map[provider.Hash]provider.Platform{},
	}
	if w.chance(30) {
		w.tool = provider.Newest(provider.OpenTofu)
	}
	for i := range 1 + w.rand.IntN(3) {
		w.providers = append(w.providers, w.randomOffer(string(rune('a'+i))))
	}
	w.before, w.after = w.text(false), w.text(true)
	w.chooseMethods()
	if w.chance(25) {
		var err error
		if w.cache, err = hash.OpenCache(filepath.Join(t.TempDir(), "hashes")); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t)
	w.chooseOptions()
	return w
}

func (w *faultyWorld) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](w *faultyWorld, list ...T) T { return list[w.rand.IntN(len(list))] }

// some is a part of a list, in its order, with at least one element.
func some[T any](w *faultyWorld, list []T) []T {
	var part []T
	for _, e := range list {
		if w.chance(60) {
			part = append(part, e)
		}
	}
	if len(part) == 0 {
		part = append(part, pick(w, list...))
	}
	return part
}

// served are the platforms of the worlds.
var served = []string{"darwin_amd64", "darwin_arm64", "freebsd_amd64", "linux_amd64", "linux_arm64", "windows_amd64"}

func (w *faultyWorld) randomOffer(name string) *randomOffer {
	o := &randomOffer{later: map[string]bool{}, gone: map[string]bool{}, silent: w.chance(15), grows: w.chance(15), shrinks: w.chance(15)}
	host := pick(w, w.tool.Name.DefaultHost(), w.tool.Name.DefaultHost(), "reg.example")
	o.addr = provider.Addr{Host: host, Namespace: pick(w, "hashicorp", "acme"), Type: name}
	o.keyless = host == provider.OpenTofu.DefaultHost() && w.chance(25)
	o.platforms = served
	if w.chance(40) {
		o.platforms = some(w, served)
	}
	for minor := range 2 + w.rand.IntN(3) {
		v := fmt.Sprintf("1.%d.0", minor)
		o.versions = append(o.versions, v)
		if minor > 0 {
			o.later[v] = w.chance(50)
		}
		o.gone[v] = !o.later[v] && w.chance(10)
	}
	last := o.versions[len(o.versions)-1]
	o.constraints = pick(w, "", "", "~> 1.0", ">= 1.1.0", "< "+last)
	return o
}

// text describes the registry, as it was or as it is.
func (w *faultyWorld) text(now bool) string {
	var b strings.Builder
	for _, o := range w.providers {
		fmt.Fprintf(&b, "-- registry/%s/%s/%s --\nplatforms: [%s]\n", o.addr.Host, o.addr.Namespace, o.addr.Type, strings.Join(o.platforms, ", "))
		if o.addr.Host == provider.OpenTofu.DefaultHost() {
			b.WriteString("packages: true\n")
		}
		b.WriteString("versions:\n")
		for _, v := range o.versions {
			if o.later[v] && !now {
				continue
			}
			fmt.Fprintf(&b, "  %s:\n    no_platforms: %v\n    unlisted: %v\n    no_keys: %v\n    platforms: [%s]\n",
				v, o.silent, now && o.gone[v], o.keyless, strings.Join(o.served(v), ", "))
		}
	}
	return b.String()
}

// served are the platforms of a version.
func (o *randomOffer) served(v string) []string {
	platforms := slices.Clone(o.platforms)
	if o.shrinks && o.later[v] && len(platforms) > 1 {
		platforms = platforms[1:]
	}
	if o.grows && o.later[v] {
		platforms = append(platforms, "openbsd_amd64")
	}
	return platforms
}

// chooseMethods adds other sources than the registries. The filesystem mirror and the OCI
// mirror have some packages of some providers.
func (w *faultyWorld) chooseMethods() {
	w.methods = pick(w, nil, nil, nil, nil, []string{"network", "direct"}, []string{"network"},
		[]string{"filesystem", "direct"}, []string{"filesystem", "network"}, []string{"filesystem", "network", "direct"})
	if w.tool.Name == provider.OpenTofu && w.more.IntN(100) < 30 { // Terraform has no OCI mirrors
		lists := [][]string{{"oci"}, {"oci", "direct"}, {"oci", "network"}, {"filesystem", "oci", "direct"}}
		w.methods = lists[w.more.IntN(len(lists))]
	}
	w.mirrored = map[string]string{}
	for _, o := range w.providers {
		for _, v := range some(w, o.versions) {
			for _, p := range some(w, o.served(v)) {
				name := fmt.Sprintf("terraform-provider-%s_%s_%s.zip", o.addr.Type, v, p)
				w.mirrored[o.addr.String()+"/"+name] = fmt.Sprintf("/%s/files/%s/%s/%s/%s", o.addr.Host, o.addr.Namespace, o.addr.Type, v, name)
			}
		}
		if w.chance(30) {
			break
		}
	}
}

// serve starts the registry with one of its texts, and fills the mirrors. Unreleased
// versions are in no mirror either.
func (w *faultyWorld) serve(t *testing.T, text string) *sandbox.Sandbox {
	t.Helper()
	s := serve(t, text)
	w.dir = t.TempDir()
	directory, registry := slices.Contains(w.methods, "filesystem"), slices.Contains(w.methods, "oci")
	if !directory && !registry {
		return s
	}
	releases := map[string]map[string][]byte{} // zips by the address and version of a release, and by platform
	for name, from := range w.mirrored {
		zip := fetch(t, s.URL()+from)
		if zip == nil {
			continue
		}
		if directory {
			file := filepath.Join(w.dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, zip, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		parts := strings.SplitN(strings.TrimSuffix(filepath.Base(name), ".zip"), "_", 3)
		release := filepath.ToSlash(filepath.Dir(name)) + " " + parts[1]
		if releases[release] == nil {
			releases[release] = map[string][]byte{}
		}
		releases[release][parts[2]] = zip
	}
	if registry {
		mirror := sandbox.NewOCI()
		for release, zips := range releases {
			addr, version, _ := strings.Cut(release, " ")
			mirror.AddProvider("providers/"+addr, version, zips)
		}
		s.Mount("/v2/", mirror)
	}
	return s
}

// installation is the block of the CLI configuration.
func (w *faultyWorld) installation(s *sandbox.Sandbox) string {
	if w.methods == nil {
		return ""
	}
	var b strings.Builder
	for _, kind := range w.methods {
		switch kind {
		case "network":
			fmt.Fprintf(&b, "network_mirror {\n url = %q\n}\n", s.Mirror())
		case "filesystem":
			fmt.Fprintf(&b, "filesystem_mirror {\n path = %q\n}\n", filepath.ToSlash(w.dir))
		case "oci":
			fmt.Fprintf(&b, "oci_mirror {\n repository_template = %q\n}\n",
				strings.TrimPrefix(s.SecureURL(), "https://")+"/providers/${hostname}/${namespace}/${type}")
		default:
			b.WriteString("direct {}\n")
		}
	}
	return "provider_installation {\n" + b.String() + "}\n"
}

// fetch gets a file of the sandbox, or nil.
func fetch(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// write makes the root module, and its lock file as the earlier world had it.
func (w *faultyWorld) write(t *testing.T) {
	t.Helper()
	w.module = scan.RootModule{Root: scan.Root{Dir: "root", Tool: w.tool}}
	for i, o := range w.providers {
		r := scan.Requirement{Addr: o.addr}
		for _, c := range constraints(t, o.constraints).Terms() {
			r.Terms = append(r.Terms, scan.Term{Constraint: c, Place: problem.Place{Path: "main.tf", Line: i + 1}})
		}
		if len(r.Terms) == 0 {
			r.Terms = []scan.Term{{Place: problem.Place{Path: "main.tf", Line: i + 1}}}
		}
		w.module.Tree.Requirements = append(w.module.Tree.Requirements, r)
	}
	slices.SortFunc(w.module.Tree.Requirements, func(a, b scan.Requirement) int { return a.Addr.Compare(b.Addr) })
	earlier := w.module
	earlier.Tree.Requirements = slices.Clone(earlier.Tree.Requirements)
	for i := range earlier.Tree.Requirements { // the locked version need not be the newest
		if w.chance(40) {
			earlier.Tree.Requirements[i].Terms = []scan.Term{{Constraint: constraints(t, "1.0.0").Terms()[0], Place: problem.Place{Path: "main.tf", Line: 1}}}
		}
	}
	if last := w.providers[len(w.providers)-1]; w.chance(15) { // one provider is new
		earlier.Tree.Requirements = slices.DeleteFunc(earlier.Tree.Requirements, func(r scan.Requirement) bool { return r.Addr == last.addr })
	}
	s := w.serve(t, w.before)
	r := w.plan(t.Context(), t, s, earlier, Options{Platforms: Platforms{All: true}})
	if r.File == nil {
		return // no lock file yet
	}
	locks, all := slices.Clone(r.New), w.chance(15)
	w.mixed = w.chance(40)
	covered := some(w, served)
	for i, l := range locks {
		if w.mixed { // each entry was made on other machines
			covered = some(w, served)
		}
		if !all {
			l.Hashes = w.covering(l.Hashes, covered)
		}
		if w.mixed || l.Addr != w.providers[0].addr {
			l.Hashes = w.spoil(l.Hashes)
		}
		locks[i] = lockfile.New(l.Addr, l.Version, l.Constraints, l.Hashes)
	}
	w.mixed = w.differ(locks)
	source := (&lockfile.File{Tool: w.tool.Name, Locks: locks}).Print()
	file, diagnostics := lockfile.Parse(source, "root/"+lockfile.Name)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	w.module.Lock = file
}

// differ reports whether entries were made for different platforms: an entry lacks a
// platform that its release serves and another entry covers.
func (w *faultyWorld) differ(locks []lockfile.Lock) bool {
	all := map[provider.Platform]bool{}
	for _, l := range locks {
		maps.Copy(all, w.covered(l))
	}
	return slices.ContainsFunc(locks, func(l lockfile.Lock) bool {
		o := w.providers[slices.IndexFunc(w.providers, func(o *randomOffer) bool { return o.addr == l.Addr })]
		return slices.ContainsFunc(o.served(l.Version.String()), func(p string) bool {
			return all[platform(p)] && !w.covered(l)[platform(p)]
		})
	})
}

// covering keeps the h1 hashes of the covered platforms, and at least one.
func (w *faultyWorld) covering(hashes []provider.Hash, covered []string) []provider.Hash {
	part := slices.DeleteFunc(slices.Clone(hashes), func(h provider.Hash) bool {
		return h.Scheme() == provider.SchemeH1 && !slices.Contains(covered, w.platforms[h].String())
	})
	if len(h1(part)) == 0 {
		part = append(part, h1(hashes)[:min(1, len(h1(hashes)))]...)
	}
	return part
}

// spoil removes some hashes of an entry, or adds one that belongs to nothing.
func (w *faultyWorld) spoil(hashes []provider.Hash) []provider.Hash {
	scheme := func(s string) func(provider.Hash) bool {
		return func(h provider.Hash) bool { return h.Scheme() == s }
	}
	hashes = slices.Clone(hashes)
	switch w.rand.IntN(10) {
	case 0:
		return slices.DeleteFunc(hashes, scheme(provider.SchemeZH))
	case 1:
		return slices.DeleteFunc(hashes, scheme(provider.SchemeH1))
	case 2:
		i := slices.IndexFunc(hashes, scheme(provider.SchemeH1))
		return slices.Delete(hashes, i, i+1)
	case 4:
		return some(w, hashes)
	case 3:
		return append(hashes, "h1:belongs-to-nothing")
	}
	return hashes
}

func (w *faultyWorld) chooseOptions() {
	w.opts.Mode = pick(w, Upgrade, Upgrade, Upgrade, Complete)
	w.opts.HashesFrom = pick(w, "", "", FromBoth, FromOrigin)
	w.opts.Strict = w.chance(10)
	w.opts.AllowDowngrade = w.chance(10)
	switch w.rand.IntN(10) {
	case 0:
		w.opts.Platforms.All = true
	case 1, 2:
		for _, p := range some(w, served) {
			w.opts.Platforms.List = append(w.opts.Platforms.List, platform(p))
		}
		w.opts.Exact = w.chance(50)
	}
}

// plan uses a new client, so that only the hash cache remembers anything. It notes the
// platform of each h1 that it learns.
func (w *faultyWorld) plan(ctx context.Context, t *testing.T, s *sandbox.Sandbox, m scan.RootModule, opts Options) Result {
	t.Helper()
	home := t.TempDir()
	rc := map[provider.ToolName]string{provider.Terraform: ".terraformrc", provider.OpenTofu: ".tofurc"}[w.tool.Name]
	if err := os.WriteFile(filepath.Join(home, rc), []byte(w.installation(s)+s.CLIConfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	env := cliconfig.Env{Home: home, GOOS: "linux", Getenv: func(name string) string {
		switch {
		case name == "XDG_DATA_DIRS":
			return filepath.Join(home, "none")
		case name == "TF_REGISTRY_CLIENT_TIMEOUT" && w.patience > 0 && slices.Contains(w.methods, "oci"):
			return "1" // in whole seconds; only questions to OCI registries use it
		}
		return ""
	}}
	conn := transport.New(transport.Options{Retries: -1, Timeout: w.patience})
	c, diagnostics := cliconfig.Load(env, w.tool.Name)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	for _, e := range c.Endpoints() {
		conn.Admit(e)
	}
	configs := map[provider.ToolName]*cliconfig.Config{w.tool.Name: c}
	r := Plan(ctx, registry.New(conn, configs, registry.Options{Cache: w.cache}), modules(m), opts)[0]
	for _, selection := range r.Selections {
		maps.Copy(w.platforms, selection.Hashes)
	}
	return r
}

func serve(t *testing.T, text string) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (w *faultyWorld) check(t *testing.T) {
	s := w.serve(t, w.after)
	faultless := w.plan(t.Context(), t, s, w.module, w.opts)
	if w.cache != nil {
		s.ResetRequests()
		again := w.plan(t.Context(), t, s, w.module, w.opts)
		if string(again.File) != string(faultless.File) {
			t.Errorf("with what is remembered the plan is another:\n%s\nwithout:\n%s", again.File, faultless.File)
		}
	}
	w.checkWishes(t, "the faultless world", faultless)
	w.checkLowered(t, faultless)
	requests := s.Requests() // in an order that does not depend on a clock: a seed always gives the same world
	slices.SortFunc(requests, func(a, b sandbox.Request) int { return strings.Compare(a.Path, b.Path) })
	for range 3 {
		faults := w.faults(requests)
		if document := requests[w.more.IntN(len(requests))].Path; w.more.IntN(100) < 4 && !strings.HasSuffix(document, ".zip") {
			// This document comes after its time limit. Other late answers may then fail as
			// well.
			faults, w.patience = append(faults, sandbox.Fault{Method: "*", Path: document, Wild: "hang"}), 100*time.Millisecond
		}
		for _, f := range faults {
			s.Inject(f)
		}
		got := w.plan(t.Context(), t, s, w.module, w.opts)
		s.Mend()
		w.checkFaults(t, s, faults, faultless, got)
		w.patience = 0
	}
	w.checkInterrupt(t, s, requests, faultless)
	if t.Failed() {
		for _, l := range faultless.Old {
			t.Logf("%s %s covers %v", l.Addr, l.Version, slices.SortedFunc(maps.Keys(w.covered(l)), provider.Platform.Compare))
		}
		t.Logf("methods %v, mirror %v\noptions %+v\nrequired %v\nlock file\n%s\nregistry\n%s", w.methods, slices.Sorted(maps.Keys(w.mirrored)), w.opts, w.module.Tree.Requirements, w.source(), w.after)
	}
}

// checkInterrupt ends the plan at one of its requests: later questions fail.
func (w *faultyWorld) checkInterrupt(t *testing.T, s *sandbox.Sandbox, requests []sandbox.Request, faultless Result) {
	t.Helper()
	if len(requests) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := atomic.Int64{}
	left.Store(1 + w.rand.Int64N(int64(len(requests))))
	end := func(*http.Request) {
		if left.Add(-1) == 0 {
			cancel()
		}
	}
	if w.more.IntN(2) == 0 {
		s.Before(end) // the answer to the request arrives too late
	} else {
		s.After(end)
	}
	w.checkFaults(t, s, nil, faultless, w.plan(ctx, t, s, w.module, w.opts))
}

func (w *faultyWorld) source() []byte {
	if w.module.Lock == nil {
		return nil
	}
	return w.module.Lock.Source
}

// faults spoil some of the requests.
func (w *faultyWorld) faults(requests []sandbox.Request) []sandbox.Fault {
	var faults []sandbox.Fault
	for range 1 + w.rand.IntN(3) {
		f := sandbox.Fault{Method: "*", Path: pick(w, requests...).Path}
		switch w.rand.IntN(9) {
		case 0:
			f.Drop = true
		case 1:
			f.Truncate = 1 + w.rand.Int64N(40)
		case 2:
			f.Corrupt = true
		case 3:
			f.Wild = pick(w, "reset", "short", "empty", "garbage", "html", "loop")
		default:
			f.Status = pick(w, http.StatusNotFound, http.StatusNotFound, http.StatusForbidden, http.StatusGone,
				http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable)
		}
		if w.chance(25) {
			f.Times = 1
		}
		faults = append(faults, f)
	}
	return faults
}

// checkFaults compares a plan with faults with the faultless one. s is faultless again.
func (w *faultyWorld) checkFaults(t *testing.T, s *sandbox.Sandbox, faults []sandbox.Fault, faultless, got Result) {
	t.Helper()
	var old []lockfile.Lock
	if w.module.Lock != nil {
		old = w.module.Lock.Locks
	}
	different, told := false, problem.AnyError(got.Diagnostics)
	for _, o := range w.providers {
		is, was, ought := entry(got.New, o.addr), entry(old, o.addr), entry(faultless.New, o.addr)
		w.checkVersion(t, faults, o, old, faultless, got)
		deniesAny := slices.ContainsFunc(w.providers, func(o *randomOffer) bool { return w.denied(faults, o) })
		if w.denied(faults, o) || deniesAny && (w.opts.Strict || w.opts.Exact) { // then one provider decides about all
			continue
		}
		different = different || is != ought
		if told && w.mixed && is != was && unserved(faultless, o.addr) {
			ought = w.servedIn(t, s, o, got)
		}
		excused := told && (w.mixed && w.likeFewer(is, ought) || single(old) && contains(is, ought))
		if is != ought && is != was && is != besidesH1(was) && !excused {
			t.Errorf("with %+v the entry of %s is neither the old one nor that of the faultless world:\n%s\nfaultless:\n%s\nold:\n%s\n%v",
				faults, o.addr, is, ought, was, got.Diagnostics)
		}
	}
	if different && !told {
		t.Errorf("with %+v the lock file is another than in the faultless world, and no error says so: %v", faults, got.Diagnostics)
	}
	w.checkWishes(t, fmt.Sprintf("%+v", faults), got)
}

// unserved reports whether the release of a provider serves none of the wanted
// platforms, so that the old entry is kept.
func unserved(r Result, addr provider.Addr) bool {
	i := slices.IndexFunc(r.Selections, func(s Selection) bool { return s.Requirement.Addr == addr })
	return i >= 0 && problem.Coded(r.Selections[i].Err, problem.CodeNoPackage) && len(r.Selections[i].Missing) > 0
}

// servedIn is the faultless world's entry for the platforms of another entry.
func (w *faultyWorld) servedIn(t *testing.T, s *sandbox.Sandbox, o *randomOffer, made Result) string {
	t.Helper()
	i := slices.IndexFunc(made.Selections, func(s Selection) bool { return s.Requirement.Addr == o.addr })
	opts := w.opts
	opts.Platforms.List = slices.Concat(made.Selections[i].Coverage, made.Selections[i].Missing)
	return entry(w.plan(t.Context(), t, s, w.module, opts).New, o.addr)
}

// checkVersion looks for a version that goes down because of a failure. AllowDowngrade
// applies only to versions that are known to be withdrawn.
func (w *faultyWorld) checkVersion(t *testing.T, faults []sandbox.Fault, o *randomOffer, old []lockfile.Lock, faultless, got Result) {
	t.Helper()
	was, isLock := find(old, o.addr)
	if !isLock || w.opts.Exact || !constraints(t, o.constraints).Allows(was.Version) {
		return
	}
	ought, _ := find(faultless.New, o.addr)
	if is, _ := find(got.New, o.addr); is.Version.Precedence(was.Version) < 0 && ought.Version.Precedence(was.Version) >= 0 {
		t.Errorf("with %+v %s goes down from %s to %s, in the faultless world to %s", faults, o.addr, was.Version, is.Version, ought.Version)
	}
}

// besidesH1 is an entry without its h1 hashes.
func besidesH1(entry string) string {
	var b strings.Builder
	for line := range strings.Lines(entry) {
		if !strings.Contains(line, `"h1:`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// likeFewer reports whether two entries differ only by their platforms. With several
// methods, one package less may mean one checksum list less, and one more may mean one list
// more.
func (w *faultyWorld) likeFewer(is, ought string) bool {
	is, ought = besidesH1(is), besidesH1(ought)
	return is == ought || len(w.methods) > 1 && (contains(is, ought) || contains(ought, is))
}

// contains reports whether an entry has all that another one has.
func contains(entry, other string) bool {
	for line := range strings.Lines(other) {
		if !strings.Contains(entry, line) {
			return false
		}
	}
	return true
}

// single reports whether each entry has at most one h1. Then the default list is added if
// the platforms are equal. One entry that nobody can ask about may hide that they are not.
func single(locks []lockfile.Lock) bool {
	return !slices.ContainsFunc(locks, func(l lockfile.Lock) bool { return len(h1(l.Hashes)) > 1 })
}

// denied reports whether a fault means, by the protocol, that a registry or a mirror does
// not have a provider. Another source may have it.
func (w *faultyWorld) denied(faults []sandbox.Fault, o *randomOffer) bool {
	return len(w.methods) > 1 && slices.ContainsFunc(faults, func(f sandbox.Fault) bool {
		list := strings.HasSuffix(f.Path, "/versions") || strings.HasSuffix(f.Path, "/index.json") || strings.HasSuffix(f.Path, "/tags/list")
		return f.Status == http.StatusNotFound && list && strings.Contains(f.Path, fmt.Sprintf("/%s/%s/", o.addr.Namespace, o.addr.Type))
	})
}

// entry prints an entry as the tools do, or nothing.
func entry(locks []lockfile.Lock, addr provider.Addr) string {
	l, ok := find(locks, addr)
	if !ok {
		return ""
	}
	return string((&lockfile.File{Tool: provider.Terraform, Locks: []lockfile.Lock{lockfile.New(l.Addr, l.Version, l.Constraints, l.Hashes)}}).Print())
}

// checkWishes looks for versions that go down and for lost platforms.
func (w *faultyWorld) checkWishes(t *testing.T, where string, r Result) {
	t.Helper()
	for _, old := range r.Old {
		now, ok := find(r.New, old.Addr)
		if !ok {
			t.Errorf("%s: the entry of %s is gone", where, old.Addr)
			continue
		}
		i := slices.IndexFunc(r.Module.Tree.Requirements, func(q scan.Requirement) bool { return q.Addr == old.Addr })
		allowed := r.Module.Tree.Requirements[i].Constraints().Allows(old.Version)
		if now.Version.Precedence(old.Version) < 0 && allowed && !w.opts.Exact && !w.opts.AllowDowngrade {
			t.Errorf("%s: %s goes down from %s to %s", where, old.Addr, old.Version, now.Version)
		}
		if w.opts.Platforms.All || len(w.opts.Platforms.List) > 0 {
			continue
		}
		i = slices.IndexFunc(r.Selections, func(s Selection) bool { return s.Requirement.Addr == old.Addr })
		for p := range w.covered(old) {
			if !w.covered(now)[p] && !slices.Contains(r.Selections[i].Missing, p) {
				t.Errorf("%s: %s does not cover %s any more", where, old.Addr, p)
			}
		}
	}
}

// checkLowered looks for a withdrawn version that stays although somebody asks for an older
// one. Methods other than the registry may have listed nothing.
func (w *faultyWorld) checkLowered(t *testing.T, r Result) {
	t.Helper()
	if !w.opts.AllowDowngrade || w.opts.Mode != Upgrade || len(w.methods) > 0 {
		return
	}
	for _, old := range r.Old {
		o := w.providers[slices.IndexFunc(w.providers, func(o *randomOffer) bool { return o.addr == old.Addr })]
		others := slices.ContainsFunc(o.versions, func(v string) bool { return !o.gone[v] && constraints(t, o.constraints).Allows(version(v)) })
		i := slices.IndexFunc(r.Selections, func(s Selection) bool { return s.Requirement.Addr == old.Addr })
		if s := r.Selections[i]; o.gone[old.Version.String()] && others && s.To == old.Version {
			t.Errorf("%s stays at %s, which is gone, against the wish: %v", old.Addr, old.Version, s.Err)
		}
	}
}

// covered are the platforms that the h1 hashes of an entry belong to.
func (w *faultyWorld) covered(l lockfile.Lock) map[provider.Platform]bool {
	covered := map[provider.Platform]bool{}
	for _, h := range l.Hashes {
		if p, ok := w.platforms[h]; ok {
			covered[p] = true
		}
	}
	return covered
}
