package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// registry serves the providers of a world. It speaks the provider registry
// protocol for each host, and the network mirror protocol for all hosts. Paths
// have hosts in their ASCII form.
type registry struct{ world *World }

func (g registry) routes(mux *http.ServeMux) {
	const providers = "GET /{host}/v1/providers/{namespace}/{type}/"
	mux.HandleFunc("GET /{host}/.well-known/terraform.json", g.services)
	mux.HandleFunc(providers+"versions", g.world.restricted(g.versions))
	mux.HandleFunc(providers+"{version}", g.world.restricted(g.release))
	mux.HandleFunc(providers+"{version}/download/{os}/{arch}", g.world.restricted(g.metadata))
	mux.HandleFunc("GET /{host}/files/{namespace}/{type}/{version}/{file}", g.file)
	mux.HandleFunc("GET /mirror/{host}/{namespace}/{type}/{file}", g.mirror)
}

func (g registry) services(w http.ResponseWriter, r *http.Request) {
	base := origin(r) + "/" + r.PathValue("host")
	writeJSON(w, map[string]string{
		"providers.v1": base + "/v1/providers/",
		"modules.v1":   base + "/v1/modules/",
	})
}

// offered finds the provider of a request.
func (g registry) offered(r *http.Request) (*offer, bool) {
	o, ok := g.world.providers[provider.Addr{
		Host:      svchost.Hostname(r.PathValue("host")),
		Namespace: r.PathValue("namespace"),
		Type:      r.PathValue("type"),
	}]
	return o, ok
}

// released finds the release of a request.
func (g registry) released(r *http.Request, version string) (*release, bool) {
	o, ok := g.offered(r)
	if !ok {
		return nil, false
	}
	for _, release := range o.releases {
		if release.version.String() == version {
			return release, true
		}
	}
	return nil, false
}

type versionsAnswer struct {
	ID       string          `json:"id"`
	Versions []versionAnswer `json:"versions"`
	Warnings []string        `json:"warnings"` // null if there are none, as in the public registry
}

type versionAnswer struct {
	Version   string           `json:"version"`
	Protocols []string         `json:"protocols"`
	Platforms []platformAnswer `json:"platforms"`
}

type platformAnswer struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func (g registry) versions(w http.ResponseWriter, r *http.Request) {
	o, ok := g.offered(r)
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	answer := versionsAnswer{
		ID:       r.PathValue("namespace") + "/" + r.PathValue("type"),
		Versions: []versionAnswer{}, Warnings: o.warnings,
	}
	for _, release := range o.releases {
		if release.listed {
			answer.Versions = append(answer.Versions, release.answer())
		}
	}
	for _, text := range o.extra {
		answer.Versions = append(answer.Versions, versionAnswer{Version: text, Protocols: []string{"5.0"}, Platforms: []platformAnswer{}})
	}
	writeJSON(w, answer)
}

func (r *release) answer() versionAnswer {
	platforms := []platformAnswer{}
	for _, p := range r.packages {
		if !r.silent {
			platforms = append(platforms, platformAnswer{p.platform.OS, p.platform.Arch})
		}
	}
	return versionAnswer{Version: r.version.String(), Protocols: r.protocols, Platforms: platforms}
}

type releaseAnswer struct {
	ID          string     `json:"id"`
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Source      string     `json:"source,omitempty"`
	Tag         string     `json:"tag,omitempty"`
	PublishedAt *time.Time `json:"published_at,omitempty"`
}

// release answers the addition of the public Terraform registry to the protocol:
// the date of a version and its source.
func (g registry) release(w http.ResponseWriter, r *http.Request) {
	release, ok := g.released(r, r.PathValue("version"))
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	namespace, name, version := r.PathValue("namespace"), r.PathValue("type"), release.version.String()
	answer := releaseAnswer{ID: namespace + "/" + name + "/" + version, Namespace: namespace, Name: name, Version: version}
	answer.Source = release.source
	if answer.Source != "" {
		answer.Tag = cmp.Or(release.tag, "v"+version)
	}
	if !release.published.IsZero() {
		answer.PublishedAt = &release.published
	}
	writeJSON(w, answer)
}

type metadataAnswer struct {
	Protocols    []string                `json:"protocols"`
	OS           string                  `json:"os"`
	Arch         string                  `json:"arch"`
	Filename     string                  `json:"filename"`
	DownloadURL  string                  `json:"download_url"`
	ShasumsURL   string                  `json:"shasums_url"`
	SignatureURL string                  `json:"shasums_signature_url"`
	Shasum       string                  `json:"shasum"`
	SigningKeys  keysAnswer              `json:"signing_keys"`
	Packages     map[string]statedHashes `json:"packages,omitempty"`
}

type keysAnswer struct {
	GPGPublicKeys []publicKey `json:"gpg_public_keys"`
}

func (g registry) metadata(w http.ResponseWriter, r *http.Request) {
	os, arch := r.PathValue("os"), r.PathValue("arch")
	release, ok := g.released(r, r.PathValue("version"))
	if !ok || !release.described {
		refuse(w, http.StatusNotFound)
		return
	}
	p, err := release.pkg(os + "_" + arch)
	if err != nil {
		refuse(w, http.StatusNotFound)
		return
	}
	files := release.filesURL(r)
	writeJSON(w, metadataAnswer{
		Protocols: release.protocols, OS: os, Arch: arch,
		Filename: p.filename, DownloadURL: files + p.filename, Shasum: p.sha256,
		ShasumsURL: files + release.listName(), SignatureURL: files + release.signatureName(),
		SigningKeys: keysAnswer{release.keys}, Packages: release.stated,
	})
}

// filesURL is the URL of the release's files for the client of a request.
func (r *release) filesURL(req *http.Request) string {
	parts := []string{origin(req), req.PathValue("host"), "files", req.PathValue("namespace"), r.typ, r.version.String(), ""}
	return strings.Join(parts, "/")
}

func (g registry) file(w http.ResponseWriter, r *http.Request) {
	release, ok := g.released(r, r.PathValue("version"))
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	name := r.PathValue("file")
	content, ok := release.files[name]
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, name, release.modified, bytes.NewReader(content))
}

// mirror answers index.json, the versions of a provider, and VERSION.json, the
// packages of one. Mirrors have the listed versions of registries.
func (g registry) mirror(w http.ResponseWriter, r *http.Request) {
	name, isJSON := strings.CutSuffix(r.PathValue("file"), ".json")
	o, ok := g.offered(r)
	if !ok || !isJSON {
		refuse(w, http.StatusNotFound)
		return
	}
	if name == "index" {
		writeJSON(w, map[string]any{"versions": o.mirrored()})
		return
	}
	release, ok := g.released(r, name)
	if !ok || !release.listed || !release.described {
		refuse(w, http.StatusNotFound)
		return
	}
	writeJSON(w, map[string]any{"archives": release.archives(r)})
}

func (o *offer) mirrored() map[string]struct{} {
	versions := map[string]struct{}{}
	for _, r := range o.releases {
		if r.listed && r.described {
			versions[r.version.String()] = struct{}{}
		}
	}
	return versions
}

type archiveAnswer struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes,omitempty"`
}

func (r *release) archives(req *http.Request) map[string]archiveAnswer {
	archives := make(map[string]archiveAnswer, len(r.packages))
	for _, p := range r.packages {
		platform := p.platform.String()
		archives[platform] = archiveAnswer{r.filesURL(req) + p.filename, r.mirrorHashes[platform]}
	}
	return archives
}

// origin is the scheme, host and port of a request.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // the answers above are plain values
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// refuse answers in the words of the public registries.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"errors":["` + http.StatusText(status) + `"]}`))
}
