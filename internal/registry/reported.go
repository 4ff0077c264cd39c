package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// reports is the property packages, in which OpenTofu's registry states the hashes of all
// platforms' packages at once.
type reports map[provider.Platform]report

// report has the hashes of known schemes that the registry states for one package.
type report struct {
	zips, contents []provider.Hash // zh, and h1
	size           int64
}

// reports reads the property. OpenTofu refuses the whole answer if a key is no platform or
// a hash has no scheme [opentofu 1.12 internal/getproviders/registry_client.go].
func (d *description) reports() (reports, error) {
	if len(d.packages) == 0 {
		return nil, nil
	}
	var raw map[string]struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	}
	if err := json.Unmarshal(d.packages, &raw); err != nil {
		return nil, badAnswer("has invalid packages: %v", err)
	}
	all := reports{}
	for name, stated := range raw {
		platform, err := provider.ParsePlatform(name)
		if err != nil {
			return nil, badAnswer("includes invalid package platform %q", name)
		}
		r := report{size: stated.Size}
		for _, text := range stated.Hashes {
			h, err := provider.ParseHash(text)
			if err != nil {
				return nil, badAnswer("includes invalid package hash %q", text)
			}
			switch h.Scheme() {
			case provider.SchemeZH:
				r.zips = append(r.zips, h)
			case provider.SchemeH1:
				r.contents = append(r.contents, h)
			}
		}
		all[platform] = r
	}
	return all, nil
}

// check compares the report about the wanted package with the metadata, as OpenTofu does
// for any registry [opentofu 1.12 internal/getproviders/registry_client.go].
func (r reports) check(platform provider.Platform, zh provider.Hash) error {
	own, ok := r[platform]
	switch {
	case !ok:
		return badAnswer("is missing package with platform %q", platform)
	case own.size <= 0:
		return badAnswer("has invalid package size %d for %s", own.size, platform)
	case len(own.zips) == 0:
		return badAnswer("has no zip hash among the packages for %s", platform)
	}
	for _, h := range own.zips {
		if h != zh {
			return badChecksum("registry reports the zip hash %s for %s in one place and %s in another", h, platform, zh)
		}
	}
	return nil
}

// recorded returns the hashes that OpenTofu records because its registry alone states them:
// those of known schemes, for all platforms. OpenTofu would accept any. relock demands
// more: each platform's zip must be in the checksum list, and the known hashes of the
// wanted platform must agree [case 80e].
func (r reports) recorded(list checksums, of provider.Hashes) (map[provider.Platform][]provider.Hash, error) {
	all := map[provider.Platform][]provider.Hash{}
	for _, p := range slices.SortedFunc(maps.Keys(r), provider.Platform.Compare) {
		own := r[p]
		if len(own.zips) == 0 && len(own.contents) > 0 {
			return nil, unproven(p, "without that of a zip")
		}
		if slices.ContainsFunc(own.zips, func(zh provider.Hash) bool { return !list.names(zh) }) {
			return nil, unproven(p, "of a zip that the checksum list does not name")
		}
		if hashes := provider.Sorted(slices.Concat(own.zips, own.contents)); len(hashes) > 0 {
			all[p] = hashes
		}
	}
	for _, h := range r[of.Platform].contents {
		if h != of.Sum.H1 && h != of.Sum.H1Zip {
			return nil, badChecksum("registry reports %s for %s, and the package hashes to %s", h, of.Platform, of.Sum.H1)
		}
	}
	return all, nil
}

func unproven(p provider.Platform, how string) error {
	return &problem.Error{
		Problem: problem.Problem{
			Code:    problem.CodeBadChecksum,
			Message: fmt.Sprintf("registry reports hashes for %s %s", p, how),
			Hint:    "report this to the registry's operator",
		},
	}
}

// of returns the reported hashes of the archive with this zh, for any platform. ok is false
// unless there is exactly one h1 and it clearly belongs to this archive.
func (r reports) of(zh provider.Hash) (provider.Sum, bool) {
	var found provider.Sum
	for _, own := range r {
		if !slices.Contains(own.zips, zh) {
			continue
		}
		zips, contents := provider.Sorted(own.zips), provider.Sorted(own.contents)
		if len(zips) != 1 || len(contents) != 1 {
			return provider.Sum{}, false
		}
		sum := provider.Sum{ZH: zh, H1: contents[0], Size: own.size}
		if found.H1 != "" && (found.H1 != sum.H1 || found.Size != sum.Size) {
			return provider.Sum{}, false
		}
		found = sum
	}
	return found, found.H1 != ""
}

// contents are the reported h1 hashes of archives in the list.
func (r reports) contents(list checksums) []provider.Hash {
	var all []provider.Hash
	for _, own := range r {
		if len(own.zips) > 0 && !slices.ContainsFunc(own.zips, func(zh provider.Hash) bool { return !list.names(zh) }) {
			all = append(all, own.contents...)
		}
	}
	return provider.Sorted(all)
}

// HashSourceOpenTofu means registry.opentofu.org in Options.HashSource.
const HashSourceOpenTofu = "opentofu"

// reportedHashes is OpenTofu's registry as a source of h1 hashes for packages of other
// registries. nil is no source.
type reportedHashes struct {
	registry *direct
	fetch    *fetcher
	silent   atomic.Bool // it could not be asked
}

// hashes returns the hashes of a package that the hash source states, unless relock has
// computed them before. It asks only about packages in a signed checksum list: the list
// proves the archive, and only the h1 depends on the source. If the source fails, the
// package can be downloaded. H1Zip is never stated, and the size may be 0.
func (s *reportedHashes) hashes(ctx context.Context, want provider.Want, p provenPackage) (provider.Hashes, bool) {
	if s == nil || p.signer.KeyID == "" {
		return provider.Hashes{}, false
	}
	cache := s.fetch.opts.Cache
	e, ok := cache.Lookup(p.zh)
	switch {
	case ok && e.Origin == hash.FromPackage:
		return provider.Hashes{}, false
	case ok && want.Addr.Host != provider.OpenTofu.DefaultHost():
		s.fetch.cached.Add(1)
	default:
		// The answer of OpenTofu's registry about its own packages is known already. The
		// statement in it must equal the remembered one.
		stated, ok := s.ask(ctx, want).of(p.zh)
		e = hash.Entry{Hashed: hash.Hashed{Sum: stated}, Origin: hash.FromRegistry}
		if !ok || e.Check() != nil {
			return provider.Hashes{}, false
		}
		s.fetch.remember(subject(want), e)
		if known, ok := cache.Lookup(p.zh); cache != nil && (!ok || known.Hashed.Sum.H1 != e.Hashed.Sum.H1) {
			return provider.Hashes{}, false
		}
	}
	return provider.Hashes{
		Sum: e.Hashed.Sum, Platform: want.Platform,
		Reported: map[provider.Platform][]provider.Hash{want.Platform: {e.Hashed.Sum.H1}},
	}, true
}

// ask asks OpenTofu's registry about the package of the same name, with OpenTofu's CLI
// configuration.
func (s *reportedHashes) ask(ctx context.Context, want provider.Want) reports {
	if s.silent.Load() {
		return nil
	}
	want.Addr.Host = provider.OpenTofu.DefaultHost()
	var stated reports
	about, err := s.registry.description(ctx, provider.Newest(provider.OpenTofu), want)
	if err == nil {
		stated, err = about.reports()
	}
	switch {
	case err == nil:
		return stated
	case problem.Coded(err, problem.CodeUnreachable), problem.Coded(err, problem.CodeNoService), problem.Coded(err, problem.CodeUnauthorized):
		// Waiting for the other questions to fail takes longer than downloading.
		if !s.silent.Swap(true) && ctx.Err() == nil {
			s.fetch.opts.Log.Warn("OpenTofu's registry cannot be asked for hashes, so that packages are downloaded", "error", err)
		}
	case !problem.Coded(err, problem.CodeNoPackage):
		s.fetch.opts.Log.Debug("OpenTofu's registry states no hashes", "provider", want.Addr, "version", want.Version, "platform", want.Platform, "error", err)
	}
	return nil
}

// before is what the source stated about an archive in an earlier run.
func (s *reportedHashes) before(zh provider.Hash, signer provider.Signer) []provider.Hash {
	if s == nil || signer.KeyID == "" {
		return nil
	}
	e, ok := s.fetch.opts.Cache.Lookup(zh)
	if !ok || e.Origin != hash.FromRegistry {
		return nil
	}
	return []provider.Hash{e.Hashed.Sum.H1}
}
