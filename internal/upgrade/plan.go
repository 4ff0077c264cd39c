package upgrade

import (
	"fmt"
	"maps"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Options are the choices of one run. The zero value upgrades everything on
// the platforms that each lock file covers now.
type Options struct {
	Mode Mode
	// Exact reproduces the bytes of the tools: the first platform is the one
	// that init runs on, a failure leaves the root module untouched, and the
	// file is written whenever a byte would change.
	Exact bool
	// Strict turns what would be skipped with a notice into a failure.
	Strict bool
	// Prune drops hashes that no package of the wanted platforms and no
	// verified checksum list accounts for. It applies to Complete.
	Prune bool
	// AllowDowngrade lets a version go down where the locked one is not offered any
	// more. Without it the locked one is kept. Exact does as the tools
	// [terraform 1.11 internal/providercache/installer.go].
	AllowDowngrade bool
	Platforms      Platforms
	// HashesFrom says whose packages are hashed. Exact decides it by itself.
	HashesFrom HashesFrom
	// Only restricts the run to these providers; every other entry keeps its
	// bytes. Empty means all.
	Only []provider.Pattern
	// Keep names providers whose entries stay though nothing requires them;
	// KeepUnreferenced is for all providers.
	Keep             []provider.Pattern
	KeepUnreferenced bool
	// Overridden are the providers that the CLI configuration of each tool replaces by
	// ones of a developer's own making. Releases that do not install them leave their
	// entries alone.
	Overridden map[provider.ToolName][]provider.Addr
	// Preserve lets the constraints that a lock file records stand in for module
	// calls that could not be followed. The result is Partial. Without it such a
	// root module fails, as it does without a lock file and under Exact.
	Preserve bool
	// OneSet lets a lock file be as init leaves it with one of several sets of values: what
	// the others require is not asked for then.
	OneSet bool
	// Newer notes in Mode Complete, as Held, the release that Upgrade would select.
	Newer bool
	// Policy is what newly selected versions follow.
	Policy policy.Rulebook
	// Dates says when releases were published of which Versions does not tell; it may be
	// nil.
	Dates DateSource
	// Former is asked meanwhile who signed the releases that entries leave, so that
	// FormerSigners need not wait for it; it may be nil.
	Former SignerSource
	// Signers pins who may sign the releases of a provider: the keys that stand
	// here with any pattern that names it, as whole fingerprints or as their last 16
	// hexadecimal digits. A provider that no pattern names may have any signer.
	Signers provider.Signers
	// AcceptReReleased names releases whose packages may differ from what was
	// locked: the recorded hashes of these are replaced.
	AcceptReReleased []provider.ReleasePattern
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
	// Announce is told how many packages are to be downloaded at most, before any of
	// them is: the source may still find that it knows one. It costs asking for the
	// lists of all releases first. nil: nobody is. How large they are Sizes says a
	// little later, while the first of them are asked for; it may be nil.
	Announce func(provider.Downloads)
	Sizes    SizeSource
}

// HashesFrom names the sources of packages. Versions always come from the
// installation methods.
type HashesFrom string

// The sources. The zero value is FromMethods.
const (
	FromMethods HashesFrom = "methods" // the installation methods of the CLI configuration, as init has it
	FromOrigin  HashesFrom = "origin"  // each provider's own registry, as providers lock has it
	FromBoth    HashesFrom = "both"
)

// Platforms says which platforms' packages the entries must cover. The zero
// value is "auto": the set that the lock file covers now if it has two or more
// platforms, else the default list and what the lock file covers.
type Platforms struct {
	// All stands for every platform that a release serves.
	All bool
	// List is an explicit set, in order; under Exact the first one is the
	// platform whose package is verified against the old entry.
	List []provider.Platform
	// Demanded says that somebody asks for the set now, on a command line. Then
	// no rule stands in for it, and a provider fails whose release does not serve
	// one of the List, as in providers lock. Else that is a fact to tell.
	Demanded bool
}

// plan is Plan with what asks its questions. Each step makes its values once, from
// those of the one before, and the questions between two steps are asked for all
// root modules together.
func plan(modules []scan.RootModule, b behaviour, world asker) []Result {
	roots := collect.Mapped(modules, func(m scan.RootModule) root { return want(m, b) })
	choices := chooseVersions(collect.Mapped(roots, func(r root) []*wanted { return r.wanted }), b, world)
	covers := coverRoots(roots, choices, b, world)
	choices = chooseIdle(roots, choices, covers, b, world)
	// What the entries are made of, and of the releases that entries leave the lists that
	// tell who signed these. What else is known of the entries is found out anew when
	// their packages are there: that of thousands of root modules would fill the memory
	// meanwhile.
	var packages, left collect.Set[ask.Question]
	for i, r := range roots {
		for _, e := range coverEach(r, covers[i], choices[i], b) {
			packages.Add(e.packages...)
			left.Add(e.former()...)
		}
	}
	evidence := world.packages(packages.List, left.List)
	results := make([]Result, len(roots))
	var hashes memo.Alike[map[provider.Hash]provider.Platform]
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range roots {
		group.Go(func() error {
			var proofs []proven
			for _, e := range coverEach(r, covers[i], choices[i], b) {
				p := prove(e, evidence, b)
				p.selection.Hashes = hashes.One(fmt.Sprint(e.chosen.wanted.addr(), e.chosen.to, p.selection.Platforms), p.selection.Hashes, maps.Equal)
				proofs = append(proofs, p)
			}
			results[i] = resultOf(r, covers[i].Assumed, proofs, b)
			roots[i], choices[i], covers[i] = root{}, nil, coverage.Cover{} // which take as much memory
			return nil
		})
	}
	_ = group.Wait() // failures are in the results
	return results
}
