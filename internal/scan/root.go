package scan

import (
	"path"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// Names that mean something to those around the tools.
const (
	terragruntFile = "terragrunt.hcl"
	// terragruntStack is where Terragrunt writes the units of a stack [case stack-unit].
	terragruntStack = ".terragrunt-stack"
	// terragruntStackFile says what that is.
	terragruntStackFile = "terragrunt.stack.hcl"

	gitDir     = ".git"
	cdkFile    = "cdk.tf.json" // what CDK for Terraform generates from a program
	cdkProject = "cdktf.json"  // and beside the program
)

// Root is a root module that was found: a directory in which a tool is run, and
// where its configuration is read from.
type Root struct {
	// Dir is slash-separated and relative to the searched file tree; "." is its top.
	// The lock file is there.
	Dir string
	// Kind is not Ordinary if the configuration of the directory comes from another
	// program, in whole or in part, or from nowhere.
	Kind Kind
	// StandIn is why what the lock file records is taken for what is required.
	StandIn StandIn
	// Tool is by whose rules the files are read. Assumed says that nothing names its
	// release: it is the newest whose rules are known, or, after Load, the newest of
	// those that required_version allows.
	Tool    provider.Tool
	Assumed bool
	// Pin is what the nearest version file says of the release; nil if none does, or if
	// none counts.
	Pin *versionfile.Pin
	// Guessed says that nothing names the tool: neither a setting nor a file of
	// OpenTofu's nor a version file.
	Guessed bool
	// Lock is the lock file, by its place in the searched file tree; nil if there is
	// none. Problems are those of reading it.
	Lock     *lockfile.File
	Problems []problem.Problem

	// Shared says that the lock file is a link, or that one leads to it: it may have
	// entries that other root modules require. Find leaves it false.
	Shared bool
	// Named says that somebody named the directory: its lock file is wanted if there
	// is none.
	Named bool
	// Files are those of the searched file tree that the configuration depends on
	// in addition to the ones in directories that are read. One that ends in a slash stands
	// for all files in that directory and below it.
	Files []string
	// AnyChange says that it depends on files that are not known by their names: it
	// was read through a link, or something was looked for and not found. Any change may be
	// one of such a file.
	AnyChange bool
	// Made is what is known of a configuration that another program makes; its zero
	// value says that none does.
	Made Made
	// Sets are the sets of values from outside with which the configuration is read; zero:
	// none, or all that there are.
	Sets SetNames
	// Readings are the root module with different sets, each with its own Sets; nil: it is
	// read in one way. Load joins them, and returns none.
	Readings []Root

	// Searched is the file tree that Load reads the configuration from, unless Made has
	// one. Load returns neither.
	Searched *tfconfig.Tree
}

// StandIn is why what the lock file of a root module records is taken for what is
// required.
type StandIn int

// The reasons.
const (
	// StandInNone is none: what is required is what the configuration says.
	StandInNone StandIn = iota
	// StandInParts is that parts of a unit's configuration may be Unread: for these.
	StandInParts
	// StandInUnit is that a unit's configuration is not known.
	StandInUnit
	// StandInAll is that there is no configuration beside the lock file, or that what
	// another program makes of it has not been read.
	StandInAll
)

// Made is what is known of a configuration that another program makes.
type Made struct {
	// Origin is where the configuration comes from, as people see it; empty if that is
	// not known.
	Origin string
	// Terragrunt is what a version file says of the release of Terragrunt; nil if none
	// does.
	Terragrunt *versionfile.Pin
	// Holes are parts of what the program generates that are not known and change no
	// requirement; Assumptions are what is taken for granted about the rest.
	Holes       []Hole
	Assumptions []string
	// Unread is what is known to be missing before anything is read.
	Unread []Unread
	// Keeper is the command that keeps the lock file, if that is not init of the tool,
	// and Bare says that it records no constraints.
	Keeper string
	Bare   bool
	// Units are the directories of the units that begin with the lock file of this one, since
	// stacks are made of it; empty if none do.
	Units []string
	// Serves are these units: Load joins what they require. It does not return them.
	Serves []Root
	// Start is a lock file to begin with where there is none.
	Start *lockfile.File
	// Tree is a file tree that was made for this root module alone, and Dir the
	// directory in it that the tool is run in, without links in its path; nil if the
	// configuration is in the searched one.
	Tree *tfconfig.Tree
	Dir  string
	// Sources are directories of the searched file tree that Tree was made of, besides
	// those that are read in it; nil if there is no Tree.
	Sources []string
}

// Hole is how many parts of a generated file are not known.
type Hole struct {
	Generated     string `json:"path"` // the file, relative to where the tool is run
	Parts         int    `json:"parts"`
	problem.Place        // of what generates it
}

// Standalone reports whether only the lock file says what is required.
func (r Root) Standalone() bool { return r.StandIn == StandInUnit || r.StandIn == StandInAll }

// Preserves reports whether what the lock file records stands in for what is Unread,
// whatever is asked for.
func (r Root) Preserves() bool { return r.StandIn == StandInParts || r.StandIn == StandInUnit }

// at is where the configuration is.
func (r Root) at() tfconfig.Directory {
	if r.Made.Tree != nil {
		return tfconfig.Directory{Tree: r.Made.Tree, Path: r.Made.Dir}
	}
	return tfconfig.Directory{Tree: r.Searched, Path: r.Dir}
}

// config is the configuration.
func (r Root) config() *tfconfig.Configuration {
	if r.Kind == Stack {
		return r.at().Stack(r.Tool)
	}
	return r.at().Configuration(r.Tool)
}

// Kind says where the configuration comes from that a lock file belongs to.
type Kind string

// The kinds.
const (
	Ordinary       Kind = ""           // from the files beside the lock file
	TerragruntUnit Kind = "terragrunt" // from Terragrunt, which adds those to a module from elsewhere
	Stack          Kind = "stack"      // from stack files, which have a language of their own
	CDK            Kind = "cdk"        // from CDK for Terraform, whose output may be committed
	Orphan         Kind = "orphan"     // from nowhere: the lock file stands alone
)

// kindOf tells the kind of a directory by its files. A stack may keep the module of a
// component beside its own files: then the lock file tells whose it is.
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

// terragruntUnit reports whether Terragrunt works in the directory. It lays the
// files of the unit over those of a module from elsewhere and adds generated
// ones (Terragrunt 1.1, internal/tf/source.go and internal/codegen/generate.go),
// so that .tf files in the directory are never the whole configuration.
func terragruntUnit(at tfconfig.Directory) bool {
	return at.HasFile(func(name string) bool { return name == terragruntFile || name == terragruntFile+".json" })
}

// Generated reports whether only the program that makes the configuration knows what it
// requires, so that an upgrade leaves the lock file as it is. The hashes can be completed
// all the same. recorded says whether what a lock file records may stand in for what is
// not known.
func (r Root) Generated(recorded bool) bool {
	if r.Preserves() {
		return !recorded && len(r.Made.Unread) > 0
	}
	return r.Standalone()
}

// NotRead is the warning about a lock file that is left as it is for that.
func (r Root) NotRead() problem.Problem { return r.Kind.warning(path.Join(r.Dir, lockfile.Name)) }

// warning says that a lock file is not a root module's own.
func (k Kind) warning(lock string) problem.Problem {
	d := problem.Problem{Severity: problem.SeverityWarning, Place: problem.Place{Path: lock}, Hint: "relock lock completes its hashes"}
	switch k {
	case TerragruntUnit:
		d.Code, d.Message = problem.CodeTerragruntUnit, "the lock file belongs to a Terragrunt unit, whose configuration is generated"
	case Stack:
		d.Code, d.Message = problem.CodeStack, "the lock file belongs to a stack, and not all of its configuration is in the repository"
	case CDK:
		d.Code, d.Message = problem.CodeCDK, "the lock file belongs to CDK for Terraform, and what that generates is not in the repository"
	default:
		d.Code, d.Message = problem.CodeOrphanLock, "the lock file has no configuration beside it"
	}
	return d
}
