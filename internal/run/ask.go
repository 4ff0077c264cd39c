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
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Ask is what a person or an event wants of relock: the verb, the files, and the
// destination of the result. Each verb and event has one constructor, and nothing changes
// an Ask later. The settings of a repository are not part of it: each job has its own.
type Ask struct {
	verb  verbs.Verb
	means Means
	// mode is the goal of the plan: newest versions, or complete hashes.
	mode upgrade.Mode
	// targets are the repositories, or the one file tree, of the ask.
	targets []target
	// owner means all repositories of this owner; empty: the targets name them.
	owner string
	head  Head
	// hosts returns the registries that a head from a fork may name, because its base names
	// them; nil: none.
	hosts func() []svchost.Hostname
	// change limits a check to the changed files, and pull any verb to those of a pull
	// request; nil: no limit.
	change *Change
	pull   *PullFiles
	// base reads the base of a pull request's head, if change does not name it; nil: the
	// base is unknown.
	base func(context.Context) (*Remote, error)
	// only and platforms replace the providers and platforms of the settings; none: those
	// of the settings.
	only      []provider.Pattern
	platforms []provider.Platform
	// modules are patterns of locked modules. Only these move, with the entries of providers
	// that they force; none: all move.
	modules []string
	// named are providers that must be in the repository.
	named []provider.Pattern
	// lockedOnly leaves out root modules without a lock file, without a report.
	lockedOnly bool
	judged     JudgedBy
	// compared says that the files are only compared with those of another ask: nothing of
	// them is judged.
	compared bool
	// public allows reading public repositories without a token.
	public bool
	// silent says that packages of modules come from the cache alone.
	silent bool
	// to is where changed lock files go; nil: nowhere.
	to Destination
}

// Means are what all asks of one run of the program share.
type Means struct {
	// Settings are those of the files on disk. For a repository that is not on disk, they
	// are the settings that its own configuration file cannot change.
	Settings settings.Settings
	// Of returns the settings for the files of a commit, from the configuration file of
	// that commit. Its errors are for people.
	Of func(files fs.FS) (settings.Settings, error)
	// Body returns the text of a pull request that proposes the changes of a report. It is
	// called only when the text is written.
	Body func(report.Report) safe.Markdown
	// Dashboard returns the text of relock's issue. The report has what no open pull
	// request says. empty means that the issue has nothing to say. Names of our branches
	// begin with the prefix.
	Dashboard func(r report.Report, prefix string) (text safe.Markdown, empty bool)
	// Overview returns the text of the issue about all repositories of an owner. empty means
	// that there is no repository.
	Overview func(report.Overview) (text safe.Markdown, empty bool)
	// Written names the run on that issue; empty if the workflow is in another repository,
	// which may be private.
	Written safe.Markdown
	// Ticked are the boxes of that issue that the event is about.
	Ticked Ticked
	// Head says whether the files on disk are the head of a pull request, and whose. Such a
	// head may also control what the runner does, so every Ask respects it.
	Head Head
}

// JudgedBy is what Check and Verify compare with, in addition to settings.
type JudgedBy struct {
	// Ledger has what earlier runs have seen; nil: there is none. The run adds what it
	// sees.
	Ledger *ledger.Ledger
	// Baseline has the accepted findings; nil: none.
	Baseline *ledger.Baseline
}

// ToScan asks what the root modules on disk require.
func ToScan(m Means, c Checkout, dirs []string) Ask { return onDisk(verbs.Scan, m, c, dirs) }

// ToExplain asks what holds back the providers in the setting Why, and which change would
// release them.
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

// ToCheck asks what Upgrade or Lock, by the mode, would change on disk. A change limits the
// check; nil: no limit.
func ToCheck(m Means, c Checkout, dirs []string, by JudgedBy, mode upgrade.Mode, change *Change) Ask {
	a := onDisk(verbs.Check, m, c, dirs)
	a.judged, a.mode, a.change = by, mode, change
	return a
}

// ToVerify asks for a proof of every hash in lock files on disk. A change says which
// entries are new, and limits nothing; nil: that is unknown.
func ToVerify(m Means, c Checkout, dirs []string, by JudgedBy, change *Change) Ask {
	a := onDisk(verbs.Verify, m, c, dirs)
	a.judged, a.change = by, change
	return a
}

// ToGet asks for the locked modules where init looks for them. With silent nobody is asked, and
// nothing is written.
func ToGet(m Means, c Checkout, dirs []string, silent bool) Ask {
	a := onDisk(verbs.Get, m, c, dirs)
	a.silent = silent
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

// ToProposeOf asks for pull requests in repositories of an owner. The caller names them one
// by one.
func ToProposeOf(m Means, owner string, dirs []string) Ask {
	return Ask{verb: verbs.PR, means: m, head: m.Head, to: Pulls{}, named: givenProviders(m), owner: owner, targets: []target{{dirs: dirs}}}
}

// ToRead asks for files of a repository on GitHub. An App reads them with the owner's
// token.
func ToRead(m Means, repository string) Ask {
	owner, _, _ := strings.Cut(repository, "/")
	return Ask{verb: verbs.Scan, means: m, head: m.Head, owner: owner, public: true, targets: []target{{repository: repository}}}
}

// ToAnswer asks for an answer to a comment under a pull request. The command in the comment
// is an Ask of its own.
func ToAnswer(m Means, repository string) Ask {
	return Ask{verb: verbs.Comment, means: m, head: OwnHead, targets: []target{{repository: repository}}}
}

// PullHead is the head of a pull request, and what may be read about its files.
type PullHead struct {
	Repository string // of the pull request, OWNER/NAME
	Files      *Remote
	Fork       bool
	// Hosts returns the registries that the base names. It is called only for a fork.
	Hosts func() []svchost.Hostname
	// Base reads the files of the head's base; nil: they are unknown. It is called only if
	// something is compared with them.
	Base func(context.Context) (*Remote, error)
}

// Wanted limits a command to a part of a pull request's head.
type Wanted struct {
	Mode upgrade.Mode
	Dirs []string
	// Changed limits the command to root modules that the pull request touches; nil: it is
	// about all in Dirs.
	Changed   *PullFiles
	Providers []provider.Pattern
	Platforms []provider.Platform
	// Modules are patterns of locked modules, which move alone.
	Modules []string
}

// PullFiles are the files that a pull request changes. All root modules count that they may
// affect, or only those that depend on one of the files by name.
type PullFiles struct {
	Files  []string
	ByName bool
}

// ToLook asks for the report of a verb about the head of a pull request, and writes
// nothing.
func ToLook(m Means, verb verbs.Verb, h PullHead, w Wanted, by JudgedBy) Ask {
	a := Ask{
		verb: verb, means: m, mode: w.Mode, head: OwnHead, pull: w.Changed, only: w.Providers, named: w.Providers, platforms: w.Platforms, modules: w.Modules, judged: by, base: h.Base,
		targets: []target{{repository: h.Repository, remote: h.Files, dirs: w.Dirs}},
	}
	if h.Fork {
		a.head, a.hosts = ForkHead, h.Hosts
	}
	return a
}

// ToRepair asks a verb to change the head of a pull request, and pushes the result.
func ToRepair(m Means, verb verbs.Verb, h PullHead, w Wanted, to *Push) Ask {
	a := ToLook(m, verb, h, w, JudgedBy{})
	a.to = to
	return a
}

// ToRebuild asks to make a pull request of ours again on its base branch, whose files are
// given.
func ToRebuild(m Means, repository, base string, files *Remote, dirs []string, p Pulls) Ask {
	return Ask{verb: verbs.PR, means: m, head: m.Head, to: p, targets: []target{{repository: repository, base: base, remote: files, dirs: dirs}}}
}

// toPlanDisputed asks for the disputed entries of one lock file. The file tree has no
// other.
func toPlanDisputed(m Means, files *Remote, dir string, disputed []provider.Pattern) Ask {
	return Ask{
		verb: verbs.Lock, mode: upgrade.Complete, only: disputed, lockedOnly: true,
		means: Means{Settings: m.Settings.Searching(nil, nil), Of: m.Of}, targets: []target{{remote: files, dirs: []string{dir}}},
	}
}

// about asks the same about directories of other files, to compare them.
func (a Ask) about(t target, dirs []string) Ask {
	a.change, a.base, a.pull, a.named, a.lockedOnly, a.compared = nil, nil, nil, nil, true, true
	a.targets = []target{{repository: a.targets[0].repository, checkout: t.checkout, remote: t.remote, dirs: dirs}}
	return a
}

// onDisk is the ask of a verb for directories of a checkout, which writes nothing yet.
func onDisk(verb verbs.Verb, m Means, c Checkout, dirs []string) Ask {
	return Ask{
		verb: verb, means: m, head: m.Head, named: givenProviders(m),
		targets: []target{{repository: c.Repository, base: c.DefaultBranch, checkout: &c, dirs: dirs}},
	}
}

// givenProviders are the providers that flags and inputs name.
func givenProviders(m Means) []provider.Pattern {
	return slices.Concat(m.Settings.Providers, m.Settings.Why)
}

// repositories are those that the ask names.
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

// bases are the base branches of the pull requests. If the ask wants none, it is the
// branch of the target. An empty name means the default branch.
func (a Ask) bases(t target, c settings.Settings) []string {
	to, pulls := a.to.(Pulls)
	if !pulls || to.Only != "" || len(c.PullRequest.Base) == 0 {
		return []string{t.base}
	}
	return c.PullRequest.Base
}

// branchHere is the branch of a target's files. If the runner does not report the
// checked-out branch, branchHere assumes the first base.
func branchHere(a Ask, t target) string {
	if _, pulls := a.to.(Pulls); t.checkout != nil && pulls {
		return cmp.Or(t.checkout.Branch, a.bases(t, a.means.Settings)[0])
	}
	return t.base
}

// judges reports whether the run judges lock files: then their list is all that counts, and
// not what a search finds.
func (a Ask) judges() bool { return (a.verb == verbs.Check || a.verb == verbs.Verify) && !a.compared }

// plans reports whether it makes lock files.
func (a Ask) plans() bool {
	return slices.Contains([]verbs.Verb{verbs.Upgrade, verbs.Lock, verbs.Check, verbs.PR}, a.verb)
}

// Verb is the verb of the ask.
func (a Ask) Verb() verbs.Verb { return a.verb }

// Settings are those that a repository's own configuration file cannot change.
func (a Ask) Settings() settings.Settings { return a.means.Settings }

// ofBase reports whether relock would also contact a host for the base branch.
func (a Ask) ofBase(host string) bool {
	public := host == string(provider.Terraform.DefaultHost()) || host == string(provider.OpenTofu.DefaultHost())
	return public || a.hosts != nil && slices.Contains(a.hosts(), svchost.Hostname(host))
}
