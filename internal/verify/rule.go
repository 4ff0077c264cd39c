package verify

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Rule is what a code of findings means. Codes are stable for ever: new ones are
// added, and none changes its meaning.
type Rule struct {
	Code     provider.Code
	Severity provider.Severity
	// Strict is the severity in a strict run, where nothing counts but what a
	// signature covers.
	Strict provider.Severity
	// Pinned findings are accepted by their fingerprint alone, one by one: those that
	// refute a hash, and those that speak for all hashes of an entry.
	Pinned bool
	// Title is what the rule finds, and Help what to do about it.
	Title, Help string
}

const (
	asError   = provider.SeverityError
	asWarning = provider.SeverityWarning
	asNote    = provider.SeverityNote
)

// Rules are all codes of findings, as docs/verify.md has them.
var Rules = []Rule{
	{provider.CodeHashUnknown, asError, asError, true, "A hash belongs to no package of its release", "find out who added it (git log -S HASH); relock lock --prune removes it"},
	{provider.CodeHashOfOther, asError, asError, true, "A hash belongs to another release", "find out who added it (git log -S HASH); relock lock --prune removes it"},
	{provider.CodeHashUnproven, asError, asError, false, "A hash could not be checked", "raise --max-download, or give the run credentials or a network"},
	{provider.CodeHashScheme, asError, asError, false, "A hash has a scheme that no tool knows", "relock lock --prune writes the entry anew"},
	{provider.CodeHashReported, asNote, asError, false, "A hash is known from a registry's word alone", "relock verify --strict hashes the package itself, as far as --max-download goes"},
	{provider.CodeHashMirror, asNote, asError, false, "A hash is known from a mirror alone", "let the CLI configuration admit the provider's own registry (direct)"},
	{provider.CodeReReleased, asError, asError, true, "Packages of a release were replaced after the lock file was written", "ask the publisher why; then relock upgrade --accept-re-released"},
	{provider.CodeReleaseGone, asError, asError, true, "A release is no longer published", "relock upgrade selects another one; a mirror may still have it"},
	{provider.CodeListGone, asError, asError, true, "A release has no checksum list or signature any more", "relock upgrade selects another release; ask the publisher why"},
	{provider.CodeSignatureBad, asError, asError, true, "A checksum list is not signed by an announced key", "do not use this release; report it to the publisher and to the registry"},
	{provider.CodeUnsigned, asWarning, asError, false, "A checksum list is signed by nobody", "nothing but the connection to the registry stands for these hashes"},
	{provider.CodeSignerChanged, asError, asError, false, "Another key signs the provider than before", "ask the publisher; then add the key to verify.signers"},
	{provider.CodeSignerRefused, asError, asError, false, "A key signs that the configuration does not admit", "ask the publisher; then add the key to verify.signers"},
	{provider.CodeKeyExpired, asWarning, asWarning, false, "The signing key or the signature has expired", "a newer release may be signed by a newer key"},
	{provider.CodeKeyShortID, asWarning, asWarning, false, "A key is named by a part of its fingerprint", "write the whole fingerprint"},
	{provider.CodePlatformMissing, asWarning, asWarning, false, "An entry has no hash for a platform", "relock lock --platform OS_ARCH"},
	{provider.CodeH1Missing, asWarning, asWarning, false, "An entry lacks the h1 of a platform", "relock lock adds it"},
	{provider.CodeZHMissing, asWarning, asWarning, false, "Nothing ties an entry to a signature", "relock lock --hashes-from origin adds the hashes of the signed list"},
	{provider.CodeEntryStale, asNote, asNote, false, "Nothing requires an entry", "relock upgrade removes it"},
	{provider.CodeEntryMissing, asError, asError, false, "A required provider is not locked", "relock lock adds it"},
	{provider.CodeVersionOutside, asError, asError, false, "A locked version does not meet the requirements", "relock upgrade selects one that does"},
	{provider.CodeConstraintsDiffer, asNote, asNote, false, "Recorded constraints are not those of the configuration", "relock lock writes them"},
	{provider.CodeNotNormal, asNote, asNote, false, "A lock file is not in the form that its tool writes", "relock lock writes it so"},
	{provider.CodeToolHeader, asNote, asNote, false, "A lock file was written by the other tool", "relock lock writes the header of the tool in force"},
	{provider.CodePackageContent, asError, asError, false, "A package holds something else than its program", "do not use this release; report it to the publisher"},
	{provider.CodeLockInCache, asError, asError, false, "A change adds or changes a lock file in .terraform or .terragrunt-cache", "commit nothing below these directories: git rm -r --cached DIR, and let .gitignore name them"},
	{provider.CodeTamperedBoth, asError, asError, true, "A pull request changes what it is judged by", "change the baseline or the ledger in a pull request of its own"},
}

// RuleOf returns what a code means.
func RuleOf(code provider.Code) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Code == code })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}
