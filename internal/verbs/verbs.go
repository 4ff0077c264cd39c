// Package verbs names what relock can be asked to do.
package verbs

// Verb is a verb of the command line. It names the report of its run, too.
type Verb string

// The verbs that take root modules.
const (
	Scan    Verb = "scan"    // says what is there and what it requires
	Upgrade Verb = "upgrade" // writes the newest allowed versions
	Lock    Verb = "lock"    // writes complete hashes, versions kept
	Check   Verb = "check"   // writes nothing, says what would change
	PR      Verb = "pr"      // proposes an upgrade as a pull request
	Verify  Verb = "verify"  // writes nothing, proves or refutes every hash
)

// The verbs that take something else.
const (
	Diff    Verb = "diff"    // compares two versions of lock files
	Comment Verb = "comment" // answers a comment under a pull request
)
