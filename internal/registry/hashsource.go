package registry

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// HashSourceOpenTofu as Options.HashSource stands for registry.opentofu.org.
const HashSourceOpenTofu = "opentofu"

// stated returns what the hash source states that a package hashes to, unless
// relock has computed it before. Only packages that a signed checksum list names
// are asked about: the archive is proven then, and its h1 alone rests on the
// source's word. Whatever is wrong with the source, the package can be
// downloaded.
//
// The Sum has neither H1Zip nor Programs, and Size may be 0.
func (c *core) stated(ctx context.Context, want provider.Want, zh provider.Hash, signer provider.Signer) (hash.Sum, bool) {
	if c.opts.HashSource != HashSourceOpenTofu || signer.KeyID == "" {
		return hash.Sum{}, false
	}
	e, ok := c.opts.Cache.Lookup(zh)
	switch {
	case ok && e.Origin == hash.FromPackage:
		return hash.Sum{}, false
	case ok && want.Addr.Host != provider.OpenTofu.DefaultHost():
		c.fetch.cached.Add(1)
		return e.Sum, true
	}
	// What OpenTofu's registry itself offers was asked for already, statement
	// included, which must be as remembered.
	sum, ok := c.askStated(ctx, want).of(zh)
	return sum, ok && c.agrees(want, sum)
}

// agrees remembers a statement, and reports whether it is one at all and
// contradicts nothing that was stated before.
func (c *core) agrees(want provider.Want, sum hash.Sum) bool {
	e := hash.Entry{Sum: sum, Origin: hash.FromRegistry}
	if e.Check() != nil {
		return false
	}
	c.fetch.remember(subject(want), e)
	known, ok := c.opts.Cache.Lookup(sum.ZH)
	return c.opts.Cache == nil || ok && known.H1 == sum.H1
}

// askStated asks OpenTofu's registry about the package of the same name, as
// OpenTofu's CLI configuration has it.
func (c *core) askStated(ctx context.Context, want provider.Want) reports {
	if _, silent := c.warned.Load(HashSourceOpenTofu); silent {
		return nil
	}
	want.Addr.Host = provider.OpenTofu.DefaultHost()
	stated, err := c.tools[provider.OpenTofu].origin.statements(ctx, want)
	switch {
	case err == nil:
		return stated
	case provider.Coded(err, provider.CodeUnreachable), provider.Coded(err, provider.CodeNoService), provider.Coded(err, provider.CodeUnauthorized):
		// To wait for the others to fail as well takes longer than to download.
		if _, said := c.warned.LoadOrStore(HashSourceOpenTofu, true); !said && ctx.Err() == nil {
			c.opts.Log.Warn("OpenTofu's registry cannot be asked for hashes, so that packages are downloaded", "error", err)
		}
	case !provider.Coded(err, provider.CodeNoPackage):
		c.opts.Log.Debug("OpenTofu's registry states no hashes", "provider", want.Addr, "version", want.Version, "platform", want.Platform, "error", err)
	}
	return nil
}

// statements asks the registry what it reports about the packages of a release,
// whatever release of the tool reads it.
func (d direct) statements(ctx context.Context, want provider.Want) (reports, error) {
	q, err := d.query(ctx, want)
	if err != nil {
		return nil, err
	}
	m, err := d.metadata.Do(ctx, q, func() (*metadata, error) {
		return d.askMetadata(ctx, provider.Newest(provider.OpenTofu), q)
	})
	if err != nil {
		return nil, err
	}
	return m.reports()
}

// of returns what is reported about the archive with a zh, for whatever
// platform. Where that is not exactly one h1, or where it is not clear which
// archive an h1 is of, nothing is.
func (r reports) of(zh provider.Hash) (hash.Sum, bool) {
	var found hash.Sum
	for _, own := range r {
		zips := provider.Sorted(own.known(provider.SchemeZH))
		if !slices.Contains(zips, zh) {
			continue
		}
		contents := provider.Sorted(own.known(provider.SchemeH1))
		if len(zips) != 1 || len(contents) != 1 {
			return hash.Sum{}, false
		}
		sum := hash.Sum{ZH: zh, H1: contents[0], Size: own.Size}
		if found.H1 != "" && (found.H1 != sum.H1 || found.Size != sum.Size) {
			return hash.Sum{}, false
		}
		found = sum
	}
	return found, found.H1 != ""
}
