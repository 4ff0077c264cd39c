package scan

import (
	"encoding/json"
	"path"
	"strings"

	goversion "github.com/hashicorp/go-version"
	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/relock-dev/relock/internal/provider"
)

// dataDir is where the tools keep what is theirs, beside a root module
// [terraform 1.11 internal/command/workdir/dir.go].
// TF_DATA_DIR, which names another directory, is not looked at.
const dataDir = ".terraform"

const modulesDir = dataDir + "/modules"

// manifest is what the tools note of the modules that they have installed below
// a root module, by the path of calls. It is used where a module cannot be
// fetched: what is installed may be older than what the tools would install
// now, unless the call names a version that does not move [terraform 1.11 internal/modsdir/manifest.go].
type manifest map[string]manifestRecord

type manifestRecord struct {
	Key     string
	Source  string // normalised
	Version string // of a module that comes from a registry
	Dir     string // relative to the root module, slash-separated, clean
}

// readManifest reads the manifest of a root module. Without one, or with one
// that is not understood, nothing is installed.
func readManifest(root location) manifest {
	src, err := root.tree.read(root.path(modulesDir + "/modules.json"))
	if err != nil {
		return nil
	}
	var file struct{ Modules []manifestRecord }
	if json.Unmarshal(src, &file) != nil {
		return nil
	}
	m := manifest{}
	for _, r := range file.Modules {
		r.Dir = path.Clean(strings.ReplaceAll(r.Dir, `\`, "/"))
		if r.inside() {
			m[r.Key] = r
		}
	}
	return m
}

// top is where the package of a module is.
func (r manifestRecord) top() string { return modulesDir + "/" + r.Key }

// inside reports whether a module is in its package.
func (r manifestRecord) inside() bool {
	return r.Key != "" && !strings.Contains(r.Key, "/") && (r.Dir == r.top() || strings.HasPrefix(r.Dir, r.top()+"/"))
}

// serves reports whether an installed module is what a call asks for.
func (r manifestRecord) serves(m moduleSource, tool provider.ToolName) bool {
	if normalSource(r.Source, tool) != normalSource(m.text, tool) {
		return false
	}
	if !m.version.set {
		return true
	}
	constraints, err := goversion.NewConstraint(m.version.text)
	if err != nil {
		return false
	}
	v, err := goversion.NewVersion(r.Version)
	return err == nil && constraints.Check(v)
}

// normalSource writes the most usual sources as the tools do in the manifest.
// Others must be written as the tools would [terraform 1.11 internal/modsdir/manifest.go].
func normalSource(source string, tool provider.ToolName) string {
	if m, err := tfaddr.ParseModuleSource(source); err == nil {
		address, _, _ := strings.Cut(source, "//")
		if strings.Count(address, "/") == 2 {
			m.Package.Host = tool.DefaultHost()
		}
		return m.Package.Host.ForDisplay() + "/" + m.Package.Namespace + "/" + m.Package.Name + "/" + m.Package.TargetSystem + "//" + m.Subdir
	}
	rest, query, hasQuery := strings.Cut(source, "?")
	if path, ok := strings.CutPrefix(rest, "github.com/"); ok {
		rest = gitURL("https://github.com/", path)
	} else if hostPath, ok := strings.CutPrefix(rest, "git@"); ok && strings.Contains(hostPath, ":") {
		rest = "git::ssh://git@" + strings.Replace(hostPath, ":", "/", 1)
	}
	if hasQuery {
		rest += "?" + query
	}
	return rest
}

// gitURL writes OWNER/NAME[/SUBDIR] as a repository's URL.
func gitURL(host, path string) string {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) < 2 {
		return host + path
	}
	url := "git::" + host + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git") + ".git"
	if len(parts) == 3 {
		url += "//" + strings.TrimPrefix(parts[2], "/")
	}
	return url
}
