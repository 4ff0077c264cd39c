package tfconfig

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// TestDir is the directory of test files. The root module's own directory may have some,
// too.
const TestDir = "tests"

// moduleFiles are the files of a module. Each list is in the order of the tools [terraform
// 1.11 internal/configs/parser_config_dir.go].
type moduleFiles struct{ primary, override, tests []string }

// files sorts the entries of a directory by their meaning for the tool. Subdirectories
// never count, whatever their names [cases 062, 064, 067].
func files(entries []fs.DirEntry, tool provider.Tool) moduleFiles {
	var found moduleFiles
	for _, e := range entries {
		stem, ext := splitName(e.Name(), tool)
		switch {
		case ext == "" || e.IsDir() || editorFile(e.Name()):
		case testExtension(ext):
			found.tests = append(found.tests, e.Name())
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			found.override = append(found.override, e.Name())
		default:
			found.primary = append(found.primary, e.Name())
		}
	}
	if tool.Has(provider.TofuFiles) {
		found.primary = unshadowed(found.primary)
		found.override = unshadowed(found.override)
		found.tests = unshadowed(found.tests)
	}
	if !tool.Has(provider.TestFiles) {
		found.tests = nil
	}
	return found
}

// anyRelease reads every file that any release of either tool reads.
var anyRelease = provider.Newest(provider.OpenTofu)

// ConfigurationFile reports whether either tool reads a file of this name as configuration
// or as a test.
func ConfigurationFile(name string) bool {
	_, ext := splitName(name, anyRelease)
	return ext != ""
}

// Configured reports whether either tool finds configuration among the entries of a
// directory.
func Configured(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		_, ext := splitName(e.Name(), anyRelease)
		return ext != "" && !testExtension(ext) && !e.IsDir() && !editorFile(e.Name())
	})
}

// ConfiguredIn reports whether either tool finds configuration in a directory.
func ConfiguredIn(fsys fs.FS, dir string) bool {
	entries, _ := fs.ReadDir(fsys, dir)
	return Configured(entries)
}

// configured reports whether there is any configuration file.
func (f moduleFiles) configured() bool { return len(f.primary)+len(f.override) > 0 }

// The extensions. .tf comes first: a .tofu file replaces the .tf file of the same name.
var (
	tfExtensions       = []string{".tf", ".tf.json", ".tftest.hcl", ".tftest.json"}
	tofuExtensions     = []string{".tofu", ".tofu.json", ".tofutest.hcl", ".tofutest.json"}
	bothExtensions     = slices.Concat(tfExtensions, tofuExtensions)
	variableExtensions = []string{".tfvars", ".tfvars.json"}
)

// Extensions are the extensions of all files that modules are made of. This is the only
// such list: it decides which files of a fetched module are kept. A package that was kept
// with another list counts as another package.
func Extensions() []string { return slices.Concat(bothExtensions, variableExtensions) }

// splitName splits a name into stem and extension. ext is empty if no extension makes it a
// file of the tool. The case matters.
func splitName(name string, tool provider.Tool) (stem, ext string) {
	extensions := bothExtensions
	if !tool.Has(provider.TofuFiles) {
		extensions = tfExtensions
	}
	for _, ext := range extensions {
		if stem, ok := strings.CutSuffix(name, ext); ok {
			return stem, ext
		}
	}
	return name, ""
}

func testExtension(ext string) bool {
	return strings.HasPrefix(ext, ".tftest") || strings.HasPrefix(ext, ".tofutest")
}

// forOpenTofu reports whether a file is for OpenTofu alone.
func forOpenTofu(name string) bool {
	return slices.ContainsFunc(tofuExtensions, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// editorFile reports whether the tools ignore a file: hidden, or an editor's backup [cases
// 062, 063].
func editorFile(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// unshadowed drops each .tf file with a .tofu file of the same name in the list. A JSON
// file replaces only a JSON file.
func unshadowed(names []string) []string {
	present := make(map[string]bool, len(names))
	for _, name := range names {
		present[name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool {
		for i, ext := range tfExtensions {
			if stem, ok := strings.CutSuffix(name, ext); ok {
				return present[stem+tofuExtensions[i]]
			}
		}
		return false
	})
}
