package registry

import (
	"context"
	"fmt"

	"github.com/relock-dev/relock/internal/provider"
)

// proof is what a registry says of a package, verified as far as it can be
// without the package itself.
type proof struct {
	*metadata // without an address if it is known what the archive hashes to
	platform  provider.Platform
	reported  reports
	sums      checksums
	signer    provider.Signer
}

// release is a question without a platform. What is proven depends on the tool
// and its version.
type release struct {
	query
	tool provider.Tool
}

// prove returns what the registry says of the package: by what it said of another
// one of the release where that is enough, and else by asking about this one.
func (d direct) prove(ctx context.Context, tool provider.Tool, want provider.Want) (proof, error) {
	first, err := d.first(ctx, tool, want)
	if err == nil {
		if p, ok := d.follow(ctx, tool, want, first); ok {
			return p, nil
		}
	}
	return d.askProof(ctx, tool, want)
}

// first returns what is proven of whichever package of the release was asked
// about first in this run.
func (d direct) first(ctx context.Context, tool provider.Tool, want provider.Want) (proof, error) {
	q, err := d.query(ctx, provider.Want{Addr: want.Addr, Version: want.Version})
	if err != nil {
		return proof{}, err
	}
	return d.proofs.Do(ctx, release{q, tool}, func() (proof, error) { return d.askProof(ctx, tool, want) })
}

// follow proves a package by what is proven of another one of the release, so
// that a run which has nothing to download asks about one package of a release
// instead of every one. What the registry would say of this one is known where
//
//   - the checksum list, verified as the tool does, names the archive of the
//     platform in the form that the publishing rules of the registries ask for,
//     and the other package's file has a name of this form too;
//   - the list of versions says that the platform is served;
//   - with packages, which OpenTofu's registry says of all platforms at once,
//     they agree with the list;
//   - the cache knows what the archive hashes to, so that its address is not
//     needed.
//
// Protocols, keys, list and signature are the release's, which the registries
// repeat for each platform; one that has a list for each has only one archive in
// it, and is asked. Only a registry that contradicts its own list of versions or
// its publisher's signed list would have said anything else.
func (d direct) follow(ctx context.Context, tool provider.Tool, want provider.Want, first proof) (proof, bool) {
	if first.platform == want.Platform {
		return first, true
	}
	zh, ok := lineHash(first.sums.line(archiveName(want)))
	if !ok || first.filename != archiveName(provider.Want{Addr: want.Addr, Version: want.Version, Platform: first.platform}) {
		return proof{}, false
	}
	if len(first.reported) > 0 && first.reported.check(want.Platform, zh) != nil {
		return proof{}, false
	}
	if _, ok := d.fetch.computed(zh); !ok {
		return proof{}, false
	}
	versions, err := d.versionList(ctx, tool, want.Addr)
	if err != nil || !versions.serves(want.Version, want.Platform) {
		return proof{}, false
	}
	m := *first.metadata
	m.filename, m.zh, m.zip = archiveName(want), zh, nil
	p := first
	p.metadata, p.platform = &m, want.Platform
	return p, true
}

// archiveName is the name that the publishing rules of the registries ask for.
func archiveName(want provider.Want) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", want.Addr.Type, want.Version, want.Platform)
}

// askProof asks about the package itself.
func (d direct) askProof(ctx context.Context, tool provider.Tool, want provider.Want) (proof, error) {
	m, reported, err := d.describe(ctx, tool, want)
	if err != nil {
		return proof{}, err
	}
	p := proof{metadata: m, platform: want.Platform, reported: reported}
	release := provider.Want{Addr: want.Addr, Version: want.Version}
	text, err := d.file(ctx, m.list, m.from, maxList)
	if err != nil {
		return proof{}, failed(release, fmt.Sprintf("checksum list of %s %s", want.Addr, want.Version), err)
	}
	signature, err := d.file(ctx, m.signature, m.from, maxSignature)
	if err != nil {
		return proof{}, failed(release, fmt.Sprintf("signature of %s %s", want.Addr, want.Version), err)
	}
	p.sums = checksums(text)
	if err := p.sums.check(m.filename, m.zh); err != nil {
		return proof{}, err
	}
	p.signer, err = d.signer(tool, want, signed{list: p.sums, signature: signature, keys: m.keys})
	return p, err
}
