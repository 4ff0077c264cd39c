package provider

// Listing is what a registry proves and reports about the hashes of a release
// as far as it is known without a download. It is zero where there is nothing
// to hold hashes against: a mirror has no checksum list.
type Listing struct {
	// Signer is who signed the checksum list; it has no KeyID if nobody did.
	Signer Signer
	// Files are the lines of the verified checksum list.
	Files []ListedFile
	// Reported are the h1 hashes that the tool takes on a source's word, each for
	// an archive that the list names [opentofu 1.12 internal/getproviders/registry_client.go].
	Reported []Hash
	// Mirrored is what a mirror's package hashes to, where only mirrors may be asked;
	// nil elsewhere, and where the package was not asked for.
	Mirrored *Hashes
}

// Content is what a package holds that it should not.
type Content struct {
	Problems []string // in words; nil if there is nothing to say
	Size     int64    // how many bytes were downloaded to know
}

// AtHand is the size of a package for which nothing need be downloaded, since it is
// on this machine or this run has hashed it.
const AtHand int64 = -1

// Downloads are packages that are about to be downloaded, or what has become known
// of them since.
type Downloads struct {
	Packages int   // so many at most
	Sized    int   // of how many of them Size is
	Size     int64 // together in bytes, about, as those who serve them say
}

// Signed reports whether hashes can be compared with the list.
func (l Listing) Signed() bool { return l.Signer.KeyID != "" }

// Size returns how large the package for a platform is; 0 if that is not known.
func (l Listing) Size(p Platform) int64 {
	if l.Mirrored != nil && l.Mirrored.Platform == p {
		return l.Mirrored.Sum.Size
	}
	for _, f := range l.Files {
		if f.Platform == p {
			return f.Sum.Size
		}
	}
	return 0
}

// ListedFile is one file of a release, by its line in the checksum list.
type ListedFile struct {
	Name string
	// Sum has the ZH of the line, and the rest if relock has hashed the archive.
	Sum Sum
	// Platform is that of a package; zero if neither the name nor the registry
	// says that the file is one.
	Platform Platform
	// Fresh says that this run has hashed the archive, and no earlier one.
	Fresh bool
}
