package provider

import "slices"

// Sum is what is known of one package: its hashes, each with its scheme, and its size. A field
// is zero where it is not known. A package that is unpacked has no ZH and no Size.
type Sum struct {
	ZH Hash // zh: of the zip's bytes
	H1 Hash // h1 of the unpacked directory: what the tools record [case 26b]
	// H1Zip is the h1 of the zip's entries: what the tools accept when they verify a zip
	// [case 26b]. It equals H1 for nearly all packages, and is empty where relock has not
	// hashed the package and H1 is what a source states.
	H1Zip Hash
	Size  int64 // of the zip in bytes
}

// Computed reports whether relock has hashed the content of the package: then it knows
// both h1.
func (s Sum) Computed() bool { return s.H1Zip != "" }

// Contents returns the two h1 hashes, H1 first, if relock has computed them; nil if not.
func (s Sum) Contents() []Hash {
	if !s.Computed() {
		return nil
	}
	return []Hash{s.H1, s.H1Zip}
}

// Matches reports whether a lock entry with these hashes would accept the package: one
// known hash among them must be the package's own.
func (s Sum) Matches(locked []Hash) bool {
	return slices.ContainsFunc([]Hash{s.H1, s.H1Zip, s.ZH}, func(own Hash) bool {
		return own != "" && slices.Contains(locked, own)
	})
}
