package registry

import (
	"context"
	"fmt"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// Hashes finds, verifies and downloads one package. The checksum list and its
// signature are verified before the download.
//
// Errors are *provider.Error: those of Versions, but CodeNoPackage instead of
// CodeUnknownProvider, further CodeProtocol, CodeBadSignature, CodeBadChecksum
// and CodeBadPackage.
func (c *Client) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	h, err := c.hashes(ctx, tool, want)
	if err != nil {
		return provider.Hashes{}, about(err, want)
	}
	return h, nil
}

func (c *Client) hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	m, reported, err := c.describe(ctx, tool, want)
	if err != nil {
		return provider.Hashes{}, err
	}
	list, signer, err := c.checksums(ctx, tool, want, m)
	if err != nil {
		return provider.Hashes{}, err
	}
	sum, err := c.contents(ctx, want, m)
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
	if len(reported) == 0 {
		return h, nil
	}
	if err := reported.checkSize(want.Platform, sum.Size); err != nil {
		return provider.Hashes{}, err
	}
	if c.lax(tool, want.Addr) {
		h.Reported, err = reported.recorded(list, want.Platform, sum)
	}
	return h, err
}

// describe asks the registry about the package, and checks what can be checked
// before anything else is fetched.
func (c *Client) describe(ctx context.Context, tool provider.Tool, want provider.Want) (*metadata, reports, error) {
	q, err := c.question(ctx, tool, want)
	if err != nil {
		return nil, nil, err
	}
	m, err := c.metadata.do(ctx, q, func() (*metadata, error) { return c.askMetadata(ctx, tool, q) })
	if err != nil {
		return nil, nil, err
	}
	if err := m.checkProtocol(tool, want); err != nil {
		return nil, nil, c.suggest(ctx, tool, want.Addr, err)
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
func (c *Client) suggest(ctx context.Context, tool provider.Tool, addr provider.Addr, err error) error {
	releases, listErr := c.releases(ctx, tool, addr)
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
func (c *Client) checksums(ctx context.Context, tool provider.Tool, want provider.Want, m *metadata) (list, provider.Signer, error) {
	document, err := c.file(ctx, m.list, m.from, maxList)
	if err != nil {
		return nil, provider.Signer{}, failed(fmt.Sprintf("checksum list of %s %s", want.Addr, want.Version), err)
	}
	signature, err := c.file(ctx, m.signature, m.from, maxSignature)
	if err != nil {
		return nil, provider.Signer{}, failed(fmt.Sprintf("signature of %s %s", want.Addr, want.Version), err)
	}
	l := list(document)
	if err := l.check(m.filename, m.zh); err != nil {
		return nil, provider.Signer{}, err
	}
	signer, err := c.signer(tool, want, signed{list: l, signature: signature, keys: m.keys})
	return l, signer, err
}

func (c *Client) signer(tool provider.Tool, want provider.Want, s signed) (provider.Signer, error) {
	if tool.Name == provider.Terraform {
		return s.byTerraform(c.trust())
	}
	if len(s.keys) == 0 && c.lax(tool, want.Addr) {
		return provider.Signer{Label: labelUnsigned}, nil
	}
	signer, expired, err := s.byOpenTofu(c.opts.EnforceExpiration)
	if err == nil && expired {
		release := provider.Want{Addr: want.Addr, Version: want.Version}
		if _, said := c.warned.LoadOrStore(release, true); !said {
			c.opts.Log.Warn("the signing key has expired, which a future version of OpenTofu will refuse",
				"provider", want.Addr, "version", want.Version, "key", signer.KeyID)
		}
	}
	return signer, err
}

// lax reports whether OpenTofu believes the registry without a signature. It
// does so of its own registry alone, since that serves providers whose keys it
// does not know.
func (c *Client) lax(tool provider.Tool, addr provider.Addr) bool {
	return tool.Name == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() && !c.opts.EnforceValidation
}

// contents downloads and hashes the package. The tools install none, and so
// lock none, that lacks the program of the provider.
func (c *Client) contents(ctx context.Context, want provider.Want, m *metadata) (hash.Sum, error) {
	subject := fmt.Sprintf("package of %s %s for %s", want.Addr, want.Version, want.Platform)
	sum, err := c.sum(ctx, m)
	if err != nil {
		return hash.Sum{}, failed(subject, err)
	}
	if !sum.Runs(want.Addr.Type) {
		return hash.Sum{}, &provider.Error{
			Code:    provider.CodeBadPackage,
			Message: fmt.Sprintf("%s: provider binary not found: no file whose name starts with terraform-provider-%s", subject, want.Addr.Type),
		}
	}
	return sum, nil
}
