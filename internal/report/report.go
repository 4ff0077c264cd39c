// Package report holds the result of a run as one value, and writes and reads it
// as JSON for the next step of a pipeline. Package outline selects the facts for
// people; package render prints them.
//
// A report is built from the results of other packages (FromScan, FromPlan,
// FromLocks, FromVerification). It does not depend on where it will be shown.
// Strangers write names of directories, module sources, version constraints,
// messages of registries and errors: a report holds them unchanged. The same
// report gives the same bytes.
package report

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// Report is the result of one run, for every form of output.
type Report struct {
	// Verb is the verb of the command line.
	Verb verbs.Verb `json:"-"`
	// Modules are the root modules of the run, in the order in which they are
	// shown. For a diff they are the compared lock files.
	Modules []Module `json:"-"`
	// Diagnostics are the problems that belong to no module. Their places have
	// the paths that people use, since they may be in several file trees or in
	// none.
	Diagnostics []problem.Problem `json:"-"`
	// Unlocked are the directories of root modules without a lock file that the
	// run skipped; sorted.
	Unlocked []string `json:"unlocked,omitzero"`
	// PassedOver are the directories of a scan with configuration that are no
	// root modules.
	PassedOver []string `json:"passed_over,omitempty"`
	// Excluded are the lock files that include or exclude leave out of the run;
	// sorted. A directory, with a slash at its end, is there if nobody looked for
	// lock files in it.
	Excluded []string `json:"excluded,omitzero"`
	// Notes are the release notes of the upgrades, if the run asked for them.
	Notes []notes.Notes `json:"-"`
	// PullRequests are the results for pull requests, for the verb pr.
	PullRequests []PullRequest `json:"pull_requests,omitzero"`
	// Dashboards are the issues about waiting proposals, one for each repository
	// that wants it.
	Dashboards []Dashboard `json:"dashboards,omitempty"`
	// Fleet is the result for an organisation's repositories; nil for other runs.
	Fleet *Fleet `json:"-"`
	// Footer ends the body of a pull request and is never cut. It is Markdown of
	// our own, in which all outside text is harmless.
	Footer safe.Markdown `json:"-"`
	// Answer is relock's answer, in Markdown, to the comment that asked for the
	// run. It is for the verb comment; empty if the comment is not for relock. It
	// describes the whole report.
	Answer string `json:"answer,omitempty"`
	// Proofs count what proves the hashes of the lock files in a pull request,
	// without those of Unseen root modules; nil if relock did not look.
	Proofs verify.Counts `json:"-"`
	// CarriedOver is the part of a pull request that the run kept without a look.
	CarriedOver CarriedOver `json:"-"`
	// KeepsFromMerging counts the failed root modules that a pull request is
	// about, or could be about. They keep GitHub from merging it automatically.
	// It is 0 if GitHub never does so.
	KeepsFromMerging int `json:"-"`
	// Pushed is the commit that was pushed to the branch of a pull request; empty
	// if none was.
	Pushed string `json:"-"`
	// Touched is true if the run looked only at root modules that a change
	// touches.
	Touched bool `json:"-"`
	// Asked is the restriction of the run by its user.
	Asked Asked `json:"-"`
	// Mending says which command fixes the lock files that a check of a checkout
	// found wrong.
	Mending Mending `json:"-"`
	// FailOn is the lowest severity of a finding that makes verify fail.
	FailOn problem.Severity `json:"-"`
	// DryRun is true if the user forbade the run to write.
	DryRun bool `json:"-"`
	// Idle is true if the event of the run asked for no work.
	Idle bool `json:"-"`
	// Summarised is true if the report will have a step summary, for text that
	// does not fit the body of a pull request.
	Summarised bool  `json:"-"`
	Stats      Stats `json:"stats,omitzero"`
}

// Module is the result for one root module.
type Module struct {
	// Dir, LockPath and ModulesPath are slash-separated, with the names that people use. The
	// paths are those of the lock file and of the lock file of modules; empty without one.
	Dir         string `json:"dir"`
	LockPath    string `json:"-"`
	ModulesPath string `json:"-"`
	// Names are the names of all files that places of the module are in.
	Names         problem.Naming `json:"-"`
	provider.Tool                // its keys are those of the module
	// Assumed is true if nothing names the release of the tool.
	Assumed bool `json:"tool_version_assumed"`
	// Remembered is true if an earlier run examined the lock file. Its entries and
	// its state are known then, and not its changes: pull requests have those.
	Remembered bool `json:"remembered,omitempty"`
	// Scan is the scanned root module with its requirements. Only the verbs scan and why
	// fill it.
	Scan *scan.RootModule `json:"-"`
	// Changes are those of the lock file's entries, sorted by address.
	Changes []Change `json:"-"`
	// LockedModules are the changes of the lock file of modules.
	LockedModules []upgrade.ModuleChange `json:"locked_modules,omitempty"`
	// HeldModules are newer versions and commits of locked modules that rules hold.
	HeldModules []scan.HeldModule `json:"-"`
	// Kept are the unchanged providers that the report says something about,
	// sorted by address.
	Kept []Kept `json:"-"`
	// Pending is true if the lock file is not as it should be. Written is true if
	// the run has replaced it.
	Pending bool `json:"pending"`
	Written bool `json:"written"`
	// OnBase is true if all pending changes were pending before the checked
	// change, too.
	OnBase bool `json:"-"`
	// Forgiven is true if some finding was there before the checked change.
	Forgiven bool `json:"-"`
	// Partial is true if recorded constraints are used instead of modules that
	// could not be read.
	Partial bool `json:"partial"`
	// Left is true if the lock file was not examined, since the requirements are
	// unknown.
	Left bool `json:"left"`
	// Unseen is true if the run did not look at the root module. The changes are
	// those of the open pull request.
	Unseen bool `json:"-"`
	// HashesOnly is true if only the hashes of the lock file were judged, since
	// no search enters its directory.
	HashesOnly bool `json:"hashes_only"`
	// InUse are all entries of the lock file after the run, or after what the run
	// would write; sorted by address.
	InUse []Use `json:"in_use,omitempty"`
	// Unread are module calls that could not be followed.
	Unread []scan.Unread `json:"unread"`
	// Origins are the versions of the fetched modules.
	Origins Origins `json:"fetched,omitempty"`
	// Diagnostics are the problems of this root module.
	Diagnostics []problem.Problem `json:"-"`
	// Findings are wrong hashes of the lock file, and locked modules that have
	// moved. Undecided are hashes that could not be judged. Both are sorted by
	// place.
	Findings, Undecided []problem.Problem `json:"-"`
	// Accepted are findings that a baseline accepts.
	Accepted []ledger.Acceptance `json:"-"`
	// Verified is the rest of a verification; nil for other verbs.
	Verified *Verified `json:"-"`
}

// Change is the change of one provider's entry, with the facts about it.
type Change struct {
	diff.Change
	upgrade.Facts
	// Line is the line of the entry in the present lock file; 0 without one.
	Line int
	// Required is the place in the repository whose requirement causes the
	// change. It is zero if no file of the repository but the lock file is the
	// reason.
	Required problem.Place
	// Brought is the term that a changed module brings; its Module is empty if none does.
	Brought Brought
}

// Olds holds the version before a change, News the version after it. They are
// empty if there is none. The zero Version cannot say that, since 0.0.0 can be
// locked.
func (c Change) Olds() []provider.Version {
	if c.Kind == diff.Added {
		return nil
	}
	return []provider.Version{c.From}
}

// News holds the version after a change; see Olds.
func (c Change) News() []provider.Version {
	if c.Kind == diff.Removed {
		return nil
	}
	return []provider.Version{c.To}
}

// Use is the version of a provider that a lock file holds.
type Use struct {
	Addr    provider.Addr    `json:"provider"`
	Version provider.Version `json:"version"`
}

func uses(locks []lockfile.Lock) []Use {
	var list []Use
	for _, l := range locks {
		list = append(list, Use{l.Addr, l.Version})
	}
	return list
}

// Kept is an unchanged provider.
type Kept struct {
	Addr    provider.Addr
	Version provider.Version
	upgrade.Facts
}

// PullRequest is the result for one pull request.
type PullRequest struct {
	// Operation is created, updated, closed or none.
	Operation   string   `json:"operation"`
	Repository  string   `json:"repository"` // OWNER/NAME
	Number      int      `json:"number"`     // 0 if there is none, as in a dry run
	URL         string   `json:"url"`
	Title       string   `json:"title"`
	Branch      string   `json:"branch"`
	Base        string   `json:"base"`
	HeadSHA     string   `json:"head_sha"`
	Directories []string `json:"directories"`    // of the root modules that it changes
	Reason      string   `json:"reason"`         // one sentence: why it was closed or nothing was done
	Waits       bool     `json:"waits,omitzero"` // the work waits for room
	Body        string   `json:"body,omitempty"` // in Markdown, harmless; of a dry run that would write it
	// CarriedOver is the part of it that the run kept without a look.
	CarriedOver CarriedOver `json:"carried_over,omitzero"`
	// Unsettled is Outcome.Unsettled of package pr. It is for the run only.
	Unsettled bool `json:"-"`
	// Waiting says what a proposal without an open pull request waits for; nil if
	// it does not wait.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// Waiting is a proposal that waits.
type Waiting struct {
	// For is the event that it waits for. "room": fewer pull requests are open.
	// "run": a later run may open more. "person": the person who has closed the
	// pull request with the number and the URL changes their mind.
	For    string `json:"for"`
	Group  string `json:"group"`
	Digest string `json:"digest"`
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
}

// Dashboard is the result for the issue about waiting proposals in a repository.
type Dashboard struct {
	Operation  string `json:"operation"` // created, updated, closed or none
	Repository string `json:"repository"`
	Number     int    `json:"number"` // 0 if there is none
	URL        string `json:"url"`
	Reason     string `json:"reason"`         // one sentence: why nothing was done
	Body       string `json:"body,omitempty"` // in Markdown, harmless; of a dry run
	// Unsettled means that the next run must look at it again. It is for the run
	// only.
	Unsettled bool `json:"-"`
}

// CarriedOver is the part of a pull request that the run kept without a look: the
// number of root modules, and the commit with their state. Its zero value is
// nothing.
type CarriedOver struct {
	Roots  int    `json:"root_modules"`
	Commit string `json:"commit"`
}

// IsZero reports whether nothing was carried over, even if there is a Commit.
func (c CarriedOver) IsZero() bool { return c.Roots == 0 }

// Stats is the cost of a run.
type Stats struct {
	Requests  int64 `json:"requests"`   // over the network
	Bytes     int64 `json:"bytes"`      // received
	Packages  int64 `json:"packages"`   // distinct provider packages downloaded
	Cached    int64 `json:"cached"`     // packages whose hashes were known without a download
	PeakBytes int64 `json:"peak_bytes"` // memory obtained from the system
	// Stages are the parts of the run, in order.
	Stages []Stage `json:"stages"`
}

// Stage is a part of a run and its time.
type Stage struct {
	Name string  `json:"stage"`
	Took Elapsed `json:"seconds"`
}

// Elapsed is a duration. Outputs have it in seconds, with three decimals.
type Elapsed time.Duration

// Seconds returns the seconds, cut to whole milliseconds.
func (e Elapsed) Seconds() float64 { return float64(time.Duration(e).Milliseconds()) / 1000 }

// MarshalJSON implements json.Marshaler with Seconds.
func (e Elapsed) MarshalJSON() ([]byte, error) { return json.Marshal(e.Seconds()) }

// FromScan makes the report of a scanned root module.
func FromScan(m scan.RootModule) Module {
	m.Tree, m.Tests = m.All(), scan.ModuleTree{}
	found := moduleOf(m)
	found.Scan = &m
	if m.Lock != nil {
		found.InUse = uses(m.Lock.Locks)
	}
	return found
}

// About returns the report of a part of the run, such as one pull request.
// modules are its root modules; each may be a part of one. The report has the
// release notes of their changes, and the use of their providers. Problems of the
// run are in every part, except names that were not found: only the user of the
// run needs these.
func (r Report) About(modules []Module) Report {
	told := map[provider.Addr]bool{}
	for _, m := range modules {
		for _, c := range m.Changes {
			told[c.Addr] = true
		}
		for _, k := range m.Kept {
			told[k.Addr] = true
		}
	}
	part := r
	part.PullRequests = nil
	part.Diagnostics = slices.DeleteFunc(slices.Clone(r.Diagnostics), func(d problem.Problem) bool { return d.Code == problem.CodeNotFound })
	part.Modules = collect.Mapped(modules, func(m Module) Module {
		m.InUse = slices.DeleteFunc(slices.Clone(m.InUse), func(u Use) bool { return !told[u.Addr] })
		return m
	})
	part.Asked.Providers = r.split(told)
	part.Notes = slices.DeleteFunc(slices.Clone(r.Notes), func(n notes.Notes) bool { return len(Taking(part, n)) == 0 })
	return part
}

// split returns the patterns for the providers of a part, if the whole run
// changes other providers, too.
func (r Report) split(part map[provider.Addr]bool) []provider.Pattern {
	var mine []provider.Pattern
	taken, others := map[provider.Addr]bool{}, false
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			others = others || !part[c.Addr]
			if part[c.Addr] && !taken[c.Addr] {
				taken[c.Addr] = true
				mine = append(mine, c.Addr.Pattern())
			}
		}
	}
	if !others {
		return r.Asked.Providers
	}
	return mine
}

// moduleOf has what is known of a root module before its providers are looked at.
func moduleOf(m scan.RootModule) Module {
	of := Module{
		Dir: m.Dir, Tool: m.Tool, Assumed: m.Assumed, Unread: m.Tree.Unread, Diagnostics: m.Tree.Diagnostics, Origins: originsOf(m.Tree.Fetched),
	}
	if m.Lock != nil {
		of.LockPath = m.Lock.Path
	}
	if m.ModuleLock != nil {
		of.ModulesPath = m.ModuleLock.Path
	}
	return of
}

// FromPlan makes the report of a root module's plan. The changes are those from
// r.Old to r.New. A plan without a file changes nothing, even if there are
// changes.
func FromPlan(r upgrade.Result, changes []diff.Change) Module {
	m := moduleOf(r.Module)
	m.Pending, m.Partial, m.Left, m.InUse = r.Writes(), r.Partial, r.Left, uses(r.New)
	if r.ModulesFile != nil { // else another part of the plan has them
		m.LockedModules = r.LockedModules
	}
	var moved []upgrade.ModuleChange // none if this is the first lock file of modules
	if r.Module.ModuleLock != nil {
		moved = m.LockedModules
	}
	m.HeldModules = collect.Those(r.Module.Tree.Held, func(h scan.HeldModule) bool { return h.By.Reason != "" })
	m.Findings, m.Undecided, m.Diagnostics = r.Findings, r.Undecided, withFailures(r.Diagnostics, r.Selections)
	facts, terms := map[provider.Addr]upgrade.Facts{}, map[provider.Addr][]scan.Term{}
	for _, s := range r.Selections {
		facts[s.Requirement.Addr], terms[s.Requirement.Addr] = s.Facts, s.Requirement.Terms
	}
	lines := map[provider.Addr]int{} // lines of the present entries
	for _, l := range r.Old {
		lines[l.Addr] = l.Line()
	}
	if m.Pending {
		for _, c := range changes {
			m.Changes = append(m.Changes, Change{
				Change: c, Facts: facts[c.Addr], Line: cmp.Or(lines[c.Addr], lines[c.AddrFrom]), Required: requiredAt(c, terms[c.Addr], r.Module), Brought: broughtBy(c, terms[c.Addr], moved),
			})
			delete(facts, c.Addr)
		}
	}
	for _, s := range r.Selections {
		f, unchanged := facts[s.Requirement.Addr]
		_, locked := lines[s.Requirement.Addr]
		switch {
		case !unchanged:
		case s.Err == nil && len(f.Held)+len(f.Missing)+len(f.Warnings) > 0:
			m.Kept = append(m.Kept, Kept{Addr: s.Requirement.Addr, Version: s.To, Facts: f})
		case s.Err != nil && len(f.Held) > 0 && locked: // the failure itself is reported elsewhere
			m.Kept = append(m.Kept, Kept{Addr: s.Requirement.Addr, Version: s.From, Facts: upgrade.Facts{Held: f.Held}})
		}
	}
	return m
}

// Origins map the paths of module calls to the versions of fetched modules:
// "version 1.2.0", or "ref v1.2, commit 0a1b2c3d" with the ref as written.
type Origins map[string]string

// originsOf are the origins of fetched modules; nil without any.
func originsOf(fetched []scan.Fetched) Origins {
	var all Origins
	for _, f := range fetched {
		origin := fetchedAs(f)
		if origin == "" {
			continue
		}
		if all == nil {
			all = Origins{}
		}
		all[f.Module] = origin
	}
	return all
}

func fetchedAs(f scan.Fetched) string {
	if f.Version != "" {
		return "version " + f.Version
	}
	var parts []string
	commit := ""
	if strings.HasPrefix(f.ID, "git+") {
		commit = f.ID[strings.LastIndex(f.ID, "@")+1:]
	}
	if f.Ref != "" && f.Ref != commit {
		parts = append(parts, "ref "+f.Ref)
	}
	if commit != "" {
		parts = append(parts, "commit "+commit[:min(len(commit), 8)])
	}
	return strings.Join(parts, ", ")
}

// Of is the origin of a module; empty if unknown. A local module in a fetched
// package has the package's origin.
func (o Origins) Of(module string) string {
	for ; module != ""; module = module[:max(0, strings.LastIndexByte(module, '.'))] {
		if origin := o[module]; origin != "" {
			return origin
		}
	}
	return ""
}

// withFailures adds failures of selections that are not among the diagnostics.
func withFailures(diagnostics []problem.Problem, selections []upgrade.Selection) []problem.Problem {
	all := slices.Clone(diagnostics)
	for _, s := range selections {
		if s.Err == nil {
			continue
		}
		d := problem.Of(s.Err)
		if d.Subject.Addr == (provider.Addr{}) {
			d.Subject.Addr = s.Requirement.Addr
		}
		known := slices.ContainsFunc(all, func(e problem.Problem) bool {
			return e.Code == d.Code && e.Subject.Addr == d.Subject.Addr && e.Message == d.Message
		})
		if !known {
			all = append(all, d)
		}
	}
	return all
}

// Named returns the module with names for its files.
func (m Module) Named(names problem.Naming) Module {
	m.Names, m.Dir = names, names.Of(m.Dir)
	if m.LockPath != "" {
		m.LockPath = names.Of(m.LockPath)
	}
	if m.ModulesPath != "" {
		m.ModulesPath = names.Of(m.ModulesPath)
	}
	return m
}

// Failed reports whether any part of the run failed. A version that must move is no failure
// of the answer to a comment: the answer names the command for it.
func (r Report) Failed() bool {
	fails := Module.Failed
	if r.Verb == verbs.Comment {
		fails = func(m Module) bool {
			return slices.ContainsFunc(m.Diagnostics, func(p problem.Problem) bool { return p.Severity == problem.SeverityError && !p.Upgradable })
		}
	}
	return problem.AnyError(r.Diagnostics) || len(r.dirs(fails)) > 0
}

// Pending reports whether any lock file is not as it should be.
func (r Report) Pending() bool { return len(r.PendingDirs()) > 0 }

// UnreadDirs are the root modules that call a module that could not be read. An upgrade
// says that as an error; a scan shows it beside what it knows.
func (r Report) UnreadDirs() []string {
	return r.dirs(func(m Module) bool {
		return slices.ContainsFunc(m.Unread, func(u scan.Unread) bool { return u.Module != "" && !u.OfEntry() })
	})
}

// Left counts the root modules whose lock file was not examined.
func (r Report) Left() int { return len(r.dirs(func(m Module) bool { return m.Left })) }

// PendingDirs are the root modules whose lock file is not as it should be.
func (r Report) PendingDirs() []string { return r.dirs(func(m Module) bool { return m.Pending }) }

// FailingDirs are the root modules whose lock file makes a check fail.
func (r Report) FailingDirs() []string {
	return r.dirs(func(m Module) bool { return m.Pending && !m.OnBase && !m.Written || m.NeedsUpgrade() })
}

// dirs are the root modules for which holds is true.
func (r Report) dirs(holds func(Module) bool) (dirs []string) {
	for _, m := range r.Modules {
		if holds(m) {
			dirs = append(dirs, m.Dir)
		}
	}
	return dirs
}

// Fails reports whether a lock file makes a check fail: it is wrong, and was
// right before the checked change.
func (r Report) Fails() bool { return len(r.FailingDirs()) > 0 }

// Failed reports whether the root module failed, completely or in part.
func (m Module) Failed() bool { return problem.AnyError(m.Diagnostics) }

// LockUnread reports whether the lock file is there and could not be read.
func (m Module) LockUnread() bool {
	return slices.ContainsFunc(m.Diagnostics, func(p problem.Problem) bool {
		return p.Severity == problem.SeverityError && path.Base(p.Place.File()) == lockfile.Name
	})
}

// NeedsUpgrade reports whether a locked version is not allowed, and the run was to
// keep it.
func (m Module) NeedsUpgrade() bool {
	return slices.ContainsFunc(m.Diagnostics, func(p problem.Problem) bool { return p.Severity == problem.SeverityError && p.Upgradable })
}

// Join joins the reports of runs. The first one gives the common fields; the last
// one counts the cost of all.
func Join(runs ...Report) Report {
	if len(runs) == 0 {
		return Report{}
	}
	all := runs[0]
	all.Modules = concat(runs, func(r Report) []Module { return r.Modules })
	var diagnostics collect.Set[problem.Problem] // a run may repeat that of another, such as a warning about the CLI configuration
	for _, r := range runs {
		diagnostics.Add(r.Diagnostics...)
	}
	all.Diagnostics = diagnostics.List
	all.Excluded = concat(runs, func(r Report) []string { return r.Excluded })
	all.Unlocked = concat(runs, func(r Report) []string { return r.Unlocked })
	all.Notes = concat(runs, func(r Report) []notes.Notes { return r.Notes })
	all.Dashboards = concat(runs, func(r Report) []Dashboard { return r.Dashboards })
	all.PullRequests = concat(runs, func(r Report) []PullRequest { return r.PullRequests })
	for _, r := range runs {
		if r.Stats.Known() {
			all.Stats = r.Stats
		}
	}
	return all
}

// concat joins lists; nil if all are empty.
func concat[T any](runs []Report, list func(Report) []T) []T {
	var all []T
	for _, r := range runs {
		all = append(all, list(r)...)
	}
	return all
}

// Title is the name of a module: its directory, or for a diff its lock file.
func (r Report) Title(m Module) string {
	if r.Verb == verbs.Diff {
		return cmp.Or(m.LockPath, m.Dir, lockfile.Name)
	}
	return m.Dir
}

// Findings counts the findings of all lock files.
func (r Report) Findings() int { return r.Reaching(problem.SeverityNote) }

// Counts count the hashes of all lock files by verdict.
func (r Report) Counts() verify.Counts {
	all := verify.Counts{}
	for _, m := range r.Modules {
		if m.Verified != nil {
			all.Add(m.Verified.Counts)
		}
	}
	return all
}

// Reaching counts the findings of at least this severity.
func (r Report) Reaching(least problem.Severity) int {
	return collect.Sum(r.Modules, func(m Module) int {
		return collect.CountIf(m.Findings, func(f problem.Problem) bool { return f.Severity <= least })
	})
}

// Moved reports whether a locked module has moved. It stays as it is locked, and
// each run says so until a person accepts it.
func (r Report) Moved() bool {
	return len(r.dirs(func(m Module) bool {
		return slices.ContainsFunc(m.Findings, func(f problem.Problem) bool { return f.Code == problem.CodeModuleMoved })
	})) > 0
}

// Held are the held providers of the module, sorted by address.
func (m Module) Held() []Kept {
	return slices.DeleteFunc(m.Facts(), func(k Kept) bool { return len(k.Held) == 0 })
}

// Facts are the providers of the module with an entry after the run and with
// facts, changed or not; sorted by address.
func (m Module) Facts() []Kept {
	all := slices.Clone(m.Kept)
	for _, c := range m.Changes {
		if c.Kind != diff.Removed {
			all = append(all, Kept{Addr: c.Addr, Version: c.To, Facts: c.Facts})
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return a.Addr.Compare(b.Addr) })
	return all
}
