package provider

import (
	"slices"
	"strings"
)

// Signer is the key that signed a checksum list.
type Signer struct {
	KeyID string `json:"key_id"` // primary key ID, 16 hexadecimal capitals; empty if nobody
	// Fingerprint is the primary key's, in hexadecimal capitals: 40 of them, or
	// 64 for keys of version 6. KeyID is a part of it; others can make a key with
	// the same one.
	Fingerprint string `json:"fingerprint,omitempty"`
	Label       string `json:"label"` // "HashiCorp", "partner", "self-signed", "signed" or "unsigned"
	// Expired means that the key or the signature has expired. The tool accepts
	// it anyway [terraform 1.11 internal/getproviders/package_authentication.go].
	Expired bool `json:"-"`
	// Ahead means that an Expired one is dated after the time of this machine's
	// clock.
	Ahead bool `json:"-"`
}

// Is reports whether a text names the key: by its ID, or by its fingerprint with
// or without groups of digits.
func (s Signer) Is(text string) bool {
	name := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	return s.KeyID != "" && (name == s.Fingerprint || name == s.KeyID)
}

// Signers are the keys that may sign the checksum lists of the selected
// providers: whole fingerprints, or their last 16 digits.
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

// Admits reports whether the key may sign the releases of the provider: every
// pattern that selects it must name the key. A zero signer means an unsigned
// list.
func (s Signers) Admits(addr Addr, key Signer) bool {
	for pattern, keys := range s {
		if pattern.Match(addr) && !slices.ContainsFunc(keys, key.Is) {
			return false
		}
	}
	return true
}
