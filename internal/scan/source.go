package scan

import (
	"context"
	"io/fs"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// Source fetches module packages that are not in the scanned file tree. It is safe for
// concurrent use. However often it is called, it fetches each package once, and an archive
// or a directory in a store once more if the first call did not ask for its hash.
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
	// Hash asks for Package.Hash. Of an archive or of a directory in a store, all files are
	// read for it.
	Hash bool
	// Dated asks for Package.Published.
	Dated bool
	// Pin is what a lock file of modules says of the call. With the zero value, the rules of
	// init decide.
	Pin Pin
}

// Pin is the package that a lock file of modules has for a call. Package and Hash are as in
// modulelock.Entry.
type Pin struct {
	Version string // of a registry module; otherwise empty
	Package string // the git repository of a registry module; otherwise empty
	Hash    string
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
	// Hash is the package's hash as in modulelock.Entry. It is empty for a package on this
	// machine's disk that is no git repository. Of an archive or of a directory in a store,
	// it is also empty unless the call asks for it. If a server refers to a directory in a
	// package, the hash is that of the whole package.
	Hash string
	// Repository is the git repository that a registry names for its module:
	// git::URL[//SUBDIR], without credentials and ref. It is empty for any other module.
	Repository string
	// Version is the selected version of a registry module, normalised; empty for any
	// other.
	Version string
	// Versions is the registry's list for a registry module; nil for any other.
	Versions *ModuleVersions
	// Published is when the registry published the version, if the call asks for it. It is
	// zero if the registry states no date.
	Published time.Time
	// Reference is what the ref of a git source names; zero for any other.
	Reference Reference
}

// Reference is what the ref of a git source names.
type Reference struct {
	Kind   RefKind
	Commit string
	// Ambiguous says that a branch and a tag have the name. With depth the tools take the
	// branch, and without it the tag [cases branch-and-tag, branch-and-tag-depth].
	Ambiguous bool
}

// Moves reports whether the ref may name another commit tomorrow without anybody having
// moved a tag.
func (r Reference) Moves() bool {
	return r.Kind == RefDefault || r.Kind == RefBranch || r.Kind == RefOther
}

// RefKind says what kind of revision a ref of git is.
type RefKind int

// The kinds of revisions.
const (
	RefNone    RefKind = iota // no git source
	RefDefault                // the remote's HEAD, since there is no ref
	RefBranch
	RefTag
	RefCommit // a commit by its whole ID
	RefOther  // any other revision of git, such as an abbreviated commit or main~1
)
