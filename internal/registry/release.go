package registry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/relock-dev/relock/internal/content"
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Repository returns where the source of a release is, and when it was published. Some
// registries say it about the version. Otherwise it is the package's address, if that is a
// GitHub release. It is empty if neither is known, or if there is no registry to ask.
//
// Errors are *problem.Error: those of Versions.
func (c *Client) Repository(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error) {
	return askRegistry(c.registry, tool, want, func(d *direct) (provider.Repository, error) {
		said, err := d.detail(ctx, tool, want)
		if err != nil || said.Known() || want.Platform == (provider.Platform{}) {
			return said, err
		}
		if p, err := d.firstProven(ctx, tool, want); err == nil {
			found, _ := provider.ParseDownload(p.archive.String())
			found.Published = said.Published
			return found, nil
		}
		return said, nil
	})
}

// Download returns the GitHub release that has the packages of a release, according to the
// registry's answer about one of them. That is the package that this run asked about first,
// or one that the registry lists. The result is empty if the packages are elsewhere, if the
// registry lists no package, or if there is no registry to ask. Nothing is verified: the
// signature is another question.
//
// Errors are those of Versions.
func (c *Client) Download(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error) {
	return askRegistry(c.registry, tool, want, func(d *direct) (provider.Repository, error) {
		p, err := d.anyDescribed(ctx, tool, want)
		if p == nil {
			return provider.Repository{}, err
		}
		found, _ := provider.ParseDownload(p.archive.String())
		return found, nil
	})
}

// Modified returns when a package was last changed, according to its server. If nothing
// better is known, that is the day of its release. The package is that of Download. The
// time is zero if the server does not say it, if the registry lists no package, or if there
// is no registry to ask.
//
// Errors are those of Versions. A server in trouble is an error, because another day may
// bring an answer.
func (c *Client) Modified(ctx context.Context, tool provider.Tool, want provider.Want) (time.Time, error) {
	return askRegistry(c.registry, tool, want, func(d *direct) (time.Time, error) {
		p, err := d.anyDescribed(ctx, tool, want)
		if p == nil {
			return time.Time{}, err
		}
		attempt := fmt.Sprintf("asking when the package of %s %s was changed", want.Addr, want.Version)
		resp, err := c.fetch.transport.Do(ctx, transport.Request{Method: http.MethodHead, URL: p.archive, Referrer: p.from, Limit: hash.MaxSize})
		if err != nil {
			return time.Time{}, failed(want, attempt, err)
		}
		if inTrouble(resp.Status) {
			return time.Time{}, naming(want, statusError(attempt, resp.URL, resp.Status))
		}
		at, err := http.ParseTime(resp.Header.Get("Last-Modified"))
		if resp.Status != http.StatusOK || err != nil {
			return time.Time{}, nil
		}
		return at, nil
	})
}

// Listing returns the checksum list of a release, verified as in Hashes, and which of its
// archives relock knows. It is the list of the package that this run asked about first. If
// there is none, it is the list of the wanted package, which costs requests.
//
// The listing is zero if the release must not be compared with its registry. If the tool
// may take the provider from a mirror, lock files rightly have the mirror's hashes. With
// Want.Origin the list is the registry's, if the methods allow asking it. Errors are those
// of Hashes.
func (c *Client) Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error) {
	return askRegistry(c.held, tool, want, func(d *direct) (provider.Listing, error) {
		p, err := d.firstProven(ctx, tool, want)
		if err != nil {
			p, err = d.prove(ctx, tool, want)
		}
		if err != nil {
			return provider.Listing{}, err
		}
		return d.listed(ctx, tool, want.Addr, p), nil
	})
}

// Package is Listing with the list that the registry names for this package. If the content
// of the package is not known and it has at most limit bytes, it is downloaded once and
// hashed. Without a limit nothing is downloaded.
//
// With Want.Origin, if only mirrors may be asked, the answer is from the first mirror that
// has the package.
func (c *Client) Package(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Listing, error) {
	if c.onlyMirrors(tool, want) && limit > 0 {
		want.Origin = false
		h, err := fromFirst(c, tool, want, func(s source) (provider.Hashes, error) { return s.hashes(ctx, tool, want, limit) })
		if err != nil {
			return provider.Listing{}, err
		}
		return provider.Listing{Mirrored: &h}, nil
	}
	return askRegistry(c.held, tool, want, func(d *direct) (provider.Listing, error) {
		p, err := d.prove(ctx, tool, want)
		if err != nil {
			return provider.Listing{}, d.unserved(ctx, tool, want, err)
		}
		if limit > 0 {
			// This bypasses f.archives: a package above this limit must not be remembered
			// as a failure. The run may need it for another reason.
			_, err := c.fetch.sum(ctx, p.zh, func() (hash.Hashed, error) { return c.fetch.download(ctx, d.link(p, limit, limit)) })
			if err != nil {
				return provider.Listing{}, failed(want, subject(want), err)
			}
		}
		return d.listed(ctx, tool, want.Addr, p), nil
	})
}

// Size returns how many bytes Hashes or Package downloads, according to the registry, the
// mirror or the package's server. It is provider.AtHand if they download nothing, and 0 if
// the size is not known. With Want.Origin, if only mirrors may be asked, it asks them.
// Errors are those of Hashes.
func (c *Client) Size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error) {
	if c.onlyMirrors(tool, want) {
		want.Origin = false
	}
	return fromFirst(c, tool, want, func(s source) (int64, error) { return s.size(ctx, tool, want) })
}

// Recheck downloads a package whose hashes the cache knows, and hashes it again. It returns
// the number of downloaded bytes. The error has only CodeBadChecksum if the cache is wrong.
// Other errors are those of Package.
func (c *Client) Recheck(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (int64, error) {
	return askRegistry(c.held, tool, want, func(d *direct) (int64, error) {
		p, err := d.prove(ctx, tool, want)
		if err != nil {
			return 0, err
		}
		known, ok := c.fetch.computed(p.zh)
		if !ok {
			return 0, nil
		}
		hashed, err := c.fetch.download(ctx, d.link(p, known.Sum.Size, limit))
		switch {
		case err != nil:
			return 0, failed(want, subject(want), err)
		case hashed.Sum.H1 != known.Sum.H1 || hashed.Sum.H1Zip != known.Sum.H1Zip:
			return hashed.Sum.Size, naming(want, &problem.Error{
				Problem: problem.Problem{
					Code:    problem.CodeBadChecksum,
					Message: fmt.Sprintf("the hash cache is wrong about the %s: it says %s, and the package hashes to %s", subject(want), known.Sum.H1, hashed.Sum.H1),
					Hint:    "delete the hash cache, and find out who could write to it",
				},
			})
		}
		return hashed.Sum.Size, nil
	})
}

// Content says what is wrong with the files in a package, and with its publisher's
// statements about it. It needs Options.Content. If this run has not downloaded the package
// and it has at most limit bytes, Content does. Errors are those of Hashes.
func (c *Client) Content(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Content, error) {
	return askRegistry(c.held, tool, want, func(d *direct) (said provider.Content, err error) {
		p, err := d.prove(ctx, tool, want)
		if err != nil {
			return said, d.unserved(ctx, tool, want, err)
		}
		known, there := c.fetch.contents.Load(p.zh)
		if !there {
			hashed, err := c.fetch.download(ctx, d.link(p, limit, limit))
			// A package that cannot be unpacked was inspected all the same.
			known, there = c.fetch.contents.Load(p.zh)
			if !there {
				return said, failed(want, subject(want), err)
			}
			said.Size = hashed.Sum.Size
			if err != nil {
				said.Size = limit // how much was read is not known
			}
		}
		said.Problems = known.(content.Inside).Problems(want.Addr.Type, want.Platform)
		if src, zh := d.manifest(ctx, want, p); zh != "" {
			if problem := protocolProblem(src, zh, p.protocols); problem != "" {
				said.Problems = append(said.Problems, problem)
			}
		}
		return said, nil
	})
}

// askRegistry asks the registry that find returns. If that is nil, the answer is zero.
func askRegistry[T any](find func(provider.Tool, provider.Want) (*direct, error), tool provider.Tool, want provider.Want,
	ask func(*direct) (T, error)) (answer T, err error) {
	d, err := find(tool, want)
	if d == nil {
		return answer, about(err, want, "")
	}
	answer, err = ask(d)
	return answer, about(err, want, d.host(want.Addr))
}

// onlyMirrors reports whether the registry's package is wanted, but the provider has no
// registry to ask.
func (c *Client) onlyMirrors(tool provider.Tool, want provider.Want) bool {
	d, _ := c.held(tool, want)
	return d == nil && want.Origin
}

// held is the registry to compare the hashes of a release with, or nil. It is nil unless
// the tool's configuration allows only that registry for the provider, whatever sources
// this run uses. With Want.Origin it only has to be allowed. Errors of the methods are
// reported elsewhere.
func (c *Client) held(tool provider.Tool, want provider.Want) (*direct, error) {
	if want.Origin {
		want.Origin = false
		d, _ := c.registry(tool, want)
		return d, nil
	}
	in := c.tools[tool.Name]
	sources, err := in.sources(tool, want.Addr, c.plugins)
	if err != nil || len(sources) == 0 || c.plugins != nil && c.plugins.has(want.Addr) {
		return nil, nil
	}
	for _, s := range sources {
		if _, ok := s.(*direct); !ok && !in.implied {
			return nil, nil
		}
	}
	d, _ := sources[len(sources)-1].(*direct) // nil if a plugin directory has the provider
	return d, nil
}

// registry is the provider's own registry, if the tool's installation methods allow asking
// it.
func (c *Client) registry(tool provider.Tool, want provider.Want) (*direct, error) {
	sources, err := c.sources(tool, want)
	for _, s := range sources {
		if d, ok := s.(*direct); ok {
			return d, nil
		}
	}
	return nil, err
}
