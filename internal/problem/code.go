package problem

import (
	"fmt"
	"slices"
)

// Code names a kind of problem, the same in every output format. Codes are
// part of the JSON contract: they may be added, never renamed.
type Code string

// The codes of problems with files.
const (
	CodeSyntax          Code = "syntax"           // a file is not valid HCL or JSON
	CodeInvalidConfig   Code = "invalid-config"   // a file says something that is not valid
	CodeInvalidLock     Code = "invalid-lock"     // a lock file that is not valid
	CodeConflict        Code = "conflict"         // a lock file with the markers of a merge conflict
	CodeUnreadModule    Code = "unread-module"    // a module call that could not be followed
	CodeModuleMoved     Code = "module-moved"     // a module package that is not the locked one
	CodeModuleForeign   Code = "module-foreign"   // a commit of a module that is on no branch and no tag of its repository
	CodeUnknownEntry    Code = "unknown-entry"    // an entry of required_providers whose value is unknown
	CodeSets            Code = "sets"             // a lock file that serves several sets of values
	CodeModuleOrder     Code = "module-order"     // a module that exists only if another one is installed before
	CodeModuleAmbiguous Code = "module-ambiguous" // a ref that is a branch and a tag, and so cannot be locked
	CodeModuleOnDisk    Code = "module-on-disk"   // a module on this machine's disk, which cannot be locked
	CodeNotRootModule   Code = "not-root-module"  // a directory that is no root module
	CodeOrphanLock      Code = "orphan-lock"      // a lock file without configuration beside it
	CodeUnknownRelease  Code = "unknown-release"  // a release of a tool with unknown rules
	CodeUnlocked        Code = "unlocked"         // a root module without a lock file
	CodeIgnoredLock     Code = "ignored-lock"     // lock files that git ignores
	CodePassedOver      Code = "passed-over"      // directories with configuration that are no root modules
	CodeTerragruntUnit  Code = "terragrunt-unit"  // a lock file whose configuration Terragrunt generates
	CodeStack           Code = "stack"            // a lock file whose configuration is that of a stack
	CodeCDK             Code = "cdk"              // a lock file whose configuration CDK for Terraform generates
	CodeUnseen          Code = "unseen"           // lock files that a run did not look at, and why
	CodeUnreadable      Code = "unreadable"       // a file that could not be read
	CodeUnwritable      Code = "unwritable"       // a file that could not be written
	CodeFileChanged     Code = "file-changed"     // a file that another program changed while relock ran
	CodeCLIConfig       Code = "cli-config"       // the tool's CLI configuration
	CodeSettings        Code = "settings"         // relock's own settings: its file, a flag, an Action input
	CodeEvent           Code = "event"            // an event of GitHub that relock does not answer
	CodeNotFound        Code = "not-found"        // a named provider or directory that does not exist
	CodeOnBase          Code = "on-base"          // a problem that was there before the checked change
	CodePolicy          Code = "policy"           // a rule that could not be kept to
	CodeRegistryWarning Code = "registry-warning" // a registry's message for users of a provider
)

// The codes of problems with providers and registries.
const (
	CodeUnknownProvider Code = "unknown-provider" // the registry has no such provider
	CodeNoService       Code = "no-service"       // the host offers no registry of the wanted kind
	CodeNoVersion       Code = "no-version"       // no release meets the constraints
	CodeLockedVersion   Code = "locked-version"   // the locked version is not allowed or no longer offered
	CodeNoPackage       Code = "no-package"       // the release has no package for a platform
	CodeProtocol        Code = "protocol"         // the release speaks no protocol of the tool
	CodeUnauthorized    Code = "unauthorized"     // credentials are missing or refused
	CodeUnreachable     Code = "unreachable"      // no answer, or a server error
	CodeBadAnswer       Code = "bad-answer"       // an answer that breaks the protocol
	CodeBadChecksum     Code = "bad-checksum"     // bytes that are not those of the checksum list
	CodeBadSignature    Code = "bad-signature"    // a checksum list that no announced key signed
	CodeClock           Code = "clock"            // a signature that is from the future by this machine's clock
	CodeBadPackage      Code = "bad-package"      // a zip that cannot be unpacked
	CodeReReleased      Code = "re-released"      // a package that matches none of the recorded hashes
	CodeGitHub          Code = "github"           // GitHub refused or failed
	CodeCancelled       Code = "cancelled"        // the run was interrupted
	CodeInternal        Code = "internal"         // none of the above
)

// The codes of findings of a verification. They mean the same wherever
// hashes are judged.
const (
	CodeHashUnknown  Code = "hash-unknown"  // a hash that belongs to no package of its release
	CodeHashUnproven Code = "hash-unproven" // a hash that could not be checked completely
	CodeHashOfOther  Code = "hash-of-other" // a hash that belongs to another release
	CodeHashScheme   Code = "hash-scheme"   // a hash of a scheme that no tool knows
	CodeHashReported Code = "hash-reported" // a hash that only a registry states
	CodeHashMirror   Code = "hash-mirror"   // a hash that only a mirror states

	CodeReleaseGone   Code = "release-gone"   // a release that its registry no longer has
	CodeListGone      Code = "list-gone"      // a release whose checksum list or signature is missing
	CodeSignatureBad  Code = "signature-bad"  // a checksum list that no announced key signed
	CodeUnsigned      Code = "unsigned"       // a checksum list without an announced key
	CodeSignerChanged Code = "signer-changed" // a provider that another key has signed before
	CodeSignerRefused Code = "signer-refused" // a key that the configuration does not admit
	CodeKeyExpired    Code = "key-expired"    // a key or signature that has expired
	CodeKeyShortID    Code = "key-short-id"   // a key that is named by a part of its fingerprint

	CodePlatformMissing   Code = "platform-missing"   // an entry that has nothing for a platform
	CodeH1Missing         Code = "h1-missing"         // an entry without the h1 of a platform
	CodeZHMissing         Code = "zh-missing"         // an entry without a hash from a signed list
	CodeEntryStale        Code = "entry-stale"        // an entry that nothing requires
	CodeEntryMissing      Code = "entry-missing"      // a requirement without an entry
	CodeVersionOutside    Code = "version-outside"    // a version that the requirements do not allow
	CodeConstraintsDiffer Code = "constraints-differ" // constraints that differ from the configuration's
	CodeNotNormal         Code = "not-normal"         // a file that is not in normal form
	CodeToolHeader        Code = "tool-header"        // a file that another tool has written
	CodeTamperedBoth      Code = "tampered-both"      // a change of a file that relock judges the change by
	CodeLockInCache       Code = "lock-in-cache"      // a change of a lock file in a cache directory
	CodePackageContent    Code = "package-content"    // a package with more than its program

	CodeProviderRefused Code = "provider-refused" // a provider that a rule does not permit
	CodeVersionRefused  Code = "version-refused"  // a version that a rule does not allow
	CodeTooYoung        Code = "too-young"        // a release that is younger than a rule demands

	// Codes of pending changes of a lock file.
	CodeOutdated   Code = "outdated"   // an entry for which there is a newer release
	CodeIncomplete Code = "incomplete" // an entry that lacks hashes
	CodeMoved      Code = "moved"      // an entry whose provider is under another address

	CodeModulesDiffer Code = "modules-differ" // a lock file of modules that is not as the module tree needs it

	CodeLeftOut Code = "left-out" // findings that do not fit a format
)

// Severity says whether a problem is a failure.
type Severity int

// The severities. The zero value is the failure.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityNote // of findings, and of further facts of a scan
)

// severities are the names of the severities, as people and programs read them.
var severities = []string{"error", "warning", "note"}

// String returns the severity's name.
func (s Severity) String() string { return severities[s] }

// MarshalText implements encoding.TextMarshaler with String's form.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ParseSeverity reads the name of a severity.
func ParseSeverity(s string) (Severity, error) {
	if i := slices.Index(severities, s); i >= 0 {
		return Severity(i), nil
	}
	return 0, fmt.Errorf("%q is no severity: it must be error, warning or note", s)
}
