package registry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// ociRegistry is an OCI registry with one repository, providers/alpha. put and tag make its
// content.
type ociRegistry struct {
	server *httptest.Server
	blobs  map[digest.Digest][]byte
	types  map[digest.Digest]string // media types of manifests
	tags   map[string]digest.Digest
	pages  int    // tags on one page; 0: all
	auth   string // "basic", "bearer" or none
	hook   func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string
}

const ociName = "providers/alpha"

func newOCIRegistry(t *testing.T) *ociRegistry {
	t.Helper()
	trusted.Needed(t)
	o := &ociRegistry{blobs: map[digest.Digest][]byte{}, types: map[digest.Digest]string{}, tags: map[string]digest.Digest{}}
	o.server = httptest.NewTLSServer(o)
	t.Cleanup(o.server.Close)
	return o
}

func (o *ociRegistry) host() string { return strings.TrimPrefix(o.server.URL, "https://") }

// put stores content and returns its descriptor.
func (o *ociRegistry) put(mediaType string, content any) ocispec.Descriptor {
	data, ok := content.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(content); err != nil {
			panic(err)
		}
	}
	d := digest.FromBytes(data)
	o.blobs[d], o.types[d] = data, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

// target stores a package's zip and manifest, and returns the manifest's descriptor.
func (o *ociRegistry) target(p provider.Platform, zip []byte) ocispec.Descriptor {
	layer := o.put(zipType, zip)
	return o.manifest(p, layer)
}

func (o *ociRegistry) manifest(p provider.Platform, layers ...ocispec.Descriptor) ocispec.Descriptor {
	d := o.put(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: manifestType, Layers: layers,
	})
	d.ArtifactType = manifestType
	d.Platform = &ocispec.Platform{OS: p.OS, Architecture: p.Arch}
	return d
}

func (o *ociRegistry) tag(name string, manifests ...ocispec.Descriptor) {
	index := o.put(ocispec.MediaTypeImageIndex, ocispec.Index{
		MediaType: ocispec.MediaTypeImageIndex, ArtifactType: indexType, Manifests: manifests,
	})
	o.tags[name] = index.Digest
}

func (o *ociRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.asked = append(o.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")))
	o.mu.Unlock()
	if r.URL.Path == "/token" {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "pass" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"token": "b3arer"}`)
		return
	}
	if !o.allowed(w, r) || o.hook != nil && o.hook(w, r) {
		return
	}
	what, ok := strings.CutPrefix(r.URL.Path, "/v2/"+ociName+"/")
	kind, ref, _ := strings.Cut(what, "/")
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errors": [{"code": "NAME_UNKNOWN"}]}`)
	case kind == "tags":
		o.serveTags(w, r)
	case kind == "manifests" || kind == "blobs":
		o.serveBlob(w, ref)
	}
}

func (o *ociRegistry) allowed(w http.ResponseWriter, r *http.Request) bool {
	challenge, want := "", ""
	switch o.auth {
	case "basic":
		challenge, want = `Basic realm="x"`, "Basic "+base64.StdEncoding.EncodeToString([]byte("user:pass"))
	case "bearer":
		challenge, want = `Bearer realm="`+o.server.URL+`/token",service="x"`, "Bearer b3arer"
	}
	if r.Header.Get("Authorization") == want {
		return true
	}
	w.Header().Set("WWW-Authenticate", challenge)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

func (o *ociRegistry) serveTags(w http.ResponseWriter, r *http.Request) {
	var tags []string
	for tag := range o.tags {
		if tag > r.URL.Query().Get("last") {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	if o.pages > 0 && len(tags) > o.pages {
		tags = tags[:o.pages]
		w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%s>; rel="next"`, ociName, tags[len(tags)-1]))
	}
	json.NewEncoder(w).Encode(map[string]any{"name": ociName, "tags": tags})
}

func (o *ociRegistry) serveBlob(w http.ResponseWriter, ref string) {
	d, ok := o.tags[ref]
	if !ok {
		d = digest.Digest(ref)
	}
	data, ok := o.blobs[d]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", o.types[d])
	w.Header().Set("Docker-Content-Digest", d.String())
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.Write(data)
}

func (o *ociRegistry) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

// client returns a client whose OpenTofu configuration uses the registry for
// hashicorp/alpha alone.
func (o *ociRegistry) client(t *testing.T, more string, methods ...string) *Client {
	t.Helper()
	return o.clientWith(t, Options{}, more, methods...)
}

func (o *ociRegistry) clientWith(t *testing.T, opts Options, more string, methods ...string) *Client {
	t.Helper()
	config := "provider_installation {\n oci_mirror {\n  repository_template = \"" + o.host() + "/providers/${type}\"\n" +
		"  include = [\"registry.opentofu.org/hashicorp/*\"]\n }\n" + strings.Join(methods, "\n") + "}\n" + more
	return clientIn(t, lay(t, map[string]string{".tofurc": config}), opts, "")
}

func ociWant(p provider.Platform) provider.Want { return want(opentofuHost, p) }

func TestOCIMirror(t *testing.T) {
	t.Parallel()
	o := newOCIRegistry(t)
	zip := pack(program("in an OCI registry"))
	o.tag("1.1.0", o.target(linux, zip), o.target(darwin, pack(program("for darwin"))))
	o.tag("1.2.0-rc.1_build.5")
	o.tag("latest")
	o.tag("1.0")
	o.pages = 2
	c := o.client(t, "")

	offer, err := c.Versions(t.Context(), opentofu, alpha(opentofuHost))
	releases := offer.Releases
	if err != nil {
		t.Fatal(err)
	}
	versions := []provider.Release{
		{Version: provider.Version{Major: 1}}, {Version: v110},
		{Version: provider.Version{Major: 1, Minor: 2, Prerelease: "rc.1", Metadata: "build.5"}},
	}
	if diff := cmp.Diff(versions, releases); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}

	hashed, err := hash.Package(strings.NewReader(string(zip)))
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Hashes{
		Sum: hashed.Sum, Platform: linux, Verified: []provider.Hash{hashed.Sum.ZH},
		Mirror: "OCI mirror " + o.host() + "/" + ociName,
	}
	for range 2 {
		got, err := c.Hashes(t.Context(), opentofu, ociWant(linux))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Hashes (-want +got):\n%s", diff)
		}
	}
	if c.Packages() != 1 {
		t.Errorf("%d packages were downloaded, want 1", c.Packages())
	}
}

// TestOCIPackageIsDownloadedOnceEver holds that the cache knows a package by its digest, so
// that no later run downloads it.
func TestOCIPackageIsDownloadedOnceEver(t *testing.T) {
	t.Parallel()
	o := newOCIRegistry(t)
	zip := pack(program("in an OCI registry"))
	o.tag("1.1.0", o.target(linux, zip))
	path := filepath.Join(t.TempDir(), "hashes")
	var first provider.Hashes
	for run := range 2 {
		c := o.clientWith(t, Options{Cache: openCache(t, path)}, "")
		got, err := c.Hashes(t.Context(), opentofu, ociWant(linux))
		if err != nil {
			t.Fatal(err)
		}
		if c.Packages() != 1-run || c.Cached() != run {
			t.Errorf("run %d downloaded %d packages and knew %d, want %d and %d", run, c.Packages(), c.Cached(), 1-run, run)
		}
		if run == 0 {
			first = got
			delete(o.blobs, digest.FromBytes(zip))
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("Hashes of a known package (-want +got):\n%s", diff)
		}
	}
	// A registry's statement is not enough.
	cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
	if err := cache.Add(hash.Entry{Hashed: hash.Hashed{Sum: provider.Sum{ZH: first.Sum.ZH, H1: first.Sum.H1}}, Origin: hash.FromRegistry}); err != nil {
		t.Fatal(err)
	}
	c := o.clientWith(t, Options{Cache: cache, HashSource: HashSourceOpenTofu}, "")
	_, err := c.Hashes(t.Context(), opentofu, ociWant(linux))
	wantError(t, err, problem.CodeBadAnswer, "not found")
}

// TestOCIPackageThatNeedsTwoPasses holds that an archive that needs its table first is
// fetched again.
func TestOCIPackageThatNeedsTwoPasses(t *testing.T) {
	t.Parallel()
	o := newOCIRegistry(t)
	zip := append([]byte("#!"), pack(program("behind something else"))...)
	o.tag("1.1.0", o.target(linux, zip))
	c := o.client(t, "")
	hashed, err := hash.Package(strings.NewReader(string(zip)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Hashes(t.Context(), opentofu, ociWant(linux))
	if err != nil || got.Sum.H1 != hashed.Sum.H1 || c.Packages() != 1 {
		t.Errorf("Hashes = %+v, %v, from %d packages; want %s from one", got, err, c.Packages(), hashed.Sum.H1)
	}
}

func TestOCICredentialsGoToTheRegistry(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"basic", "bearer"} {
		t.Run(auth, func(t *testing.T) {
			t.Parallel()
			o := newOCIRegistry(t)
			o.auth = auth
			o.tag("1.1.0", o.target(linux, pack(program("x"))))
			credentials := fmt.Sprintf("oci_credentials %q {\n username = \"user\"\n password = \"pass\"\n}\n", o.host()+"/providers")
			if _, err := o.client(t, credentials).Hashes(t.Context(), opentofu, ociWant(linux)); err != nil {
				t.Error(err)
			}
			others := strings.Replace(credentials, "/providers", "/others", 1)
			_, err := o.client(t, others+"oci_default_credentials {\n discover_ambient_credentials = false\n}\n").Versions(t.Context(), opentofu, alpha(opentofuHost))
			e := wantError(t, err, problem.CodeUnauthorized, "the registry requires credentials, or rejected those that it got")
			if e.Problem.Host.String() != o.host() || !strings.Contains(e.Problem.Hint, fmt.Sprintf("set an oci_credentials %q block", o.host())) {
				t.Errorf("error = %+v, want it about the registry, with what to set", e)
			}
		})
	}
}

func TestOCIMirrorWithoutTheRepositoryIsPassedOver(t *testing.T) {
	t.Parallel()
	o, m := newOCIRegistry(t), newMirror(t)
	beta := alpha(opentofuHost)
	beta.Type = "beta"
	for name, spoil := range map[string]func(http.ResponseWriter){
		"in_words": nil, "by_the_status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
	} {
		o.hook = func(w http.ResponseWriter, _ *http.Request) bool {
			if spoil != nil {
				spoil(w)
			}
			return spoil != nil
		}
		_, err := o.client(t, "").Versions(t.Context(), opentofu, beta)
		wantError(t, err, problem.CodeUnknownProvider, "there is no such repository")
		offer, err := o.client(t, "", m.block("")).Versions(t.Context(), opentofu, alpha(opentofuHost))
		got := offer.Releases
		if spoil != nil && (err != nil || len(got) != 2) {
			t.Errorf("%s: Versions = %v, %v; want those of the next method", name, got, err)
		}
	}
}

func TestOCIMirrorFailures(t *testing.T) {
	t.Parallel()
	zip := pack(program("x"))
	status := func(kind string, status int) func(*ociRegistry) {
		return func(o *ociRegistry) {
			o.tag("1.1.0", o.target(linux, zip))
			o.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, kind) {
					w.WriteHeader(status)
					return true
				}
				return false
			}
		}
	}
	tests := []struct {
		name string
		fill func(o *ociRegistry)
		code problem.Code
		want string
	}{
		{"server_error", status("/tags/", 503), problem.CodeUnreachable, "listing the tags of"},
		{"denied", status("/tags/", 403), problem.CodeUnauthorized, "rejected those that it got"},
		{"no_tag", func(*ociRegistry) {}, problem.CodeBadAnswer, "looking up the tag 1.1.0 of"},
		{"no_index", func(o *ociRegistry) { o.tags["1.1.0"] = o.target(linux, zip).Digest }, problem.CodeBadAnswer, "the tag 1.1.0 is not an index of platforms"},
		{"other_artifact", func(o *ociRegistry) {
			o.tags["1.1.0"] = o.put(ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "x/y"}).Digest
		}, problem.CodeBadAnswer, "the tag 1.1.0 is not an OpenTofu provider"},
		{"index_of_nothing", func(o *ociRegistry) { o.tag("1.1.0") }, problem.CodeBadAnswer, "the index of 1.1.0 names no provider package"},
		{"other_platform", func(o *ociRegistry) { o.tag("1.1.0", o.target(darwin, zip)) }, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"for_a_version_of_the_system", func(o *ociRegistry) {
			d := o.target(linux, zip)
			d.Platform.OSVersion = "6"
			o.tag("1.1.0", d)
		}, problem.CodeNoPackage, "is not available for linux_amd64"},
		{"twice", func(o *ociRegistry) { o.tag("1.1.0", o.target(linux, zip), o.target(linux, zip)) }, problem.CodeBadAnswer, "names several packages for linux_amd64"},
		{"no_platform", func(o *ociRegistry) {
			d := o.target(linux, zip)
			d.Platform = nil
			o.tag("1.1.0", d)
		}, problem.CodeBadAnswer, "names a package without a platform"},
		{"no_zip", func(o *ociRegistry) { o.tag("1.1.0", o.manifest(linux, o.put("x/y", zip))) }, problem.CodeBadAnswer, "has 0 layers of type archive/zip, not one"},
		{"two_zips", func(o *ociRegistry) {
			o.tag("1.1.0", o.manifest(linux, o.put(zipType, zip), o.put(zipType, []byte("x"))))
		}, problem.CodeBadAnswer, "has 2 layers of type archive/zip, not one"},
		{"zip_of_other_platform", func(o *ociRegistry) {
			d := o.put(zipType, zip)
			d.Platform = &ocispec.Platform{OS: "plan9", Architecture: "mips"}
			o.tag("1.1.0", o.manifest(linux, d))
		}, problem.CodeBadAnswer, "the package for linux_amd64 is said to be for plan9_mips"},
		{"other_digest", func(o *ociRegistry) {
			d := o.put(zipType, zip)
			d.Digest = digest.SHA512.FromBytes(zip)
			o.tag("1.1.0", o.manifest(linux, d))
		}, problem.CodeBadAnswer, "is not named by a SHA-256"},
		{"manifest_not_json", func(o *ociRegistry) {
			d := o.put(ocispec.MediaTypeImageManifest, []byte("<html>"))
			d.ArtifactType, d.Platform = manifestType, &ocispec.Platform{OS: "linux", Architecture: "amd64"}
			o.tag("1.1.0", d)
		}, problem.CodeBadAnswer, "is not valid"},
		{"manifest_too_long", func(o *ociRegistry) {
			d := o.target(linux, zip)
			d.Size = 4<<20 + 1
			o.tag("1.1.0", d)
		}, problem.CodeBadAnswer, "is longer than"},
		{"other_bytes", func(o *ociRegistry) {
			o.tag("1.1.0", o.target(linux, zip))
			other := slices.Clone(zip)
			other[len(other)/2] ^= 1
			o.blobs[digest.FromBytes(zip)] = other
		}, problem.CodeBadChecksum, "archive has incorrect checksum zh:"},
		{"other_manifest", func(o *ociRegistry) {
			d := o.target(linux, zip)
			o.tag("1.1.0", d)
			o.blobs[d.Digest] = []byte(strings.Replace(string(o.blobs[d.Digest]), "archive/zip", "archive/ZIP", 1))
		}, problem.CodeBadChecksum, "fetching a manifest of"},
		{"less_than_nothing", func(o *ociRegistry) {
			d := o.put(zipType, zip)
			d.Size = -1
			o.tag("1.1.0", o.manifest(linux, d))
		}, problem.CodeBadAnswer, "is said to have -1 bytes"},
		{"nothing", func(o *ociRegistry) {
			d := o.put(zipType, zip)
			d.Size = 0
			o.tag("1.1.0", o.manifest(linux, d))
		}, problem.CodeBadAnswer, "is said to have 0 bytes"},
		{"more_than_is_said", func(o *ociRegistry) {
			d := o.put(zipType, zip)
			d.Size--
			o.tag("1.1.0", o.manifest(linux, d))
			o.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, d.Digest.String()) {
					return false
				}
				w.Write(zip[:1])
				w.(http.Flusher).Flush() // so that the answer does not have its length
				w.Write(zip[1:])
				return true
			}
		}, problem.CodeBadChecksum, "archive has incorrect checksum zh:"},
		{"not_a_package", func(o *ociRegistry) { o.tag("1.1.0", o.target(linux, []byte("<html>"))) }, problem.CodeBadPackage, "cannot be unpacked"},
		{"no_program", func(o *ociRegistry) {
			o.tag("1.1.0", o.target(linux, pack(map[string]string{"README": ""})))
		}, problem.CodeBadPackage, "provider binary not found"},
		{"blob_not_found", func(o *ociRegistry) {
			o.tag("1.1.0", o.target(linux, zip))
			delete(o.blobs, digest.FromBytes(zip))
		}, problem.CodeBadAnswer, "not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOCIRegistry(t)
			tt.fill(o)
			c := o.client(t, "")
			_, err := c.Versions(t.Context(), opentofu, alpha(opentofuHost))
			if err == nil {
				_, err = c.Hashes(t.Context(), opentofu, ociWant(linux))
			}
			e := wantError(t, err, tt.code, tt.want)
			if e.Problem.Subject.Addr != alpha(opentofuHost) || e.Problem.Hint == "" || tt.code != problem.CodeNoPackage && e.Problem.Host.String() != o.host() {
				t.Errorf("error = %+v, want it about the registry and the provider, with a hint", e)
			}
		})
	}
}

func TestOCIRedirectsKeepSecrets(t *testing.T) {
	t.Parallel()
	o, store := newOCIRegistry(t), newOCIRegistry(t)
	o.auth = "basic"
	zip := pack(program("x"))
	o.tag("1.1.0", o.target(linux, zip))
	store.hook = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	o.hook = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		http.Redirect(w, r, store.server.URL+"/blob?signature=s3cret", http.StatusTemporaryRedirect)
		return true
	}
	c := o.client(t, fmt.Sprintf("oci_credentials %q {\n username = \"user\"\n password = \"pass\"\n}\n", o.host()))
	c.fetch.transport.Admit(store.host())
	_, err := c.Hashes(t.Context(), opentofu, ociWant(linux))
	e := wantError(t, err, problem.CodeUnauthorized, "downloading "+o.host())
	if strings.Contains(e.Error(), "s3cret") {
		t.Errorf("the error tells the query of a URL: %v", e)
	}
	if got := store.requests(); !slices.Equal(got, []string{"GET /blob"}) {
		t.Errorf("another server was asked %q, want once and without credentials", got)
	}
}

func TestOCIRegistryThatIsDown(t *testing.T) {
	t.Parallel()
	o := newOCIRegistry(t)
	c := o.client(t, "")
	o.server.Close()
	_, err := c.Versions(t.Context(), opentofu, alpha(opentofuHost))
	e := wantError(t, err, problem.CodeUnreachable, "listing the tags of "+o.host()+"/"+ociName)
	if strings.Contains(e.Error(), "https://") {
		t.Errorf("error = %v, want it without the words about URLs", e)
	}
}
