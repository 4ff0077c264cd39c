package scan

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/provider"
)

// Source fetches module packages that are not in the scanned file tree. It is
// safe for concurrent use, and asks for each package once however often it is
// called.
type Source interface {
	// Fetch returns the package that a module call leads to by the rules of the
	// tool. Errors are *problem.Error without a place: the caller knows which
	// call it is about.
	Fetch(ctx context.Context, tool provider.Tool, call Call) (Package, error)
}

// Call is what a module block says about a module that is not local.
type Call struct {
	Source string // as evaluated
	// Version is the version constraint, as evaluated. With Versioned, which
	// tells an empty one from none, the module must come from a registry.
	Version   string
	Versioned bool
}

// Package is what was fetched. Every module in it may be called with local
// sources from within it; a path that leaves it leads nowhere.
type Package struct {
	// FS is the file tree of the package, an fs.ReadLinkFS. All directories are in
	// it, since an empty one is a valid module, but of files perhaps only those
	// that configuration is read from. A directory that the package has and that
	// could not be fetched fails to be read, with the reason.
	FS fs.FS
	// Dir is the called module's directory in FS, slash-separated. It may lead
	// through links. The tools join the local sources of that module to Dir as
	// it is written, before they follow any link [terraform 1.11 internal/initwd/module_install.go].
	Dir string
	// ID names the content: a commit of a repository, the checksum of an archive,
	// the path of a directory on this machine's disk. Packages with the same ID
	// have the same content.
	ID string
	// Version is the selected version of a registry module as the registry's
	// own spelling normalises; empty for any other.
	Version string
	// Versions is what the registry lists of a registry module; nil for any other.
	Versions *ModuleVersions
}
