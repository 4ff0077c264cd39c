package registry

import (
	"bytes"
	"encoding/hex"

	"github.com/relock-dev/relock/internal/provider"
)

// checksums is a checksum list. Each line has a SHA-256 and a file name.
type checksums []byte

// check returns an error unless the list has this hash for the file. As in the tools, the
// first line whose second field is the name decides. A name with the asterisk of binary
// mode is another name [terraform 1.11 internal/getproviders/package_authentication.go].
//
// An empty line anywhere crashes both tools, so they cannot lock the release.
func (c checksums) check(filename string, zh provider.Hash) error {
	for line := range bytes.Lines(c) {
		if len(bytes.Fields(line)) == 0 {
			return badChecksum("checksum list has an empty line, with which no tool installs the release")
		}
	}
	fields := c.line(filename)
	if fields == nil {
		return badChecksum("checksum list has no SHA-256 hash for %q", filename)
	}
	if got, ok := lineHash(fields); !ok || got != zh {
		return badChecksum("checksum list has unexpected SHA-256 hash %q for %q (expected %s)", fields[0], filename, zh.Value())
	}
	return nil
}

// line returns the fields of the line that decides about a file, or nil.
func (c checksums) line(filename string) [][]byte {
	for line := range bytes.Lines(c) {
		if fields := bytes.Fields(line); len(fields) >= 2 && string(fields[1]) == filename {
			return fields
		}
	}
	return nil
}

// hashes returns the zh of every line, for every file: the tools record the manifest's,
// too. If one line is no checksum, the tools take none of them: the document may be
// something else [terraform 1.11 internal/getproviders/package_authentication.go].
func (c checksums) hashes() []provider.Hash {
	var all []provider.Hash
	for line := range bytes.Lines(c) {
		zh, ok := lineHash(bytes.Fields(line))
		if !ok {
			return nil
		}
		all = append(all, zh)
	}
	return provider.Sorted(all)
}

// recorded are the hashes of the list that the tools record for one of its packages. If one
// line is no checksum, that is the package's own hash alone, which the tools have verified
// (Terraform 1.11.4: TestTerraformReadsChecksumLists) [terraform 1.11
// internal/getproviders/package_authentication.go].
func (c checksums) recorded(own provider.Hash) []provider.Hash {
	if all := c.hashes(); len(all) > 0 {
		return all
	}
	return []provider.Hash{own}
}

// names reports whether a line has the hash.
func (c checksums) names(zh provider.Hash) bool {
	for line := range bytes.Lines(c) {
		if got, ok := lineHash(bytes.Fields(line)); ok && got == zh {
			return true
		}
	}
	return false
}

// lineHash reads the SHA-256 of a line with two or more fields.
func lineHash(fields [][]byte) (provider.Hash, bool) {
	if len(fields) < 2 {
		return "", false
	}
	digest, err := hex.DecodeString(string(fields[0]))
	if err != nil || len(digest) != 32 {
		return "", false
	}
	return provider.ZH(string(fields[0])), true
}
