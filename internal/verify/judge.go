// Package verify proves or refutes the hashes of lock files. The tools accept a
// package that matches any one recorded hash, so that one that somebody has put
// there defeats the lock file, and no reader of a change can tell it from the
// others [terraform 1.11 internal/getproviders/hash.go].
//
// A zh is decided by the signed checksum list of its release alone. An h1 is known
// from packages that were hashed, in this run or by the hash cache; it is refuted
// only where every package that there is has been looked at.
//
// Judge knows neither registries nor disks: it is given suspects, and a Source
// that answers what they are held against.
package verify

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Suspect is an entry of a lock file that is to be judged.
type Suspect struct {
	Tool provider.Tool
	Lock lockfile.Lock
	// Path is that of the lock file, for messages.
	Path string
	// Covered are platforms that the entry is known to be for. Their packages are
	// looked at first.
	Covered []provider.Platform
	// Explained are hashes that the caller has seen explained.
	Explained []provider.Hash
	// Left says that the run plans another version, so that nothing has compared
	// the recorded packages with those of now.
	Left bool
	// Depth is how far the account of its release goes.
	Depth Depth
}

// Depth is how far an account of a release goes for one of its entries.
type Depth int

const (
	// ListsOnly holds hashes against signed lists alone: nothing is downloaded, and what they
	// leave open is not said. A plan has asked for the versions before.
	ListsOnly Depth = iota
	// WithPackages downloads packages, too, until every hash is explained.
	WithPackages
	// Everything gives every hash a verdict, by whatever list or mirror the tool takes
	// [opentofu 1.12 internal/getproviders/package_authentication.go]. Nothing was asked
	// before, and the registry of the release is asked, whatever a plan would ask.
	Everything
)

// Judgement is what there is to say of an entry.
type Judgement struct {
	// Found are the hashes that belong to nothing, and Undecided those of which
	// that could not be found out, sorted by place.
	Found, Undecided []problem.Problem
	// Refuted are all hashes that belong to nothing, since a finding may speak of several.
	Refuted []provider.Hash
}

// Options are what an account goes by, whoever asks for it.
type Options struct {
	// AcceptReReleased names releases that may have been replaced.
	AcceptReReleased []provider.ReleasePattern
	// Allowance bounds the downloads.
	Allowance *Allowance
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
	// Announce is called with packages before they are downloaded; it may be nil.
	Announce func(provider.Downloads)
}

// ByEntry orders findings by place, then by entry, hash, code and platform.
func ByEntry(f, g problem.Problem) int {
	return cmp.Or(
		f.Place.Compare(g.Place), f.Subject.Addr.Compare(g.Subject.Addr), cmp.Compare(f.Subject.Hash, g.Subject.Hash),
		cmp.Compare(f.Code, g.Code), f.Subject.Platform.Compare(g.Subject.Platform),
	)
}

// Judge says which recorded hashes belong to no package of their release, and of
// which that could not be decided. Judgements are in the order of suspects; after
// ctx is done they are empty.
//
// Most lock files are accounted for by what a run has learned anyway. More is
// asked only where that leaves a hash unexplained: the lists of the release's
// other platforms first, then packages, smallest first, until every hash is
// explained.
func Judge(ctx context.Context, src Source, suspects []Suspect, opts Options) []Judgement {
	a := newAccountant(ctx, src, opts, false)
	for i, e := range suspects {
		if slices.ContainsFunc(e.Lock.Hashes, provider.Hash.Known) { // else there is nothing to be held against
			a.open(i, e)
		}
	}
	a.account()
	judgements := make([]Judgement, len(suspects))
	if a.ask.ended() {
		return judgements
	}
	known := sync.OnceValue(a.index)
	for _, c := range a.order {
		for _, e := range c.suspects {
			if c.signed && slices.ContainsFunc(e.Lock.Hashes, func(h provider.Hash) bool { return !c.explains(h) }) {
				judgements[e.index] = c.judgement(e.Suspect, known(), opts)
			}
		}
	}
	return judgements
}

// judgement is what Prove finds of the hashes of an entry, as far as that refutes them or
// leaves them open.
func (c *accountCase) judgement(e Suspect, known map[provider.Hash]ask.Question, opts Options) Judgement {
	var made Verification
	entry := judgedEntry{scribe: scribe{lock: e.Lock, path: e.Path, result: &made}, policy: &Policy{Options: opts}, of: c, judged: c.proofs(e.Lock), known: known}
	if e.Left && c.replaced(e.Lock) { // then nobody has looked for packages of its h1 hashes
		entry.judged = slices.DeleteFunc(entry.judged, func(p Proof) bool { return p.Hash.Scheme() != provider.SchemeZH })
	}
	entry.replaced()
	entry.hashes()
	var j Judgement
	for _, p := range entry.judged {
		if p.Verdict == Disproven && p.Hash.Known() {
			j.Refuted = append(j.Refuted, p.Hash)
		}
	}
	slices.SortStableFunc(made.Findings, ByEntry)
	for _, f := range made.Findings {
		switch f.Code {
		case problem.CodeHashUnknown, problem.CodeHashOfOther, problem.CodeReReleased:
			j.Found = append(j.Found, withHelp(f))
		case problem.CodeHashUnproven:
			if e.Depth > ListsOnly {
				j.Undecided = append(j.Undecided, f)
			}
		}
	}
	return j
}
