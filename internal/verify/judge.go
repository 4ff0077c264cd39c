// Package verify proves or refutes the hashes of lock files. The tools accept a package
// that matches any one recorded hash. So one added hash defeats the lock file, and a
// reviewer cannot distinguish it from the others [terraform 1.11 internal/getproviders/hash.go].
//
// Only the signed checksum list of a release decides about a zh. An h1 is proven by a
// package that was hashed, in this run or for the hash cache. It is refuted only if every
// package of the release was hashed.
//
// Judge knows neither registries nor disks. It receives suspects, and a Source that answers
// its questions.
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

// Suspect is an entry of a lock file to judge.
type Suspect struct {
	Tool provider.Tool
	Lock lockfile.Lock
	// Path is the path of the lock file, for messages.
	Path string
	// Covered are platforms that the entry is known to cover. Their packages are looked at
	// first.
	Covered []provider.Platform
	// Explained are hashes that the caller has already proven.
	Explained []provider.Hash
	// Left says that the run plans another version. So the recorded hashes were not
	// compared with the current packages.
	Left bool
	// Depth says how far to account for the release.
	Depth Depth
}

// Depth says how far to account for the release of an entry.
type Depth int

const (
	// ListsOnly compares hashes with signed lists only. Nothing is downloaded, and
	// undecided hashes are not reported. A plan has asked for the versions before.
	ListsOnly Depth = iota
	// WithPackages downloads packages, too, until every hash is explained.
	WithPackages
	// Everything gives every hash a verdict, from any list or mirror that the tool accepts
	// [opentofu 1.12 internal/getproviders/package_authentication.go]. No plan has asked
	// before. The registry of the release is asked, even if a plan would not ask it.
	Everything
)

// Judgement has the findings about an entry.
type Judgement struct {
	// Found are the hashes that belong to nothing and, at the depth Everything, releases
	// that are gone or badly signed. Undecided are the hashes for which that is not known.
	// Both are sorted by place.
	Found, Undecided []problem.Problem
	// Refuted are all hashes that belong to nothing. One finding may be about several.
	Refuted []provider.Hash
}

// Options are the options of Judge and Prove.
type Options struct {
	// AcceptReReleased names releases that may have been replaced.
	AcceptReReleased []provider.ReleasePattern
	// Allowance bounds the downloads.
	Allowance *Allowance
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
	// Announce is called with packages before they are downloaded; it may be nil.
	Announce func(provider.Downloads)
	// Admits says whether the registry on a host may be asked; nil admits all.
	Admits func(host string) bool
}

// ByEntry orders findings by place, then by entry, hash, code and platform.
func ByEntry(f, g problem.Problem) int {
	return cmp.Or(
		f.Place.Compare(g.Place), f.Subject.Addr.Compare(g.Subject.Addr), cmp.Compare(f.Subject.Hash, g.Subject.Hash),
		cmp.Compare(f.Code, g.Code), f.Subject.Platform.Compare(g.Subject.Platform),
	)
}

// Judge says which recorded hashes belong to no package of their release, and for which
// that could not be decided. Judgements are in the order of suspects. After ctx is done
// they are empty.
//
// For most lock files the answers of the run so far are enough. Judge asks more only if a
// hash is still unexplained: first the lists of the release's other platforms, then
// packages, the smallest first, until every hash is explained.
func Judge(ctx context.Context, src Source, suspects []Suspect, opts Options) []Judgement {
	a := newAccountant(ctx, src, opts, false)
	judgements := make([]Judgement, len(suspects))
	for i, e := range suspects {
		if !slices.ContainsFunc(e.Lock.Hashes, provider.Hash.Known) { // other hashes cannot be compared with anything
			judgements[i] = new(accountCase).judgement(e, nil, opts)
		} else if c := a.open(i, e); opts.Admits != nil && !opts.Admits(string(e.Lock.Addr.Host)) {
			c.reason = ForHost
		}
	}
	a.account()
	if a.ask.ended() {
		return judgements
	}
	known := sync.OnceValue(a.index)
	for _, c := range a.order {
		for _, e := range c.suspects {
			if (c.signed || e.Depth == Everything) && slices.ContainsFunc(e.Lock.Hashes, func(h provider.Hash) bool { return !c.explains(h) }) {
				judgements[e.index] = c.judgement(e.Suspect, known(), opts)
			}
		}
	}
	return judgements
}

// judgement has those findings of Prove about the hashes of an entry that refute them or
// leave them undecided.
func (c *accountCase) judgement(e Suspect, known map[provider.Hash]ask.Question, opts Options) Judgement {
	var made Verification
	entry := judgedEntry{scribe: scribe{lock: e.Lock, path: e.Path, result: &made}, policy: &Policy{Options: opts}, of: c, judged: c.proofs(e.Lock), known: known}
	if e.Left && c.replaced(e.Lock) { // nobody has looked for the packages of its h1 hashes
		entry.judged = slices.DeleteFunc(entry.judged, func(p Proof) bool { return p.Hash.Scheme() != provider.SchemeZH })
	}
	if silent := e.Depth == Everything && entry.unavailable(); !silent {
		entry.replaced()
		entry.hashes()
	}
	var j Judgement
	for _, p := range entry.judged {
		if p.Verdict == Disproven && p.Hash.Known() {
			j.Refuted = append(j.Refuted, p.Hash)
		}
	}
	slices.SortStableFunc(made.Findings, ByEntry)
	for _, f := range made.Findings {
		switch f.Code {
		case problem.CodeHashUnproven:
			if e.Depth > ListsOnly {
				j.Undecided = append(j.Undecided, withHelp(f))
			}
		case problem.CodeHashScheme, problem.CodeHashReported, problem.CodeHashMirror:
			if f.Code == problem.CodeHashScheme && e.Depth == Everything {
				j.Found = append(j.Found, withHelp(f))
			}
		default:
			j.Found = append(j.Found, withHelp(f))
		}
	}
	return j
}
