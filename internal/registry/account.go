package registry

import (
	"bytes"
	"context"
	"net/http"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// Listing returns what the checksum list of a release says, verified as in
// Hashes, and which of its archives relock knows the content of. It takes the
// list of whichever package was asked about first in this run, so that it costs
// no request if any was; else that of the wanted package.
//
// The listing is zero where the release must not be held against its registry:
// if the tool may take the provider from a mirror, lock files rightly hold what
// the mirror has. Errors are those of Hashes.
func (c *Client) Listing(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Listing, error) {
	return c.listing(tool, want, func(d *direct) (provider.Listing, error) {
		p, err := d.first(ctx, tool, want)
		if err != nil {
			p, err = d.ask(ctx, tool, want)
		}
		if err != nil {
			return provider.Listing{}, err
		}
		return d.listed(ctx, tool, want.Addr, p), nil
	})
}

// Package is Listing with the list that the registry names for this very
// package. If it is not known what the package contains and it has at most limit
// bytes, it is downloaded once and hashed. Without a limit nothing is.
func (c *Client) Package(ctx context.Context, tool provider.Tool, want provider.Want, limit int64) (provider.Listing, error) {
	return c.listing(tool, want, func(d *direct) (provider.Listing, error) {
		p, err := d.ask(ctx, tool, want)
		if err != nil {
			return provider.Listing{}, d.unserved(ctx, tool, want, err)
		}
		if limit > 0 {
			l := d.link(p)
			l.size, l.limit = limit, limit
			// Not by way of the archives: what is too large for this question must not
			// be remembered as a failure where the run wants it for a better reason.
			if _, err := c.fetch.sum(ctx, l.zh, func() (hash.Sum, error) { return c.fetch.download(ctx, l) }); err != nil {
				return provider.Listing{}, failed(want, subject(want), err)
			}
		}
		return d.listed(ctx, tool, want.Addr, p), nil
	})
}

// Size returns how many bytes the package has, as its registry or the server of
// the package says; 0 if neither does. Some stores answer no HEAD at addresses
// that they have signed for GET. Errors are those of Hashes.
func (c *Client) Size(ctx context.Context, tool provider.Tool, want provider.Want) (int64, error) {
	d, ok := c.judge(tool, want.Addr)
	if !ok {
		return 0, nil
	}
	m, reported, err := d.describe(ctx, tool, want)
	if err != nil {
		return 0, about(d.unserved(ctx, tool, want, err), want, d.host(want.Addr))
	}
	if size := reported[want.Platform].Size; size > 0 {
		return size, nil
	}
	resp, err := c.transport.Do(ctx, transport.Request{
		Method: http.MethodHead, URL: m.archive, Referrer: m.from, Limit: hash.MaxSize, NoRetry: true,
	})
	if err != nil || resp.Status != http.StatusOK {
		return 0, nil
	}
	return max(resp.Size, 0), nil
}

// listing asks the registry of a provider that is judged by it.
func (c *Client) listing(tool provider.Tool, want provider.Want, ask func(*direct) (provider.Listing, error)) (provider.Listing, error) {
	d, ok := c.judge(tool, want.Addr)
	if !ok {
		return provider.Listing{}, nil
	}
	l, err := ask(d)
	if err != nil {
		return provider.Listing{}, about(err, want, d.host(want.Addr))
	}
	return l, nil
}

// judge is the provider's own registry, if that is the one place from which the
// tool takes the provider, whatever place this run was told to ask.
func (c *Client) judge(tool provider.Tool, addr provider.Addr) (*direct, bool) {
	in, ok := c.tools[tool.Name]
	if !ok || c.plugins != nil && c.plugins.has(addr) {
		return nil, false
	}
	registry, found := in.origin, in.implied
	for _, m := range in.methods {
		d, isRegistry := m.source.(*direct)
		directory, isDirectory := m.source.(*directory)
		switch {
		case in.implied && isDirectory && directory.has(addr):
			return nil, false
		case in.implied || !m.serves(addr):
		case isRegistry:
			registry, found = d, true
		default:
			return nil, false
		}
	}
	return registry, found
}

// listed makes the listing of a proof.
func (d *direct) listed(ctx context.Context, tool provider.Tool, addr provider.Addr, p proven) provider.Listing {
	l := provider.Listing{Signer: p.signer}
	for line := range bytes.Lines(p.sums) {
		fields := bytes.Fields(line)
		zh, ok := lineHash(fields)
		if !ok {
			continue
		}
		f := provider.ListedFile{Name: string(fields[1]), ZH: zh}
		if f.Name == p.filename {
			f.Platform = p.platform
		} else {
			f.Platform = platformOf(f.Name)
		}
		if sum, err := d.fetch.known(ctx, zh); err == nil {
			f.Contents, f.Size = []provider.Hash{sum.H1, sum.H1Zip}, sum.Size
		}
		l.Reported = append(l.Reported, d.stated.before(zh, p.signer)...)
		l.Files = append(l.Files, f)
	}
	if trustsUnsigned(tool, addr, d.fetch.opts) {
		l.Reported = append(l.Reported, p.reported.contents(p.sums)...)
	}
	return l
}
