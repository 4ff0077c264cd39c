package scan

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// Reads reports whether Find or Load may read the content of a file with this path. Of
// every other file they need only the name. So a caller that reads a remote file tree can
// leave out the other contents.
func Reads(name string) bool {
	base := path.Base(name)
	switch {
	case base == cdkProject, base == ".gitmodules", lockfile.Resembles(name), modulelock.Resembles(name):
		return true
	case strings.HasSuffix(base, ".hcl"), strings.HasSuffix(base, ".hcl.json"):
		return true // lock files, and configuration of other programs, which may read each other
	case tfconfig.StackFile(base):
		return true
	case strings.HasSuffix(name, dataDir+"/environment"), strings.HasSuffix(name, modulesDir+"/modules.json"):
		return true
	}
	if _, ok := versionfile.For(name); ok || base == versionfile.Terragrunt {
		return true
	}
	return slices.ContainsFunc(tfconfig.Extensions(), func(ext string) bool {
		return strings.HasSuffix(base, ext)
	})
}

// Notices reports whether the existence of a file with this path matters to Find or Load,
// or to users of their results. Such files are those that it Reads, those that mark a
// Terragrunt unit, and packages of providers. The existence of every directory matters,
// since one without configuration can be called.
func Notices(name string) bool {
	return Reads(name) || strings.Contains("/"+name, "/"+PluginDir+"/")
}
