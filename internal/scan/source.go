package scan

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/provider"
)

// Source fetches module packages that are not in the scanned file tree. It is safe for
// concurrent use. However often it is called, it fetches each package once.
type Source interface {
	// Fetch returns the package of a module call by the rules of the tool. Errors are
	// *problem.Error without a place, since the caller knows the call.
	Fetch(ctx context.Context, tool provider.Tool, call Call) (Package, error)
}

// Call is a module block for a module that is not local.
type Call struct {
	Source string // as evaluated
	// Version is the version constraint, as evaluated. Versioned says that there is one,
	// which may be empty. Then the module must come from a registry.
	Version   string
	Versioned bool
}

// Package is a fetched package. Its modules may call each other with local sources. A path
// out of the package leads nowhere.
type Package struct {
	// FS is the file tree of the package, an fs.ReadLinkFS. It has all directories, since
	// an empty one is a valid module. It may lack files from which no configuration is
	// read. If a directory could not be fetched, reading it fails with the reason.
	FS fs.FS
	// Dir is the called module's directory in FS, slash-separated. Its path may have links.
	// The tools join the local sources of that module to Dir as it is written, before they
	// follow any link [terraform 1.11 internal/initwd/module_install.go].
	Dir string
	// ID identifies the content: a commit, the checksum of an archive, or the path of a
	// directory on this machine's disk. Packages with the same ID have the same content.
	ID string
	// Version is the selected version of a registry module, normalised; empty for any
	// other.
	Version string
	// Versions is the registry's list for a registry module; nil for any other.
	Versions *ModuleVersions
}
