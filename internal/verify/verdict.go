package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Verdict says what proves a recorded hash, or that nothing does. Every hash has exactly
// one.
type Verdict string

// The verdicts, the strongest first. A verdict is as good as its source: the signer of the
// list, the writer of the cache, the mirror, the registry.
const (
	ByList    Verdict = "list"     // the signed checksum list of the release has it
	ByPackage Verdict = "package"  // this run has hashed a package that the list names
	ByCache   Verdict = "cache"    // an earlier run has hashed it, and the list names it now
	ByMirror  Verdict = "mirror"   // a mirror of the operator has it, and no registry may be asked
	ByReport  Verdict = "reported" // a registry reports it for a package that the list names
	Unsigned  Verdict = "unsigned" // an unsigned list names it
	BySource  Verdict = "source"   // the source of a module has it now
	Disproven Verdict = "refuted"  // relock has looked at everything that could explain it, and nothing does
	Unproven  Verdict = "unproven" // relock could not look at everything
)

// verdicts are all verdicts in the order of the summary.
var verdicts = []Verdict{ByList, ByPackage, ByCache, ByMirror, ByReport, Unsigned, BySource, Disproven, Unproven}

// Obstacle says why a hash is Unproven.
type Obstacle string

// The reasons.
const (
	ForOffline      Obstacle = "offline"      // nothing may be asked
	ForBudget       Obstacle = "budget"       // no more may be downloaded
	ForHost         Obstacle = "host"         // the head of a fork may not choose which hosts are asked
	ForUnreachable  Obstacle = "unreachable"  // no answer, or none that can be used
	ForUnauthorized Obstacle = "unauthorized" // credentials are missing or refused
	ForInterrupt    Obstacle = "interrupted"  // the run ended before an answer
)

// inWords names the reason, and the setting that ends it.
func (o Obstacle) inWords() string {
	if o == ForBudget {
		return "budget: --max-download is reached"
	}
	return string(o)
}

// help says what a person can do about the reason.
func (o Obstacle) help() string {
	switch o {
	case ForOffline:
		return "leave out `--offline`"
	case ForBudget:
		return "raise --max-download"
	case ForUnauthorized:
		return "give the run credentials for the host"
	case ForUnreachable:
		return "check that the host can be reached from here, and try again"
	case ForInterrupt:
		return "run it again"
	}
	return ""
}

// IsInterrupted reports whether a finding says that an interrupt prevented a proof.
func IsInterrupted(f problem.Problem) bool { return f.Outage.Reason == ForInterrupt.inWords() }

// Proof is the verdict on one hash.
type Proof struct {
	Hash    provider.Hash
	Verdict Verdict
	Reason  Obstacle // for Unproven
}

// Counts is the number of hashes for each verdict.
type Counts map[Verdict]int

// Hashes is the number of all hashes.
func (c Counts) Hashes() int {
	all := 0
	for _, n := range c {
		all += n
	}
	return all
}

// Add adds the numbers of others.
func (c Counts) Add(others Counts) {
	for v, n := range others {
		c[v] += n
	}
}

// MarshalJSON implements json.Marshaler with Hashes, and the number for every verdict
// by its name.
func (c Counts) MarshalJSON() ([]byte, error) {
	all := map[string]int{"hashes": c.Hashes()}
	for _, v := range verdicts {
		all[string(v)] = c[v]
	}
	return json.Marshal(all)
}

// words are the words after the number of each verdict. An h1 and a zh are counted together
// only if nothing is proven: no package proves a zh.
var words = map[Verdict]string{
	ByList: "in signed lists", ByPackage: "h1 by packages hashed now", ByCache: "h1 by earlier runs",
	ByMirror: "known from mirrors alone", ByReport: "known from a registry's word alone", Unsigned: "in unsigned lists", BySource: "of modules by their sources",
	Disproven: "refuted", Unproven: "unproven",
}

// Part is the number of hashes with a verdict, and the words for them in the summary.
type Part struct {
	Verdict Verdict
	N       int
	Words   string
}

// Parts are the parts for every verdict, in the order of the summary.
func (c Counts) Parts() []Part {
	var all []Part
	for _, v := range verdicts {
		all = append(all, Part{v, c[v], words[v]})
	}
	return all
}

// Lasting is String without the time of hashing. A text that the next run compares uses it:
// that run would write the same.
func (c Counts) Lasting() string {
	all := maps.Clone(c)
	all[ByPackage] += all[ByCache]
	delete(all, ByCache)
	return strings.Replace(all.String(), words[ByPackage], "h1 by packages", 1)
}

// String is the summary in one line: "214 hashes: 150 in signed lists, 40 h1 by
// packages hashed now, 24 h1 by earlier runs; 0 unproven".
func (c Counts) String() string {
	var proven, not []string
	for _, p := range c.Parts() {
		text := fmt.Sprintf("%d %s", p.N, p.Words)
		switch {
		case p.Verdict == Unproven || p.Verdict == Disproven && p.N > 0:
			not = append(not, text)
		case p.N > 0:
			proven = append(proven, text)
		}
	}
	text := collect.Count(c.Hashes(), "hash", "hashes")
	if len(proven) > 0 {
		text += ": " + strings.Join(proven, ", ")
	}
	return text + "; " + strings.Join(not, ", ")
}
