package verify

import (
	"context"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/provider"
)

// This file has everything that waits for a network.

// Source answers questions about the hashes of a release. Implementations must be safe for
// concurrent use. They may answer a repeated question from memory.
type Source interface {
	// Versions returns the releases that the tool's installation methods offer
	// for the provider, in any order. Errors are *problem.Error.
	Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error)
	// Listing returns the verified checksum list of the release. It is the list of any
	// package that was asked about before. It is zero if hashes must not be compared with a
	// list.
	Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error)
	// Package is Listing with the package's own list. If the package's content is not
	// known, at most limit bytes are downloaded to learn it. If Listing is zero, Package
	// may have a mirror's content.
	Package(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Listing, error)
	// Recheck downloads a package and compares it with the hash cache. It returns the
	// number of downloaded bytes, at most limit. CodeBadChecksum says that the cache is
	// wrong.
	Recheck(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (int64, error)
	// Content says what is wrong with the files in a package. If this run has not
	// downloaded the package, Content does, up to limit bytes.
	Content(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Content, error)
	// Size returns how large the package is: provider.AtHand if it needs no download, 0 if
	// the size is not known.
	Size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error)
}

// asker asks the questions of one call of an exported function. It does not outlive that
// call, so it may hold its context.
type asker struct {
	ctx    context.Context
	jobs   int
	source Source
}

// ended reports whether no more questions may be asked.
func (a asker) ended() bool { return a.ctx.Err() != nil }

// offers asks for the releases of providers.
func (a asker) offers(asked []ask.Question) map[ask.Question]ask.Reply[provider.Offer] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Offer, error) {
		return a.source.Versions(a.ctx, k.Tool, k.Want.Addr)
	})
}

// recheck compares the package with the hash cache.
func (a asker) recheck(k ask.Question, limit int64) error {
	_, err := a.source.Recheck(a.ctx, k.Tool, k.Want, limit)
	return err
}

// lists asks for the lists of releases.
func (a asker) lists(asked []ask.Question) map[ask.Question]ask.Reply[provider.Listing] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Listing, error) {
		return a.source.Listing(a.ctx, k.Tool, k.Want)
	})
}

// packages asks for the content of packages. It downloads no package above its limit.
func (a asker) packages(limits map[ask.Question]int64, asked []ask.Question) map[ask.Question]ask.Reply[provider.Listing] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Listing, error) {
		return a.source.Package(a.ctx, k.Tool, k.Want, limits[k])
	})
}

// contents asks what is wrong with the files in packages. It downloads no package above its
// limit.
func (a asker) contents(limits map[ask.Question]int64, asked []ask.Question) map[ask.Question]ask.Reply[provider.Content] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Content, error) {
		return a.source.Content(a.ctx, k.Tool, k.Want, limits[k])
	})
}

// sizes asks how large packages are.
func (a asker) sizes(asked []ask.Question) map[ask.Question]ask.Reply[int64] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (int64, error) {
		return a.source.Size(a.ctx, k.Tool, k.Want)
	})
}
