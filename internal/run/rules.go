package run

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// judgeRules holds the entries of lock files against the rules, whoever wrote the entries, and
// adds what is refused to the findings of check and verify. Nobody is asked anything where no
// rule is about an entry.
//
// The rules are those of the settings: of the base and the operator on the head of a pull
// request. Rules of comments do not count, since they say what is proposed.
func judgeRules(ctx context.Context, j job, p planned) planned {
	if j.settings.Judge == settings.JudgeOff || j.ask.verb != verbs.Check && j.ask.verb != verbs.Verify {
		return p
	}
	defer j.clock.stage(stageRules)()
	all := slices.Concat(p.found, p.hashesOnly)
	entries := ruledEntries(j, all)
	if len(entries) > 0 {
		base, err := baseLocksOf(ctx, p.extent)
		if err != nil {
			p.report.Diagnostics = append(p.report.Diagnostics, unjudged(err))
			return p
		}
		for i := range entries {
			entries[i] = entries[i].since(base, all[entries[i].module])
		}
		p.report.Diagnostics = append(p.report.Diagnostics, changedRules(j, base, all, entries)...)
	}
	judged := judgeEntries(ctx, j, all, entries)
	for i, f := range all {
		judged[i].findings = append(judged[i].findings, unpermitted(j, p.extent, f)...)
	}
	for i := range judged {
		m := &p.report.Modules[i]
		m.Diagnostics = append(m.Diagnostics, judged[i].diagnostics...)
		m.Findings = withoutMissing(m.Findings, judged[i].findings)
		slices.SortStableFunc(judged[i].findings, verify.ByEntry)
		findings, accepted := j.ask.judged.Baseline.Accept(judged[i].findings)
		m.Findings, m.Accepted = append(m.Findings, findings...), append(m.Accepted, accepted...)
	}
	return p
}

// ruledEntry is an entry of a lock file that a rule, or a choice of signers, is about.
type ruledEntry struct {
	module int // its index
	tool   provider.Tool
	lock   lockfile.Lock
	path   string         // of the lock file
	rules  policy.Applied // From is the version on the base
	// changed says that the change adds the entry, or replaces its version.
	changed bool
	signers bool // somebody chose who may sign
}

// key names the release for those who are asked about it.
func (e ruledEntry) key() ask.Question {
	return ask.Question{Tool: e.tool, Want: provider.Want{Addr: e.lock.Addr, Version: e.lock.Version}}
}

// ruledEntries are the entries of which the rules say something that the lock file can break.
func ruledEntries(j job, all []found) []ruledEntry {
	var entries []ruledEntry
	for i, f := range all {
		if f.module.Lock == nil {
			continue
		}
		for _, l := range f.module.Lock.Locks {
			e := ruledEntry{module: i, tool: f.module.Tool, lock: l, path: f.module.Lock.Path, rules: rulebook(j).About(f.module.Dir, l.Addr)}
			e.signers = j.ask.verb == verbs.Check && j.plan.Signers.Pins(l.Addr)
			if e.rules.Binds() || e.signers {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// rulebook are the rules by which the job judges, without those of comments.
func rulebook(j job) policy.Rulebook {
	book := j.settings.Policy
	book.Now = j.env.Now
	return book
}

// baseLocks are the lock files of a base.
type baseLocks struct {
	files fs.FS
	byDir map[string]map[provider.Addr]provider.Version // the entries, by the path of the lock file
}

// baseLocksOf reads the lock files of the base. They are nil if no base is known. A file that
// cannot be read has no entries: what the change has in its place is its own.
func baseLocksOf(ctx context.Context, e extent) (*baseLocks, error) {
	if e.base == nil {
		return nil, nil
	}
	remote, err := e.base(ctx)
	if err != nil {
		return nil, err
	}
	names, err := locksBelow(remote.FS, ".")
	if err != nil {
		return nil, err
	}
	b := &baseLocks{files: remote.FS, byDir: map[string]map[provider.Addr]provider.Version{}}
	for _, name := range names {
		src, err := fs.ReadFile(remote.FS, name)
		if err != nil {
			continue
		}
		parsed, _ := lockfile.Parse(src, name)
		if parsed != nil {
			b.byDir[name] = versionsOf(parsed.Locks)
		}
	}
	return b, nil
}

// versionsOf are the versions of entries.
func versionsOf(locks []lockfile.Lock) map[provider.Addr]provider.Version {
	versions := map[provider.Addr]provider.Version{}
	for _, l := range locks {
		versions[l.Addr] = l.Version
	}
	return versions
}

// of are the entries of the file that a lock file was made from: that of the same path, or
// one that the change removes and that has the same entries, which was moved.
func (b *baseLocks) of(f found) map[provider.Addr]provider.Version {
	name := path.Join(f.module.Dir, lockfile.Name)
	if same, ok := b.byDir[name]; ok {
		return same
	}
	now := versionsOf(f.module.Lock.Locks)
	for _, moved := range slices.Sorted(maps.Keys(b.byDir)) {
		_, err := fs.Lstat(f.tree.FS(), moved)
		if err != nil && maps.Equal(b.byDir[moved], now) {
			return now
		}
	}
	return nil
}

// since compares the entry with the base's. Where no base is known nothing has changed.
func (e ruledEntry) since(b *baseLocks, f found) ruledEntry {
	if b == nil {
		return e
	}
	before := b.of(f)
	version, ok := before[e.lock.Addr]
	if !ok && e.tool.Name == provider.OpenTofu && e.lock.Addr.Host == provider.OpenTofu.DefaultHost() {
		twin := e.lock.Addr
		twin.Host = provider.Terraform.DefaultHost()
		version = before[twin] // which OpenTofu carries over
	}
	e.rules.From, e.changed = version, version != e.lock.Version
	return e
}

// ruled is what there is to say of a root module by the rules.
type ruled struct{ findings, diagnostics []problem.Problem }

// judgeEntries judges all entries. What is asked about releases is asked once, and only of
// entries that a refusal would fail the run for.
func judgeEntries(ctx context.Context, j job, all []found, entries []ruledEntry) []ruled {
	judged := make([]ruled, len(all))
	decides := func(e ruledEntry) bool { return e.changed || j.settings.Judge == settings.JudgeAll }
	var undated, unsigned []ask.Question
	for _, e := range entries {
		if decides(e) && e.rules.NeedsDate(provider.Release{Version: e.lock.Version}) {
			undated = append(undated, e.key())
		}
		if decides(e) && e.signers {
			unsigned = append(unsigned, e.key())
		}
	}
	dates, signers := datesOf(ctx, j, undated), signersOf(ctx, j, unsigned)
	var refused []refusedEntry
	for _, e := range entries {
		release := provider.Release{Version: e.lock.Version}
		asked, isAsked := dates[e.key()]
		release.Published = asked.at
		if asked.err != nil {
			judged[e.module].diagnostics = append(judged[e.module].diagnostics, e.undecided("it is not known when it was published", asked.err))
		}
		for _, r := range e.rules.Refusals(release) {
			if r.Code == problem.CodeTooYoung && (!isAsked || asked.err != nil) {
				continue
			}
			refused = append(refused, refusedEntry{e, r, j.severityOf(r.Code, e.changed)})
		}
		by, isSigned := signers[e.key()]
		if by.err != nil {
			judged[e.module].diagnostics = append(judged[e.module].diagnostics, e.undecided("it is not known who signed it", by.err))
		} else if isSigned && !j.plan.Signers.Admits(e.lock.Addr, by.signer) {
			judged[e.module].findings = append(judged[e.module].findings, e.signerRefused(by.signer, j.severityOf(problem.CodeSignerRefused, e.changed)))
		}
	}
	forced := forcedEntries(ctx, j, all, refused)
	for _, r := range refused {
		judged[r.entry.module].findings = append(judged[r.entry.module].findings, r.finding(forced[r.entry.module][r.entry.lock.Addr]))
	}
	return judged
}

// severityOf is the severity of a refusal: a warning at most where nothing was changed, unless
// every entry is judged alike.
func (j job) severityOf(code problem.Code, changed bool) problem.Severity {
	severity := verify.SeverityOf(j.settings.Severities, code, j.settings.Strict)
	if !changed && j.settings.Judge != settings.JudgeAll {
		return max(severity, problem.SeverityWarning)
	}
	return severity
}

// refusedEntry is an entry that breaks a rule.
type refusedEntry struct {
	entry    ruledEntry
	refusal  policy.Refusal
	severity problem.Severity
}

// finding says which rule refuses the entry, and what to do. forced says that the rules leave
// no release that the constraints allow, so that relock itself would select one that they
// refuse.
func (r refusedEntry) finding(forced bool) problem.Problem {
	release := fmt.Sprintf("%s %s", r.entry.lock.Addr, r.entry.lock.Version)
	by := "by the rule " + r.refusal.Rule.Origin()
	meaning, _ := problem.MeaningOf(r.refusal.Code)
	f := r.entry.problem(r.refusal.Code, r.severity, "")
	f.Hint = meaning.Help
	switch r.refusal.Code {
	case problem.CodeProviderRefused:
		f.Message = fmt.Sprintf("%s must not be locked, %s", r.entry.lock.Addr, by)
	case problem.CodeVersionRefused:
		f.Message = fmt.Sprintf("%s is not allowed, %s", release, by)
	case problem.CodeTooYoung:
		f.Message = fmt.Sprintf("nobody says when %s was published, and a release without a date is held, %s", release, by)
		if end := r.refusal.Eligible; !end.IsZero() {
			f.Message = fmt.Sprintf("%s is too young: old enough on %s, %s", release, provider.Day(end), by)
			f.Hint = "run the check again then; or let a later rule say minimum-age: 0d, in a pull request of its own"
		}
	}
	if forced {
		f.Severity = max(f.Severity, problem.SeverityWarning)
		f.Message += "; the rules leave no release that the constraints allow"
	}
	return f
}

// problem is a problem with the entry.
func (e ruledEntry) problem(code problem.Code, severity problem.Severity, message string) problem.Problem {
	place := problem.Place{Path: e.path, Line: e.lock.Line()}
	place.From, place.To = e.lock.AddrColumns()
	return problem.Problem{
		Code: code, Severity: severity, Place: place, Message: message,
		Subject: problem.Subject{Addr: e.lock.Addr, Version: e.lock.Version, Versioned: true},
	}
}

// signerRefused says that nobody may sign the release who has.
func (e ruledEntry) signerRefused(by provider.Signer, severity problem.Severity) problem.Problem {
	f := e.problem(problem.CodeSignerRefused, severity, verify.SignerRefused(e.lock.Addr, e.lock.Version, by))
	meaning, _ := problem.MeaningOf(f.Code)
	f.Hint, f.About = meaning.Help, by.Fingerprint
	return f
}

// undecided is the error about an entry that could not be judged.
func (e ruledEntry) undecided(why string, err error) problem.Problem {
	d := problem.Of(err)
	d.Severity, d.Place, d.Subject.Addr = problem.SeverityError, problem.Place{Path: e.path, Line: e.lock.Line()}, e.lock.Addr
	d.Message = fmt.Sprintf("%s %s is not judged by the rules: %s: %s", e.lock.Addr, e.lock.Version, why, d.Message)
	return d
}

// unjudged is the error where nothing could be judged, since the base could not be read.
func unjudged(err error) problem.Problem {
	d := problem.Of(err)
	d.Severity, d.Message = problem.SeverityError, "the lock files are not judged by the rules: the base could not be read: "+d.Message
	return d
}

// publishedAt is when a release was published, or why that is not known.
type publishedAt struct {
	at  time.Time
	err error
}

// datesOf asks when releases were published. A release without a date has none; one that
// nobody could be asked about is an error.
func datesOf(ctx context.Context, j job, asked []ask.Question) map[ask.Question]publishedAt {
	source := dateSource(j, nil)
	return ask.Each(j.settings.Jobs, asked, func(q ask.Question) publishedAt {
		at, err := source.Published(ctx, q.Tool, q.Want)
		return publishedAt{at, err}
	})
}

// signedBy is who signed the list of a release, or why that is not known.
type signedBy struct {
	signer provider.Signer
	err    error
}

// signersOf asks who signed the lists of releases, by any of their packages.
func signersOf(ctx context.Context, j job, asked []ask.Question) map[ask.Question]signedBy {
	return ask.Each(j.settings.Jobs, asked, func(q ask.Question) signedBy {
		platform, err := servedPlatform(ctx, j.source, q)
		if err != nil {
			return signedBy{err: err}
		}
		q.Want.Platform = platform
		signer, err := j.source.Signer(ctx, q.Tool, q.Want)
		return signedBy{signer, err}
	})
}

// forcedEntries are the refused providers of each root module of which the rules leave no
// release at all: relock itself would select one that they refuse, as the tools need an entry.
// The root modules are planned as they were before the change.
func forcedEntries(ctx context.Context, j job, all []found, refused []refusedEntry) []map[provider.Addr]bool {
	forced := make([]map[provider.Addr]bool, len(all))
	var modules []scan.RootModule
	var of []int
	opts := j.plan
	opts.Policy, opts.Dates, opts.Only = rulebook(j), dateSource(j, nil), nil
	for i, f := range all {
		var locks []lockfile.Lock
		fails := false
		for _, l := range entriesOf(f.module.Lock) {
			at := slices.IndexFunc(refused, func(r refusedEntry) bool {
				return r.entry.module == i && r.entry.lock.Addr == l.Addr && r.refusal.Code != problem.CodeProviderRefused
			})
			if at < 0 {
				continue
			}
			r := refused[at]
			fails = fails || r.severity == problem.SeverityError
			opts.Only = append(opts.Only, l.Addr.Pattern())
			if !r.entry.rules.From.IsZero() {
				l.Version = r.entry.rules.From
				locks = append(locks, l)
			}
		}
		if fails {
			m := f.module
			m.Lock = &lockfile.File{Path: f.module.Lock.Path, Tool: f.module.Lock.Tool, Locks: locks}
			modules, of = append(modules, m), append(of, i)
		}
	}
	if len(modules) == 0 {
		return forced
	}
	for n, addrs := range upgrade.Forced(ctx, j.source, modules, opts) {
		forced[of[n]] = map[provider.Addr]bool{}
		for _, addr := range addrs {
			forced[of[n]][addr] = true
		}
	}
	return forced
}

// entriesOf are the entries of a lock file, of which there may be none.
func entriesOf(f *lockfile.File) []lockfile.Lock {
	if f == nil {
		return nil
	}
	return f.Locks
}

// unpermitted are the requirements of a root module without an entry of providers that must
// not be locked: relock adds none, and a person must not.
func unpermitted(j job, e extent, f found) []problem.Problem {
	var all []problem.Problem
	for _, required := range f.module.All().Requirements {
		rule := rulebook(j).About(f.module.Dir, required.Addr).Forbids()
		locked := false
		if f.module.Lock != nil {
			_, locked = f.module.Lock.Lock(required.Addr)
		}
		if rule == nil || locked || len(required.Terms) == 0 {
			continue
		}
		meaning, _ := problem.MeaningOf(problem.CodeProviderRefused)
		all = append(all, problem.Problem{
			Code: problem.CodeProviderRefused, Severity: j.severityOf(problem.CodeProviderRefused, true), Hint: meaning.Help,
			Place: required.Terms[0].Place, Subject: problem.Subject{Addr: required.Addr},
			Message: fmt.Sprintf("%s is required and must not be locked, by the rule %s", required.Addr, rule.Origin()),
		})
	}
	return all
}

// withoutMissing are findings but those that say of a provider that must not be locked that it
// is not, and how to lock it.
func withoutMissing(found, refused []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(found), func(f problem.Problem) bool {
		return f.Code == problem.CodeEntryMissing && slices.ContainsFunc(refused, func(r problem.Problem) bool {
			return r.Code == problem.CodeProviderRefused && r.Subject.Addr == f.Subject.Addr
		})
	})
}

// changedRules warns where the head of a pull request changes entries of lock files together
// with the configuration file: its lock files are judged by the base's.
func changedRules(j job, base *baseLocks, all []found, entries []ruledEntry) []problem.Problem {
	if j.ask.head == NoHead || base == nil || !slices.ContainsFunc(entries, func(e ruledEntry) bool { return e.changed }) {
		return nil
	}
	head := all[0].tree.FS()
	for _, name := range settings.FileNames {
		now, gone := fs.ReadFile(head, name)
		before, none := fs.ReadFile(base.files, name)
		if (gone == nil) == (none == nil) && bytes.Equal(now, before) {
			continue
		}
		return []problem.Problem{{
			Code: problem.CodeTamperedBoth, Severity: problem.SeverityWarning, Place: problem.Place{Path: name, Line: 1},
			Message: "this pull request changes the configuration file and lock files, which are judged by the rules of the base",
			Hint:    "change the configuration file in a pull request of its own",
		}}
	}
	return nil
}

// servedPlatform is one that a release is made for, by the list of versions. The error is a
// *problem.Error with CodeNoPackage if the list names none.
func servedPlatform(ctx context.Context, source *registry.Client, q ask.Question) (provider.Platform, error) {
	releases, err := source.Versions(ctx, q.Tool, q.Want.Addr)
	if err != nil {
		return provider.Platform{}, err
	}
	for _, r := range releases {
		if r.Version == q.Want.Version && len(r.Platforms) > 0 {
			return r.Platforms[0], nil
		}
	}
	return provider.Platform{}, &problem.Error{Problem: problem.Problem{
		Code: problem.CodeNoPackage, Host: q.Want.Addr.Host, Subject: problem.Subject{Addr: q.Want.Addr},
		Message: fmt.Sprintf("the registry lists no package of %s %s", q.Want.Addr, q.Want.Version),
	}}
}
