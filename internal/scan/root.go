package scan

import (
	"cmp"
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
	gitDir          = ".git"
	cdkFile         = "cdk.tf.json" // what CDK for Terraform generates from a program
	cdkProject      = "cdktf.json"  // and beside the program
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
	// Standalone says that there is no configuration beside the lock file, or, for a
	// Terragrunt unit, not the whole of it: what the lock file records is taken for
	// the requirements.
	Standalone bool
	// Tool is by whose rules the files are read. Assumed says that nothing names its
	// release: it is the newest whose rules are known, or, after Load, the newest of
	// those that required_version allows.
	Tool    provider.Tool
	Assumed bool
	// Pin is what the nearest version file says of the release, and Terragrunt, for a
	// unit, what one says of Terragrunt's; nil if none does, or if none counts.
	Pin, Terragrunt *versionfile.Pin
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
	// Origin is where the configuration comes from, as people see it, if another
	// program makes it and that is known.
	Origin string
	// Holes are parts of what that program generates that are not known and change
	// no requirement; Assumptions are what is taken for granted about the rest.
	Holes       []Hole
	Assumptions []string
	// Unread is what is known to be missing before anything is read, and with Preserve
	// what the lock file records stands in for what is missing, whatever is asked for.
	Unread   []Unread
	Preserve bool
	// Keeper is the command that keeps the lock file, if that is not init of the tool,
	// and Bare says that it records no constraints.
	Keeper string
	Bare   bool
	// Files are those of the searched file tree that the configuration depends on
	// besides the ones in directories that are read. One that ends in a slash stands
	// for all files in that directory and below it.
	Files []string
	// AnyChange says that it depends on files that are not known by their names: it
	// was read through a link, or something was looked for in vain. Any change may be
	// one of such a file.
	AnyChange bool
	// Start is a lock file to begin with where there is none.
	Start *lockfile.File

	// Tree is what Load reads the configuration from: the searched file tree, or one
	// that was made for this root module alone. Load does not return it.
	Tree *tfconfig.Tree
	// TreeDir is the directory in Tree that the tool is run in, without links in its
	// path; empty if it is Dir.
	TreeDir string
	// Sources are directories of the searched file tree that a Tree of its own was
	// made of, besides those that are read in it; nil if it is the searched one.
	Sources []string
}

// Hole is how many parts of a generated file are not known.
type Hole struct {
	Generated     string `json:"path"` // the file, relative to where the tool is run
	Parts         int    `json:"parts"`
	problem.Place        // of what generates it
}

// at is where the configuration is.
func (r Root) at() tfconfig.Directory {
	return tfconfig.Directory{Tree: r.Tree, Path: cmp.Or(r.TreeDir, r.Dir)}
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

// Left returns a warning, and true, if an upgrade leaves the lock file as it is:
// only the program that makes the configuration knows what that requires. The
// hashes can be completed all the same. recorded says whether what a lock file
// records may stand in for what is not known.
func (r Root) Left(recorded bool) (problem.Problem, bool) {
	known := !r.Standalone
	if r.Preserve {
		known = recorded || len(r.Unread) == 0
	}
	if known {
		return problem.Problem{}, false
	}
	return r.Kind.warning(path.Join(r.Dir, lockfile.Name)), true
}

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
