package verify

import (
	"fmt"
	"maps"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Verdict is what is known of a recorded hash: what proves it, or that nothing
// does. Every hash has exactly one.
type Verdict string

// The verdicts, the strongest first. What a hash is worth follows: as the signer of
// the list, as whoever wrote the cache, as the mirror, as the registry.
const (
	ByList    Verdict = "list"     // it stands in the signed checksum list of the release
	ByPackage Verdict = "package"  // this run has hashed a package that the list names
	ByCache   Verdict = "cache"    // an earlier run has, and the list names it now
	ByMirror  Verdict = "mirror"   // a mirror of the operator has it, and no registry may be asked
	ByReport  Verdict = "reported" // a registry states it of a package that the list names
	Unsigned  Verdict = "unsigned" // a list names it that nobody has signed
	Disproven Verdict = "refuted"  // everything that could explain it was looked at, and does not
	Unproven  Verdict = "unproven" // not everything could be looked at
)

// verdicts are all of them in the order of the summary.
var verdicts = []Verdict{ByList, ByPackage, ByCache, ByMirror, ByReport, Unsigned, Disproven, Unproven}

// Obstacle says why a hash is Unproven: one of a closed set.
type Obstacle string

// The reasons.
const (
	ForOffline      Obstacle = "offline"      // nothing may be asked
	ForBudget       Obstacle = "budget"       // no more may be downloaded
	ForHost         Obstacle = "host"         // the head of a fork may not choose whom to ask
	ForUnreachable  Obstacle = "unreachable"  // no answer, or none that can be used
	ForUnauthorized Obstacle = "unauthorized" // credentials are missing or refused
)

// Proof is the verdict on one hash.
type Proof struct {
	Hash    provider.Hash
	Verdict Verdict
	Reason  Obstacle // of Unproven
}

// Counts says how many hashes have which verdict.
type Counts map[Verdict]int

// Hashes is how many there are.
func (c Counts) Hashes() int {
	all := 0
	for _, n := range c {
		all += n
	}
	return all
}

// Add adds others.
func (c Counts) Add(others Counts) {
	for v, n := range others {
		c[v] += n
	}
}

// Each returns the number of every verdict, by its name.
func (c Counts) Each() map[string]int {
	all := map[string]int{}
	for _, v := range verdicts {
		all[string(v)] = c[v]
	}
	return all
}

// words say what the hashes of a verdict are, behind their number. An h1 and a zh
// are never counted together but where nothing is proven: no package proves a zh.
var words = map[Verdict]string{
	ByList: "in signed lists", ByPackage: "h1 by packages hashed now", ByCache: "h1 by earlier runs",
	ByMirror: "known from mirrors alone", ByReport: "known from a registry's word alone", Unsigned: "in unsigned lists",
	Disproven: "refuted", Unproven: "unproven",
}

// Part is how many hashes have a verdict, and what they are in the words of the summary.
type Part struct {
	Verdict Verdict
	N       int
	Words   string
}

// Parts are those of every verdict, in the order of the summary.
func (c Counts) Parts() []Part {
	var all []Part
	for _, v := range verdicts {
		all = append(all, Part{v, c[v], words[v]})
	}
	return all
}

// Lasting is String without when packages were hashed, for a text that the next run is
// to find as it would write it.
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
	text := fmt.Sprintf("%d hashes", c.Hashes())
	if c.Hashes() == 1 {
		text = "1 hash"
	}
	if len(proven) > 0 {
		text += ": " + strings.Join(proven, ", ")
	}
	return text + "; " + strings.Join(not, ", ")
}
