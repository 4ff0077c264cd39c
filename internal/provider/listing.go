package provider

// Listing is what a registry proves and reports about the hashes of a release,
// without a download. It is zero if there is nothing to compare hashes with: a
// mirror has no checksum list.
type Listing struct {
	// Signer signed the checksum list; without a signer it has no KeyID.
	Signer Signer
	// Files are the lines of the verified checksum list.
	Files []ListedFile
	// Reported are the h1 hashes that the tool accepts without proof, each for an
	// archive that the list names [opentofu 1.12
	// internal/getproviders/registry_client.go].
	Reported []Hash
	// Mirrored is the hashes of a mirror's package, if only mirrors may be asked;
	// nil otherwise, and if the package was not requested.
	Mirrored *Hashes
}

// Content is the unexpected content of a package.
type Content struct {
	Problems []string // in words; nil if there are none
	Size     int64    // bytes that were downloaded to find out
}

// AtHand is the size of a package that needs no download: it is on this machine,
// or this run has hashed it.
const AtHand int64 = -1

// Downloads are packages that will be downloaded, or the known facts about them.
type Downloads struct {
	Packages int   // the highest number
	Sized    int   // how many of them Size counts
	Size     int64 // approximate bytes together, as the servers announce them
}

// Signed reports whether hashes can be compared with the list.
func (l Listing) Signed() bool { return l.Signer.KeyID != "" }

// Size returns the size of the package for a platform; 0 if unknown.
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

// ListedFile is one file of a release: a line of the checksum list.
type ListedFile struct {
	Name string
	// Sum has the ZH of the line, and all of it if relock has hashed the archive.
	Sum Sum
	// Platform is the platform of a package; zero if neither the name nor the
	// registry says that the file is a package.
	Platform Platform
	// Fresh means that this run, not an earlier one, has hashed the archive.
	Fresh bool
}
