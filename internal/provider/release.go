package provider

import (
	"slices"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
)

// Release is a registry's or mirror's information about one version of a
// provider.
type Release struct {
	Version   Version
	Protocols []string   // like "5.0"; empty if unknown
	Platforms []Platform // with a known package; empty if unknown
	// Open means that it may serve other platforms, too. Some source with the
	// release lists no platforms, or does not list the release.
	Open      bool
	Published time.Time // zero if unknown
	Warnings  []string  // the registry's text for users of the provider, untrusted
}

// Closed reports whether the release serves the Platforms and no others,
// according to its registry and mirrors.
func (r Release) Closed() bool { return len(r.Platforms) > 0 && !r.Open }

// Serves reports whether the release may serve the platform.
func (r Release) Serves(p Platform) bool { return !r.Closed() || slices.Contains(r.Platforms, p) }

// Offer is what a tool's installation methods offer of a provider.
type Offer struct {
	Releases []Release // of all methods together
	Methods  []Method  // the methods that were asked, in order
}

// Release returns the release of a version; nil if it is not offered.
func (o Offer) Release(v Version) *Release {
	i := slices.IndexFunc(o.Releases, func(r Release) bool { return r.Version == v })
	if i < 0 {
		return nil
	}
	return &o.Releases[i]
}

// Method is an installation method for a provider, and whether it has listed its
// versions.
type Method struct {
	Name   string // for people: "registry …", "network mirror …"
	Host   svchost.Hostname
	Mirror bool // not the provider's own registry
	// Listed is false if the method does not know the provider, or did not
	// answer. Then its missing versions mean nothing.
	Listed bool
}

// Want names one package.
type Want struct {
	Addr     Addr
	Version  Version
	Platform Platform
	// Origin asks for the package of the provider's own registry, even if the
	// tool's installation methods would use another source. providers lock asks
	// there.
	Origin bool
}

// Hashes are all hashes of a release that a package's source proves or reports.
type Hashes struct {
	Sum      Sum
	Platform Platform
	// Listed holds the zh of every line of the verified checksum list.
	Listed []Hash
	// Verified holds the hashes that the source named and that the package has,
	// if the tool records them [terraform 1.11
	// internal/getproviders/package_authentication.go].
	Verified []Hash
	// Reported holds the hashes of each platform that the source states without
	// proof, if the tool records them. The source is the packages property of
	// OpenTofu's registry, or a trusted network mirror [opentofu 1.12
	// internal/getproviders/registry_client.go].
	Reported map[Platform][]Hash
	Signer   Signer
	// Mirror is the mirror that the package is from; empty if it is from the
	// provider's own registry. A mirror has no checksum list and no signer.
	Mirror string
}

// Mark is a reason to record hashes that is weaker than a signed checksum list.
type Mark string

// The marks.
const (
	MarkMirror   Mark = "mirror"   // the package of a mirror
	MarkReported Mark = "reported" // hashes that a source states without proof
	MarkUnsigned Mark = "unsigned" // a checksum list without the signature of an announced key
)

// Marks returns the marks of these packages' recorded hashes, in a fixed order.
// There are none if signed lists and computed hashes account for all of them.
func Marks(found []Hashes, recorded []Hash) []Mark {
	var marks []Mark
	if slices.ContainsFunc(found, func(h Hashes) bool { return h.Mirror != "" }) {
		marks = append(marks, MarkMirror)
	}
	if restsOnReports(found, recorded) {
		marks = append(marks, MarkReported)
	}
	if slices.ContainsFunc(found, func(h Hashes) bool { return h.Mirror == "" && h.Signer.KeyID == "" }) {
		marks = append(marks, MarkUnsigned)
	}
	return marks
}

// restsOnReports reports whether a recorded hash is only stated by a source, and
// proven by none of the packages.
func restsOnReports(found []Hashes, recorded []Hash) bool {
	proven := map[Hash]bool{}
	for _, h := range found {
		for _, p := range h.proven() {
			proven[p] = true
		}
	}
	for _, h := range found {
		for _, reported := range h.Reported {
			if slices.ContainsFunc(reported, func(r Hash) bool { return !proven[r] && slices.Contains(recorded, r) }) {
				return true
			}
		}
	}
	return false
}

// proven are the hashes that are not only stated.
func (h Hashes) proven() []Hash { return slices.Concat(h.Listed, h.Verified, h.Sum.Contents()) }

// Unpacked reports whether the package is a directory. It has no zip and so no
// zh: recorded zh hashes say nothing about it.
func (h Hashes) Unpacked() bool { return h.Sum.ZH == "" }
