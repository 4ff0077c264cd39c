package provider

import (
	"slices"
	"strings"
)

// Signer is who signed a checksum list.
type Signer struct {
	KeyID string `json:"key_id"` // primary key ID, 16 hexadecimal capitals; empty if nobody
	// Fingerprint is that of the primary key in hexadecimal capitals: 40 of them,
	// or 64 for keys of version 6. KeyID is a part of it, which others can make a
	// key for.
	Fingerprint string `json:"fingerprint,omitempty"`
	Label       string `json:"label"` // "HashiCorp", "partner", "self-signed", "signed" or "unsigned"
	// Expired says that the key or the signature has, and that the tool accepts it
	// all the same [terraform 1.11 internal/getproviders/package_authentication.go].
	Expired bool `json:"-"`
	// Ahead says of what counts as expired that it was made after the time that the
	// clock of this machine shows.
	Ahead bool `json:"-"`
}

// Is reports whether a text names the key: its fingerprint, in groups of digits or
// not, or its ID.
func (s Signer) Is(text string) bool {
	name := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	return s.KeyID != "" && (name == s.Fingerprint || name == s.KeyID)
}

// Signers are the keys that may sign the checksum lists of the providers that a
// pattern selects: whole fingerprints, or the last 16 digits of these.
type Signers map[Pattern][]string

// Pins reports whether any pattern selects the provider.
func (s Signers) Pins(addr Addr) bool {
	for pattern := range s {
		if pattern.Match(addr) {
			return true
		}
	}
	return false
}

// Admits reports whether the key may sign the releases of the provider: whether
// every pattern that selects it names the key. A zero signer stands for a list
// that nobody signed.
func (s Signers) Admits(addr Addr, key Signer) bool {
	for pattern, keys := range s {
		if pattern.Match(addr) && !slices.ContainsFunc(keys, key.Is) {
			return false
		}
	}
	return true
}
