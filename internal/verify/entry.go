package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// judgedEntry is an entry of a lock file with the verdicts about its hashes. It is made
// after all questions. Its findings go to its scribe's result.
type judgedEntry struct {
	scribe
	policy *Policy
	of     *accountCase
	judged []Proof
	known  map[provider.Hash]ask.Question // the hashes of every release
}

// report adds all findings about the entry.
func (e judgedEntry) report() {
	for _, p := range e.judged {
		e.result.Counts[p.Verdict]++
	}
	// A refuted hash is a finding even if the registry did not answer.
	if silent := e.release(); silent {
		e.judged = slices.DeleteFunc(slices.Clone(e.judged), func(p Proof) bool { return p.Verdict != Disproven })
	}
	e.hashes()
	e.coverage()
	e.content()
	e.seen()
}

// hashes adds findings about hashes that nothing proves, and about hashes that rest on a
// source's word alone.
func (e judgedEntry) hashes() {
	named, last := map[pile]int{}, map[pile]int{}
	vanished, beside := e.vanished(), e.besideListed()
	for _, p := range e.judged {
		h := p.Hash
		if slices.Contains(vanished, h) { // one finding covers all of these
			continue
		}
		code, message := e.explain(p)
		if code == "" {
			continue
		}
		f := e.ofHash(code, h, message)
		f.Subject.Platform = e.of.files[h].Platform
		if code == problem.CodeHashUnknown {
			f = e.unknown(f, len(vanished) > 0, beside)
		}
		if code == problem.CodeHashUnproven {
			f.Hint = p.Reason.help()
			if _, cause := e.of.why(); p.Reason == ForUnauthorized {
				f.Hint = cmp.Or(problem.Of(cause).Hint, f.Hint)
			}
			f.Outage = problem.Outage{Server: e.lock.Addr.Host.ForDisplay(), Reason: p.Reason.inWords()}
		}
		if code == problem.CodeHashReported || code == problem.CodeHashMirror {
			f.ProvenBy = string(p.Verdict)
		}
		on := pile{code, e.policy.Baseline.Accepts(f)}
		named[on]++
		if named[on] <= fewFindings {
			last[on] = len(e.result.Findings)
			e.result.add(f)
		}
	}
	for on, n := range named {
		if rest := n - fewFindings; rest > 0 {
			e.result.Findings[last[on]].Message += fmt.Sprintf("; the entry has %d more like it", rest)
		}
	}
}

// unknown adds to the finding about a hash of no package what probably happened: the
// release was replaced or, if beside is not empty, only a part of the entry differs.
func (e judgedEntry) unknown(f problem.Problem, replaced bool, beside string) problem.Problem {
	if replaced {
		f.Hint = "ask the publisher why the packages of the release were replaced: this may be the hash of one of those"
		return f
	}
	if beside == "" {
		return f
	}
	if f.Subject.Hash.Scheme() == provider.SchemeZH && f.Subject.Hash.WellFormed() {
		f.Message += beside
	}
	f.Hint = fmt.Sprintf("find out who added it: `git log -S %s`; then run `relock lock --prune`, which removes it; if the publisher has replaced a package and you trust that, run `relock lock --prune --accept-re-released %s@%s`",
		f.Subject.Hash, e.lock.Addr.Short(), e.lock.Version)
	return f
}

// besideListed is an addition to the message about a zh in no list, if a list has other zh
// of the entry. Otherwise it is empty.
func (e judgedEntry) besideListed() string {
	unlisted, of := e.of.unlisted(e.lock)
	if unlisted == 0 || unlisted == of {
		return ""
	}
	verb := "are"
	if unlisted == 1 {
		verb = "is"
	}
	return fmt.Sprintf(": %d of %d recorded zh %s in no list: somebody changed the file, or one package was replaced", unlisted, of, verb)
}

// explain returns the code and the message of the finding about a hash. The code is empty
// if a package or a signed list proves the hash.
func (e judgedEntry) explain(p Proof) (problem.Code, string) {
	h, release := shortened(p.Hash), fmt.Sprintf("%s %s", e.lock.Addr, e.lock.Version)
	switch {
	case !p.Hash.Known():
		return problem.CodeHashScheme, fmt.Sprintf("the scheme of %s is unknown to the tools", h)
	case p.Verdict == Disproven:
		k, ok := e.known[p.Hash]
		if !ok {
			return problem.CodeHashUnknown, fmt.Sprintf("%s belongs to no package of %s", h, release)
		}
		other := fmt.Sprintf("%s %s", k.Want.Addr, k.Want.Version)
		if k.Want.Platform != (provider.Platform{}) {
			other += " for " + k.Want.Platform.String()
		}
		return problem.CodeHashOfOther, fmt.Sprintf("%s belongs to %s, and not to %s", h, other, release)
	case p.Verdict == Unproven:
		looked, of := e.of.looked()
		message := fmt.Sprintf("%s of %s could not be checked: %s; %d of %s looked at", h, release, p.Reason.inWords(), looked, collect.Count(of, "package", "packages"))
		if _, cause := e.of.why(); cause != nil && e.of.reason == "" {
			message += "; " + cause.Error()
		}
		return problem.CodeHashUnproven, message
	case p.Verdict == ByReport:
		return problem.CodeHashReported, fmt.Sprintf("%s of %s is known from the registry's word alone", h, release)
	case p.Verdict == ByMirror:
		return problem.CodeHashMirror, fmt.Sprintf("%s of %s is known from the %s alone", h, release, e.of.mirror)
	}
	return "", ""
}

// pile is one kind of finding about the hashes of an entry, of which only a few are named.
// Accepted findings are a pile of their own: they must not hide new ones.
type pile struct {
	code     problem.Code
	accepted bool
}

// coverage adds findings about what the entry lacks: a demanded platform, or the zh that a
// signature proves.
func (e judgedEntry) coverage() {
	l := e.lock
	if len(l.Hashes) == 0 {
		e.result.add(Unhashed(l, e.path))
		return
	}
	if len(e.of.files) == 0 || e.result.Module.Alone {
		return
	}
	recorded := map[provider.Hash]bool{}
	signed := false
	for _, h := range l.Hashes {
		recorded[h] = true
		signed = signed || h.Scheme() == provider.SchemeZH
	}
	if !signed && !e.of.unsigned {
		e.add(problem.CodeZHMissing, "%s %s has no zh hash, so no signature covers it", l.Addr, l.Version)
	}
	for _, p := range e.policy.Platforms {
		file, published := e.of.file(p)
		has := slices.ContainsFunc(file.Sum.Contents(), func(h provider.Hash) bool { return recorded[h] })
		switch {
		case !published:
			f := e.add(problem.CodePlatformMissing, "%s %s is not published for %s", l.Addr, l.Version, p)
			f.Subject.Platform, f.Severity = p, problem.SeverityNote
			f.Hint = fmt.Sprintf("leave %s out for this provider, by platforms in a rule of its own", p)
		case !recorded[file.Sum.ZH] && !has && !e.of.mayHave(l, file):
			f := e.add(problem.CodePlatformMissing, "%s %s has no hash for %s, where init fails", l.Addr, l.Version, p)
			f.Subject.Platform = p
		case recorded[file.Sum.ZH] && !has && !e.of.mayHave(l, file):
			f := e.add(problem.CodeH1Missing, "%s %s has the zh for %s and not the h1, which a plugin cache is checked by", l.Addr, l.Version, p)
			f.Subject.Platform = p
		}
	}
}

// Unhashed is the finding that an entry has no hash, so that nothing proves its package.
// path is the path of the lock file.
func Unhashed(l lockfile.Lock, path string) problem.Problem {
	message := fmt.Sprintf("%s %s has no hash at all, so that init takes whatever package it is served", l.Addr, l.Version)
	f := scribe{lock: l, path: path}.ofEntry(problem.CodeHashUnproven, message)
	f.Hint = "run `relock lock`, which completes the entry"
	return f
}

// content adds findings about the files in the release's packages.
func (e judgedEntry) content() {
	l := e.lock
	for _, p := range slices.SortedFunc(maps.Keys(e.of.problems), provider.Platform.Compare) {
		f := e.add(problem.CodePackageContent, "the package of %s %s for %s: %s", l.Addr, l.Version, p, strings.Join(e.of.problems[p], "; "))
		f.Subject.Platform = p
	}
	if n := len(e.of.unseen); n > 0 {
		why := slices.Compact(slices.Sorted(slices.Values(e.of.unseen)))
		e.result.Unchecked = append(e.result.Unchecked, fmt.Sprintf("the content of packages of %s %s: %s", l.Addr, l.Version, why[0]))
	}
}
