package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// The answers of a registry: its versions, its description of one package [protocol:
// provider registry], and what the public registries add to the protocol.

// versionList is the list of versions of a registry or a mirror. A mirror lists only the
// versions.
type versionList struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		// The tools do not read the platforms, so no value of this property may make the
		// answer unusable [terraform 1.11 internal/getproviders/registry_client.go].
		Platforms json.RawMessage `json:"platforms"`
	} `json:"versions"`
	Warnings []string `json:"warnings"`

	releases func() ([]provider.Release, error) // computed once
}

// mirrorVersions is the list of a mirror with these versions.
func mirrorVersions(versions []string) versionList {
	return versionList{releases: sync.OnceValues(func() ([]provider.Release, error) { return releasesOf(versions), nil })}
}

// read reads the version strings, sorted. If two are the same version, the last one counts.
// The error is about the first string that is no version. Not every tool rejects the list
// for that.
func (l versionList) read() (releases []provider.Release, invalid error) {
	all := joinedReleases{}
	for _, v := range l.Versions {
		version, err := provider.ParseVersion(v.Version)
		if err == nil {
			all[version] = provider.Release{
				Version: version, Protocols: v.Protocols, Platforms: platformsIn(v.Platforms), Warnings: slices.Clip(l.Warnings),
			}
		} else if invalid == nil {
			invalid = badAnswer("includes invalid version string %q", v.Version)
		}
	}
	return all.sorted(), invalid
}

// platformsIn reads the valid platforms of a release, sorted.
func platformsIn(raw json.RawMessage) []provider.Platform {
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

// platforms are the platforms of a version. listed says whether the list has the version in
// its canonical form.
func (l versionList) platforms(version provider.Version) (served []provider.Platform, listed bool) {
	text := version.String()
	for _, v := range slices.Backward(l.Versions) {
		if v.Version == text { // the last one counts
			return platformsIn(v.Platforms), true
		}
	}
	return nil, false
}

// description is a registry's answer about one package, without the parts that depend on
// the tool.
type description struct {
	from      *url.URL // the URL of the answer: other URLs are relative to it
	platform  provider.Platform
	filename  string
	protocols []string
	zh        provider.Hash
	archive   *url.URL
	list      *url.URL
	signature *url.URL
	keys      []signingKey
	packages  json.RawMessage // of OpenTofu's registry; the method reports reads it
}

// signingKey is a key that a registry announces.
type signingKey struct {
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
}

// parseDescription reads an answer and checks that it is about the wanted package.
func parseDescription(body []byte, from *url.URL, want provider.Want) (*description, error) {
	var answer struct {
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
	if err := transport.DecodeJSON(body, &answer); err != nil {
		return nil, naming(want, badAnswer("for %s %s on %s is not valid: %v", want.Addr, want.Version, want.Platform, err))
	}
	if answer.OS != want.Platform.OS || answer.Arch != want.Platform.Arch {
		return nil, badAnswer("to request for %s archive has incorrect target %s_%s", want.Platform, answer.OS, answer.Arch)
	}
	if err := checkFilename(answer.Filename, want); err != nil {
		return nil, err
	}
	if digest, err := hex.DecodeString(answer.Shasum); err != nil || len(digest) != 32 {
		return nil, badAnswer("includes invalid SHA256 hash %q", answer.Shasum)
	}
	d := &description{
		from: from, platform: want.Platform, filename: answer.Filename, protocols: answer.Protocols,
		zh: provider.ZH(answer.Shasum), keys: answer.SigningKeys.GPG, packages: answer.Packages,
	}
	for _, link := range []struct {
		name string
		text string
		into **url.URL
	}{
		{"download URL", answer.DownloadURL, &d.archive},
		{"SHASUMS URL", answer.ListURL, &d.list},
		{"SHASUMS signature URL", answer.SignatureURL, &d.signature},
	} {
		u, err := from.Parse(link.text)
		if err != nil || link.text == "" {
			return nil, badAnswer("includes invalid %s", link.name) // for example, of a signature
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			return nil, badAnswer("includes invalid %s: must use http or https scheme", link.name)
		}
		*link.into = u
	}
	return d, nil
}

// namingForm is the form of an archive's name in the publishing rules of the public
// registries. The tools accept other names as well [terraform 1.11
// internal/getproviders/registry_client.go].
var namingForm = regexp.MustCompile(`^terraform-provider-.+_v?([0-9][^_]*)_([^_]+)_([^_]+)\.zip$`)

// checkFilename refuses the archive of another release or platform. The tools only look for
// the name in the checksum list. So a registry could present an old release, with its list
// and signature, as a new one [terraform 1.11
// internal/getproviders/package_authentication.go].
func checkFilename(name string, want provider.Want) error {
	if name == "" || strings.ContainsAny(name, "/\\ \t\r\n") {
		return badAnswer("includes invalid file name %q", name)
	}
	parts := namingForm.FindStringSubmatch(name)
	if parts == nil {
		return nil
	}
	version, err := provider.ParseVersion(parts[1])
	// Release tools may add the level of an architecture: armv6, amd64v1.
	level, ok := strings.CutPrefix(parts[3], want.Platform.Arch)
	sameArch := ok && (level == "" || level[0] == 'v')
	if err == nil && version == want.Version && parts[2] == want.Platform.OS && sameArch {
		return nil
	}
	return naming(want, badAnswer("for %s %s on %s names the file of another package, %q", want.Addr, want.Version, want.Platform, name))
}

// archiveName is an archive's name according to the registries' publishing rules.
func archiveName(want provider.Want, platform provider.Platform) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", want.Addr.Type, want.Version, platform)
}

// platformOf reads the platform from an archive's name. It is zero if the name does not
// follow the publishing rules.
func platformOf(name string) provider.Platform {
	parts := namingForm.FindStringSubmatch(name)
	if parts == nil {
		return provider.Platform{}
	}
	p, err := provider.ParsePlatform(parts[2] + "_" + parts[3])
	if err != nil {
		return provider.Platform{}
	}
	return p
}

// checkProtocol returns an error if the tools know none of the release's plugin protocols.
// A release that names none is accepted [terraform 1.11
// internal/getproviders/registry_client.go].
func (d *description) checkProtocol(tool provider.Tool, want provider.Want) error {
	for _, p := range d.protocols {
		if _, err := provider.ParseVersion(p); err != nil {
			return badAnswer("includes invalid version string %q", p)
		}
	}
	if len(d.protocols) == 0 || spoken(d.protocols) {
		return nil
	}
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeProtocol, Subject: problem.Subject{Addr: want.Addr, Version: want.Version, Versioned: true},
			Message: fmt.Sprintf("provider %s %s speaks plugin protocol %s, and %s speaks 5 and 6",
				want.Addr, want.Version, strings.Join(d.protocols, ", "), tool),
		},
	}
}

// spoken reports whether the tools know one of the plugin protocols: both tools know 5.0
// and later, below 7 [terraform 1.11 internal/getproviders/registry_client.go].
func spoken(protocols []string) bool {
	return slices.ContainsFunc(protocols, func(p string) bool {
		v, err := provider.ParseVersion(p)
		return err == nil && (v.Major == 5 || v.Major == 6)
	})
}

// parseDetail reads the facts about a version that Terraform's public registry adds to the
// protocol. Any other answer gives none.
func parseDetail(body []byte) provider.Repository {
	var answer struct {
		Source      string          `json:"source"`
		Tag         string          `json:"tag"`
		PublishedAt json.RawMessage `json:"published_at"`
	}
	if transport.DecodeJSON(body, &answer) != nil {
		return provider.Repository{}
	}
	r, ok := provider.ParseRepository(answer.Source)
	if ok {
		r.Tag = answer.Tag
	}
	var published time.Time
	if json.Unmarshal(answer.PublishedAt, &published) == nil {
		r.Published = published
	}
	return r
}

// protocolProblem compares the plugin protocols that the registry announces with those of
// the manifest in the checksum list [protocol: publishing providers]. It is empty if they
// agree. zh is the manifest's hash in the list.
func protocolProblem(src []byte, zh provider.Hash, announced []string) string {
	digest := sha256.Sum256(src)
	if provider.ZH(hex.EncodeToString(digest[:])) != zh {
		return "the manifest of the release is not the one that the checksum list names"
	}
	var manifest struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		}
	}
	if err := transport.DecodeJSON(src, &manifest); err != nil {
		return "the manifest of the release cannot be read: " + err.Error()
	}
	announced, said := slices.Sorted(slices.Values(announced)), slices.Sorted(slices.Values(manifest.Metadata.Protocols))
	if slices.Equal(slices.Compact(announced), slices.Compact(said)) {
		return ""
	}
	return fmt.Sprintf("the registry announces plugin protocol %q, and the manifest of the release says %q", strings.Join(announced, ", "), strings.Join(said, ", "))
}
