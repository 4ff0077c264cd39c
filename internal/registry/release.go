package registry

import (
	"context"
	"net/http"

	"github.com/relock-dev/relock/internal/provider"
)

// Signer returns who signed the checksum list that names the package, verified
// as in Hashes, without the package. It is zero for a provider that has no
// registry to ask under the tool's installation methods, such as one of a
// mirror: there is no list. Errors are those of Hashes.
func (c *Client) Signer(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Signer, error) {
	d, ok, err := c.registry(tool, want)
	if err != nil {
		return provider.Signer{}, about(err, want, "")
	}
	if !ok {
		return provider.Signer{}, nil
	}
	p, err := d.prove(ctx, tool, want)
	if err != nil {
		return provider.Signer{}, about(err, want, d.host(want.Addr))
	}
	return p.signer, nil
}

// Repository returns where the source of a release is and when it was
// published: what the registry says of the version, which not every registry
// does, and else the address of the package where that is a GitHub release. It
// is empty where neither tells, or where there is no registry to ask.
//
// Errors are *provider.Error: those of Versions.
func (c *Client) Repository(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error) {
	d, ok, err := c.registry(tool, want)
	if err != nil {
		return provider.Repository{}, about(err, want, "")
	}
	if !ok {
		return provider.Repository{}, nil
	}
	said, err := d.detail(ctx, tool, want)
	if err != nil {
		return provider.Repository{}, about(err, want, d.host(want.Addr))
	}
	if said.Known() || want.Platform == (provider.Platform{}) {
		return said, nil
	}
	if p, err := d.first(ctx, tool, want); err == nil {
		found, _ := provider.ParseDownload(p.archive.String())
		found.Published = said.Published
		return found, nil
	}
	return said, nil
}

// registry is the provider's own registry, if the tool's installation methods
// allow to ask it.
func (c *Client) registry(tool provider.Tool, want provider.Want) (*direct, bool, error) {
	sources, err := c.sources(tool, want)
	for _, s := range sources {
		if d, ok := s.(*direct); ok {
			return d, true, nil
		}
	}
	return nil, false, err
}

// detail asks what is no part of the protocol, so any answer but the known one
// means that nothing is said.
func (d *direct) detail(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Repository, error) {
	q, err := d.query(ctx, provider.Want{Addr: want.Addr, Version: want.Version})
	if err != nil {
		return provider.Repository{}, err
	}
	return d.answers.details.Do(ctx, q, func() (provider.Repository, error) {
		resp, err := d.get(ctx, tool, q, maxDetail, want.Addr.Namespace, want.Addr.Type, want.Version.String())
		if err != nil || resp.Status != http.StatusOK {
			return provider.Repository{}, err
		}
		return parseDetail(resp.Body), nil
	})
}
