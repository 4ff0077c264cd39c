package problem

import "slices"

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
	// Title is the text of such a finding, and Help the next step.
	Title, Help string
}

const (
	asError   = SeverityError
	asWarning = SeverityWarning
	asNote    = SeverityNote
)

// Meanings are all codes of findings, as in docs/troubleshooting.md.
var Meanings = []Meaning{
	{CodeHashUnknown, asError, asError, true, "A hash belongs to no package of its release", "find out who added it (git log -S HASH); relock lock --prune removes it"},
	{CodeHashOfOther, asError, asError, true, "A hash belongs to another release", "find out who added it (git log -S HASH); relock lock --prune removes it"},
	{CodeHashUnproven, asError, asError, false, "A hash could not be checked", "raise --max-download, or give the run credentials or a network"},
	{CodeHashScheme, asError, asError, false, "A hash has a scheme that no tool knows", "relock lock --prune writes the entry again"},
	{CodeHashReported, asNote, asError, false, "A hash is known from a registry's word alone", "relock verify --strict hashes the package itself, as far as --max-download goes"},
	{CodeHashMirror, asNote, asError, false, "A hash is known from a mirror alone", "let the CLI configuration admit the provider's own registry (direct)"},
	{CodeReReleased, asError, asError, true, "Packages of a release were replaced after the lock file was written", "ask the publisher why; then relock upgrade --accept-re-released"},
	{CodeReleaseGone, asError, asError, true, "A release is no longer published", "relock upgrade selects another one; a mirror may still have it"},
	{CodeListGone, asError, asError, true, "A release has no checksum list or signature any more", "relock upgrade selects another release; ask the publisher why"},
	{CodeSignatureBad, asError, asError, true, "A checksum list is not signed by an announced key", "do not use this release; report it to the publisher and to the registry"},
	{CodeUnsigned, asWarning, asError, false, "A checksum list is signed by nobody", "only the connection to the registry protects these hashes"},
	{CodeSignerChanged, asError, asError, false, "Another key signs the provider than before", "ask the publisher; then add the key to verify.signers"},
	{CodeSignerRefused, asError, asError, false, "A key signs that the configuration does not admit", "ask the publisher; then add the key to verify.signers"},
	{CodeKeyExpired, asWarning, asWarning, false, "The signing key or the signature has expired", "a newer release may be signed by a newer key"},
	{CodeKeyShortID, asWarning, asWarning, false, "A key is named by a part of its fingerprint", "write the whole fingerprint"},
	{CodePlatformMissing, asWarning, asWarning, false, "An entry has no hash for a platform", "relock lock --platform OS_ARCH"},
	{CodeH1Missing, asWarning, asWarning, false, "An entry lacks the h1 of a platform", "relock lock adds it"},
	{CodeZHMissing, asWarning, asWarning, false, "Nothing ties an entry to a signature", "relock lock --hashes-from origin adds the hashes of the signed list"},
	{CodeEntryStale, asNote, asNote, false, "Nothing requires an entry", "relock upgrade removes it"},
	{CodeEntryMissing, asError, asError, false, "A required provider is not locked", "relock lock adds it"},
	{CodeVersionOutside, asError, asError, false, "A locked version does not meet the requirements", "relock upgrade selects one that does"},
	{CodeConstraintsDiffer, asNote, asNote, false, "Recorded constraints are not those of the configuration", "relock lock writes them"},
	{CodeNotNormal, asNote, asNote, false, "A lock file is not in the form that its tool writes", "relock lock writes it so"},
	{CodeToolHeader, asNote, asNote, false, "A lock file was written by the other tool", "relock lock writes the header of the tool in force"},
	{CodePackageContent, asError, asError, false, "A package holds something else than its program", "do not use this release; report it to the publisher"},
	{CodeLockInCache, asError, asError, false, "A change adds or changes a lock file in .terraform or .terragrunt-cache", "commit nothing below these directories: git rm -r --cached DIR, and let .gitignore name them"},
	{CodeProviderRefused, asError, asError, false, "A rule does not permit the provider", "use another provider, or let a later rule permit this one, in a pull request of its own"},
	{CodeVersionRefused, asError, asError, false, "A rule does not allow the version", "lock a version that the rule allows, or let a later rule allow this one, in a pull request of its own"},
	{CodeTooYoung, asError, asError, false, "A release is younger than a rule demands", "wait, or let a later rule say minimum-age: 0d for this provider, in a pull request of its own"},
	{CodeTamperedBoth, asError, asError, true, "A pull request changes what it is judged by", "change the baseline or the ledger in a pull request of its own"},
}

// MeaningOf returns the meaning of a code.
func MeaningOf(code Code) (Meaning, bool) {
	i := slices.IndexFunc(Meanings, func(m Meaning) bool { return m.Code == code })
	if i < 0 {
		return Meaning{}, false
	}
	return Meanings[i], true
}
