package verify

import (
	"context"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/provider"
)

// Whatever waits for the world stands in this file.

// Source answers what the hashes of a release can be held against.
// Implementations must be safe for concurrent use; they may answer a repeated
// question from memory.
type Source interface {
	// Versions returns the releases that the tool's installation methods offer
	// for the provider, in any order. Errors are *problem.Error.
	Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error)
	// Listing returns what the verified checksum list of the release says, of
	// whichever package was asked about before; it is zero where nothing can be
	// held against a list.
	Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error)
	// Package is Listing by the package's own list. What the package contains is
	// learned by a download of at most limit bytes, if it is not known. Where Listing
	// is zero it may say what a mirror has.
	Package(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Listing, error)
	// Recheck holds what the hash cache knows of a package against the package, and
	// returns how many bytes that took, at most limit. CodeBadChecksum says that the
	// cache is wrong.
	Recheck(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (int64, error)
	// Content says what is wrong with what a package holds. It is downloaded, at most
	// limit bytes of it, if this run has not done so.
	Content(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Content, error)
	// Size returns how large the package is: provider.AtHand if nothing is downloaded
	// for it, and 0 if nobody says.
	Size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error)
}

// asker asks the questions of one call of an exported function and lives no longer
// than that, so that it may hold its context.
type asker struct {
	ctx    context.Context
	jobs   int
	source Source
}

// ended reports whether nothing is asked any more.
func (a asker) ended() bool { return a.ctx.Err() != nil }

// offers asks for the releases of providers.
func (a asker) offers(asked []ask.Question) map[ask.Question]ask.Reply[provider.Offer] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Offer, error) {
		return a.source.Versions(a.ctx, k.Tool, k.Want.Addr)
	})
}

// recheck holds what the cache knows of a package against the package.
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

// packages asks for what packages contain, and downloads none that is larger than
// its limit.
func (a asker) packages(limits map[ask.Question]int64, asked []ask.Question) map[ask.Question]ask.Reply[provider.Listing] {
	return ask.Of(a.jobs, asked, func(k ask.Question) (provider.Listing, error) {
		return a.source.Package(a.ctx, k.Tool, k.Want, limits[k])
	})
}

// contents asks what is wrong with what packages hold, and downloads none that is
// larger than its limit.
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
