package run

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Ask is what a person or an event wants of relock: which verb, about which files, and
// what happens to the result. There is one constructor for each verb and event, and
// nothing changes an Ask after that. The settings of a repository are not in it: each
// job has its own.
type Ask struct {
	verb  verbs.Verb
	means Means
	// mode is what is planned: newest versions, or complete hashes.
	mode upgrade.Mode
	// targets are the repositories, or the one file tree, that it is about.
	targets []target
	// owner has all the repositories that the run is about; empty: they are named.
	owner string
	head  Head
	// hosts returns the registries that a head from a fork may name, since its base
	// does; nil: none.
	hosts func() []svchost.Hostname
	// change narrows a check to what was changed, and touched to some root modules; nil:
	// to none.
	change  *Change
	touched func(scan.RootModule) bool
	// base reads what the head of a pull request is based on, where no change says so; nil:
	// that is not known.
	base func(context.Context) (*Remote, error)
	// only are the providers that it is about, in place of those of the settings, and
	// platforms likewise; none: those of the settings.
	only      []provider.Pattern
	platforms []provider.Platform
	// named are the providers that must be there.
	named []provider.Pattern
	// lockedOnly leaves out root modules without a lock file, and says nothing of them.
	lockedOnly bool
	judged     JudgedBy
	// public says that it reads what is public without a token.
	public bool
	// to is where changed lock files go; nil: nowhere.
	to Destination
}

// Means are what all asks of one run of the program have in common.
type Means struct {
	// Settings are those of the files on disk. For repositories that are not on disk they
	// are what holds whatever their own configuration file says.
	Settings settings.Settings
	// Of returns the settings for the files of a commit, by the configuration file in
	// there. Its errors are for people.
	Of func(files fs.FS) (settings.Settings, error)
	// Body returns the text of a pull request that proposes what a report says. It is
	// called when that text is written.
	Body func(report.Report) safe.Markdown
	// Dashboard returns the text of the issue that shows what waits, of a report of what no
	// open pull request says, and whether that is nothing. Our branches begin with the prefix.
	Dashboard func(r report.Report, prefix string) (text safe.Markdown, empty bool)
	// Ticked are the boxes of that issue that the event of the run is about.
	Ticked Ticked
	// Head says whether the files on disk are those of a pull request's head, and whose.
	// Such a head may have chosen what a runner does, too: every Ask goes by it.
	Head Head
}

// JudgedBy is what Check and Verify judge by, in addition to settings.
type JudgedBy struct {
	// Ledger is what earlier runs have seen; nil: there is none. What the run sees is
	// added to it.
	Ledger *ledger.Ledger
	// Baseline is which findings are accepted; nil: none.
	Baseline *ledger.Baseline
}

// ToScan asks what root modules on disk require.
func ToScan(m Means, c Checkout, dirs []string) Ask { return onDisk(verbs.Scan, m, c, dirs) }

// ToExplain asks what holds the providers that the settings name as Why, and what would let
// them go on.
func ToExplain(m Means, c Checkout, dirs []string) Ask {
	a := onDisk(verbs.Why, m, c, dirs)
	a.only = m.Settings.Why
	return a
}

// ToUpgrade asks for the newest versions in lock files on disk.
func ToUpgrade(m Means, c Checkout, dirs []string) Ask {
	a := onDisk(verbs.Upgrade, m, c, dirs)
	a.to = Disk{}
	return a
}

// ToLock asks for complete hashes in lock files on disk.
func ToLock(m Means, c Checkout, dirs []string) Ask {
	a := onDisk(verbs.Lock, m, c, dirs)
	a.mode, a.to = upgrade.Complete, Disk{}
	return a
}

// ToCheck asks what Upgrade or Lock, by the mode, would change on disk. A change narrows
// that; nil: all is looked at.
func ToCheck(m Means, c Checkout, dirs []string, by JudgedBy, mode upgrade.Mode, change *Change) Ask {
	a := onDisk(verbs.Check, m, c, dirs)
	a.judged, a.mode, a.change = by, mode, change
	return a
}

// ToVerify asks for a proof of every hash in lock files on disk. A change says which entries
// it replaces, and narrows nothing; nil: that is not known.
func ToVerify(m Means, c Checkout, dirs []string, by JudgedBy, change *Change) Ask {
	a := onDisk(verbs.Verify, m, c, dirs)
	a.judged, a.change = by, change
	return a
}

// ToPropose asks for pull requests that upgrade the lock files of a checkout.
func ToPropose(m Means, c Checkout, dirs []string) Ask {
	a := onDisk(verbs.PR, m, c, dirs)
	a.to = Pulls{}
	return a
}

// ToProposeIn asks for pull requests in repositories, OWNER/NAME, that are not on disk.
func ToProposeIn(m Means, repositories, dirs []string) Ask {
	a := Ask{verb: verbs.PR, means: m, head: m.Head, to: Pulls{}, named: givenProviders(m)}
	for _, name := range repositories {
		a.targets = append(a.targets, target{repository: name, dirs: dirs})
	}
	return a
}

// ToProposeOf asks for pull requests in repositories of an owner, which the caller names
// one by one.
func ToProposeOf(m Means, owner string, dirs []string) Ask {
	return Ask{verb: verbs.PR, means: m, head: m.Head, to: Pulls{}, named: givenProviders(m), owner: owner, targets: []target{{dirs: dirs}}}
}

// ToRead asks for files of a repository that is not on disk, by GitHub alone. An App reads
// with the owner's token.
func ToRead(m Means, repository string) Ask {
	owner, _, _ := strings.Cut(repository, "/")
	return Ask{verb: verbs.Scan, means: m, head: m.Head, owner: owner, public: true, targets: []target{{repository: repository}}}
}

// ToAnswer asks for an answer to a comment under a pull request of a repository. What the
// comment commands is an Ask of its own.
func ToAnswer(m Means, repository string) Ask {
	return Ask{verb: verbs.Comment, means: m, head: OwnHead, targets: []target{{repository: repository}}}
}

// PullHead is the head of a pull request, with what may be known of its files.
type PullHead struct {
	Repository string // that the pull request is for, OWNER/NAME
	Files      *Remote
	Fork       bool
	// Hosts returns the registries that the base names. It is called for a fork alone.
	Hosts func() []svchost.Hostname
	// Base reads the files that the head is based on; nil: they are not known. It is called
	// only if something is compared with them.
	Base func(context.Context) (*Remote, error)
}

// Wanted is what a command names of a pull request's head.
type Wanted struct {
	Mode upgrade.Mode
	Dirs []string
	// Touched says which root modules are meant; nil: all in Dirs.
	Touched   func(scan.RootModule) bool
	Providers []provider.Pattern
	Platforms []provider.Platform
}

// ToLook asks for what a verb says of the head of a pull request, and writes nothing.
func ToLook(m Means, verb verbs.Verb, h PullHead, w Wanted, by JudgedBy) Ask {
	a := Ask{
		verb: verb, means: m, mode: w.Mode, head: OwnHead, touched: w.Touched, only: w.Providers, named: w.Providers, platforms: w.Platforms, judged: by, base: h.Base,
		targets: []target{{repository: h.Repository, files: h.Files, dirs: w.Dirs}},
	}
	if h.Fork {
		a.head, a.hosts = ForkHead, h.Hosts
	}
	return a
}

// ToRepair asks for what a verb writes to the head of a pull request, and pushes that.
func ToRepair(m Means, verb verbs.Verb, h PullHead, w Wanted, to *Push) Ask {
	a := ToLook(m, verb, h, w, JudgedBy{})
	a.to = to
	return a
}

// ToRebuild asks for a pull request of ours to be made again on its base branch, of which
// these are the files.
func ToRebuild(m Means, repository, base string, files *Remote, dirs []string, p Pulls) Ask {
	return Ask{verb: verbs.PR, means: m, head: m.Head, to: p, targets: []target{{repository: repository, base: base, files: files, dirs: dirs}}}
}

// toPlanDisputed asks for the disputed entries of one lock file, alone in a file tree.
func toPlanDisputed(m Means, files *Remote, dir string, disputed []provider.Pattern) Ask {
	return Ask{
		verb: verbs.Lock, mode: upgrade.Complete, only: disputed, lockedOnly: true,
		means: Means{Settings: m.Settings.Searching(nil, nil), Of: m.Of}, targets: []target{{files: files, dirs: []string{dir}}},
	}
}

// onBase asks the same of the base of the change that a check is about, for directories
// that have a lock file there.
func (a Ask) onBase(files *Remote, dirs []string) Ask {
	a.change, a.base, a.touched, a.named, a.lockedOnly = nil, nil, nil, nil, true
	a.targets = []target{{repository: a.targets[0].repository, files: files, dirs: dirs}}
	return a
}

// onDisk asks something of a checkout.
func onDisk(verb verbs.Verb, m Means, c Checkout, dirs []string) Ask {
	return Ask{
		verb: verb, means: m, head: m.Head, named: givenProviders(m),
		targets: []target{{repository: c.Repository, base: c.DefaultBranch, files: c, dirs: dirs}},
	}
}

// givenProviders are the providers that flags and inputs name.
func givenProviders(m Means) []provider.Pattern {
	return slices.Concat(m.Settings.Providers, m.Settings.Why)
}

// repositories are those that it is about, as far as they are named.
func (a Ask) repositories() []string {
	var names []string
	for _, t := range a.targets {
		names = append(names, t.repository)
	}
	return names
}

// report is the empty report of an ask.
func (a Ask) report() report.Report {
	return report.Report{Verb: a.verb, DryRun: a.means.Settings.DryRun}
}

// bases are the branches that pull requests are for; of an ask for none, the branch at
// hand. An empty one is the default branch.
func (a Ask) bases(at opened) []string {
	to, pulls := a.to.(Pulls)
	if !pulls || to.Only != "" || len(at.settings.PullRequest.Base) == 0 {
		return []string{at.target.base}
	}
	return at.settings.PullRequest.Base
}

// branchHere is the branch of the files of a target. Where the runner does not say which
// one is checked out, it is taken for the first base.
func branchHere(a Ask, t target) string {
	c, checkout := t.files.(Checkout)
	if _, pulls := a.to.(Pulls); checkout && pulls {
		return cmp.Or(c.Branch, a.bases(opened{target: t, settings: a.means.Settings})[0])
	}
	return t.base
}

// delivers reports whether lock files go to GitHub: then more than the report is needed of
// a plan.
func (a Ask) delivers() bool {
	switch a.to.(type) {
	case *Push, Pulls:
		return true
	}
	return false
}

// Verb is what it asks for.
func (a Ask) Verb() verbs.Verb { return a.verb }

// Settings hold whatever a repository's own configuration file says.
func (a Ask) Settings() settings.Settings { return a.means.Settings }

// ofBase reports whether a host would be contacted for the base branch, too.
func (a Ask) ofBase(host string) bool {
	public := host == string(provider.Terraform.DefaultHost()) || host == string(provider.OpenTofu.DefaultHost())
	return public || a.hosts != nil && slices.Contains(a.hosts(), svchost.Hostname(host))
}
