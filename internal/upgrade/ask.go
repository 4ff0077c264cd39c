package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// This file has everything that waits for a network, and nothing else. The steps of a plan
// collect their questions over all root modules. Each distinct question is asked once,
// here.

// Source answers the questions about providers. Implementations must be safe
// for concurrent use; they may answer a repeated question from memory.
type Source interface {
	// Versions returns the releases that the tool's installation methods offer for the
	// provider, in any order, and the methods that were asked. A release that only mirrors
	// lack may still be published. A missing release may be at a method that returned no
	// list. Errors are *problem.Error.
	Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error)
	// Listing returns what is known about a release's packages without a download. It is
	// zero if nothing is known.
	Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error)
	// Hashes downloads and verifies one package. It returns a *problem.Error
	// with CodeNoPackage if the release has none for the platform.
	Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error)
}

// DateSource says when releases were published, for rules about their age. It is asked only
// about releases whose date Source.Versions does not know: one at a time from the newest,
// until one is old enough. Implementations must be safe for concurrent use.
type DateSource interface {
	// Published returns when the release was published, or the zero time if that is not
	// known. The wanted package has no platform. On an error the date is not known.
	Published(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error)
}

// SignerSource says who signed the checksum list of a release. It need not be the Source of
// the plan, which a root module may have for itself.
type SignerSource interface {
	// Listing has the signer of the verified list of the release. The signer is zero if
	// there is none, as in a mirror.
	Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error)
}

// SizeSource says how large a download is, for the people who wait for it. No decision
// depends on the size, and nothing waits for it.
type SizeSource interface {
	// Size returns how many bytes Source.Hashes downloads for the package: provider.AtHand
	// if none, 0 if the size is not known.
	Size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error)
}

// Rereader reads module trees again, with other releases of some modules. It decides how
// many packages it fetches for that.
type Rereader interface {
	// Latest returns the call of the newest release of a module that no registry lists, and
	// the name of that release. That may be the release in use. The name is empty if it is
	// not known. Errors are *problem.Error.
	Latest(ctx context.Context, tool provider.Tool, call scan.Call) (latest scan.Call, release string, err error)
	// Reread returns the root modules that have a call, with another one instead. The
	// results are in the order of modules. The others, and those that could not be read
	// again, have no directory.
	Reread(ctx context.Context, modules []scan.RootModule, call ToolCall, instead scan.Call) []scan.RootModule
}

// ToolCall is a call in the root modules of a tool.
type ToolCall struct {
	Tool provider.ToolName
	scan.Call
}

// Plan decides about every root module. Results are in the order of modules. A module that
// could not be planned says so in its diagnostics and has no File. Plan writes nothing.
// After ctx is done, each open question fails, and File has what is complete.
func Plan(ctx context.Context, src Source, modules []scan.RootModule, opts Options) []Result {
	return plan(modules, opts.behaviour(), asker{ctx, src, opts, nil})
}

// Foresee asks early for the releases that a plan of these root modules will need. The
// modules may be read only in part: their requirements remain, and the rest may add more.
// The source remembers the answers.
func Foresee(ctx context.Context, src Source, modules []scan.RootModule, opts Options) {
	b := opts.behaviour()
	var asked []ask.Question
	for _, m := range modules {
		for _, required := range m.Tree.Requirements {
			w := wantProvider(m, nil, required, b)
			if selected(opts.Only, required.Addr) && !problem.AnyError(m.Tree.Diagnostics) && !w.spared(b) && w.rules.Forbids() == nil {
				asked = append(asked, ask.Question{Tool: m.Tool, Want: provider.Want{Addr: required.Addr}})
			}
		}
	}
	asker{ctx, src, opts, nil}.versions(asked) // the plan meets the failures again
}

// Cornered returns, for each root module, the providers whose selected release a rule
// holds. A plan selects such a release if the rules leave none of those that the
// constraints allow. Cornered asks only the questions that choosing versions asks.
func Cornered(ctx context.Context, src Source, modules []scan.RootModule, opts Options) [][]provider.Addr {
	b := opts.behaviour()
	wanted := collect.Mapped(modules, func(m scan.RootModule) []*wanted { return want(m, b).wanted })
	cornered := make([][]provider.Addr, len(modules))
	for i, choices := range chooseVersions(wanted, b, asker{ctx, src, opts, nil}) {
		for _, c := range choices {
			for _, notice := range c.notices {
				if problem.Coded(notice, problem.CodePolicy) {
					cornered[i] = append(cornered[i], c.wanted.addr())
				}
			}
		}
	}
	return cornered
}

// Examine says which version of each provider Plan would select, and what holds newer ones.
// It makes no entries: the results have only Selections, and Diagnostics about these. It
// asks the questions that choosing versions asks, also about providers for which the rules
// let no release in. It also reads other releases of modules that could help, as far as the
// reader allows, and plans all providers of a root module with these. Results are in the
// order of modules.
func Examine(ctx context.Context, src Source, modules []scan.RootModule, opts Options, reader Rereader) []Result {
	b := opts.behaviour()
	b.spares = false
	results := make([]Result, len(modules))
	var wanted [][]*wanted
	for i, m := range modules {
		r := want(m, b)
		wanted = append(wanted, r.wanted)
		results[i].Diagnostics = collect.Those(r.diagnostics, func(d problem.Problem) bool { return d.Code == problem.CodeProviderRefused })
	}
	world := asker{ctx, src, opts, reader}
	choices := examined(modules, chooseVersions(wanted, b, world), b, world)
	for i, choice := range choices {
		for _, c := range choice {
			s := Selection{Requirement: c.wanted.requirement, From: c.old.Version, To: c.to, Facts: Facts{Held: c.held}, Err: c.err}
			results[i].Selections = append(results[i].Selections, s)
			results[i].Diagnostics = append(results[i].Diagnostics, proven{covered: covered{chosen: c}, selection: s, notices: c.notices}.explain()...)
		}
	}
	return results
}

// FormerSigners notes who signed the release that each selection leaves, so that relock can
// show a change of signer. The lock file does not record signers. So the registry is asked
// for the old list, once for each distinct release. It is not asked about a release that
// was replaced under its version: the registry has only the new list.
//
// A signer that cannot be learned stays unknown: the old release may be withdrawn, or its
// key revoked. That stops no upgrade. jobs bounds the questions that are open at once; 0
// means a default.
func FormerSigners(ctx context.Context, src SignerSource, results []Result, jobs int) {
	var asked []ask.Question
	for _, r := range results {
		for _, s := range r.Selections {
			asked = append(asked, s.former(r.Module.Tool)...)
		}
	}
	answers := Signers(ctx, src, asked, jobs)
	for _, r := range results {
		for i := range r.Selections {
			s := &r.Selections[i]
			for _, k := range s.former(r.Module.Tool) {
				s.SignerFrom = cmp.Or(s.SignerFrom, answers[k])
			}
		}
	}
}

// Signers returns who signed the lists of these releases, each named by one of its
// packages. The signer is zero if it is not known. The registry is asked even if a mirror
// is configured.
func Signers(ctx context.Context, src SignerSource, asked []ask.Question, jobs int) map[ask.Question]provider.Signer {
	return ask.Each(jobs, asked, func(k ask.Question) provider.Signer {
		k.Want.Origin = true
		l, err := src.Listing(ctx, k.Tool, k.Want)
		if err != nil {
			return provider.Signer{}
		}
		return l.Signer
	})
}

// asker asks the questions of one plan. It does not outlive that plan, so it may hold its
// context.
type asker struct {
	ctx    context.Context
	source Source
	opts   Options
	reader Rereader // of Examine
}

// Half returns a context for one step of several. It ends after half of the time that ctx
// has left, so that a question without an answer leaves time for the next steps. If ctx has
// no deadline, neither has the result.
func Half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, known := ctx.Deadline()
	if !known {
		return context.WithCancel(ctx)
	}
	half := time.Until(end) / 2
	return context.WithTimeoutCause(ctx, half, &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeUnreachable, Message: fmt.Sprintf("no answer within half of the time that was left, %s", half.Round(time.Millisecond)),
			Hint: "run again, with more time (--timeout)",
		},
	})
}

// stage begins a stage of Options.Stage.
func (a asker) stage(name string) (end func()) {
	if a.opts.Stage == nil {
		return func() {}
	}
	return a.opts.Stage(name)
}

// versions asks for the releases of providers.
func (a asker) versions(asked []ask.Question) map[ask.Question]offered {
	defer a.stage("versions")()
	ctx, done := Half(a.ctx)
	defer done()
	return ask.Each(a.opts.Jobs, asked, func(k ask.Question) offered {
		offer, err := a.source.Versions(ctx, k.Tool, k.Want.Addr)
		return offered{releases: slices.Clone(offer.Releases), methods: offer.Methods, err: err, dates: map[provider.Version]date{}}
	})
}

// published asks when releases were published. A failure of the network does not mean that
// a release has no date: the next run may learn it. Any other error means that the source
// has no date.
func (a asker) published(asked []ask.Question) map[ask.Question]date {
	ctx, done := Half(a.ctx)
	defer done()
	return ask.Each(a.opts.Jobs, asked, func(k ask.Question) date {
		at, err := a.opts.Dates.Published(ctx, k.Tool, k.Want)
		switch {
		case problem.Coded(err, problem.CodeUnreachable), problem.Coded(err, problem.CodeCancelled), problem.Coded(err, problem.CodeGitHub):
			return date{err: err}
		case err != nil:
			return date{}
		}
		return date{at: at}
	})
}

// remembered returns what the source knows about packages without a download. One package
// of a release is asked about; the answer is for all of that release.
func (a asker) remembered(asked []ask.Question) map[ask.Question]coverage.Evidence {
	listings := ask.Each(a.opts.Jobs, asked, func(k ask.Question) provider.Listing {
		l, err := a.source.Listing(a.ctx, k.Tool, k.Want)
		if err != nil {
			return provider.Listing{} // the download may succeed
		}
		return l
	})
	known := map[ask.Question]coverage.Evidence{}
	for k, l := range listings {
		for _, f := range l.Files {
			k.Want.Platform = f.Platform
			if f.Sum.Computed() {
				known[k] = coverage.Evidence{Hashes: provider.Hashes{Sum: f.Sum}}
			}
		}
	}
	return known
}

// ahead is how many packages are requested at once for each job. Most requests need no
// download, and the source bounds the downloads. It starts with the largest package among
// the open requests.
const ahead = 4

// packages asks for packages. At the same time the source learns who signed the releases in
// left, because the packages do not say it.
func (a asker) packages(asked, left []ask.Question) map[ask.Question]coverage.Evidence {
	var beside sync.WaitGroup
	defer beside.Wait()
	if a.opts.Former != nil && len(left) > 0 {
		beside.Go(func() { Signers(a.ctx, a.opts.Former, left, a.opts.Jobs) })
	}
	if a.opts.Announce != nil {
		unknown := a.unknown(asked)
		a.opts.Announce(provider.Downloads{Packages: len(unknown)}) // no list says how large they are yet
		sizing, enough := context.WithCancel(a.ctx)
		defer enough()
		if a.opts.SizesFirst {
			a.size(sizing, unknown)
		} else {
			beside.Go(func() { a.size(sizing, unknown) })
		}
	}
	defer a.stage("hashes")()
	return ask.Each(ahead*ask.Jobs(a.opts.Jobs), asked, func(k ask.Question) coverage.Evidence {
		h, err := a.source.Hashes(a.ctx, k.Tool, k.Want)
		return coverage.Evidence{Hashes: h, Err: err}
	})
}

// size announces how large the packages are. Each question costs a request, so only one
// package of each release is asked about: packages for other platforms are about as large.
func (a asker) size(ctx context.Context, unknown map[provider.Want]ask.Question) {
	if a.opts.Sizes == nil || len(unknown) == 0 {
		return
	}
	one, count := map[provider.Want]ask.Question{}, map[ask.Question]int{} // of each release; one[release] is the package asked about
	for _, want := range slices.SortedFunc(maps.Keys(unknown), func(p, q provider.Want) int { return p.Platform.Compare(q.Platform) }) {
		release := want
		release.Platform = provider.Platform{}
		if _, ok := one[release]; !ok {
			one[release] = unknown[want]
		}
		count[one[release]]++
	}
	sizes := ask.Each(a.opts.Jobs, slices.Collect(maps.Values(one)), func(k ask.Question) int64 {
		size, err := a.opts.Sizes.Size(ctx, k.Tool, k.Want)
		if err != nil || size > hash.MaxSize {
			return 0 // the request for the package reports the error, and no package is larger
		}
		return size
	})
	if ctx.Err() != nil {
		return // the packages have arrived
	}
	var known provider.Downloads
	for k, size := range sizes {
		if size != 0 {
			known.Sized += count[k]
			known.Size += int64(count[k]) * max(size, 0)
		}
	}
	a.opts.Announce(known)
}

// unknown are the packages whose hashes the source does not know, each with one of the
// questions about it.
func (a asker) unknown(asked []ask.Question) map[provider.Want]ask.Question {
	one := map[ask.Question]ask.Question{} // of each release
	for _, k := range asked {
		release := k
		release.Want.Platform = provider.Platform{}
		one[release] = k
	}
	known, unknown := a.remembered(slices.Collect(maps.Values(one))), map[provider.Want]ask.Question{}
	for _, k := range asked {
		if _, ok := known[k]; !ok {
			unknown[k.Want] = k // one question for each package
		}
	}
	return unknown
}
