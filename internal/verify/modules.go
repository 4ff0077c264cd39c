package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Policy is what root modules are verified by. The zero value demands what is so
// in every repository.
type Policy struct {
	// Only restricts the run to these providers; empty means all.
	Only []provider.Pattern
	// Strict makes errors of what only a mirror or a registry stands for.
	Strict bool
	// Severities are what people make of those of the rules.
	Severities Severities
	// Platforms are those that every entry is to cover. Their packages are looked at
	// first.
	Platforms []provider.Platform
	// Keep names providers whose entries may stay though nothing requires them;
	// KeepUnreferenced is for all providers.
	Keep             []provider.Pattern
	KeepUnreferenced bool
	// Signers are the keys that may sign.
	Signers provider.Signers
	// Ledger is what was seen before; nil if nobody keeps one.
	Ledger *Ledger
	// AcceptReReleased names releases that may have been replaced.
	AcceptReReleased []provider.ReleasePattern
	// Baseline is what somebody accepts; nil if nothing is.
	Baseline *Baseline
	// Recheck is how many packages that the hash cache knows are downloaded and hashed
	// anew; which ones, Seed decides.
	Recheck int
	Seed    string
	// Packages looks into the packages that the entries cover.
	Packages bool
	// Offline says that nothing may be asked.
	Offline bool
	// Admits says whether a registry may be asked; nil admits all.
	Admits func(addr provider.Addr) bool
	// Allowance bounds the downloads, and Jobs the questions that are open at once.
	Allowance *Allowance
	Jobs      int
	// Announce is as in Options.
	Announce func(provider.Downloads)
}

// Verification is what was found of one root module.
type Verification struct {
	Module   scan.RootModule
	Findings []provider.Finding
	// Accepted are findings that the baseline accepts; they are none of Findings.
	Accepted []Acceptance
	// Counts are those of the hashes of its lock file.
	Counts Counts
	// Unchecked says what of the root module could not be judged at all, and why.
	Unchecked []string
	// Seen are the packages of the lists that were verified, for a ledger.
	Seen []Sighting
}

// Prove gives every hash of every lock file its verdict. Results are in the order
// of modules. After ctx is done, what could not be asked any more is unproven. The
// diagnostics are failures of the run: registries that answered nothing at all.
func Prove(ctx context.Context, src Source, modules []scan.RootModule, p Policy) ([]Verification, []provider.Diagnostic) {
	a := &accountant{
		ask:       asker{ctx: ctx, jobs: cmp.Or(p.Jobs, defaultJobs), source: src},
		announce:  p.Announce,
		allowance: p.Allowance, cases: map[packageKey]*accountCase{}, all: true, strict: p.Strict,
	}
	v := &verifier{Policy: p, accountant: a}
	entries := make([][]*accountCase, len(modules))
	for i, m := range modules {
		entries[i] = v.open(m)
	}
	if !p.Offline {
		a.account()
	}
	var problems []provider.Diagnostic
	if p.Recheck > 0 && !p.Offline {
		problems = v.recheck()
	}
	if p.Packages {
		v.lookInto()
	}
	v.elsewhere = a.index()
	results := make([]Verification, len(modules))
	for i, m := range modules {
		results[i] = v.result(m, entries[i])
	}
	return results, append(problems, a.outages()...)
}

// verifier is one call of Prove.
type verifier struct {
	Policy
	*accountant
	elsewhere map[provider.Hash]packageKey
}

// open adds the entries of a root module, and returns the case of each entry; nil
// for those that are left out.
func (v *verifier) open(m scan.RootModule) []*accountCase {
	if m.Lock == nil {
		return nil
	}
	cases := make([]*accountCase, len(m.Lock.Locks))
	for i, l := range m.Lock.Locks {
		if !v.about(l.Addr) {
			continue
		}
		c := v.accountant.open(i, Suspect{Tool: m.Tool, Lock: l, Path: m.Lock.Path, Covered: v.Platforms})
		switch {
		case v.Offline:
			c.reason = ForOffline
		case v.Admits != nil && !v.Admits(l.Addr):
			c.reason = ForHost
		}
		cases[i] = c
	}
	return cases
}

// result judges a root module by what is known now.
func (v *verifier) result(m scan.RootModule, cases []*accountCase) Verification {
	r := Verification{Module: m, Counts: Counts{}}
	for i, c := range cases {
		if c != nil {
			v.entry(&r, m.Lock.Locks[i], c)
		}
	}
	v.form(&r)
	for i := range r.Findings {
		f := &r.Findings[i]
		rule, _ := RuleOf(f.Code)
		if f.Severity == asError { // else it says so itself
			f.Severity = v.Severities.Of(f.Code, v.Strict)
		}
		f.Hint = cmp.Or(f.Hint, rule.Help)
	}
	slices.SortStableFunc(r.Findings, provider.Finding.Compare)
	r.Findings, r.Accepted = v.Baseline.Accept(r.Findings)
	return r
}

// entry judges one entry.
func (v *verifier) entry(r *Verification, l lockfile.Lock, c *accountCase) {
	about := scribe{lock: l, path: r.Module.Lock.Path, result: r}
	judged := c.proofs(l)
	for _, p := range judged {
		r.Counts[p.Verdict]++
	}
	if silent := v.release(about, c, judged); silent { // but of what nobody has to be asked about
		judged = slices.DeleteFunc(slices.Clone(judged), func(p Proof) bool { return p.Verdict != Disproven })
	}
	v.hashes(about, c, judged)
	v.coverage(about, c)
	v.content(about, c)
	v.seen(r, c)
}

// scribe makes the findings about an entry.
type scribe struct {
	lock   lockfile.Lock
	path   string
	result *Verification
}

// add adds a finding about the entry.
func (f scribe) add(code provider.Code, format string, args ...any) *provider.Finding {
	return f.result.add(f.ofEntry(code, fmt.Sprintf(format, args...)))
}

func (f scribe) ofEntry(code provider.Code, message string) provider.Finding {
	return provider.Finding{Code: code, Addr: f.lock.Addr, Version: f.lock.Version, OfEntry: true, File: f.path, Line: f.lock.Line(), Message: message}
}

func (f scribe) ofHash(code provider.Code, h provider.Hash, message string) provider.Finding {
	found := f.ofEntry(code, message)
	found.Hash, found.Line = h, f.lock.HashLine(h)
	found.From, found.To = f.lock.HashColumns(h)
	return found
}

// addOf adds a finding that speaks for all of the hashes. It is another one when there
// is one more: whoever has accepted it knew of these alone.
func (f scribe) addOf(hashes []provider.Hash, code provider.Code, format string, args ...any) *provider.Finding {
	found := f.add(code, format, args...)
	found.About = digestOf(hashes)
	return found
}

// digestOf names a set of hashes.
func digestOf(hashes []provider.Hash) string {
	sum := sha256.New()
	for _, h := range slices.Sorted(slices.Values(hashes)) {
		fmt.Fprintln(sum, h)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// addHash adds a finding about a hash of the entry.
func (f scribe) addHash(code provider.Code, h provider.Hash, format string, args ...any) *provider.Finding {
	return f.result.add(f.ofHash(code, h, fmt.Sprintf(format, args...)))
}

func (r *Verification) add(f provider.Finding) *provider.Finding {
	r.Findings = append(r.Findings, f)
	return &r.Findings[len(r.Findings)-1]
}

// hashes says which hashes of the entry nothing proves, and which only somebody's
// word does.
func (v *verifier) hashes(about scribe, c *accountCase, judged []Proof) {
	l := about.lock
	looked, of := c.looked()
	named, last := map[pile]int{}, map[pile]int{}
	vanished := v.vanished(c, l, judged)
	for _, p := range judged {
		h := p.Hash
		if slices.Contains(vanished, h) { // release has said so
			continue
		}
		code, message := provider.Code(""), ""
		switch {
		case !h.Known():
			code, message = provider.CodeHashScheme, fmt.Sprintf("the scheme of %s is unknown to the tools", shortened(h))
		case p.Verdict == Disproven:
			code, message = provider.CodeHashUnknown, fmt.Sprintf("%s belongs to no package of %s %s", shortened(h), l.Addr, l.Version)
			if k, ok := v.elsewhere[h]; ok {
				code = provider.CodeHashOfOther
				message = fmt.Sprintf("%s belongs to %s %s", shortened(h), k.want.Addr, k.want.Version)
				if k.want.Platform != (provider.Platform{}) {
					message += " for " + k.want.Platform.String()
				}
				message += fmt.Sprintf(", and not to %s %s", l.Addr, l.Version)
			}
		case p.Verdict == Unproven:
			code = provider.CodeHashUnproven
			message = fmt.Sprintf("%s of %s %s could not be checked: %s; %d of %d packages looked at", shortened(h), l.Addr, l.Version, p.Reason, looked, of)
			if _, cause := c.why(); cause != nil && c.reason == "" {
				message += "; " + cause.Error()
			}
		case p.Verdict == ByReport:
			code, message = provider.CodeHashReported, fmt.Sprintf("%s of %s %s is known from the registry's word alone", shortened(h), l.Addr, l.Version)
		case p.Verdict == ByMirror:
			code, message = provider.CodeHashMirror, fmt.Sprintf("%s of %s %s is known from the %s alone", shortened(h), l.Addr, l.Version, c.mirror)
		}
		if code == "" {
			continue
		}
		f := about.ofHash(code, h, message)
		f.Platform = c.files[h].Platform
		if len(vanished) > 0 && code == provider.CodeHashUnknown {
			f.Hint = "the packages of the release were replaced, and this may be the hash of one of those: ask the publisher why"
		}
		if code == provider.CodeHashReported || code == provider.CodeHashMirror {
			f.ProvenBy = string(p.Verdict)
		}
		on := pile{code, v.Baseline.accepts(f)}
		if named[on]++; named[on] <= fewFindings {
			last[on] = len(about.result.Findings)
			about.result.add(f)
		}
	}
	for on, n := range named {
		if rest := n - fewFindings; rest > 0 {
			about.result.Findings[last[on]].Message += fmt.Sprintf("; the entry has %d more like it", rest)
		}
	}
}

// pile is one kind of finding about the hashes of an entry, of which a few are named.
// What somebody accepts lies apart: it must not speak for what nobody has seen.
type pile struct {
	code     provider.Code
	accepted bool
}

// about reports whether the run is about a provider.
func (v *verifier) about(addr provider.Addr) bool {
	return len(v.Only) == 0 || slices.ContainsFunc(v.Only, func(p provider.Pattern) bool { return p.Match(addr) })
}
