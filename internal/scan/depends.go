package scan

import (
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/tfconfig"
)

// PluginDir is where init looks for providers that a root module has itself [docs:
// developer.hashicorp.com/terraform/cli/config/config-file#implied-local-mirror-directories].
const PluginDir = "terraform.d/plugins"

// vague reports whether file names do not show what is read in a directory. It is true if a
// link may be read, and if there are only directories: then a change of any file below may
// have created the directory.
func vague(at tfconfig.Directory) bool {
	entries, _ := at.Entries()
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type() == fs.ModeSymlink && Reads(e.Name()) }) ||
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
}

// targets are the files that links in a directory lead to, if they may be read.
func targets(at tfconfig.Directory) (names []string) {
	entries, _ := at.Entries()
	for _, e := range entries {
		if e.Type() != fs.ModeSymlink || !Reads(e.Name()) {
			continue
		}
		if to, _, err := at.Tree.Follow(at.Join(e.Name())); err == nil {
			names = append(names, to)
		}
	}
	return names
}

// linked reports whether a link may lead to something that a root module reads: a file of
// its directory or below, or a version file there or above.
func (f *finder) linked(at tfconfig.Directory) bool {
	if vague(at) || f.tree.Linked(at.Join(PluginDir)) || f.tree.Linked(at.Join(tfconfig.TestDir)) {
		return true
	}
	for dir := at.Path; ; dir = path.Dir(dir) {
		if linked := f.tools.pins(dir).linked; linked || dir == "." {
			return linked
		}
	}
}
