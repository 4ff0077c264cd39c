package scan

import (
	"path"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// Names of files of Terragrunt and of CDK for Terraform.
const (
	terragruntFile = "terragrunt.hcl"
	// terragruntStack is where Terragrunt writes the units of a stack [case stack-unit].
	terragruntStack = ".terragrunt-stack"
	// terragruntStackFile defines the units of a stack.
	terragruntStackFile = "terragrunt.stack.hcl"

	gitDir     = ".git"
	cdkFile    = "cdk.tf.json" // CDK for Terraform generates it from a program
	cdkProject = "cdktf.json"  // it is beside the program
)

// Root is a found root module: a directory in which a tool is run, and the place of its
// configuration.
type Root struct {
	// Dir is the directory of the lock file, slash-separated and relative to the searched
	// file tree; "." is the top of the tree.
	Dir string
	// Kind is Ordinary unless another program makes the configuration of the directory, in
	// whole or in part, or there is none.
	Kind Kind
	// StandIn is why the records of the lock file replace requirements.
	StandIn StandIn
	// Tool is the tool whose rules apply. Assumed says that nothing names its release. Then
	// it is the newest known release or, after Load, the newest one that required_version
	// allows.
	Tool    provider.Tool
	Assumed bool
	// Pin is the release in the nearest version file; nil if there is none, or none counts.
	Pin *versionfile.Pin
	// Guessed says that nothing names the tool: no setting, no file of OpenTofu's, and no
	// version file.
	Guessed bool
	// Lock is the lock file, by its place in the searched file tree; nil if there is none.
	// Problems are the errors of reading it.
	Lock     *lockfile.File
	Problems []problem.Problem
	// ModuleLock is the lock file of modules beside it; nil if there is none.
	ModuleLock *modulelock.File

	// Alone says that only the lock file was read.
	Alone bool
	// Shared says that the lock file, or that of modules, is a link or the target of one. It
	// may have entries that other root modules require. Find leaves it false.
	Shared bool
	// Named says that a person named the directory. If it has no lock file, one is wanted.
	Named bool
	// Files are further files of the searched file tree on which the configuration depends,
	// outside of the directories that are read. A name with a slash at its end means all
	// files at or below that directory.
	Files []string
	// AnyChange says that the configuration depends on files with unknown names. For
	// example, it was read through a link, or a file was missing. Any change may be a
	// change of such a file.
	AnyChange bool
	// Made has the facts about a configuration that another program makes; the zero value:
	// no other program does.
	Made Made
	// Sets are the sets of values with which the configuration is read; zero: none, or all
	// sets.
	Sets SetNames
	// Readings are the root module with different sets, each with its own Sets; nil: there
	// is one reading. Load joins them, and returns none.
	Readings []Root

	// Searched is the file tree with the configuration, unless Made has one. Load returns
	// neither.
	Searched *tfconfig.Tree
}

// StandIn is why the records of a root module's lock file replace requirements.
type StandIn int

// The reasons.
const (
	// StandInNone means that the configuration has all requirements.
	StandInNone StandIn = iota
	// StandInParts means that parts of a unit's configuration may be Unread. The records
	// replace these.
	StandInParts
	// StandInUnit means that a unit's configuration is unknown.
	StandInUnit
	// StandInAll means that the lock file has no configuration beside it, or that the
	// result of another program was not read.
	StandInAll
)

// Made has the facts about a configuration that another program makes.
type Made struct {
	// Origin is the source of the configuration, for people; empty if unknown.
	Origin string
	// Terragrunt is the release of Terragrunt in a version file; nil if there is none.
	Terragrunt *versionfile.Pin
	// Holes are generated parts that are unknown and change no requirement. Assumptions are
	// about the other parts.
	Holes       []Hole
	Assumptions []string
	// Unread are the missing parts that are known before anything is read.
	Unread []Unread
	// Keeper is the command that writes the lock file, if that is not init of the tool.
	// Bare says that it records no constraints.
	Keeper string
	Bare   bool
	// Units are the directories of the units that begin with this lock file, if stacks are
	// made of it; empty: none.
	Units []string
	// Quota bounds what it costs to read the configuration, together with other root
	// modules; nil: there is no common bound. Load does not read the rest.
	Quota *Quota
	// Serves are these units. Load joins their requirements, and does not return them.
	Serves []Root
	// Start is a lock file to begin with if there is none.
	Start *lockfile.File
	// Tree is a file tree that was made for this root module. Dir is the directory in it in
	// which the tool is run, without links in its path. Tree is nil if the configuration is
	// in the searched tree.
	Tree *tfconfig.Tree
	Dir  string
	// Sources are further directories of the searched file tree from which Tree was made;
	// nil if there is no Tree.
	Sources []string
	// Fetched has the module that was fetched to make it, as Sources, with the problems of
	// locking that.
	Fetched ModuleTree
}

// Hole counts the unknown parts of a generated file.
type Hole struct {
	Generated     string `json:"path"` // the file, relative to where the tool is run
	Parts         int    `json:"parts"`
	problem.Place        // of the block that generates it
}

// Standalone reports whether the requirements come from the lock file only.
func (r Root) Standalone() bool { return r.StandIn == StandInUnit || r.StandIn == StandInAll }

// Preserves reports whether the lock file's records replace Unread requirements, for every
// verb.
func (r Root) Preserves() bool { return r.StandIn == StandInParts || r.StandIn == StandInUnit }

// at is the directory of the configuration.
func (r Root) at() tfconfig.Directory {
	if r.Made.Tree != nil {
		return tfconfig.Directory{Tree: r.Made.Tree, Path: r.Made.Dir}
	}
	return tfconfig.Directory{Tree: r.Searched, Path: r.Dir}
}

func (r Root) config() *tfconfig.Configuration {
	if r.Kind == Stack {
		return r.at().Stack(r.Tool)
	}
	return r.at().Configuration(r.Tool)
}

// Kind is the origin of a lock file's configuration.
type Kind string

// The kinds.
const (
	Ordinary       Kind = ""           // from the files beside the lock file
	TerragruntUnit Kind = "terragrunt" // from Terragrunt, which adds such files to a module from elsewhere
	Stack          Kind = "stack"      // from stack files, which have a language of their own
	CDK            Kind = "cdk"        // from CDK for Terraform, whose output may be committed
	Orphan         Kind = "orphan"     // from nowhere: there is only the lock file
)

// kindOf returns the kind of a directory by its files. A stack may have the module of a
// component beside its own files. Then the lock file decides.
func kindOf(at tfconfig.Directory, configured bool, lock *lockfile.File) Kind {
	switch {
	case lock != nil && lock.Keeper != "":
		return Stack
	case terragruntUnit(at):
		return TerragruntUnit
	case at.Has(cdkFile), !configured && at.Has(cdkProject):
		return CDK
	case configured:
		return Ordinary
	case at.HasFile(tfconfig.StackFile):
		return Stack
	}
	return Orphan
}

// terragruntUnit reports whether Terragrunt works in the directory. It copies the files of
// the unit over those of a module from elsewhere, and adds generated files (Terragrunt 1.1,
// internal/tf/source.go and internal/codegen/generate.go). So the .tf files in the
// directory are never the whole configuration.
func terragruntUnit(at tfconfig.Directory) bool {
	return at.HasFile(func(name string) bool { return name == terragruntFile || name == terragruntFile+".json" })
}

// Generated reports whether only another program knows the requirements, so that an upgrade
// leaves the lock file as it is. Its hashes can still be completed. recorded says whether
// the lock file's records may replace unknown requirements.
func (r Root) Generated(recorded bool) bool {
	if r.Preserves() {
		return !recorded && len(r.Made.Unread) > 0
	}
	return r.Standalone()
}

// NotRead is the warning about a lock file that is left as it is for this reason.
func (r Root) NotRead() problem.Problem { return r.Kind.warning(path.Join(r.Dir, lockfile.Name)) }

// warning says that a lock file is not a root module's own.
func (k Kind) warning(lock string) problem.Problem {
	exclude := "leave it out of runs: `exclude: [" + path.Dir(lock) + "]`"
	d := problem.Problem{
		Severity: problem.SeverityWarning, Place: problem.Place{Path: lock},
		Hint: "run `relock lock`, which completes its hashes, or " + exclude,
	}
	switch k {
	case TerragruntUnit:
		d.Code, d.Message = problem.CodeTerragruntUnit, "the lock file belongs to a Terragrunt unit, whose configuration is generated"
	case Stack:
		d.Code, d.Message = problem.CodeStack, "the lock file belongs to a stack, and not all of its configuration is in the repository"
	case CDK:
		d.Code, d.Message = problem.CodeCDK, "the lock file belongs to CDK for Terraform, and what that generates is not in the repository"
	default:
		d.Code, d.Message = problem.CodeOrphanLock, "the lock file has no configuration beside it"
		d.Hint = "delete it with `git rm " + shellWord(":/"+lock) + "`, or " + exclude
	}
	return d
}
