package provider

import "slices"

// Sum is the known facts about one package: its hashes and its size. An unknown
// field is zero. An unpacked package has no ZH and no Size.
type Sum struct {
	ZH Hash // zh: of the zip's bytes
	H1 Hash // h1 of the unpacked directory, which the tools record [case 26b]
	// H1Zip is the h1 of the zip's entries, which the tools accept when they
	// verify a zip [case 26b]. It equals H1 for nearly all packages. It is empty
	// if relock has not hashed the package; then a source states H1.
	H1Zip Hash
	Size  int64 // of the zip in bytes
}

// Computed reports whether relock has hashed the content of the package. Then
// both h1 are known.
func (s Sum) Computed() bool { return s.H1Zip != "" }

// Contents returns the two h1 hashes, H1 first, if relock has computed them; nil if not.
func (s Sum) Contents() []Hash {
	if !s.Computed() {
		return nil
	}
	return []Hash{s.H1, s.H1Zip}
}

// Matches reports whether a lock entry with these hashes would accept the
// package: one known hash must be the package's own.
func (s Sum) Matches(locked []Hash) bool {
	return slices.ContainsFunc([]Hash{s.H1, s.H1Zip, s.ZH}, func(own Hash) bool {
		return own != "" && slices.Contains(locked, own)
	})
}
