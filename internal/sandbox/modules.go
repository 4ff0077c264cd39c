package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"golang.org/x/tools/txtar"
)

type moduleAddr struct {
	host                    svchost.Hostname
	namespace, name, system string
}

// moduleOffer is a module in a registry. Its versions are text, since registries
// list any text.
type moduleOffer struct {
	versions []string // in the order of the world text
	files    map[string][]entry
	archives map[string][]byte
	// details are the entries for versions in the list: each module of the
	// package, in the order of the text.
	details map[string][]moduleDetail
	// published are the dates of versions, and sources their addresses in place of archives.
	published, sources map[string]string
}

func (w *World) addModuleFile(f txtar.File, name string) error {
	parts := strings.SplitN(name, "/", 6)
	if len(parts) < 6 || !fs.ValidPath(parts[5]) {
		return fmt.Errorf("%s: it must be like modules/HOST/NAMESPACE/NAME/SYSTEM/VERSION/PATH", f.Name)
	}
	o, err := w.moduleOf(f, parts)
	if err != nil {
		return err
	}
	version := parts[4]
	o.list(version)
	o.files[version] = append(o.files[version], entry{Name: parts[5], Content: string(f.Data)})
	return nil
}

// moduleOf is the module whose address is in the first parts of a file's name.
func (w *World) moduleOf(f txtar.File, parts []string) (*moduleOffer, error) {
	host, err := svchost.ForComparison(parts[0])
	if err != nil {
		return nil, fmt.Errorf("%s: invalid host %q: %w", f.Name, parts[0], err)
	}
	addr := moduleAddr{host, parts[1], parts[2], parts[3]}
	o := w.modules[addr]
	if o == nil {
		o = &moduleOffer{
			files: map[string][]entry{}, archives: map[string][]byte{}, details: map[string][]moduleDetail{},
			published: map[string]string{}, sources: map[string]string{},
		}
		w.modules[addr] = o
	}
	return o, nil
}

// list adds a version to those that are listed.
func (o *moduleOffer) list(version string) {
	if !slices.Contains(o.versions, version) {
		o.versions = append(o.versions, version)
	}
}

// addListing reads the requirements in the list of a module's versions.
func (w *World) addListing(f txtar.File, name string) error {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return fmt.Errorf("%s: it must be like listings/HOST/NAMESPACE/NAME/SYSTEM", f.Name)
	}
	o, err := w.moduleOf(f, parts)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(f.Data)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[1] == "published:":
			o.published[words[0]] = words[2] + "T00:00:00Z"
		case len(words) == 3 && words[1] == "source:":
			o.sources[words[0]] = words[2]
		case len(words) < 2 || len(words) == 3:
			return fmt.Errorf("%s: %q must be like VERSION PATH [NAME SOURCE CONSTRAINT]", f.Name, line)
		default:
			o.describe(words[0], strings.TrimPrefix(words[1], "."), words[2:])
		}
		o.list(words[0])
	}
	return nil
}

// describe adds a line of the listing: a module of a version, or a provider of
// that module with its name, source and constraint.
func (o *moduleOffer) describe(version, path string, words []string) {
	details := o.details[version]
	at := slices.IndexFunc(details, func(d moduleDetail) bool { return d.Path == path })
	if at < 0 {
		at, details = len(details), append(details, moduleDetail{Path: path, Providers: []moduleProvider{}, Dependencies: []struct{}{}})
	}
	if len(words) > 0 {
		p := moduleProvider{Name: words[0], Version: strings.Join(words[2:], " ")}
		if words[1] != "-" {
			p.Source = words[1]
			p.Namespace, _, _ = strings.Cut(p.Source, "/")
		}
		details[at].Providers = append(details[at].Providers, p)
	}
	o.details[version] = details
}

// packModules makes the archives once all files are known.
func (w *World) packModules() error {
	var errs []error
	for _, o := range w.modules {
		for version, files := range o.files {
			archive, err := pack(files)
			errs = append(errs, err)
			o.archives[version] = archive
		}
	}
	return errors.Join(errs...)
}

// modules serves the modules of a world by the module registry protocol, each
// version as a zip archive.
type modules struct{ world *World }

func (m modules) routes(mux *http.ServeMux) {
	const registry = "GET /{host}/v1/modules/{namespace}/{name}/{system}/"
	mux.HandleFunc(registry+"versions", m.world.restricted(m.versions))
	mux.HandleFunc(registry+"{version}/download", m.world.restricted(m.download))
	mux.HandleFunc(registry+"{version}", m.world.restricted(m.detail))
	mux.HandleFunc("GET /{host}/archives/{namespace}/{name}/{system}/{file}", m.archive)
}

func (m modules) offered(r *http.Request) (*moduleOffer, bool) {
	o, ok := m.world.modules[moduleAddr{
		svchost.Hostname(r.PathValue("host")),
		r.PathValue("namespace"), r.PathValue("name"), r.PathValue("system"),
	}]
	return o, ok
}

type modulesAnswer struct {
	Modules []moduleAnswer `json:"modules"`
}

type moduleAnswer struct {
	Source   string                `json:"source"`
	Versions []moduleVersionAnswer `json:"versions"`
}

type moduleVersionAnswer struct {
	Version    string         `json:"version"`
	Root       *moduleDetail  `json:"root,omitempty"`
	Submodules []moduleDetail `json:"submodules,omitempty"`
}

// moduleDetail is the entry of a module of a package in a list. The top module
// has no path.
type moduleDetail struct {
	Path         string           `json:"path,omitempty"`
	Providers    []moduleProvider `json:"providers"`
	Dependencies []struct{}       `json:"dependencies"`
}

type moduleProvider struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Source    string `json:"source,omitempty"`
	Version   string `json:"version"`
}

func (m modules) versions(w http.ResponseWriter, r *http.Request) {
	o, ok := m.offered(r)
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	answer := moduleAnswer{Source: modulePath(r)}
	for _, version := range o.versions {
		listed := moduleVersionAnswer{Version: version}
		for _, d := range o.details[version] {
			if d.Path == "" {
				listed.Root = &d
				continue
			}
			listed.Submodules = append(listed.Submodules, d)
		}
		answer.Versions = append(answer.Versions, listed)
	}
	writeJSON(w, modulesAnswer{[]moduleAnswer{answer}})
}

func modulePath(r *http.Request) string {
	return r.PathValue("namespace") + "/" + r.PathValue("name") + "/" + r.PathValue("system")
}

// download answers 204 and a header, as the public registry does. The archive has
// an absolute URL; go-getter recognises it by its extension.
func (m modules) download(w http.ResponseWriter, r *http.Request) {
	o, ok := m.offered(r)
	version := r.PathValue("version")
	if !ok || o.archives[version] == nil && o.sources[version] == "" {
		refuse(w, http.StatusNotFound)
		return
	}
	archive := origin(r) + "/" + r.PathValue("host") + "/archives/" + modulePath(r) + "/" + version + ".zip"
	w.Header().Set("X-Terraform-Get", cmp.Or(o.sources[version], archive))
	w.WriteHeader(http.StatusNoContent)
}

// detail answers as the public registry does for a version, in part. A registry that only
// speaks the protocol does not know the question
// [developer.hashicorp.com/terraform/registry/api-docs: Get a Specific Module].
func (m modules) detail(w http.ResponseWriter, r *http.Request) {
	o, ok := m.offered(r)
	version := r.PathValue("version")
	if !ok || o.published[version] == "" {
		refuse(w, http.StatusNotFound)
		return
	}
	writeJSON(w, map[string]string{"version": version, "published_at": o.published[version]})
}

func (m modules) archive(w http.ResponseWriter, r *http.Request) {
	o, ok := m.offered(r)
	version, isZip := strings.CutSuffix(r.PathValue("file"), ".zip")
	if !ok || !isZip || o.archives[version] == nil {
		refuse(w, http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, "module.zip", time.Time{}, bytes.NewReader(o.archives[version]))
}
