package scan

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// versionPins are what the version files of a directory and those above it say. Of
// each tool the nearest file that names it counts, even if it names no exact
// release.
type versionPins struct {
	nearest  provider.ToolName // the tool that the nearest version file is for
	versions map[provider.ToolName]string
	linked   bool // a version file of the directory is a link
}

// versionFiles are the files in which version managers find the release of a
// tool, and .tool-versions, which names many.
var versionFiles = []struct {
	name string
	tool provider.ToolName
}{
	{".opentofu-version", provider.OpenTofu},
	{".terraform-version", provider.Terraform},
}

const toolVersionsFile = ".tool-versions"

// toolFiles tells from the files of a tree which tool is run in a directory.
type toolFiles struct {
	tree   *tfconfig.Tree
	opts   *Options
	pinned memo.Once[string, versionPins]
}

// pins reads the version files of a directory and of those above it.
func (t *toolFiles) pins(dir string) versionPins {
	return t.pinned.Get(dir, func() versionPins {
		found := versionPins{versions: map[provider.ToolName]string{}, linked: slices.ContainsFunc(VersionFiles(), func(name string) bool { return t.tree.Linked(path.Join(dir, name)) })}
		say := func(tool provider.ToolName, version string) {
			found.nearest = cmp.Or(found.nearest, tool)
			found.versions[tool] = version
		}
		for _, f := range versionFiles {
			for line := range t.significantLines(path.Join(dir, f.name)) {
				say(f.tool, line[0])
				break
			}
		}
		for line := range t.significantLines(path.Join(dir, toolVersionsFile)) {
			tool, err := provider.ParseToolName(line[0])
			if _, known := found.versions[tool]; err == nil && !known && len(line) > 1 {
				say(tool, line[1])
			}
		}
		if dir == "." {
			return found
		}
		above := t.pins(path.Dir(dir))
		found.nearest = cmp.Or(found.nearest, above.nearest)
		for tool, v := range above.versions {
			if _, ok := found.versions[tool]; !ok {
				found.versions[tool] = v
			}
		}
		return found
	})
}

// significantLines yields the words of each line of a file that is not empty, without
// comments. A file that cannot be read has none.
func (t *toolFiles) significantLines(name string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		src, err := t.tree.Read(name)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(src)) {
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}

// tool tells which tool is run in a directory: by the lock file if that is OpenTofu's,
// by files that only OpenTofu reads, by the nearest version file. A lock file of
// Terraform proves little, since OpenTofu takes those over
// [opentofu 1.12 internal/depsfile/locks.go]. If nothing tells, it is guessed. Its
// release is pinned if it is set, or an exact version file names it; else the newest
// release whose rules are known is assumed.
func (t *toolFiles) tool(at tfconfig.Directory, lock *lockfile.File) (tool provider.Tool, pinned, guessed bool) {
	ofOpenTofu := func(l lockfile.Lock) bool { return l.Addr.Host == provider.OpenTofu.DefaultHost() }
	pins := t.pins(at.Path)
	name := provider.Terraform
	switch {
	case t.opts.Tool != "":
		name = t.opts.Tool
	case lock != nil && (lock.Tool == provider.OpenTofu || slices.ContainsFunc(lock.Locks, ofOpenTofu)):
		name = provider.OpenTofu
	case at.ForOpenTofu():
		name = provider.OpenTofu
	case pins.nearest != "":
		name = pins.nearest
	default:
		guessed = true
	}
	if !t.opts.ToolVersion.IsZero() {
		return provider.Tool{Name: name, Version: t.opts.ToolVersion}, true, guessed
	}
	text := strings.TrimPrefix(pins.versions[name], "v")
	if v, err := provider.ParseVersion(text); err == nil && strings.Count(text, ".") >= 2 {
		return provider.Tool{Name: name, Version: v}, true, guessed
	}
	return provider.Newest(name), false, guessed
}
