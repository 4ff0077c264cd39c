// Package report holds what a run results in as one value, and writes and reads it as
// JSON for what comes next in a pipeline. What people are shown of it is outline's, and
// render prints that.
//
// A report is built from what the other packages return (FromScan, FromPlan, FromLocks,
// FromVerification), and knows nothing of where it will be shown. Names of directories,
// module sources, version constraints, messages of registries and errors are written by
// strangers, and it holds them as they came. The same report gives the same bytes.
package report

import (
	"cmp"
	"encoding/json"
	"math"
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

// Report is the result of one run.
type Report struct {
	// Verb is the verb that ran, as on the command line.
	Verb verbs.Verb
	// Modules are the root modules of the run, or the compared lock files of a
	// diff, in the order in which they must be shown.
	Modules []Module
	// Diagnostics are the problems that belong to no module. The paths of their places are
	// as people are to see them, since they may be of several file trees or of none.
	Diagnostics []problem.Problem
	// Unlocked are the directories of root modules without a lock file that the
	// run left out; sorted.
	Unlocked []string
	// PassedOver are those of a scan that hold configuration and that nothing makes root
	// modules.
	PassedOver []string
	// Excluded are lock files that include or exclude leaves out of the run, and
	// directories, with a slash at the end, of which that is not known; sorted.
	Excluded []string
	// Notes are the release notes of the upgrades, where they were asked for.
	Notes []notes.Notes
	// PullRequests is what happened to pull requests, for the verb pr.
	PullRequests []PullRequest
	// Dashboards are the issues that show what waits, one for each repository that wants it.
	Dashboards []Dashboard
	// Fleet is what happened to the repositories of an organisation; nil where the run is
	// about none.
	Fleet *Fleet
	// Footer ends the body of a pull request, whatever else is cut: Markdown of
	// our own, in which all that is from outside is harmless.
	Footer safe.Markdown
	// Answer is what was said under the comment that asked for the run, in
	// Markdown, for the verb comment; empty if that is not for relock. It tells of
	// all the rest.
	Answer string
	// Proofs count what proves the hashes of the lock files that a pull request
	// proposes; nil if relock did not look.
	Proofs verify.Counts
	// CarriedOver is what of a pull request the run has taken over unseen.
	CarriedOver CarriedOver
	// KeepsFromMerging is how many root modules failed that a pull request is about, or could
	// be, so that GitHub does not merge it by itself; 0 where GitHub never does.
	KeepsFromMerging int
	// Pushed is the commit with the lock files that was pushed to the branch of a
	// pull request; empty if none was.
	Pushed string
	// Touched is true if only root modules that a change touches were looked at.
	Touched bool
	// Asked is what the run was restricted to.
	Asked Asked
	// Mending is how the lock files become what a check of a checkout wants.
	Mending Mending
	// FailOn is the least severity of a finding with which verify fails.
	FailOn problem.Severity
	// DryRun is true if the run wrote nothing because it was told so.
	DryRun bool
	// Idle is true if the event of the run asked for nothing, so that nothing was looked at.
	Idle bool
	// Summarised is true if there will be a step summary of the report, for what the
	// body of a pull request has no room for.
	Summarised bool
	Stats      Stats
}

// Module is the result for one root module.
type Module struct {
	// Dir and LockPath are slash-separated and as people are to see them.
	Dir      string
	LockPath string
	// Names are those of the files that all places of the module are in.
	Names problem.Naming
	Tool  provider.Tool
	// Assumed is true if nothing names the release of the tool.
	Assumed bool
	// Scan is what the root module requires; only the verb scan fills it.
	Scan *scan.RootModule
	// Changes are those of the lock file's entries, sorted by address.
	Changes []Change
	// InUse are all entries of the lock file as they are after the run, or
	// would be; sorted by address.
	InUse []Use
	// Kept are providers whose entry does not change but of which there is
	// something to say, sorted by address.
	Kept []Kept
	// Pending is true if the lock file differs from what it should be, and
	// Written if it has been replaced by that.
	Pending, Written bool
	// OnBase is true if all that is pending was so before the change that is checked.
	OnBase bool
	// Forgiven is true if anything that was found was so before that change.
	Forgiven bool
	// Partial is true if recorded constraints stand in for modules that could
	// not be read.
	Partial bool
	// Left is true if the lock file was not examined, since what is required is not
	// known.
	Left bool
	// HashesOnly is true if only the hashes of the lock file was judged, since no
	// search enters its directory.
	HashesOnly bool
	// Unread are module calls that could not be followed.
	Unread []scan.Unread
	// Diagnostics are the problems of this root module.
	Diagnostics []problem.Problem
	// Findings are hashes of the lock file that belong to nothing, and Undecided
	// those of which that could not be found out, sorted by place.
	Findings, Undecided []problem.Problem
	// Accepted are findings that a baseline accepts.
	Accepted []ledger.Acceptance
	// Verified is what else a verification found; nil for other verbs.
	Verified *Verified
}

// Facts is what a run learned of a provider in addition to the change of its entry.
type Facts struct {
	// Coverage are the platforms that the entry covers, as far as known.
	Coverage []provider.Platform
	// Missing are platforms that were wanted but that the release does not serve.
	Missing []provider.Platform
	// Since is as in upgrade.Selection.
	Since map[provider.Platform]provider.Version
	// Serving is the newest release that serves them all; zero if none is known.
	Serving provider.Version
	Signer  provider.Signer
	// SignerFrom is who signed the release that the entry leaves, if known.
	SignerFrom provider.Signer
	// Published is when the release was; zero if it is not known.
	Published time.Time
	// Held says why a newer release was not taken, newest first.
	Held []upgrade.Held
	// Warnings are the registry's words about the provider.
	Warnings []string
	// Marks are the grounds, weaker than a signed list, that some hashes rest on.
	Marks []provider.Mark
	// Origins say which of the versions of fetched modules the constraints in Held
	// are in.
	Origins Origins
	// FromPull is true if the entry is what the pull request proposed before, since
	// the run failed to find out about the provider.
	FromPull bool
	// Unasked is true if the run was not about the entry at all.
	Unasked bool
}

// Change is the change of one provider's entry and what else is known of it.
type Change struct {
	diff.Change
	Facts
	// Line is where the entry begins in the lock file as it is; 0 if it is not there.
	Line int
	// Required is where the repository requires what the change makes. Its zero value says
	// that the lock file alone is the reason, or that no file of the repository is.
	Required problem.Place
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

// Kept is a provider that stays as it is.
type Kept struct {
	Addr    provider.Addr
	Version provider.Version
	Facts
}

// PullRequest is what happened to one pull request.
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
	Waits       bool     `json:"waits,omitzero"` // what is to be done waits for room
	Body        string   `json:"body,omitempty"` // in Markdown, harmless; of a dry run that would write it
	// CarriedOver is what of it the run has taken over unseen.
	CarriedOver CarriedOver `json:"carried_over,omitzero"`
	// Unsettled is as in pr.Outcome. It is for the run alone.
	Unsettled bool `json:"-"`
	// Waiting says what a proposal without an open pull request waits for; nil: for nothing.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// Waiting is a proposal that waits.
type Waiting struct {
	// For is what would have to happen first: "room" that fewer pull requests are open,
	// "run" that a later run may open more, "person" that the one is asked who has closed
	// the pull request of the number and the URL.
	For    string `json:"for"`
	Group  string `json:"group"`
	Digest string `json:"digest"`
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
}

// Dashboard is what happened to the issue that shows what waits in a repository.
type Dashboard struct {
	Operation  string `json:"operation"` // created, updated or none
	Repository string `json:"repository"`
	Number     int    `json:"number"` // 0 if there is none
	URL        string `json:"url"`
	Reason     string `json:"reason"`         // one sentence: why nothing was done
	Body       string `json:"body,omitempty"` // in Markdown, harmless; of a dry run
	// Unsettled says that the next run has to look at it again. It is for the run alone.
	Unsettled bool `json:"-"`
}

// CarriedOver is what a pull request keeps though the run did not look at it: of so many
// root modules, as a commit had it. Its zero value is nothing.
type CarriedOver struct {
	Roots  int    `json:"root_modules"`
	Commit string `json:"commit"`
}

// IsZero reports whether that is nothing, whatever the Commit is.
func (c CarriedOver) IsZero() bool { return c.Roots == 0 }

// Stats is what a run cost.
type Stats struct {
	Requests  int64 `json:"requests"`   // over the network
	Bytes     int64 `json:"bytes"`      // received
	Packages  int64 `json:"packages"`   // distinct provider packages downloaded
	Cached    int64 `json:"cached"`     // packages whose hashes were known without a download
	PeakBytes int64 `json:"peak_bytes"` // memory obtained from the system
	// Stages are where the time went, in the order in which the run came to them.
	Stages []Stage `json:"stages"`
}

// Stage is a part of a run and the time that it took.
type Stage struct {
	Name string  `json:"stage"`
	Took Elapsed `json:"seconds"`
}

// Elapsed is how long something took. Programs and people have it in seconds, to the
// millisecond.
type Elapsed time.Duration

// Seconds returns the time without what is less than a millisecond.
func (e Elapsed) Seconds() float64 { return float64(time.Duration(e).Milliseconds()) / 1000 }

// MarshalJSON implements json.Marshaler with Seconds.
func (e Elapsed) MarshalJSON() ([]byte, error) { return json.Marshal(e.Seconds()) }

// UnmarshalJSON implements json.Unmarshaler.
func (e *Elapsed) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	*e = Elapsed(math.Round(seconds*1000)) * Elapsed(time.Millisecond)
	return nil
}

// FromScan makes the report of a root module as it was found.
func FromScan(m scan.RootModule) Module {
	m.Tree, m.Tests = m.All(), scan.ModuleTree{}
	found := Module{
		Dir: m.Dir, LockPath: lockPath(m), Tool: m.Tool, Assumed: m.Assumed, Scan: &m,
		Unread: m.Tree.Unread, Diagnostics: m.Tree.Diagnostics,
	}
	if m.Lock != nil {
		found.InUse = uses(m.Lock.Locks)
	}
	return found
}

// About returns the report of a part of the run, such as one pull request: of
// these root modules, which may be in part themselves, with the release notes of
// what they change and the use of the providers that they tell of. What belongs
// to no root module is in every part, but not what was named and not found: that
// is for anyone who made the run.
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

// split are the patterns that restrict a run to the providers of a part, where the
// whole changes others too.
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

func lockPath(m scan.RootModule) string {
	if m.Lock == nil {
		return ""
	}
	return m.Lock.Path
}

// FromPlan makes the report of a root module's plan. The changes are those from
// r.Old to r.New. A plan without a file changes nothing, whatever they say.
func FromPlan(r upgrade.Result, changes []diff.Change) Module {
	m := Module{
		Dir: r.Module.Dir, LockPath: lockPath(r.Module), Tool: r.Module.Tool, Assumed: r.Module.Assumed,
		Pending: r.File != nil, Partial: r.Partial, Left: r.Left, Unread: r.Module.Tree.Unread, InUse: uses(r.New),
		Diagnostics: withFailures(r.Diagnostics, r.Selections),
		Findings:    r.Findings, Undecided: r.Undecided,
	}
	facts, terms := map[provider.Addr]Facts{}, map[provider.Addr][]scan.Term{}
	origins := OriginsOf(r.Module.Tree.Fetched)
	for _, s := range r.Selections {
		f := factsOf(s)
		f.Origins = origins
		facts[s.Requirement.Addr], terms[s.Requirement.Addr] = f, s.Requirement.Terms
	}
	lines := map[provider.Addr]int{} // of the entries that there are
	for _, l := range r.Old {
		lines[l.Addr] = l.Line()
	}
	if m.Pending {
		for _, c := range changes {
			m.Changes = append(m.Changes, Change{
				Change: c, Facts: facts[c.Addr], Line: cmp.Or(lines[c.Addr], lines[c.AddrFrom]), Required: requiredAt(c, terms[c.Addr], r.Module),
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
		case s.Err != nil && len(f.Held) > 0 && locked: // the failure itself is told elsewhere
			m.Kept = append(m.Kept, Kept{Addr: s.Requirement.Addr, Version: s.From, Facts: Facts{Held: f.Held, Origins: f.Origins}})
		}
	}
	return m
}

// Origins say of fetched modules which version they are, by the path of the call:
// "version 1.2.0", or "ref v1.2, commit 0a1b2c3d" with the ref as it is written.
type Origins map[string]string

// OriginsOf are those of what was fetched; nil if that is nothing.
func OriginsOf(fetched []scan.Fetched) Origins {
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

// Of is the origin of a module, which may be a local one in the package of a
// fetched one; empty if it is not known.
func (o Origins) Of(module string) string {
	for ; module != ""; module = module[:max(0, strings.LastIndexByte(module, '.'))] {
		if origin := o[module]; origin != "" {
			return origin
		}
	}
	return ""
}

func factsOf(s upgrade.Selection) Facts {
	return Facts{
		Coverage: s.Platforms, Missing: s.Missing, Since: s.Since, Serving: s.Serving, Signer: s.Signer, SignerFrom: s.SignerFrom,
		Marks: s.Marks, Published: s.Published, Held: s.Held, Warnings: s.Warnings,
		FromPull: s.FromPull, Unasked: s.Unasked,
	}
}

// withFailures adds the failures of selections that the diagnostics lack.
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

// Named returns the module with the names that people know its files by.
func (m Module) Named(names problem.Naming) Module {
	m.Names, m.Dir = names, names.Of(m.Dir)
	if m.LockPath != "" {
		m.LockPath = names.Of(m.LockPath)
	}
	return m
}

// number counts the root modules of which something holds.
func (r Report) number(holds func(Module) bool) int { return collect.CountIf(r.Modules, holds) }

// Failed reports whether any part of the run failed.
func (r Report) Failed() bool {
	return problem.AnyError(r.Diagnostics) || r.number(Module.Failed) > 0
}

// Pending reports whether any lock file differs from what it should be.
func (r Report) Pending() bool {
	return r.number(func(m Module) bool { return m.Pending }) > 0
}

// Left counts the root modules whose lock file was not examined.
func (r Report) Left() int {
	return r.number(func(m Module) bool { return m.Left })
}

// PendingDirs are the root modules whose lock file differs from what it should be.
func (r Report) PendingDirs() []string {
	return r.dirs(func(m Module) bool { return m.Pending })
}

// FailingDirs are those of them for which a check fails.
func (r Report) FailingDirs() []string {
	return r.dirs(func(m Module) bool { return m.Pending && !m.OnBase })
}

// dirs are the root modules of which something holds.
func (r Report) dirs(holds func(Module) bool) []string {
	var dirs []string
	for _, m := range r.Modules {
		if holds(m) {
			dirs = append(dirs, m.Dir)
		}
	}
	return dirs
}

// Fails reports whether any lock file differs from what it should be, and did not
// do so before the change that is checked.
func (r Report) Fails() bool {
	return r.number(func(m Module) bool { return m.Pending && !m.OnBase }) > 0
}

// Failed reports whether the root module failed, wholly or in part.
func (m Module) Failed() bool { return problem.AnyError(m.Diagnostics) }

// Join returns the reports of runs as one, of which the first gives what they have in
// common. What they cost is counted together in the last one.
func Join(runs ...Report) Report {
	if len(runs) == 0 {
		return Report{}
	}
	all := runs[0]
	all.Modules = concat(runs, func(r Report) []Module { return r.Modules })
	all.Diagnostics = distinctDiagnostics(concat(runs, func(r Report) []problem.Problem { return r.Diagnostics }))
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

// concat are the elements of all lists, one after the other; nil if there are none.
func concat[T any](runs []Report, list func(Report) []T) []T {
	var all []T
	for _, r := range runs {
		all = append(all, list(r)...)
	}
	return all
}

// distinctDiagnostics drops what is said twice, such as a warning about the CLI
// configuration.
func distinctDiagnostics(all []problem.Problem) []problem.Problem {
	var kept []problem.Problem
	said := map[problem.Problem]bool{}
	for _, d := range all {
		if !said[d] {
			kept = append(kept, d)
		}
		said[d] = true
	}
	return kept
}

// Title is what a module is called: its directory, or for a diff its lock file.
func (r Report) Title(m Module) string {
	if r.Verb == verbs.Diff {
		return cmp.Or(m.LockPath, m.Dir, lockfile.Name)
	}
	return m.Dir
}

// Found reports whether the run found hashes, or entries, that something is wrong
// with.
func (r Report) Found() bool { return r.Findings() > 0 }

// Findings counts those of all lock files.
func (r Report) Findings() int { return r.Reaching(problem.SeverityNote) }

// Counts are those of the hashes of all lock files.
func (r Report) Counts() verify.Counts {
	all := verify.Counts{}
	for _, m := range r.Modules {
		if m.Verified != nil {
			all.Add(m.Verified.Counts)
		}
	}
	return all
}

// Reaches reports whether a finding is as severe as that, or more.
func (r Report) Reaches(least problem.Severity) bool { return r.Reaching(least) > 0 }

// Reaching counts the findings that are as severe as that, or more.
func (r Report) Reaching(least problem.Severity) int {
	n := 0
	for _, m := range r.Modules {
		n += collect.CountIf(m.Findings, func(f problem.Problem) bool { return f.Severity <= least })
	}
	return n
}

// Held are the providers of the module that go no further, sorted by address.
func (m Module) Held() []Kept {
	return slices.DeleteFunc(m.Facts(), func(k Kept) bool { return len(k.Held) == 0 })
}

// Facts are the providers of the module that have an entry after the run,
// changed or not, as far as there is something to say of them; sorted by
// address.
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
