package registry

import (
	"context"
	"fmt"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

func (d direct) hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	p, err := d.prove(ctx, tool, want)
	if provider.Coded(err, provider.CodeNoPackage) {
		err = d.unserved(ctx, tool, want, err)
	}
	if err != nil {
		return provider.Hashes{}, err
	}
	sum, stated := d.stated(ctx, want, p.zh, p.signer)
	if !stated {
		sum, err = d.contents(ctx, want, p)
	}
	if err != nil {
		return provider.Hashes{}, err
	}
	h := provider.Hashes{
		Package: provider.Package{Platform: want.Platform, Filename: p.filename, ZH: p.zh, Size: sum.Size},
		H1:      sum.H1,
		H1Zip:   sum.H1Zip,
		Listed:  p.sums.recorded(p.zh),
		Signer:  p.signer,
	}
	if tool.Has(provider.VerifiedHashes) {
		h.Verified = []provider.Hash{p.zh}
	}
	if stated {
		h.Reported = map[provider.Platform][]provider.Hash{want.Platform: {sum.H1}}
	}
	if len(p.reported) == 0 {
		return h, nil
	}
	if err := p.reported.checkSize(want.Platform, sum.Size); err != nil && !stated {
		return provider.Hashes{}, err
	}
	if trustsUnsigned(tool, want.Addr, d.opts) {
		h.Reported, err = p.reported.recorded(p.sums, want.Platform, sum)
	}
	return h, err
}

// describe asks the registry about the package, and checks what can be checked
// before anything else is fetched.
func (d direct) describe(ctx context.Context, tool provider.Tool, want provider.Want) (*metadata, reports, error) {
	q, err := d.query(ctx, want)
	if err != nil {
		return nil, nil, err
	}
	m, err := d.metadata.Do(ctx, q, func() (*metadata, error) { return d.askMetadata(ctx, tool, q) })
	if err != nil {
		return nil, nil, err
	}
	if err := m.checkProtocol(tool, want); err != nil {
		return nil, nil, d.suggest(ctx, tool, want.Addr, err)
	}
	if !tool.Has(provider.RegistryHashes) {
		return m, nil, nil
	}
	reported, err := m.reports()
	if err != nil || len(reported) == 0 {
		return m, nil, err
	}
	return m, reported, reported.check(want.Platform, m.zh)
}

// suggest adds to an error about protocols the newest release that the tool
// could run, as the tools do. They do not fall back to it, and neither do we.
func (d direct) suggest(ctx context.Context, tool provider.Tool, addr provider.Addr, err error) error {
	releases, listErr := d.releases(ctx, tool, addr)
	e, ok := err.(*provider.Error)
	if listErr != nil || !ok {
		return err
	}
	for _, r := range releases {
		if spoken(r.Protocols) {
			e.Hint = fmt.Sprintf("the newest release that %s can run is %s; add a version constraint that selects it", tool, r.Version)
		}
	}
	return e
}

func (d direct) signer(tool provider.Tool, want provider.Want, s signed) (provider.Signer, error) {
	if err := checkKeys(s.keys); err != nil {
		return provider.Signer{}, err
	}
	if tool.Name == provider.Terraform {
		return s.byTerraform(d.trust())
	}
	if len(s.keys) == 0 && trustsUnsigned(tool, want.Addr, d.opts) {
		return provider.Signer{Label: labelUnsigned}, nil
	}
	signer, expired, err := s.byOpenTofu(d.opts.EnforceExpiration)
	if err == nil && expired {
		release := provider.Want{Addr: want.Addr, Version: want.Version}
		if _, said := d.warned.LoadOrStore(release, true); !said {
			d.opts.Log.Warn("the signing key has expired, which a future version of OpenTofu will refuse",
				"provider", want.Addr, "version", want.Version, "key", signer.KeyID)
		}
	}
	return signer, err
}

// trustsUnsigned reports whether OpenTofu believes the registry without a
// signature. It does so of its own registry alone, since that serves providers
// whose keys it does not know.
func trustsUnsigned(tool provider.Tool, addr provider.Addr, opts Options) bool {
	return tool.Name == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() && !opts.EnforceValidation
}

// contents downloads and hashes the package, unless its hashes are known.
func (d direct) contents(ctx context.Context, want provider.Want, p proof) (hash.Sum, error) {
	sum, err := d.fetch.archive(ctx, link{
		url: p.zip, from: p.from, name: p.filename, zh: p.zh, retries: d.downloads, size: p.reported[want.Platform].Size,
	})
	if err != nil {
		return hash.Sum{}, failed(want, subject(want), err)
	}
	_, err = hashesOf(sum, p.filename, want)
	return sum, err
}
