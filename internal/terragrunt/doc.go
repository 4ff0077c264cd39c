// Package terragrunt reads the configuration of Terragrunt units and says which
// files init sees in them.
//
// A unit is a directory with a terragrunt.hcl. Terragrunt works in a copy: of the
// module that the unit names, of the unit's own files over it, and of the files
// that the unit generates; the lock file comes back to the unit. The package makes
// that copy in memory and runs nothing: no command, no hook, no other program. It
// evaluates what the copy depends on and nothing else, with what stands in the
// repository. What is not known before Terragrunt runs is a hole in a generated
// file where that changes no requirement, and else a reason for which the unit is
// not statically known.
//
// Where nothing is said, the rules are those of Newest.
package terragrunt

import "github.com/relock-dev/relock/internal/provider"

// Newest is the newest release of Terragrunt whose rules are known.
var Newest = provider.Version{Major: 1, Minor: 1, Patch: 3}
