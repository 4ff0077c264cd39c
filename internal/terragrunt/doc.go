// Package terragrunt finds the root modules of Terragrunt: the units of a repository, and
// those that its stacks generate. Find is the way in.
//
// Package units reads a unit. This package reads terragrunt.stack.hcl and generates, in
// memory, the directories that it describes. Then it makes a scan.Root of each unit.
//
// The rules are those of the release Newest, unless a comment says otherwise.
package terragrunt

import "github.com/relock-dev/relock/internal/provider"

// Newest is the newest release of Terragrunt whose rules are known.
var Newest = provider.Version{Major: 1, Minor: 1, Patch: 3}
