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

// listedRelease is what is said of a release in the list of versions.
type listedRelease struct {
	served []provider.Platform
	err    error
}

// served asks for the platforms of releases. What a registry does not list any
// more may still be had: it has none.
func (a asker) served(asked []ask.Question) map[ask.Question]listedRelease {
	return ask.Each(a.jobs, asked, func(k ask.Question) listedRelease {
		offer, err := a.source.Versions(a.ctx, k.Tool, k.Want.Addr)
		if r := offer.Release(k.Want.Version); r != nil {
			return listedRelease{r.Platforms, nil}
		}
		return listedRelease{nil, err}
	})
}

// recheck holds what the cache knows of a package against the package.
func (a asker) recheck(k ask.Question, limit int64) error {
	_, err := a.source.Recheck(a.ctx, k.Tool, k.Want, limit)
	return err
}

// packageAnswer is an answer about the list that names a package, or about its size.
type packageAnswer struct {
	listing provider.Listing
	size    int64
	err     error
}

// lists asks for the lists of releases.
func (a asker) lists(asked []ask.Question) map[ask.Question]packageAnswer {
	return ask.Each(a.jobs, asked, func(k ask.Question) packageAnswer {
		l, err := a.source.Listing(a.ctx, k.Tool, k.Want)
		return packageAnswer{listing: l, err: err}
	})
}

// looked asks for what packages contain, and downloads none that is larger than
// its limit.
func (a asker) looked(limits map[ask.Question]int64, asked []ask.Question) map[ask.Question]packageAnswer {
	return ask.Each(a.jobs, asked, func(k ask.Question) packageAnswer {
		l, err := a.source.Package(a.ctx, k.Tool, k.Want, limits[k])
		return packageAnswer{listing: l, err: err}
	})
}

// contentAnswer is an answer about what a package holds.
type contentAnswer struct {
	Content provider.Content
	err     error
}

// contents asks what is wrong with what packages hold, and downloads none that is
// larger than its limit.
func (a asker) contents(limits map[ask.Question]int64, asked []ask.Question) map[ask.Question]contentAnswer {
	return ask.Each(a.jobs, asked, func(k ask.Question) contentAnswer {
		said, err := a.source.Content(a.ctx, k.Tool, k.Want, limits[k])
		return contentAnswer{said, err}
	})
}

// sizes asks how large packages are.
func (a asker) sizes(asked []ask.Question) map[ask.Question]packageAnswer {
	return ask.Each(a.jobs, asked, func(k ask.Question) packageAnswer {
		size, err := a.source.Size(a.ctx, k.Tool, k.Want)
		return packageAnswer{size: size, err: err}
	})
}
