// Package units reads the configuration of Terragrunt units and finds the files that init
// sees in them.
//
// A unit is a directory with a terragrunt.hcl. Terragrunt works in a copy: of the module
// that the unit names, of the unit's own files over it, and of the files that the unit
// generates. Afterwards the lock file is copied back to the unit. This package makes that
// copy in memory. It runs nothing: no command, no hook, no other program. It evaluates only
// the expressions that the copy depends on, with the values in the repository.
//
// A value may be known only when Terragrunt runs. In a generated file it becomes a hole, if
// it changes no requirement. Otherwise the unit is not statically known, with a reason.
//
// Stack files are read by package terragrunt. It gives a file tree the directories that
// stacks generate (WithGenerated), and reads stack files as a Reading does.
package units
