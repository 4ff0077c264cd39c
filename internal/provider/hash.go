package provider

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Hash is a checksum of a provider package in the form of lock files: a scheme, a
// colon and a value. Hashes are sorted bytewise as whole strings.
type Hash string

// The schemes that the tools verify. Others are kept but never match
// [terraform 1.11 internal/getproviders/providerreqs/hash.go].
const (
	// SchemeH1 is the hash of a package's unpacked content.
	SchemeH1 = "h1"
	// SchemeZH is the SHA-256 of the zip archive in lower-case hexadecimal.
	SchemeZH = "zh"
)

// ParseHash reads a hash, of any scheme and with any value.
func ParseHash(s string) (Hash, error) {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", fmt.Errorf("invalid hash %q: it must begin with a scheme and a colon, like \"h1:\" or \"zh:\"", s)
	}
	return Hash(s), nil
}

// ZH is the zh hash of a SHA-256 in hexadecimal, in either case.
func ZH(sha256 string) Hash { return Hash(SchemeZH + ":" + strings.ToLower(sha256)) }

// Scheme returns the part before the first colon.
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(string(h), ":")
	return scheme
}

// Value returns the part after the first colon.
func (h Hash) Value() string {
	_, value, _ := strings.Cut(string(h), ":")
	return value
}

// Known reports whether the tools can verify a package against the scheme
// [terraform 1.11 internal/getproviders/providerreqs/hash.go].
func (h Hash) Known() bool {
	s := h.Scheme()
	return s == SchemeH1 || s == SchemeZH
}

// WellFormed reports whether the hash has the form of the tools' hashes. They
// compare strings, so no package has a hash in another form [terraform 1.11
// internal/getproviders/hash.go].
func (h Hash) WellFormed() bool {
	switch h.Scheme() {
	case SchemeH1:
		digest, err := base64.StdEncoding.Strict().DecodeString(h.Value())
		return err == nil && len(digest) == 32 && base64.StdEncoding.EncodeToString(digest) == h.Value()
	case SchemeZH:
		digest, err := hex.DecodeString(h.Value())
		return err == nil && len(digest) == 32 && ZH(h.Value()) == h
	}
	return false
}

// Sorted returns the hashes sorted and without duplicates, in a new slice.
func Sorted(hashes []Hash) []Hash {
	sorted := slices.Clone(hashes)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
