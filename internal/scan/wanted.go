package scan

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/versionfile"
)

// Reads reports whether Find or Load may read the content of a file with this path.
// Of every other file it wants no more than to see that it is there, so that
// anyone who brings a file tree from afar can leave the rest behind.
func Reads(name string) bool {
	base := path.Base(name)
	switch {
	case base == cdkProject, base == ".gitmodules":
		return true
	case strings.HasSuffix(base, ".hcl"), strings.HasSuffix(base, ".hcl.json"):
		return true // lock files, and what other programs make configuration of, which read each other
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

// Notices reports whether it matters to Find or Load, or to anyone who takes its results,
// that a file with this path is there, whatever is in it: those that it Reads, and
// those by which it knows a Terragrunt unit or packages of providers. Of every
// directory it matters that it is there: one without configuration can be called.
func Notices(name string) bool {
	return Reads(name) || strings.Contains("/"+name, "/"+PluginDir+"/")
}
