package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The types of artifacts, as OpenTofu names them
// [opentofu 1.12 internal/getproviders/oci_registry_mirror_source.go].
const (
	providerIndex  = "application/vnd.opentofu.provider"
	providerTarget = "application/vnd.opentofu.provider-target"
	modulePackage  = "application/vnd.opentofu.modulepkg"
	zipLayer       = "archive/zip"
)

// OCI serves the repositories of an OCI registry below /v2/, where Mount puts it.
// It answers reads, and needs no credentials.
type OCI struct {
	blobs map[digest.Digest][]byte
	types map[digest.Digest]string            // of manifests
	tags  map[string]map[string]digest.Digest // by repository
}

// NewOCI returns a registry without repositories.
func NewOCI() *OCI {
	return &OCI{blobs: map[digest.Digest][]byte{}, types: map[digest.Digest]string{}, tags: map[string]map[string]digest.Digest{}}
}

// put stores bytes, or a value as JSON, and describes them.
func (o *OCI) put(mediaType string, content any) ocispec.Descriptor {
	data, ok := content.([]byte)
	if !ok {
		var err error
		data, err = json.Marshal(content)
		if err != nil {
			panic(err) // a manifest is text
		}
	}
	d := digest.FromBytes(data)
	o.blobs[d], o.types[d] = data, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func (o *OCI) manifest(artifact string, zip []byte) ocispec.Descriptor {
	d := o.put(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifact,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{o.put(zipLayer, zip)},
	})
	d.ArtifactType = artifact
	return d
}

func (o *OCI) tag(repository, name string, d ocispec.Descriptor) {
	if o.tags[repository] == nil {
		o.tags[repository] = map[string]digest.Digest{}
	}
	o.tags[repository][name] = d.Digest
}

// AddProvider tags the zips of a version, by platform.
func (o *OCI) AddProvider(repository, version string, zips map[string][]byte) {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: providerIndex}
	for platform, zip := range zips {
		d := o.manifest(providerTarget, zip)
		os, arch, _ := strings.Cut(platform, "_")
		d.Platform = &ocispec.Platform{OS: os, Architecture: arch}
		index.Manifests = append(index.Manifests, d)
	}
	slices.SortFunc(index.Manifests, func(a, b ocispec.Descriptor) int {
		return strings.Compare(a.Platform.OS+a.Platform.Architecture, b.Platform.OS+b.Platform.Architecture)
	})
	o.tag(repository, version, o.put(ocispec.MediaTypeImageIndex, index))
}

// AddModule tags the zip of a module.
func (o *OCI) AddModule(repository, tag string, zip []byte) {
	o.tag(repository, tag, o.manifest(modulePackage, zip))
}

// ServeHTTP answers for http.Handler.
func (o *OCI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, rest, ok := cutLast(strings.TrimPrefix(r.URL.Path, "/v2/"), "/tags/", "/manifests/", "/blobs/")
	tags := o.tags[repository]
	if !ok || tags == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors": [{"code": "NAME_UNKNOWN"}]}`)
		return
	}
	if rest == "list" {
		var names []string
		for name := range tags {
			names = append(names, name)
		}
		slices.Sort(names)
		json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": names})
		return
	}
	d, ok := tags[rest]
	if !ok {
		d = digest.Digest(rest)
	}
	data, ok := o.blobs[d]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", o.types[d])
	w.Header().Set("Docker-Content-Digest", d.String())
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if r.Method == http.MethodGet {
		w.Write(data)
	}
}

func cutLast(text string, separators ...string) (before, after string, ok bool) {
	for _, s := range separators {
		if i := strings.LastIndex(text, s); i >= 0 {
			return text[:i], text[i+len(s):], true
		}
	}
	return "", "", false
}
