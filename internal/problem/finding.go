package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Finding is what is wrong with one hash of a lock file, or with one entry, that
// no failure of the run is: the run could look, and this is what it saw.
type Finding struct {
	Severity Severity
	Code     Code
	Addr     provider.Addr
	Version  provider.Version  // of the entry
	OfEntry  bool              // it is about an entry; else there is no Version, which 0.0.0 does not say
	Hash     provider.Hash     // empty for a finding about the whole entry
	Platform provider.Platform // zero for a finding that is not about one
	Place    Place             // of the hash, with its columns, or else of the entry
	// About tells findings apart that are alike in all of the above: what of the world
	// they are about, such as a key.
	About    string
	ProvenBy string // the verdict on a hash that something proves, such as "mirror"
	Message  string // one sentence without a full stop, no untrusted markup
	Hint     string // what to do next; may be empty
}

// The codes of findings that no Diagnostic has. They mean the same wherever
// hashes are judged.
const (
	CodeHashUnknown  Code = "hash-unknown"  // a hash that belongs to no package of its release
	CodeHashUnproven Code = "hash-unproven" // a hash of which not everything could be looked at
	CodeHashOfOther  Code = "hash-of-other" // a hash that belongs to another release
	CodeHashScheme   Code = "hash-scheme"   // a hash of a scheme that no tool knows
	CodeHashReported Code = "hash-reported" // a hash that only a registry's word stands for
	CodeHashMirror   Code = "hash-mirror"   // a hash that only a mirror stands for

	CodeReleaseGone   Code = "release-gone"   // a release that its registry has no more
	CodeListGone      Code = "list-gone"      // a release whose checksum list or signature is not there
	CodeSignatureBad  Code = "signature-bad"  // a checksum list that no announced key signed
	CodeUnsigned      Code = "unsigned"       // a checksum list without an announced key
	CodeSignerChanged Code = "signer-changed" // a provider that another key has signed before
	CodeSignerRefused Code = "signer-refused" // a key that the configuration does not admit
	CodeKeyExpired    Code = "key-expired"    // a key or signature that has expired
	CodeKeyShortID    Code = "key-short-id"   // a key that is named by a part of its fingerprint

	CodePlatformMissing   Code = "platform-missing"   // an entry that has nothing for a platform
	CodeH1Missing         Code = "h1-missing"         // an entry without the h1 of a platform
	CodeZHMissing         Code = "zh-missing"         // an entry that nothing ties to a signature
	CodeEntryStale        Code = "entry-stale"        // an entry that nothing requires
	CodeEntryMissing      Code = "entry-missing"      // a requirement without an entry
	CodeVersionOutside    Code = "version-outside"    // a version that the requirements do not allow
	CodeConstraintsDiffer Code = "constraints-differ" // constraints that are not the configuration's
	CodeNotNormal         Code = "not-normal"         // a file that is not in normal form
	CodeToolHeader        Code = "tool-header"        // a file that another tool has written
	CodeTamperedBoth      Code = "tampered-both"      // a change of what it is judged by
	CodeLockInCache       Code = "lock-in-cache"      // a change of a lock file in a directory of caches
	CodePackageContent    Code = "package-content"    // a package that holds something else than its program

	// Codes of what would change in a lock file.
	CodeOutdated   Code = "outdated"   // an entry for which there is a newer release
	CodeIncomplete Code = "incomplete" // an entry that lacks hashes
	CodeMoved      Code = "moved"      // an entry whose provider is under another address

	CodeLeftOut Code = "left-out" // findings that a format has no room for
)

// Diagnostic returns the finding as a problem of its place.
func (f Finding) Diagnostic() Diagnostic {
	return Diagnostic{
		Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint,
		Place: f.Place, Addr: f.Addr, Host: f.Addr.Host,
	}
}

// Fingerprint names the finding for as long as it is there: by what it is about,
// not by where it stands in the file, so that a changed neighbour does not make
// another one of it. The number behind it is what code scanning expects of its key
// primaryLocationLineHash.
func (f Finding) Fingerprint() string {
	about, version, addr := string(f.Hash), "", ""
	if about == "" && f.Platform != (provider.Platform{}) {
		about = f.Platform.String()
	}
	if f.OfEntry {
		version = f.Version.String()
	}
	if f.Addr != (provider.Addr{}) {
		addr = f.Addr.String()
	}
	facts := []string{string(f.Code), f.Place.File(), addr, version, about}
	if f.About != "" {
		facts = append(facts, f.About)
	}
	sum := sha256.Sum256([]byte(strings.Join(facts, "\x00")))
	return hex.EncodeToString(sum[:])[:32] + ":1"
}

// Compare orders findings by place, then by what they say.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(
		f.Place.Compare(g.Place), f.Addr.Compare(g.Addr),
		cmp.Compare(f.Hash, g.Hash), cmp.Compare(f.Code, g.Code), f.Platform.Compare(g.Platform),
	)
}
