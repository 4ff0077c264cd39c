package module

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// ociRepository serves one repository, acme/net, of an OCI registry.
type ociRepository struct {
	blobs     map[digest.Digest][]byte
	manifests map[string][]byte // by tag and by digest
	served    []string
	login     string
}

func (o *ociRepository) add(t *testing.T, tag string, layers ...ocispec.Descriptor) digest.Digest {
	t.Helper()
	manifest := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: packageType, Config: ocispec.DescriptorEmptyJSON, Layers: layers}
	manifest.SchemaVersion = 2
	return o.addManifest(t, tag, manifest)
}

func (o *ociRepository) addManifest(t *testing.T, tag string, manifest ocispec.Manifest) digest.Digest {
	t.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromBytes(text)
	o.manifests[tag], o.manifests[sum.String()] = text, text
	return sum
}

func (o *ociRepository) layer(kind string, data []byte) ocispec.Descriptor {
	sum := digest.FromBytes(data)
	o.blobs[sum] = data
	return ocispec.Descriptor{MediaType: kind, Digest: sum, Size: int64(len(data))}
}

func (o *ociRepository) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.served = append(o.served, r.Method+" "+r.URL.Path)
	if name, password, _ := r.BasicAuth(); o.login != "" && name+":"+password != o.login {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/v2/acme/net/manifests/"); ok && o.manifests[name] != nil {
		var media struct{ MediaType string }
		json.Unmarshal(o.manifests[name], &media)
		w.Header().Set("Content-Type", media.MediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(o.manifests[name]).String())
		w.Header().Set("Content-Length", fmt.Sprint(len(o.manifests[name])))
		if r.Method == http.MethodGet {
			w.Write(o.manifests[name])
		}
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/v2/acme/net/blobs/"); ok && o.blobs[digest.Digest(name)] != nil {
		w.Write(o.blobs[digest.Digest(name)])
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

func TestOCI(t *testing.T) {
	t.Parallel()
	o := &ociRepository{blobs: map[digest.Digest][]byte{}, manifests: map[string][]byte{}}
	one := o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# one"}, member{name: "sub/main.tf", data: "# sub"}))
	two := o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# two"}))
	other := o.layer("application/x-other", []byte("x"))
	first := o.add(t, "1.0.0", other, one)
	o.add(t, "latest", two)
	o.add(t, "none", other)
	o.add(t, "both", one, two)
	o.addManifest(t, "image", ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{one}})
	o.addManifest(t, "index", ocispec.Manifest{MediaType: ocispec.MediaTypeImageIndex})
	lost := o.layer(layerType, []byte("lost"))
	delete(o.blobs, lost.Digest)
	o.add(t, "lost", lost)
	altered := o.layer(layerType, []byte("abcd"))
	o.blobs[altered.Digest] = []byte("abce")
	o.add(t, "altered", altered)
	s := serveTLS(t, o.ServeHTTP)
	base := "oci://" + s.Listener.Addr().String() + "/acme/net"

	cache := t.TempDir()
	c := newClient(t, Options{Cache: cache}, s)
	for query, want := range map[string]string{
		"": "# two", "?tag=1.0.0": "# one", "//sub?tag=1.0.0": "# sub", "?digest=" + first.String(): "# one",
	} {
		p, err := c.Fetch(t.Context(), tofu, scan.Call{Source: base + query})
		if err != nil {
			t.Errorf("Fetch(%q) = %v", query, err)
			continue
		}
		if got := mainOf(t, p); got != want || !strings.HasPrefix(p.ID, "oci+") {
			t.Errorf("main.tf of %q = %q of %q, want %q", query, got, p.ID, want)
		}
	}
	o.served = nil
	if _, err := newClient(t, Options{Cache: cache}, s).Fetch(t.Context(), tofu, scan.Call{Source: base + "?tag=1.0.0"}); err != nil {
		t.Error(err)
	}
	if len(o.served) != 1 || o.served[0] != "HEAD /v2/acme/net/manifests/1.0.0" {
		t.Errorf("with a cache the registry was asked %q", o.served)
	}
	for query, code := range map[string]problem.Code{
		"?tag=gone": problem.CodeUnreadModule, "?tag=none": problem.CodeUnreadModule, "?tag=both": problem.CodeUnreadModule,
		"?tag=image": problem.CodeUnreadModule, "?tag=index": problem.CodeUnreadModule, "?tag=lost": problem.CodeUnreadModule,
		"?tag=altered": problem.CodeBadChecksum, "?tag=": problem.CodeInvalidConfig, "?tag=-x": problem.CodeInvalidConfig,
		"?digest=x": problem.CodeInvalidConfig, "?tag=a&digest=" + first.String(): problem.CodeInvalidConfig, "?other=1": problem.CodeInvalidConfig,
		"?archive=zip": problem.CodeInvalidConfig,
	} {
		_, err := c.Fetch(t.Context(), tofu, scan.Call{Source: base + query})
		wantCode(t, query, err, code)
	}
	_, err := c.Fetch(t.Context(), tofu, scan.Call{Source: "oci://169.254.169.254/acme/net"})
	wantCode(t, "link-local", err, problem.CodeUnreachable)
	for _, tool := range []provider.Tool{terraform, {Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 9}}} {
		_, err := c.Fetch(t.Context(), tool, scan.Call{Source: base + "?tag=lost&for=" + string(tool.Name)})
		wantCode(t, tool.String(), err, problem.CodeInvalidConfig)
	}
}

func TestOCICredentials(t *testing.T) {
	t.Parallel()
	o := &ociRepository{blobs: map[digest.Digest][]byte{}, manifests: map[string][]byte{}, login: "me:s3cret"}
	o.add(t, "latest", o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# private"})))
	s := serveTLS(t, o.ServeHTTP)
	host := s.Listener.Addr().String()
	file := filepath.Join(t.TempDir(), "cli.tofurc")
	writeFile(t, file, fmt.Sprintf("oci_credentials %q {\n  username = \"me\"\n  password = \"s3cret\"\n}\n", host), 0o600)
	config, diags := cliconfig.Load(cliconfig.Env{Home: t.TempDir(), GOOS: "linux", Getenv: func(name string) string {
		return map[string]string{"TF_CLI_CONFIG_FILE": file}[name]
	}}, provider.OpenTofu)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	configs := map[provider.ToolName]*cliconfig.Config{provider.OpenTofu: config}
	for _, admitted := range []bool{true, false} {
		c := New(newTransport(s), configs, Options{Ambient: func(string) bool { return admitted }})
		p, err := c.Fetch(t.Context(), tofu, scan.Call{Source: "oci://" + host + "/acme/net"})
		if admitted && (err != nil || mainOf(t, p) != "# private") {
			t.Errorf("with credentials: %v", err)
		}
		if !admitted {
			if e := wantCode(t, "without credentials", err, problem.CodeUnauthorized); e.Problem.Hint == "" {
				t.Errorf("error %v has no hint", e)
			}
		}
	}
}
