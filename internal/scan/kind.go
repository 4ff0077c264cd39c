package scan

import (
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Kind says where the configuration comes from that a lock file belongs to.
type Kind string

// The kinds.
const (
	RootModule     Kind = ""           // from the files beside the lock file
	TerragruntUnit Kind = "terragrunt" // from Terragrunt, which adds those to a module from elsewhere
	Stack          Kind = "stack"      // from stack files, which have a language of their own
	CDK            Kind = "cdk"        // from CDK for Terraform, which makes those
	Orphan         Kind = "orphan"     // from nowhere: the lock file stands alone
)

// kindOf tells the kind of a directory by its files.
func kindOf(at location, configured bool) Kind {
	entries, _ := at.tree.list(at.dir)
	switch {
	case terragruntUnit(at):
		return TerragruntUnit
	case at.has(cdkFile), !configured && at.has(cdkProject):
		return CDK
	case configured:
		return RootModule
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return stackFile(e.Name()) }):
		return Stack
	}
	return Orphan
}

// terragruntUnit reports whether Terragrunt works in the directory. It lays the
// files of the unit over those of a module from elsewhere and adds generated
// ones (Terragrunt 1.1, internal/tf/source.go and internal/codegen/generate.go),
// so that .tf files in the directory are never the whole configuration.
func terragruntUnit(at location) bool {
	entries, _ := at.tree.list(at.dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && (e.Name() == terragruntFile || e.Name() == terragruntFile+".json")
	})
}

// Left returns a warning, and true, if an upgrade leaves the lock file as it is:
// only the program that makes the configuration knows what that requires. The
// hashes can be completed all the same.
func (m Module) Left() (provider.Diagnostic, bool) {
	if !m.Standalone && m.Kind != CDK {
		return provider.Diagnostic{}, false
	}
	return m.Kind.warning(path.Join(m.Dir, lockfile.Name)), true
}

// warning says that a lock file is not a root module's own.
func (k Kind) warning(lock string) provider.Diagnostic {
	d := provider.Diagnostic{Severity: provider.SeverityWarning, File: lock, Hint: "relock lock completes its hashes"}
	switch k {
	case TerragruntUnit:
		d.Code, d.Message = provider.CodeTerragruntUnit, "the lock file belongs to a Terragrunt unit, whose configuration is generated"
	case Stack:
		d.Code, d.Message = provider.CodeStack, "the lock file belongs to a stack, whose configuration has a language of its own"
	case CDK:
		d.Code, d.Message = provider.CodeCDK, "the lock file belongs to CDK for Terraform, which generates the configuration"
	default:
		d.Code, d.Message = provider.CodeOrphanLock, "the lock file has no configuration beside it"
	}
	return d
}
