// Package verbs names what relock can be asked to do.
package verbs

// Verb is a verb of the command line. It names the report of its run, too.
type Verb string

// The verbs that take root modules.
const (
	Scan    Verb = "scan"    // says what is there and what it requires
	Why     Verb = "why"     // says what holds a provider, and what would let it go on
	Upgrade Verb = "upgrade" // writes the newest allowed versions
	Lock    Verb = "lock"    // writes complete hashes, versions kept
	Check   Verb = "check"   // writes nothing, says what would change
	PR      Verb = "pr"      // proposes an upgrade as a pull request
	Verify  Verb = "verify"  // writes nothing, proves or refutes every hash
	Get     Verb = "get"     // puts the locked modules where init looks for them
)

// The verbs that take something else.
const (
	Diff           Verb = "diff"         // compares two versions of lock files
	MergeDriver    Verb = "merge-driver" // merges two versions of a lock file
	Comment        Verb = "comment"      // answers a comment under a pull request
	ConfigValidate Verb = "config"       // checks the configuration file
	ConfigShow     Verb = "config show"  // prints the settings
)
