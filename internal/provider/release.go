package provider

import (
	"slices"
	"time"
)

// Release is what a registry or mirror says of one version of a provider.
type Release struct {
	Version   Version
	Protocols []string   // plugin protocol versions like "5.0"; empty if not said
	Platforms []Platform // empty if not said
	Published time.Time  // zero if not known
	Warnings  []string   // the registry's words for users of the provider, untrusted
}

// Package is what a registry says of the package of one release for one
// platform, after its checksum list was found to name it.
type Package struct {
	Platform Platform
	Filename string
	ZH       Hash
	Size     int64 // of the zip in bytes; 0 if not known
}

// Signer is who signed a checksum list.
type Signer struct {
	KeyID string // primary key ID, 16 hexadecimal capitals; empty if nobody
	Label string // "HashiCorp", "partner", "self-signed", "signed" or "unsigned"
}

// Want names one package.
type Want struct {
	Addr     Addr
	Version  Version
	Platform Platform
}

// Hashes is everything that a package's source proves or reports about the
// hashes of its release.
type Hashes struct {
	Package Package
	// H1 is the hash of the unpacked directory: what the tools record.
	H1 Hash
	// H1Zip is the hash of the archive's entries: what the tools accept when
	// they verify a zip. It equals H1 for nearly all packages.
	H1Zip Hash
	// Listed holds the zh of every line of the verified checksum list.
	Listed []Hash
	// Reported holds the hashes of each platform that the registry states
	// without proof (OpenTofu's packages property).
	Reported map[Platform][]Hash
	Signer   Signer
}

// Matches reports whether a lock entry with these hashes would accept the
// package: one known hash among them must be the package's own.
func (h Hashes) Matches(locked []Hash) bool {
	return slices.ContainsFunc([]Hash{h.H1, h.H1Zip, h.Package.ZH}, func(own Hash) bool {
		return own != "" && slices.Contains(locked, own)
	})
}
