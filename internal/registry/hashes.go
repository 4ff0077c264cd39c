package registry

import (
	"context"
	"fmt"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

func (d direct) hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	m, reported, err := d.describe(ctx, tool, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	list, signer, err := d.checksums(ctx, tool, want, m)
	if err != nil {
		return provider.Hashes{}, err
	}
	sum, err := d.contents(ctx, want, m)
	if err != nil {
		return provider.Hashes{}, err
	}
	h := provider.Hashes{
		Package: provider.Package{Platform: want.Platform, Filename: m.filename, ZH: m.zh, Size: sum.Size},
		H1:      sum.H1,
		H1Zip:   sum.H1Zip,
		Listed:  list.hashes(),
		Signer:  signer,
	}
	if tool.Has(provider.VerifiedHashes) {
		h.Verified = []provider.Hash{m.zh}
	}
	if len(reported) == 0 {
		return h, nil
	}
	if err := reported.checkSize(want.Platform, sum.Size); err != nil {
		return provider.Hashes{}, err
	}
	if d.lax(tool, want.Addr) {
		h.Reported, err = reported.recorded(list, want.Platform, sum)
	}
	return h, err
}

// describe asks the registry about the package, and checks what can be checked
// before anything else is fetched.
func (d direct) describe(ctx context.Context, tool provider.Tool, want provider.Want) (*metadata, reports, error) {
	q, err := d.question(ctx, want)
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

// checksums fetches the checksum list, and verifies that it names the package
// and that it is signed.
func (d direct) checksums(ctx context.Context, tool provider.Tool, want provider.Want, m *metadata) (list, provider.Signer, error) {
	limits := d.config.Limits()
	document, err := d.file(ctx, m.list, m.from, maxList, limits)
	if err != nil {
		return nil, provider.Signer{}, failed(fmt.Sprintf("checksum list of %s %s", want.Addr, want.Version), err)
	}
	signature, err := d.file(ctx, m.signature, m.from, maxSignature, limits)
	if err != nil {
		return nil, provider.Signer{}, failed(fmt.Sprintf("signature of %s %s", want.Addr, want.Version), err)
	}
	l := list(document)
	if err := l.check(m.filename, m.zh); err != nil {
		return nil, provider.Signer{}, err
	}
	signer, err := d.signer(tool, want, signed{list: l, signature: signature, keys: m.keys})
	return l, signer, err
}

func (d direct) signer(tool provider.Tool, want provider.Want, s signed) (provider.Signer, error) {
	if tool.Name == provider.Terraform {
		return s.byTerraform(d.trust())
	}
	if len(s.keys) == 0 && d.lax(tool, want.Addr) {
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

// lax reports whether OpenTofu believes the registry without a signature. It
// does so of its own registry alone, since that serves providers whose keys it
// does not know.
func (c *core) lax(tool provider.Tool, addr provider.Addr) bool {
	return tool.Name == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() && !c.opts.EnforceValidation
}

// contents downloads and hashes the package.
func (d direct) contents(ctx context.Context, want provider.Want, m *metadata) (hash.Sum, error) {
	sum, err := d.sum(ctx, link{url: m.zip, from: m.from, name: m.filename, zh: m.zh, retries: d.downloads})
	if err != nil {
		return hash.Sum{}, failed(subject(want), err)
	}
	return sum, checkProgram(sum, want)
}
