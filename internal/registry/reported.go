package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// reports is the packages property with which OpenTofu's registry states the
// hashes of every platform's package at once.
type reports map[provider.Platform]report

type report struct {
	Hashes []string `json:"hashes"`
	Size   int64    `json:"package_size"`
}

// reports reads the property. A key that is no platform and a hash without a
// scheme make OpenTofu refuse the whole answer.
func (m *metadata) reports() (reports, error) {
	if len(m.packages) == 0 {
		return nil, nil
	}
	var raw map[string]report
	if err := json.Unmarshal(m.packages, &raw); err != nil {
		return nil, badAnswer("has invalid packages: %v", err)
	}
	all := reports{}
	for name, r := range raw {
		platform, err := provider.ParsePlatform(name)
		if err != nil {
			return nil, badAnswer("includes invalid package platform %q", name)
		}
		for _, h := range r.Hashes {
			if _, err := provider.ParseHash(h); err != nil {
				return nil, badAnswer("includes invalid package hash %q", h)
			}
		}
		all[platform] = r
	}
	return all, nil
}

// check holds the report about the wanted package against the metadata, as
// OpenTofu does of any registry.
func (r reports) check(platform provider.Platform, zh provider.Hash) error {
	own, ok := r[platform]
	if !ok {
		return badAnswer("is missing package with platform %q", platform)
	}
	if own.Size <= 0 {
		return badAnswer("has invalid package size %d for %s", own.Size, platform)
	}
	found := own.known(provider.SchemeZH)
	if len(found) == 0 {
		return badAnswer("has no zip hash among the packages for %s", platform)
	}
	for _, h := range found {
		if h != zh {
			return badChecksum("registry reports the zip hash %s for %s in one place and %s in another", h, platform, zh)
		}
	}
	return nil
}

// checkSize holds the reported size against the downloaded package.
func (r reports) checkSize(platform provider.Platform, size int64) error {
	if want := r[platform].Size; size != want {
		return badChecksum("registry reports a package of size %d for %s, and the package has size %d", want, platform, size)
	}
	return nil
}

// recorded returns the hashes that OpenTofu records on the word of its registry
// alone: those of known schemes, of all platforms. It would take any; here each
// platform's zip must stand in the checksum list, and what is known of the
// wanted platform must agree.
func (r reports) recorded(list checksums, platform provider.Platform, sum hash.Sum) (map[provider.Platform][]provider.Hash, error) {
	all := map[provider.Platform][]provider.Hash{}
	for _, p := range slices.SortedFunc(maps.Keys(r), provider.Platform.Compare) {
		zips, contents := r[p].known(provider.SchemeZH), r[p].known(provider.SchemeH1)
		if len(zips) == 0 && len(contents) > 0 {
			return nil, unproven(p, "without that of a zip")
		}
		if slices.ContainsFunc(zips, func(zh provider.Hash) bool { return !list.names(zh) }) {
			return nil, unproven(p, "of a zip that the checksum list does not name")
		}
		if hashes := provider.Sorted(append(zips, contents...)); len(hashes) > 0 {
			all[p] = hashes
		}
	}
	for _, h := range r[platform].known(provider.SchemeH1) {
		if h != sum.H1 && h != sum.H1Zip {
			return nil, badChecksum("registry reports %s for %s, and the package hashes to %s", h, platform, sum.H1)
		}
	}
	return all, nil
}

func unproven(p provider.Platform, how string) error {
	return &provider.Error{
		Code:    provider.CodeBadChecksum,
		Message: fmt.Sprintf("registry reports hashes for %s %s", p, how),
		Hint:    "report this to the registry's operator",
	}
}

// known returns the reported hashes of one scheme.
func (r report) known(scheme string) []provider.Hash {
	var found []provider.Hash
	for _, text := range r.Hashes {
		if h := provider.Hash(text); h.Scheme() == scheme {
			found = append(found, h)
		}
	}
	return found
}
