package oci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/relock-dev/relock/internal/cliconfig"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
	"github.com/relock-dev/relock/internal/transport"
)

// TestMain makes SSL_CERT_FILE name the certificate of httptest: OCI registries
// are spoken to by https alone.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }

// serve answers for the repository acme/net. Whatever the handler leaves is not
// found.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	trusted.Needed(t)
	s := httptest.NewTLSServer(handle)
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, s *httptest.Server, config string, ambient func(string) bool, others ...*httptest.Server) *Repository {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cli.tofurc")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	host := s.Listener.Addr().String()
	loaded, diags := cliconfig.Load(cliconfig.Env{Home: t.TempDir(), GOOS: "linux", Getenv: func(name string) string {
		return map[string]string{"TF_CLI_CONFIG_FILE": file}[name]
	}}, provider.OpenTofu)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	connection := transport.New(transport.Options{RetryWait: time.Nanosecond})
	for _, admitted := range append(others, s) {
		connection.Admit(admitted.Listener.Addr().String())
	}
	r, err := Client{Transport: connection, Ambient: ambient}.Repository(loaded, cliconfig.Repository{Registry: host, Name: "acme/net"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	manifest = []byte(`{"schemaVersion": 2, "mediaType": "` + ocispec.MediaTypeImageManifest + `", "artifactType": "x/y"}`)
	payload  = []byte("a package")
)

func descriptor(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// answer serves bytes as the distribution protocol wants them.
func answer(w http.ResponseWriter, mediaType string, named, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digest.FromBytes(named).String())
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	w.Write(data)
}

// questions are all that a repository can be asked.
var questions = map[string]func(*testing.T, *Repository) error{
	"tags": func(t *testing.T, r *Repository) error {
		tags, err := r.Tags(t.Context())
		if err == nil && !slices.Equal(tags, []string{"1.0.0", "latest"}) {
			t.Errorf("Tags = %q", tags)
		}
		return err
	},
	"resolve": func(t *testing.T, r *Repository) error {
		d, err := r.Resolve(t.Context(), "1.0.0")
		if want := descriptor(ocispec.MediaTypeImageManifest, manifest); err == nil && (d.Digest != want.Digest || d.Size != want.Size || d.MediaType != want.MediaType) {
			t.Errorf("Resolve = %+v, want %+v", d, want)
		}
		return err
	},
	"manifest": func(t *testing.T, r *Repository) error {
		m, err := r.Manifest(t.Context(), descriptor(ocispec.MediaTypeImageManifest, manifest))
		if err == nil && m.ArtifactType != "x/y" {
			t.Errorf("Manifest = %+v", m)
		}
		return err
	},
	"copy": func(t *testing.T, r *Repository) error {
		var got bytes.Buffer
		err := r.Copy(t.Context(), &got, descriptor("archive/zip", payload))
		if err == nil && !bytes.Equal(got.Bytes(), payload) {
			t.Errorf("Copy wrote %q, want %q", &got, payload)
		}
		return err
	},
	"blob": func(t *testing.T, r *Repository) error {
		body, err := r.Blob(t.Context(), descriptor("archive/zip", payload))
		if err != nil {
			return err
		}
		defer body.Close()
		_, err = io.Copy(io.Discard, body)
		return err
	},
}

// whole answers every question.
func whole(w http.ResponseWriter, r *http.Request) {
	switch what, _ := strings.CutPrefix(r.URL.Path, "/v2/acme/net/"); {
	case what == "tags/list":
		io.WriteString(w, `{"tags": ["1.0.0", "latest"]}`)
	case strings.HasPrefix(what, "manifests/"):
		answer(w, ocispec.MediaTypeImageManifest, manifest, manifest)
	case strings.HasPrefix(what, "blobs/"):
		answer(w, "application/octet-stream", payload, payload)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// TestFailures gives every question every kind of bad answer, and holds what is
// said of each.
func TestFailures(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name   string
		handle http.HandlerFunc
		want   map[string]Error // by question, "" for the others; an empty Code is success
	}{
		{"whole", whole, nil},
		{"denied", status(403, ""), map[string]Error{"": {Code: problem.CodeUnauthorized, Status: 403}}},
		{"asks_for_a_login", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, map[string]Error{"": {Code: problem.CodeUnauthorized, Status: 401}}},
		{"nothing_by_the_status", status(404, ""), map[string]Error{
			"tags": {Code: problem.CodeBadAnswer, Status: 404, Absent: NoRepository},
			"":     {Code: problem.CodeBadAnswer, Status: 404, Absent: NoContent},
		}},
		{"no_repository_in_words", status(400, `{"errors": [{"code": "NAME_INVALID"}]}`), map[string]Error{
			"resolve": {Code: problem.CodeBadAnswer, Status: 400}, // it asks with HEAD, whose answer has no words
			"":        {Code: problem.CodeBadAnswer, Status: 400, Absent: NoRepository},
		}},
		{"another_status", status(418, ""), map[string]Error{"": {Code: problem.CodeBadAnswer, Status: 418}}},
		{"altered", func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "manifests"):
				answer(w, ocispec.MediaTypeImageManifest, manifest, bytes.Replace(manifest, []byte("x/y"), []byte("x/z"), 1))
			case strings.Contains(r.URL.Path, "blobs"):
				answer(w, "x", payload, []byte("a Package"))
			default:
				whole(w, r)
			}
		}, map[string]Error{"manifest": {Code: problem.CodeBadChecksum}, "copy": {Code: problem.CodeBadChecksum}}},
		{"no_json", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/tags/list") {
				io.WriteString(w, "<html>")
				return
			}
			whole(w, r)
		}, map[string]Error{"tags": {Code: problem.CodeBadAnswer}}},
		{"another_size", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "blobs") {
				answer(w, "x", payload, payload[1:])
				return
			}
			whole(w, r)
		}, map[string]Error{"copy": {Code: problem.CodeBadAnswer}, "blob": {Code: problem.CodeBadAnswer}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.handle)
			for name, ask := range questions {
				want, ok := tt.want[name]
				if !ok {
					want = tt.want[""]
				}
				err := ask(t, open(t, s, "", nil))
				if want.Code == "" {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				got, ok := errors.AsType[*Error](err)
				if !ok || got.Code != want.Code || got.Status != want.Status || got.Absent != want.Absent || got.Err == nil {
					t.Errorf("%s: error = %+v (%v), want %+v", name, got, err, want)
				}
			}
		})
	}
}

// TestLimits holds what a registry can make relock read.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", `</v2/acme/net/tags/list?last=x>; rel="next"`)
		io.WriteString(w, `{"tags": ["x"`+strings.Repeat(`,"y"`, 9_999)+`]}`)
	})
	r := open(t, s, "", nil)
	if _, err := r.Tags(t.Context()); err == nil || err.Error() != "it has more than 200000 tags" {
		t.Errorf("Tags of an endless list = %v", err)
	}
	for _, size := range []int64{maxManifest + 1, 1 << 62} {
		d := descriptor(ocispec.MediaTypeImageIndex, manifest)
		d.Size = size
		if _, err := r.Index(t.Context(), d); err == nil || !strings.Contains(err.Error(), "is longer than 4194304 bytes") {
			t.Errorf("Index of %d bytes = %v", size, err)
		}
	}
}

// TestLateAnswers checks that a question ends in the operator's time. An interrupt has
// an error of its own.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	defer close(end)
	r := open(t, s, "", nil)
	r.timeout = time.Nanosecond
	for _, name := range []string{"tags", "resolve", "manifest"} {
		err := questions[name](t, r)
		if !problem.Coded(err, problem.CodeUnreachable) && codeOf(err) != problem.CodeUnreachable {
			t.Errorf("%s: %v, want that there is no answer", name, err)
		}
	}
}

func codeOf(err error) problem.Code {
	e, _ := errors.AsType[*Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// TestCredentials holds that the operator's credentials go to the registry that
// they are for, where they may be used at all, and to nothing that it refers to.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent []string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name+":"+password != "me:s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "blobs") {
			http.Redirect(w, r, other.URL+"/blob?signature=s1gned", http.StatusTemporaryRedirect)
			return
		}
		whole(w, r)
	})
	config := fmt.Sprintf("oci_credentials %q {\n username = \"me\"\n password = \"s3cret\"\n}\n", s.Listener.Addr())
	if _, err := open(t, s, config, nil).Tags(t.Context()); err != nil {
		t.Errorf("with credentials: %v", err)
	}
	if _, err := open(t, s, config, func(string) bool { return false }).Tags(t.Context()); codeOf(err) != problem.CodeUnauthorized {
		t.Errorf("where credentials may not be used: %v", err)
	}
	r := open(t, s, config, nil, other)
	err := questions["blob"](t, r)
	if err == nil || strings.Contains(err.Error(), "s1gned") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error of a redirect = %v, want one without secrets", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) == 0 || slices.ContainsFunc(sent, func(header string) bool { return header != "" }) {
		t.Errorf("another server got %q, want requests without credentials", sent)
	}
}
