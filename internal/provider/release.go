package provider

import (
	"slices"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
)

// Release is what a registry or mirror says of one version of a provider.
type Release struct {
	Version   Version
	Protocols []string   // plugin protocol versions like "5.0"; empty if not said
	Platforms []Platform // that it is known to serve; empty if not said
	// Open says that it may serve others too: one place that has it says which
	// platforms, and another one does not, or has it without listing it.
	Open      bool
	Published time.Time // zero if not known
	Warnings  []string  // the registry's words for users of the provider, untrusted
}

// Closed reports whether the release serves the Platforms and no others, as far
// as its registry and mirrors say.
func (r Release) Closed() bool { return len(r.Platforms) > 0 && !r.Open }

// Serves reports whether the release may serve the platform.
func (r Release) Serves(p Platform) bool { return !r.Closed() || slices.Contains(r.Platforms, p) }

// Offer is what the installation methods of a tool offer of a provider.
type Offer struct {
	Releases []Release // of all of them together
	Methods  []Method  // that were asked, in order
}

// Release returns the release of a version; nil if it is not offered.
func (o Offer) Release(v Version) *Release {
	i := slices.IndexFunc(o.Releases, func(r Release) bool { return r.Version == v })
	if i < 0 {
		return nil
	}
	return &o.Releases[i]
}

// Method is an installation method that is for a provider, and whether it has
// told which versions it offers.
type Method struct {
	Name   string // for people: "registry …", "network mirror …"
	Host   svchost.Hostname
	Mirror bool // and not the provider's own registry
	// Listed is false where it answered that it does not know the provider, or not
	// at all: what it does not offer, it has not said.
	Listed bool
}

// Want names one package.
type Want struct {
	Addr     Addr
	Version  Version
	Platform Platform
	// Origin means the package of the provider's own registry, wherever the
	// tool's installation methods would take it from: providers lock asks there.
	Origin bool
}

// Hashes is everything that a package's source proves or reports about the
// hashes of its release.
type Hashes struct {
	Sum      Sum
	Platform Platform
	// Listed holds the zh of every line of the verified checksum list.
	Listed []Hash
	// Verified holds the hashes that the source named for the package and that
	// it was found to have, where the tool records them
	// [terraform 1.11 internal/getproviders/package_authentication.go].
	Verified []Hash
	// Reported holds the hashes of each platform that the source states without
	// proof, where the tool records them (the packages property of OpenTofu's
	// registry, a network mirror that it trusts) [opentofu 1.12 internal/getproviders/registry_client.go].
	Reported map[Platform][]Hash
	Signer   Signer
	// Mirror says which mirror the package is from; empty if it is from the
	// provider's own registry. A mirror has no checksum list and no signer.
	Mirror string
}

// Mark names a ground for recording hashes that is weaker than a checksum list
// with a signature.
type Mark string

// The marks.
const (
	MarkMirror   Mark = "mirror"   // the package of a mirror
	MarkReported Mark = "reported" // hashes that a source states without proof
	MarkUnsigned Mark = "unsigned" // a checksum list that no announced key signed
)

// Marks returns what a reader should know about hashes that were recorded of
// these packages, in a fixed order; none where signed lists and computed hashes
// account for all of them.
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

// restsOnReports reports whether a recorded hash is one that a source states and
// that none of the packages proves.
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

// proven are the hashes that are more than a source's word.
func (h Hashes) proven() []Hash { return slices.Concat(h.Listed, h.Verified, h.Sum.Contents()) }

// Unpacked reports whether the package is a directory, which has no zip and so
// no zh: recorded zh hashes say nothing about it.
func (h Hashes) Unpacked() bool { return h.Sum.ZH == "" }
