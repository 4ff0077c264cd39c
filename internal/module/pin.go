package module

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// pinned is a package address that names the content with a hash, where its getter can: a
// commit of git, or a digest of an OCI repository.
func pinned(a moduleaddr.Package, hash string) moduleaddr.Package {
	u := *a.URL
	commit, isCommit := strings.CutPrefix(hash, gitHash)
	digest, isDigest := strings.CutPrefix(hash, ociHash)
	switch {
	case a.Getter == "git" && isCommit && fullCommit.MatchString(commit):
		query := u.Query()
		query.Set("ref", commit)
		query.Del("depth")
		u.RawQuery = query.Encode()
	case a.Getter == "oci" && isDigest:
		u.RawQuery = url.Values{"digest": {digest}}.Encode()
	}
	a.URL = &u
	return a
}

// moved is the error of a package whose content is not what a call is pinned to. Its subject
// is the hash that the package has now.
func moved(pin, now string) error {
	e := coded(problem.CodeModuleMoved, "its content is not the locked one: %s is locked, and it has %s now", pin, cmp.Or(now, "no hash"))
	e.Problem.Subject.Hash = provider.Hash(now)
	e.Problem.Hint = "look at what changed in the package, and ask its publisher"
	return e
}

// pinnedRepository is the location of a registry module in the git repository of its pin.
// The lock file of modules names it, as a configuration would: the registry is not asked.
// subdir is the call's directory.
func pinnedRepository(pin scan.Pin, subdir string) (location, error) {
	a, err := moduleaddr.ParseURL(pin.Package)
	if err != nil || a.Package.Getter != "git" {
		return location{}, invalidAddress("the package in the lock file of modules is no git repository")
	}
	at := location{address: a, selected: selected{version: pin.Version, repository: a.Repository()}}
	at.address.Subdir, err = moduleaddr.CleanSubdir(path.Join(a.Subdir, subdir))
	return at, err
}
