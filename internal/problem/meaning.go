package problem

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Meaning is the meaning of a code of findings. Codes are stable: new ones are
// added, and none changes its meaning.
type Meaning struct {
	Code     Code
	Severity Severity
	// Strict is the severity in a strict run, which trusts only signatures.
	Strict Severity
	// Pinned findings can only be accepted one by one, by their fingerprint. They
	// refute a hash, or are about all hashes of an entry.
	Pinned bool
	// Title is the text of such a finding, and Help the next step. Help has HASH, OS_ARCH,
	// PROVIDER, VERSION and DIR in place of what Next fills in.
	Title, Help string
}

const (
	asError   = SeverityError
	asWarning = SeverityWarning
	asNote    = SeverityNote
)

// Meanings are all codes of findings, as in docs/troubleshooting.md.
var Meanings = []Meaning{
	{CodeHashUnknown, asError, asError, true, "A hash belongs to no package of its release", "find out who added it: `git log -S HASH`; then run `relock lock --prune`, which removes it"},
	{CodeHashOfOther, asError, asError, true, "A hash belongs to another release", "find out who added it: `git log -S HASH`; then run `relock lock --prune`, which removes it"},
	{CodeHashUnproven, asError, asError, false, "A hash could not be checked", "raise --max-download, or give the run credentials or a network"},
	{CodeModuleMoved, asError, asError, false, "A module package is not the locked one", "find out who moved it or changed the entry, and why; then `relock upgrade --accept-moved PATTERN` locks what it is now"},
	{CodeModuleForeign, asError, asError, false, "No branch and no tag has the commit of a module", "lock a commit of one of its branches or tags: this one may be that of a fork or of a pull request"},
	{CodeHashScheme, asError, asError, false, "A hash has a scheme that no tool knows", "run `relock lock --prune`, which writes the entry again"},
	{CodeHashReported, asNote, asError, false, "A hash is known from a registry's word alone", "run `relock verify --strict`, which hashes the package itself, as far as max-download goes"},
	{CodeHashMirror, asNote, asError, false, "A hash is known from a mirror alone", "let the CLI configuration admit the provider's own registry, in a direct block"},
	{CodeReReleased, asError, asError, true, "Packages of a release were replaced after the lock file was written", "ask the publisher why; if you trust the new packages, run `relock upgrade --accept-re-released PROVIDER@VERSION`"},
	{CodeReleaseGone, asError, asError, true, "A release is no longer published", "run `relock upgrade`, which selects another release; a mirror may still have this one"},
	{CodeListGone, asError, asError, true, "A release has no checksum list or signature any more", "run `relock upgrade --platform OS_ARCH` with each platform that you use, which selects another release, and ask the publisher why"},
	{CodeSignatureBad, asError, asError, true, "A checksum list is not signed by an announced key", "do not use this release; report it to the publisher and to the registry"},
	{CodeUnsigned, asWarning, asError, false, "A checksum list is signed by nobody", "decide whether the connection to the registry is protection enough: nothing else protects these hashes"},
	{CodeSignerChanged, asError, asError, false, "Another key signs the provider than before", "ask the publisher; if the new key is right, name both keys in verify.signers"},
	{CodeSignerRefused, asError, asError, false, "A key signs that the configuration does not admit", "ask the publisher; if the key is right, add it to verify.signers"},
	{CodeKeyExpired, asWarning, asWarning, false, "The signing key or the signature has expired", "run `relock upgrade`: a newer release may be signed by a newer key"},
	{CodeKeyShortID, asWarning, asWarning, false, "A key is named by a part of its fingerprint", "write the whole fingerprint"},
	{CodePlatformMissing, asWarning, asWarning, false, "An entry has no hash for a platform", "run `relock lock --platform OS_ARCH`, which adds it"},
	{CodeH1Missing, asWarning, asWarning, false, "An entry lacks the h1 of a platform", "run `relock lock --platform OS_ARCH`, which adds it"},
	{CodeZHMissing, asWarning, asWarning, false, "Nothing ties an entry to a signature", "run `relock lock --hashes-from origin`, which adds the hashes of the signed list"},
	{CodeEntryStale, asNote, asNote, false, "Nothing requires an entry", "run `relock upgrade`, which removes it"},
	{CodeEntryMissing, asError, asError, false, "A required provider is not locked", "run `relock lock`, which adds it"},
	{CodeVersionOutside, asError, asError, false, "A locked version does not meet the requirements", "run `relock upgrade`, which selects one that does"},
	{CodeConstraintsDiffer, asNote, asNote, false, "Recorded constraints are not those of the configuration", "run `relock lock`, which writes them"},
	{CodeNotNormal, asNote, asNote, false, "A lock file is not in the form that its tool writes", "run `relock lock`, which writes it so"},
	{CodeToolHeader, asNote, asNote, false, "A lock file was written by the other tool", "run `relock lock`, which writes the header of the tool in force"},
	{CodePackageContent, asError, asError, false, "A package holds something else than its program", "do not use this release; report it to the publisher"},
	{CodeLockInCache, asError, asError, false, "A change adds or changes a lock file in .terraform or .terragrunt-cache", "take it out with `git rm -r --cached :/DIR`, name the directory in .gitignore, and commit that"},
	{CodeProviderRefused, asError, asError, false, "A rule does not permit the provider or module", "use another provider, or add a later rule in a pull request of its own: `{providers: [ADDRESS], permitted: true}`"},
	{CodeVersionRefused, asError, asError, false, "A rule does not allow the version", "lock a version that the rule allows, or let a later rule allow this one, in a pull request of its own"},
	{CodeTooYoung, asError, asError, false, "A release is younger than a rule demands", "wait, or add a later rule in a pull request of its own: `{providers: [PROVIDER], minimum-age: 0d}`"},
	{CodeTamperedBoth, asError, asError, true, "A pull request changes what it is judged by", "change the baseline or the ledger in a pull request of its own"},
}

// Next is the next step for one finding. Its place is that of a lock file.
func (m Meaning) Next(p Problem) string {
	platform := "OS_ARCH" // which only a person knows
	if p.Subject.Platform != (provider.Platform{}) {
		platform = p.Subject.Platform.String()
	}
	return strings.NewReplacer(
		"HASH", string(p.Subject.Hash), "OS_ARCH", platform,
		"ADDRESS", p.Subject.Addr.String(), "PROVIDER", p.Subject.Addr.Short(), "VERSION", p.Subject.VersionText(), "DIR", path.Dir(p.Place.Path),
	).Replace(m.Help)
}

// MeaningOf returns the meaning of a code.
func MeaningOf(code Code) (Meaning, bool) {
	i := slices.IndexFunc(Meanings, func(m Meaning) bool { return m.Code == code })
	if i < 0 {
		return Meaning{}, false
	}
	return Meanings[i], true
}
