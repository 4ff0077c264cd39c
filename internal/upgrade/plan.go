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

// Options are the choices of one run. The zero value upgrades every provider, on the
// platforms that each lock file covers now.
type Options struct {
	Mode Mode
	// Exact reproduces the bytes of the tools:
	//
	//   - The first platform is the one that init runs on.
	//   - A failure leaves the root module untouched.
	//   - The file is written if any byte would change.
	Exact bool
	// Strict turns each notice about something left out into a failure.
	Strict bool
	// Prune drops hashes that neither a package of the wanted platforms nor a verified
	// checksum list has. It applies to Complete.
	Prune bool
	// AllowDowngrade lets a version go down if the locked one is no longer offered. Without
	// it the locked version stays. Exact does as the tools do [terraform 1.11
	// internal/providercache/installer.go].
	AllowDowngrade bool
	Platforms      Platforms
	// HashesFrom says which source's packages are hashed. Exact ignores it.
	HashesFrom HashesFrom
	// Only restricts the run to these providers. Every other entry keeps its bytes. Empty
	// means all providers.
	Only []provider.Pattern
	// Keep names providers whose entries stay although nothing requires them.
	// KeepUnreferenced keeps the entries of all such providers.
	Keep             []provider.Pattern
	KeepUnreferenced bool
	// Overridden are the providers that the CLI configuration of each tool replaces by a
	// developer's own builds. Tool releases that do not install such a provider leave its
	// entry alone.
	Overridden map[provider.ToolName][]provider.Addr
	// Preserve lets relock use the constraints that a lock file records for module calls
	// that could not be followed. The result is then Partial. Without it such a root module
	// fails. It also fails without a lock file, and under Exact.
	Preserve bool
	// OneSet accepts a lock file that init made with one of several sets of values. relock
	// then does not ask for the providers that only other sets require.
	OneSet bool
	// Newer notes in Mode Complete, in Held, the release that Upgrade would select.
	Newer bool
	// Policy has the rules for newly selected versions.
	Policy policy.Rulebook
	// Dates says when releases were published, if Source.Versions does not say it. It may
	// be nil.
	Dates DateSource
	// Former is asked early who signed the releases that entries leave, so that
	// FormerSigners need not wait. It may be nil.
	Former SignerSource
	// Signers pins who may sign the releases of a provider. The keys of every pattern that
	// names the provider are allowed, as whole fingerprints or their last 16 hexadecimal
	// digits. A provider that no pattern names may have any signer.
	Signers provider.Signers
	// AcceptReReleased names releases whose packages may differ from the locked ones. Their
	// recorded hashes are replaced.
	AcceptReReleased []provider.ReleasePattern
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
	// Announce receives the number of packages that must be downloaded at most, before the
	// first download. The source may still know some of them. Announce costs a question for
	// the list of every release first. Sizes then adds how large the packages are, during
	// the first downloads, or before them if SizesFirst is set. Both may be nil.
	Announce   func(provider.Downloads)
	Sizes      SizeSource
	SizesFirst bool
	// Stage is called when questions of a kind begin: "versions" or "hashes". The function
	// that it returns is called when they have answers. It may be nil.
	Stage func(name string) (end func())
}

// HashesFrom names the sources of packages. The versions always come from the installation
// methods.
type HashesFrom string

// The sources. The zero value is FromMethods.
const (
	FromMethods HashesFrom = "methods" // the installation methods of the CLI configuration, as in init
	FromOrigin  HashesFrom = "origin"  // each provider's own registry, as in providers lock
	FromBoth    HashesFrom = "both"
)

// Platforms says which platforms' packages the entries must cover. The zero value is
// "auto". If the lock file covers two or more platforms now, that set; else the default
// list and the platforms of the lock file.
type Platforms struct {
	// All means every platform that a release serves.
	All bool
	// List is an explicit set, in order. Under Exact the package of the first platform is
	// verified against the old entry.
	List []provider.Platform
	// Demanded says that somebody asks for the set on a command line. Then no rule replaces
	// it, and a provider fails if its release does not serve a platform of List, as in
	// providers lock. Otherwise the missing platform is only reported.
	Demanded bool
}

// plan is Plan with an asker for its questions. Each step makes its values once, from those
// of the previous step. The questions between two steps are asked for all root modules
// together.
func plan(modules []scan.RootModule, b behaviour, world asker) []Result {
	roots := collect.Mapped(modules, func(m scan.RootModule) root { return want(m, b) })
	choices := chooseVersions(collect.Mapped(roots, func(r root) []*wanted { return r.wanted }), b, world)
	covers := coverRoots(roots, choices, b, world)
	choices = advised(roots, chooseIdle(roots, choices, covers, b, world), b)
	// Collect the packages that the new entries are made from, and one package of each
	// release that an entry leaves. The other values of coverEach are computed again below:
	// for thousands of root modules, keeping them would fill the memory.
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
				p.selection.Hashes = hashes.One(fmt.Sprint(e.chosen.wanted.addr(), e.chosen.to, p.selection.Coverage), p.selection.Hashes, maps.Equal)
				proofs = append(proofs, p)
			}
			results[i] = resultOf(r, covers[i], proofs, b)
			roots[i], choices[i], covers[i] = root{}, nil, coverage.Cover{} // frees as much memory as the result takes
			return nil
		})
	}
	_ = group.Wait() // failures are in the results
	return results
}
