package problem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
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
	CodeUnknownEntry    Code = "unknown-entry"    // an entry of required_providers without a value that is known
	CodeModuleOrder     Code = "module-order"     // a module that is there only if another one is installed before
	CodeNotRootModule   Code = "not-root-module"  // a directory that is no root module
	CodeOrphanLock      Code = "orphan-lock"      // a lock file without configuration beside it
	CodeUnknownRelease  Code = "unknown-release"  // a release of a tool whose rules are not known
	CodeUnlocked        Code = "unlocked"         // a root module without a lock file
	CodePassedOver      Code = "passed-over"      // directories that nothing makes root modules
	CodeTerragruntUnit  Code = "terragrunt-unit"  // a lock file whose configuration Terragrunt generates
	CodeStack           Code = "stack"            // a lock file whose configuration is that of a stack
	CodeCDK             Code = "cdk"              // a lock file whose configuration CDK for Terraform generates
	CodeUnseen          Code = "unseen"           // lock files that a run did not look at, and why
	CodeUnreadable      Code = "unreadable"       // a file that could not be read
	CodeUnwritable      Code = "unwritable"       // a file that could not be written
	CodeFileChanged     Code = "file-changed"     // a file that somebody changed while relock ran
	CodeCLIConfig       Code = "cli-config"       // the tool's CLI configuration
	CodeSettings        Code = "settings"         // relock's own settings: its file, a flag, an Action input
	CodeNotFound        Code = "not-found"        // a provider or a directory that was named and is nowhere
	CodeOnBase          Code = "on-base"          // a check found what was wrong before the change
	CodePolicy          Code = "policy"           // a rule that could not be kept to
	CodeRegistryWarning Code = "registry-warning" // what a registry tells users of a provider
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

// Severity says whether a diagnostic is a failure.
type Severity int

// The severities. The zero value is the failure.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityNote // of findings, and of what scan tells besides
)

// severities are the names of the severities, as people and programs read them.
var severities = []string{"error", "warning", "note"}

// String returns the severity's name.
func (s Severity) String() string { return severities[s] }

// MarshalText implements encoding.TextMarshaler with String's form.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseSeverity.
func (s *Severity) UnmarshalText(text []byte) error {
	parsed, err := ParseSeverity(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Diagnostic is one problem as a person reads it: what is wrong, where, and
// what to do next. It is an error, so that it can travel as one.
type Diagnostic struct {
	Severity Severity
	Code     Code
	Message  string // one sentence without a full stop, no untrusted markup
	Place    Place  // without a path for what is in no file
	Addr     provider.Addr
	Host     svchost.Hostname
	Hint     string // what to do next; may be empty
}

// Error returns the place and the message, without the hint.
func (d Diagnostic) Error() string {
	if d.Place == (Place{}) {
		return d.Message
	}
	return d.Place.String() + ": " + d.Message
}

// Finding returns the problem as a finding at its place. Others there have another
// message.
func (d Diagnostic) Finding() Finding {
	return Finding{
		Severity: d.Severity, Code: d.Code, Message: d.Message, Hint: d.Hint, About: d.Message,
		Place: d.Place, Addr: d.Addr,
	}
}

// Compare orders diagnostics by place, then by provider and text.
func (d Diagnostic) Compare(e Diagnostic) int {
	return cmp.Or(
		d.Place.Compare(e.Place), d.Addr.Compare(e.Addr), strings.Compare(d.Message, e.Message),
	)
}

// Diagnostics are several diagnostics that together make a request impossible.
type Diagnostics []Diagnostic

// AnyError reports whether one of them is an error.
func AnyError(diagnostics []Diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Error returns their texts, one a line.
func (p Diagnostics) Error() string {
	texts := make([]string, len(p))
	for i, d := range p {
		texts[i] = d.Error()
	}
	return strings.Join(texts, "\n")
}

// maxDiagnostics bounds the errors about one file, or about what the files of one
// module say together: a file can hold a mistake in each of its lines.
const maxDiagnostics = 100

// With adds an error to those about a file, or says once, with a code, that there are
// more.
func (p Diagnostics) With(d Diagnostic, more Code) Diagnostics {
	switch n := len(p); {
	case n == maxDiagnostics:
		d.Code, d.Message = more, "further errors from here on are not listed"
	case n > maxDiagnostics:
		return p
	}
	return append(p, d)
}

// Error is a problem of the world: a registry, a host, a package. Message says
// what went wrong in one sentence; the other fields say with what, as far as
// it is known.
type Error struct {
	Code     Code
	Host     svchost.Hostname
	Addr     provider.Addr
	Version  provider.Version
	Platform provider.Platform
	Message  string
	Hint     string
	// Finding is what a verification finds in the answer that the error is about,
	// where that is no failure to ask: CodeListGone. Empty for any other.
	Finding Code
	// Fetching is the address of a module that could not be fetched, where Message says
	// no more than that; empty for any other.
	Fetching string
	Err      error // the cause, already redacted; its text is part of Error's
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ended is the error of what was not done since its context has ended: the one that the
// context ended with, or that the run was interrupted.
func Ended(ctx context.Context) *Error {
	var cause *Error
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return &Error{Code: CodeCancelled, Message: "interrupted", Err: ctx.Err()}
}

// Coded reports whether err is or wraps an Error with the code.
func Coded(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Diagnose turns any error into what a person reads.
func Diagnose(err error) Diagnostic {
	var d Diagnostic
	if errors.As(err, &d) {
		return d
	}
	var e *Error
	if errors.As(err, &e) {
		return Diagnostic{Code: e.Code, Message: err.Error(), Addr: e.Addr, Host: e.Host, Hint: e.Hint}
	}
	return Diagnostic{Code: CodeInternal, Message: err.Error()}
}

// ParseSeverity reads the name of a severity.
func ParseSeverity(s string) (Severity, error) {
	if i := slices.Index(severities, s); i >= 0 {
		return Severity(i), nil
	}
	return 0, fmt.Errorf("%q is no severity: it must be error, warning or note", s)
}
