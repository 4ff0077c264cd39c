package scan

import (
	"encoding/json"
	"path"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// dataDir is the tools' own directory beside a root module [terraform 1.11
// internal/command/workdir/dir.go]. relock does not look at TF_DATA_DIR, which names
// another directory.
const dataDir = ".terraform"

const modulesDir = dataDir + "/modules"

// manifest is the tools' list of the modules that they have installed below a root module,
// by the path of calls. relock uses it if a module cannot be fetched. An installed module
// may be older than the one that the tools would install now, unless the call names a fixed
// version [terraform 1.11 internal/modsdir/manifest.go].
type manifest map[string]Record

// Record is an element of the tools' list, about one module [terraform 1.11
// internal/modsdir/record.go].
type Record struct {
	Key     string // the path of calls, joined by dots
	Source  string // the address in the form of the tool
	Version string `json:",omitempty"` // of a registry module
	Dir     string // relative to the root module
}

// readManifest reads the manifest of a root module. If it is missing or malformed, nothing
// is installed.
func readManifest(root tfconfig.Directory) manifest {
	src, err := root.Read(modulesDir + "/modules.json")
	if err != nil {
		return nil
	}
	var file struct{ Modules []Record }
	if json.Unmarshal(src, &file) != nil {
		return nil
	}
	m := manifest{}
	for _, r := range file.Modules {
		r.Dir = path.Clean(strings.ReplaceAll(r.Dir, `\`, "/"))
		inPackage := r.Dir == r.top() || strings.HasPrefix(r.Dir, r.top()+"/")
		if r.Key != "" && !strings.Contains(r.Key, "/") && inPackage {
			m[r.Key] = r
		}
	}
	return m
}

// top is the directory of a module's package.
func (r Record) top() string { return modulesDir + "/" + r.Key }

// serves reports whether an installed module is the one that a call needs. The tools note
// the address in normalised or in written form [terraform 1.11
// internal/modsdir/manifest.go].
func (r Record) serves(m tfconfig.ModuleSource, tool provider.ToolName) bool {
	noted, err := moduleaddr.Parse(r.Source, tool)
	if r.Source != m.Text && (err != nil || !noted.Same(m.Addr)) {
		return false
	}
	if !m.Versioned {
		return true
	}
	constraints, err := goversion.NewConstraint(m.Version)
	if err != nil {
		return false
	}
	v, err := goversion.NewVersion(r.Version)
	return err == nil && constraints.Check(v)
}
