package upgrade

import (
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/lockfile"
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
	// more. Without it the locked one is kept. Exact does as the tools.
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
	// Preserve lets the constraints that a lock file records stand in for module
	// calls that could not be followed. The result is Partial. Without it such a
	// root module fails, as it does without a lock file and under Exact.
	Preserve bool
	// Newer notes in Mode Complete, as Held, the release that Upgrade would select.
	Newer bool
	// Rules are the policy that newly selected versions follow. Now is the time
	// that its dates and ages are held against: without it every release is too
	// young. Dates may be nil: then only what Versions tells is known.
	Rules []Rule
	Now   time.Time
	Dates DateSource
	// Signers pins who may sign the releases of a provider: the keys that stand
	// here with any pattern that names it, as 16 hexadecimal digits or as a whole
	// fingerprint. A provider that no pattern names may have any signer.
	Signers map[provider.Pattern][]string
	// AcceptReReleased names releases whose packages may differ from what was
	// locked: the recorded hashes of these are replaced.
	AcceptReReleased []provider.ReleasePattern
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
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

// demands reports whether every platform of the list must be served.
func (p Platforms) demands() bool { return p.Demanded && len(p.List) > 0 }

// plan is Plan with what asks its questions.
func plan(modules []scan.Module, opts Options, ask asker) []Result {
	drafts := make([]*draft, len(modules))
	for i, m := range modules {
		drafts[i] = newDraft(m, opts)
	}
	selectVersions(drafts, opts, ask)
	choosePlatforms(drafts, opts, ask)
	for _, d := range drafts {
		d.spare(opts)
	}
	selectVersions(drafts, opts, ask)
	var asked []packageKey
	for _, d := range drafts {
		d.keep(opts)
		for _, c := range d.choices {
			asked = append(asked, d.packages(c, opts)...)
		}
	}
	hashes := ask.packages(asked)
	results := make([]Result, len(drafts))
	for i, d := range drafts {
		results[i] = d.finish(hashes, opts)
	}
	return results
}

// listing is what is offered of a provider.
type listing struct {
	releases []provider.Release
	methods  methods // that were asked
	err      error
	// dated are the versions whose date was asked for, and undated how many of
	// them have none.
	dated   map[provider.Version]bool
	undated int
	// unheard are the versions whose date could not be asked for, with the reason.
	unheard map[provider.Version]error
}

// draft is the plan for one root module in the making.
type draft struct {
	module    scan.Module        // as the command sees it
	untested  []scan.Requirement // without those of test files
	partial   bool               // recorded constraints stand in for unread modules
	choices   []*choice
	old       []lockfile.Lock
	platforms Platforms // resolved: All or a List
	assumed   []*choice // whose old platforms only the number of their hashes tells
}

// choice is the decision about one required provider in the making.
type choice struct {
	Selection
	locked lockfile.Lock
	isLock bool // the old lock file has an entry
	// sides are the entries of both sides of a merge if they differ, and locked is
	// one of them.
	sides   []lockfile.Lock
	lost    bool // it stands for the side that does not count
	release provider.Release
	listed  []provider.Release
	unheard error            // why it is not known what is offered
	carried provider.Version // of the predecessor's entry; zero: none
	policy  policy
	// platforms are the provider's own by a rule; empty: those of the draft.
	platforms []provider.Platform
	own       []provider.Platform // that the old entry covers besides those of the draft
	assumed   bool                // what the old entry covers is not to be proven
	undated   provider.Version    // the release whose date decides; zero: none
	decided   bool
	// ignored says that the rules let no release in, so that nobody is asked; gone
	// that the selected version, the locked one, is not offered any more by the
	// methods that were asked. kept leaves the entry as it is.
	ignored, gone, kept bool
	methods             methods
	notices             []error // what is no failure but must be said
}

// newDraft collects what must be decided. A root module with an error, or with
// unread module calls that nothing stands in for, has nothing to decide: its
// requirements are not known.
func newDraft(m scan.Module, opts Options) *draft {
	untested := m.Tree.Requirements
	m = opts.seen(m)
	d := &draft{module: m, untested: untested, partial: opts.preserves(m)}
	if m.Lock != nil {
		d.old = m.Lock.Locks
	}
	if d.partial {
		d.module.Tree.Requirements = preserved(m)
	}
	if _, left := opts.left(m); left || failed(m.Tree.Diagnostics) || len(m.Tree.Unread) > 0 && !d.partial {
		return d
	}
	for _, r := range d.module.Tree.Requirements {
		if !selected(opts.Only, r.Addr) && !disputed(m, r.Addr) {
			continue
		}
		c := &choice{Selection: Selection{Requirement: r}, policy: policy{rules: opts.rules(m.Dir, r.Addr), now: opts.Now}}
		if !opts.Platforms.Demanded {
			c.platforms = platformsOf(c.policy.rules)
		}
		if m.Lock != nil {
			c.locked, c.isLock = m.Lock.Lock(r.Addr)
			c.sides = m.Lock.Disputed[r.Addr]
			c.From = c.locked.Version
			c.carried = carried(m, r.Addr, opts)
			c.ignored = opts.behaviour().spares && c.mayStay()
		}
		d.choices = append(d.choices, c)
	}
	return d
}

// carried is the version at which the entry of a provider of OpenTofu's registry
// begins: that of its twin on Terraform's registry, which the configuration
// required before it moved. OpenTofu does this for the namespace hashicorp from
// 1.10 on; here it holds for every namespace, unless the bytes must be the
// tool's.
func carried(m scan.Module, addr provider.Addr, opts Options) provider.Version {
	if m.Tool.Name != provider.OpenTofu || addr.Host != provider.OpenTofu.DefaultHost() {
		return provider.Version{}
	}
	if !opts.behaviour().carriesAll && (addr.Namespace != "hashicorp" || !m.Tool.Has(provider.PredecessorLocks)) {
		return provider.Version{}
	}
	addr.Host = provider.Terraform.DefaultHost()
	twin, _ := m.Lock.Lock(addr)
	return twin.Version
}

func failed(diagnostics []provider.Diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d provider.Diagnostic) bool {
		return d.Severity == provider.SeverityError
	})
}

// selected reports whether the patterns, if there are any, name the provider.
func selected(only []provider.Pattern, addr provider.Addr) bool {
	return len(only) == 0 || matches(only, addr)
}

func matches(patterns []provider.Pattern, addr provider.Addr) bool {
	return slices.ContainsFunc(patterns, func(p provider.Pattern) bool { return p.Match(addr) })
}
