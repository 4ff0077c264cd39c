package registry

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// versionList is the answer to "which versions are there".
type versionList struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		// The tools do not read the platforms, so nothing that stands there may
		// make an answer unusable.
		Platforms json.RawMessage `json:"platforms"`
	} `json:"versions"`
	Warnings []string `json:"warnings"`
}

// releases reads the version strings. Where two are the same version, the last
// wins.
func (l versionList) releases(lenient bool) ([]provider.Release, error) {
	all := union{}
	for _, v := range l.Versions {
		version, err := provider.ParseVersion(v.Version)
		if err != nil && lenient {
			continue
		}
		if err != nil {
			return nil, badAnswer("includes invalid version string %q", v.Version)
		}
		all[version] = provider.Release{
			Version: version, Protocols: slices.Clone(v.Protocols),
			Platforms: platforms(v.Platforms), Warnings: slices.Clone(l.Warnings),
		}
	}
	return all.sorted(), nil
}

// platforms reads what it can of a release's platforms, sorted.
func platforms(raw json.RawMessage) []provider.Platform {
	var list []struct{ OS, Arch string }
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var known []provider.Platform
	for _, p := range list {
		if platform, err := provider.ParsePlatform(p.OS + "_" + p.Arch); err == nil {
			known = append(known, platform)
		}
	}
	return sortedPlatforms(known)
}

// serves reports whether the version is listed, in its canonical form, for the
// platform.
func (l versionList) serves(version provider.Version, platform provider.Platform) bool {
	served, _ := l.platforms(version)
	return served[platform]
}

// platforms are those that the version is listed for, and whether it is listed,
// in its canonical form.
func (l versionList) platforms(version provider.Version) (served map[provider.Platform]bool, listed bool) {
	text := version.String()
	for _, v := range l.Versions {
		if v.Version == text { // the last wins
			served, listed = map[provider.Platform]bool{}, true
			for _, p := range platforms(v.Platforms) {
				served[p] = true
			}
		}
	}
	return served, listed
}

// metadata is what a registry says of one package, as far as it does not depend
// on the tool that asks.
type metadata struct {
	from      *url.URL // what was answered: other URLs are relative to it
	filename  string
	protocols []string
	zh        provider.Hash
	zip       *url.URL
	list      *url.URL
	signature *url.URL
	keys      []signingKey
	packages  json.RawMessage // OpenTofu's; read for it alone
}

// signingKey is a key that a registry announces.
type signingKey struct {
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
}

// packageAnswer is the body of the answer.
type packageAnswer struct {
	Protocols    []string `json:"protocols"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	DownloadURL  string   `json:"download_url"`
	Shasum       string   `json:"shasum"`
	ListURL      string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url"`
	SigningKeys  struct {
		GPG []signingKey `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	Packages json.RawMessage `json:"packages"`
}

// metadata checks that the answer is about the package that was asked for.
func (a packageAnswer) metadata(want provider.Want, from *url.URL) (*metadata, error) {
	if a.OS != want.Platform.OS || a.Arch != want.Platform.Arch {
		return nil, badAnswer("to request for %s archive has incorrect target %s_%s", want.Platform, a.OS, a.Arch)
	}
	if err := checkFilename(a.Filename, want); err != nil {
		return nil, err
	}
	if digest, err := hex.DecodeString(a.Shasum); err != nil || len(digest) != 32 {
		return nil, badAnswer("includes invalid SHA256 hash %q", a.Shasum)
	}
	m := &metadata{
		from: from, filename: a.Filename, protocols: a.Protocols, zh: provider.ZH(a.Shasum),
		keys: a.SigningKeys.GPG, packages: a.Packages,
	}
	for _, link := range []struct {
		name string
		text string
		into **url.URL
	}{
		{"download URL", a.DownloadURL, &m.zip},
		{"SHASUMS URL", a.ListURL, &m.list},
		{"SHASUMS signature URL", a.SignatureURL, &m.signature},
	} {
		u, err := from.Parse(link.text)
		if err != nil || link.text == "" {
			return nil, badAnswer("includes invalid %s", link.name) // which may hold a signature
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			return nil, badAnswer("includes invalid %s: must use http or https scheme", link.name)
		}
		*link.into = u
	}
	return m, nil
}

// namingForm is how the publishing rules of the public registries name an
// archive; the tools take other names as well.
var namingForm = regexp.MustCompile(`^terraform-provider-.+_v?([0-9][^_]*)_([^_]+)_([^_]+)\.zip$`)

// checkFilename refuses the archive of another release or platform. The tools
// look for the name in the checksum list and no further, so that a registry
// could pass off an old release, list and signature included, as a new one.
func checkFilename(name string, want provider.Want) error {
	if name == "" || strings.ContainsAny(name, "/\\ \t\r\n") {
		return badAnswer("includes invalid file name %q", name)
	}
	parts := namingForm.FindStringSubmatch(name)
	if parts == nil {
		return nil
	}
	version, err := provider.ParseVersion(parts[1])
	// Release tools may write the level of an architecture: armv6, amd64v1.
	level, ok := strings.CutPrefix(parts[3], want.Platform.Arch)
	sameArch := ok && (level == "" || level[0] == 'v')
	if err == nil && version == want.Version && parts[2] == want.Platform.OS && sameArch {
		return nil
	}
	return naming(want, badAnswer("for %s %s on %s names the file of another package, %q", want.Addr, want.Version, want.Platform, name))
}

// checkProtocol returns an error if the release speaks only plugin protocols
// that the tools do not. A release that does not say is taken.
func (m *metadata) checkProtocol(tool provider.Tool, want provider.Want) error {
	for _, p := range m.protocols {
		if _, err := provider.ParseVersion(p); err != nil {
			return badAnswer("includes invalid version string %q", p)
		}
	}
	if len(m.protocols) == 0 || spoken(m.protocols) {
		return nil
	}
	return &provider.Error{
		Code: provider.CodeProtocol, Addr: want.Addr, Version: want.Version,
		Message: fmt.Sprintf("provider %s %s speaks plugin protocol %s, and %s speaks 5 and 6",
			want.Addr, want.Version, strings.Join(m.protocols, ", "), tool),
	}
}

// spoken reports whether the tools speak one of the plugin protocols: both have
// those from 5.0 on and below 7.
func spoken(protocols []string) bool {
	return slices.ContainsFunc(protocols, func(p string) bool {
		v, err := provider.ParseVersion(p)
		return err == nil && (v.Major == 5 || v.Major == 6)
	})
}
