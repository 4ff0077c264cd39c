package module

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// pinnedTo fetches a call that is pinned, and returns what it is.
func pinnedTo(t *testing.T, c *Client, call scan.Call) scan.Package {
	t.Helper()
	p, err := c.Fetch(t.Context(), terraform, call)
	if err != nil {
		t.Fatalf("Fetch(%+v) = %v", call, err)
	}
	if p.Hash != call.Pin.Hash || p.Version != call.Pin.Version || p.Versions != nil {
		t.Errorf("Fetch(%+v) has hash %q, version %q and versions %v, want those of the pin and no list", call, p.Hash, p.Version, p.Versions)
	}
	return p
}

// wantMoved holds that a pinned call fails, and that the error says both hashes.
func wantMoved(t *testing.T, c *Client, tool provider.Tool, call scan.Call, now string) {
	t.Helper()
	p, err := c.Fetch(t.Context(), tool, call)
	e := wantCode(t, call.Source, err, problem.CodeModuleMoved)
	if !strings.Contains(e.Error(), call.Pin.Hash+" is locked") || !strings.Contains(e.Error(), now+" now") || e.Problem.Hint == "" || p.FS != nil {
		t.Errorf("Fetch(%+v) = %v, %v with hint %q; want no files, and both hashes", call, p, e, e.Problem.Hint)
	}
}

// TestPinnedGit holds that a pinned call has its commit when its tag and its branch have
// moved. No ref is asked for, and nothing at all where the cache has the commit.
func TestPinnedGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Files: text("one")}, moduletest.Commit{Tag: "v1.0.0", Files: text("two")})
	var asked atomic.Int64
	git := moduletest.Handler(t, dir, "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		git.ServeHTTP(w, r)
	})
	cache := t.TempDir()
	for i, query := range []string{"?ref=v1.0.0", "?ref=v1.0.0&depth=1", "", "?ref=gone"} {
		c := newClient(t, Options{Cache: cache}, s)
		p := pinnedTo(t, c, scan.Call{Source: "git::" + s.URL + "/r.git" + query, Pin: scan.Pin{Hash: "git:" + ids[0]}})
		if got := mainOf(t, p); got != "# one" || (asked.Load() == 0) != (i > 0) {
			t.Errorf("main.tf of %q = %q after %d requests, want the pinned commit, and no request after the first time", query, got, asked.Load())
		}
		asked.Store(0)
	}
	lacking := scan.Call{Source: "git::" + s.URL + "/r.git?ref=v1.0.0", Pin: scan.Pin{Hash: "git:" + strings.Repeat("1", 40)}}
	_, err := newClient(t, Options{}, s).Fetch(t.Context(), terraform, lacking)
	if e := wantCode(t, "a commit that is not there", err, problem.CodeModuleForeign); !strings.Contains(e.Error(), "has the commit 1111") {
		t.Errorf("error = %v", e)
	}
	// Another kind of package than the locked one has another hash.
	wantMoved(t, newClient(t, Options{}, s), terraform, scan.Call{Source: lacking.Source, Pin: scan.Pin{Hash: "h1:x"}}, "git:"+ids[1])
}

// TestPinnedArchive holds that an archive is compared with the pin, and that the cache has
// it for the next run.
func TestPinnedArchive(t *testing.T) {
	t.Parallel()
	members, files := manyFiles()
	good, other := dirHash(t, files), dirHash(t, map[string]string{"main.tf": "# other"})
	body := map[string][]byte{"/a.zip": zipOf(t, members...), "/a.tar.gz": gzipOf(t, tarOf(t, members...))}
	var asked, lies atomic.Int64
	var at string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case r.URL.Path == "/get":
			w.Header().Set(getHeader, at+"/a.zip//docs")
		case lies.Load() > 0 && r.URL.Path == "/a.zip":
			w.Write(zipOf(t, member{name: "main.tf", data: "# other"}))
		case lies.Load() > 0:
			w.Write(gzipOf(t, tarOf(t, member{name: "main.tf", data: "# other"})))
		default:
			w.Write(body[r.URL.Path])
		}
	})
	at = s.URL
	for name := range body {
		cache := t.TempDir()
		call := scan.Call{Source: s.URL + name + "//docs", Pin: scan.Pin{Hash: good}}
		lies.Store(1)
		wantMoved(t, newClient(t, Options{Cache: cache}, s), terraform, call, other)
		lies.Store(0)
		c := newClient(t, Options{Cache: cache}, s)
		if p := pinnedTo(t, c, call); p.Dir != "docs" || strings.Join(names(t, p.FS), " ") != strings.Join(names(t, fetch(t, c, s.URL+name).FS), " ") {
			t.Errorf("%s has %q in %q", name, names(t, p.FS), p.Dir)
		}
		lies.Store(1) // the cache has what the pin means
		asked.Store(0)
		c = newClient(t, Options{Cache: cache}, s)
		for range 2 {
			if p := pinnedTo(t, c, call); p.Dir != "docs" || !strings.HasPrefix(p.ID, "h1:") {
				t.Errorf("%s of the cache has ID %q and is in %q", name, p.ID, p.Dir)
			}
		}
		if asked.Load() != 0 || c.Packages() != 0 {
			t.Errorf("%s took %d requests with a cache", name, asked.Load())
		}
		// The server's own word is asked for where nothing is pinned, and another pin does
		// not fit it.
		if p := hashOf(t, c, s.URL+name); p.Hash != other {
			t.Errorf("hash of %s without a pin = %q, want what the server has now", name, p.Hash)
		}
		wantMoved(t, c, terraform, scan.Call{Source: call.Source, Pin: scan.Pin{Hash: "h1:x"}}, other)
	}
	lies.Store(0)
	c := newClient(t, Options{Cache: t.TempDir()}, s)
	if p := pinnedTo(t, c, scan.Call{Source: s.URL + "/get", Pin: scan.Pin{Hash: good}}); len(names(t, p.FS)) != 0 {
		t.Errorf("the directory docs has %q", names(t, p.FS))
	}
}

// TestPinnedStore compares the objects of a directory with the pin.
func TestPinnedStore(t *testing.T) {
	t.Parallel()
	f, cache := newFakeS3(t), t.TempDir()
	s := serve(t, f.ServeHTTP)
	source := "s3::" + s.URL + "/modules/dir" + keysInURL
	before := hashOf(t, newClient(t, Options{Cache: cache}, s), source)
	f.objects["dir/README.md"] = "another text"
	f.asked = nil
	call := scan.Call{Source: source, Pin: scan.Pin{Hash: before.Hash}}
	if pinnedTo(t, newClient(t, Options{Cache: cache}, s), call); len(f.asked) != 0 {
		t.Errorf("with a cache the store was asked %q", f.asked)
	}
	now := hashOf(t, newClient(t, Options{}, s), source).Hash
	wantMoved(t, newClient(t, Options{}, s), terraform, call, now)
}

// TestPinnedOCI holds that a pinned package is asked for by its digest.
func TestPinnedOCI(t *testing.T) {
	t.Parallel()
	o := &ociRepository{blobs: map[digest.Digest][]byte{}, manifests: map[string][]byte{}}
	layer := o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# one"}))
	first := o.add(t, "1.0.0", layer)
	second := o.add(t, "1.0.0", o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# two"})))
	s := serveTLS(t, o.ServeHTTP)
	source, cache := "oci://"+s.Listener.Addr().String()+"/acme/net?tag=1.0.0", t.TempDir()
	call := scan.Call{Source: source, Pin: scan.Pin{Hash: "oci:" + first.String()}}
	for i := range 2 {
		o.served = nil
		p, err := newClient(t, Options{Cache: cache}, s).Fetch(t.Context(), tofu, call)
		if err != nil || p.Hash != call.Pin.Hash || mainOf(t, p) != "# one" {
			t.Fatalf("Fetch = %+v, %v", p, err)
		}
		if asked := strings.Join(o.served, "\n"); strings.Contains(asked, "1.0.0") || (asked == "") != (i == 1) {
			t.Errorf("time %d: the registry was asked %q, want no tag, and nothing with a cache", i, o.served)
		}
	}
	p, err := newClient(t, Options{Cache: cache}, s).Fetch(t.Context(), tofu, scan.Call{Source: source})
	if err != nil || p.Hash != "oci:"+second.String() {
		t.Errorf("hash = %q, %v; want that of the tag", p.Hash, err)
	}
	// A registry that has another manifest under the digest.
	o.manifests[first.String()] = o.manifests[second.String()]
	if p, err := newClient(t, Options{}, s).Fetch(t.Context(), tofu, call); err == nil || p.FS != nil {
		t.Errorf("Fetch from a lying registry = %v, %v", p, err)
	}
	// A registry that has other bytes of the layer.
	o.manifests[first.String()] = nil
	o.add(t, "1.0.0", layer)
	o.blobs[layer.Digest] = zipOf(t, member{name: "main.tf", data: "# xxx"})
	_, err = newClient(t, Options{}, s).Fetch(t.Context(), tofu, call)
	wantCode(t, "other bytes", err, problem.CodeBadChecksum)
}

// pinRegistry is a registry on this machine with a git repository and an archive. The
// repository has the tag v1.0.0 on its second commit.
type pinRegistry struct {
	url     string
	archive []byte
	ids     []string // of the commits

	mu    sync.Mutex
	asked []string
}

func startPinRegistry(t *testing.T) *pinRegistry {
	t.Helper()
	dir := t.TempDir()
	r := &pinRegistry{}
	commit := func(says string) map[string]string {
		return map[string]string{"mod/main.tf": "# " + says, "mod/sub/main.tf": "# sub of " + says}
	}
	r.ids = moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{Files: commit("one")}, moduletest.Commit{Tag: "v1.0.0", Files: commit("two")})
	mux := http.NewServeMux()
	mux.Handle("/r.git/", moduletest.Handler(t, dir))
	location := func(module, place string) {
		mux.HandleFunc("GET /v1/acme/"+module+"/aws/versions", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "2.0.0"}]}]}`)
		})
		mux.HandleFunc("GET /v1/acme/"+module+"/aws/{version}/download", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(getHeader, strings.ReplaceAll(place, "HOST", strings.TrimPrefix(r.url, "http://")))
			w.WriteHeader(http.StatusNoContent)
		})
	}
	location("top", "git::http://HOST/r.git?ref=v1.0.0")
	location("part", "git::http://user:s3cret@HOST/r.git//mod?ref=v1.0.0&sshkey=czNjcmV0")
	location("far", "http://HOST/get")
	location("arch", "http://HOST/a?archive=zip&signed=s3cret")
	mux.HandleFunc("GET /get", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(getHeader, "git::"+r.url+"/r.git//mod?ref=v1.0.0")
	})
	mux.HandleFunc("GET /a", func(w http.ResponseWriter, _ *http.Request) { w.Write(r.archive) })
	s := serve(t, func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.URL.Path)
		r.mu.Unlock()
		mux.ServeHTTP(w, req)
	})
	r.url = s.URL
	return r
}

// client is a client for the registry mods.example.
func (r *pinRegistry) client(t *testing.T, opts Options) *Client {
	t.Helper()
	return configured(t, opts, fmt.Sprintf("host \"mods.example\" {\n  services = { \"modules.v1\" = %q }\n}\n", r.url+"/v1"))
}

// questions are the requests to the registry since the last call, without those of git.
func (r *pinRegistry) questions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var questions []string
	for _, path := range r.asked {
		if !strings.HasPrefix(path, "/r.git/") {
			questions = append(questions, path)
		}
	}
	r.asked = nil
	return questions
}

// TestRegistryNamesItsRepository holds that the repository has nothing secret.
func TestRegistryNamesItsRepository(t *testing.T) {
	t.Parallel()
	r := startPinRegistry(t)
	r.archive = zipOf(t, member{name: "main.tf"})
	for source, want := range map[string]string{
		"mods.example/acme/top/aws": "git::" + r.url + "/r.git", "mods.example/acme/top/aws//mod": "git::" + r.url + "/r.git",
		"mods.example/acme/part/aws//sub": "git::" + r.url + "/r.git//mod", "mods.example/acme/far/aws": "", "mods.example/acme/arch/aws": "",
	} {
		if p := hashOf(t, r.client(t, Options{}), source); p.Repository != want || p.Version != "2.0.0" {
			t.Errorf("Fetch(%q) has the repository %q and version %q, want %q", source, p.Repository, p.Version, want)
		}
	}
}

// TestPinnedRegistryModule asks no list, and not the registry if the pin has the repository.
func TestPinnedRegistryModule(t *testing.T) {
	t.Parallel()
	r := startPinRegistry(t)
	hash := "git:" + r.ids[0]
	repository := "git::" + r.url + "/r.git"
	for _, tt := range []struct{ module, from, dir, asked string }{
		{"top/aws//mod/sub", repository, "mod/sub", ""},
		{"part/aws//sub", repository + "//mod", "mod/sub", ""},
		{"part/aws", repository + "//mod", "mod", ""},
		{"far/aws//sub", "", "sub", "/v1/acme/far/aws/1.0.0/download /get"},
	} {
		call := scan.Call{Source: "mods.example/acme/" + tt.module, Version: "~> 1.0", Versioned: true, Pin: scan.Pin{Version: "1.0.0", Package: tt.from, Hash: hash}}
		p := pinnedTo(t, r.client(t, Options{}), call)
		want := map[string]string{"mod": "# one", "mod/sub": "# sub of one", "sub": "# sub of one"}[tt.dir]
		if got := mainOf(t, p); got != want || p.Dir != tt.dir || p.Repository != tt.from {
			t.Errorf("Fetch(%+v) has %q in %q of %q, want %q in %q", call, got, p.Dir, p.Repository, want, tt.dir)
		}
		if asked := strings.Join(r.questions(), " "); asked != tt.asked {
			t.Errorf("Fetch(%+v) asked the registry %q, want %q", call, asked, tt.asked)
		}
	}
}

// TestPinnedRegistryModuleRefuses holds that a lock file opens no door.
func TestPinnedRegistryModuleRefuses(t *testing.T) {
	t.Parallel()
	r := startPinRegistry(t)
	pin := func(from, commit string) scan.Call {
		return scan.Call{Source: "mods.example/acme/top/aws", Pin: scan.Pin{Version: "1.0.0", Package: from, Hash: "git:" + commit}}
	}
	here := func(host string) bool { return host == "mods.example" }
	for name, tt := range map[string]struct {
		call scan.Call
		opts Options
		code problem.Code
		says string
	}{
		"another_host": {pin("git::https://other.example/r.git", r.ids[0]), Options{Contact: here}, problem.CodeUnreadModule, "other.example is not one"},
		"this_disk":    {pin("git::file:///r.git", r.ids[0]), Options{}, problem.CodeUnreadModule, "on the disk of this machine"},
		"no_git":       {pin(r.url+"/a.zip", r.ids[0]), Options{}, problem.CodeInvalidConfig, "no git repository"},
		"a_program":    {pin("git::ext::sh -c x", r.ids[0]), Options{}, problem.CodeUnreadModule, "scheme"},
		"leads_out":    {pin("git::"+r.url+"/r.git//../x", r.ids[0]), Options{}, problem.CodeInvalidConfig, "no git repository"},
		"metadata":     {pin("git::http://169.254.169.254/r.git", r.ids[0]), Options{}, problem.CodeUnreachable, ""},
		"no_commit":    {pin("git::"+r.url+"/r.git", strings.Repeat("1", 40)), Options{}, problem.CodeModuleForeign, "has the commit"},
	} {
		_, err := r.client(t, tt.opts).Fetch(t.Context(), terraform, tt.call)
		if e := wantCode(t, name, err, tt.code); !strings.Contains(e.Error(), tt.says) {
			t.Errorf("%s: %v, want it to say %q", name, e, tt.says)
		}
		if asked := r.questions(); len(asked) > 0 {
			t.Errorf("%s: the registry was asked %q", name, asked)
		}
	}
}

// TestPinnedRegistryArchive asks the registry for the address of the version alone, and
// downloads nothing that the cache has.
func TestPinnedRegistryArchive(t *testing.T) {
	t.Parallel()
	r, cache := startPinRegistry(t), t.TempDir()
	good, bad := dirHash(t, map[string]string{"main.tf": "# good"}), dirHash(t, map[string]string{"main.tf": "# bad"})
	call := scan.Call{Source: "mods.example/acme/arch/aws", Version: "> 1", Versioned: true, Pin: scan.Pin{Version: "1.0.0", Hash: good}}
	r.archive = zipOf(t, member{name: "main.tf", data: "# bad"})
	wantMoved(t, r.client(t, Options{Cache: cache}), terraform, call, bad)
	r.archive = zipOf(t, member{name: "main.tf", data: "# good"})
	for _, want := range []string{"/v1/acme/arch/aws/1.0.0/download /a", "/v1/acme/arch/aws/1.0.0/download"} {
		r.questions()
		if p := pinnedTo(t, r.client(t, Options{Cache: cache}), call); mainOf(t, p) != "# good" || p.Repository != "" {
			t.Errorf("main.tf = %q of %q", mainOf(t, p), p.Repository)
		}
		if asked := strings.Join(r.questions(), " "); asked != want {
			t.Errorf("the registry was asked %q, want %q", asked, want)
		}
	}
}

// TestPinnedServedArchive compares an archive that OpenTofu's registries serve themselves.
func TestPinnedServedArchive(t *testing.T) {
	t.Parallel()
	body := zipOf(t, member{name: "main.tf", data: "# one"}, member{name: "LICENSE", data: "free"})
	var s string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/download") {
			fmt.Fprintf(w, `{"location": "%s/served", "use_registry_credentials": true}`, s)
			return
		}
		w.Write(body)
	})
	s = server.URL
	c := configured(t, Options{}, fmt.Sprintf("host \"mods.example\" {\n  services = { \"modules.v1\" = %q }\n}\n", s+"/v1"))
	call := scan.Call{Source: "mods.example/acme/net/aws", Pin: scan.Pin{Version: "1.0.0", Hash: dirHash(t, map[string]string{"main.tf": "# one", "LICENSE": "free"})}}
	p, err := c.Fetch(t.Context(), tofu, call)
	if err != nil || p.Hash != call.Pin.Hash || mainOf(t, p) != "# one" {
		t.Errorf("Fetch = %+v, %v", p, err)
	}
	now := call.Pin.Hash
	call.Pin.Hash = "h1:x"
	wantMoved(t, c, tofu, call, now)
}

// TestLatestIsNotPinned holds that a newer tag is read as such.
func TestLatestIsNotPinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Tag: "v1.0.0", Files: text("one")}, moduletest.Commit{Tag: "v1.1.0", Files: text("two")})
	c := newClient(t, Options{AllowLocal: true})
	call := scan.Call{Source: "git::file://" + dir + "/r.git?ref=v1.0.0", Pin: scan.Pin{Hash: "git:" + ids[0]}}
	newest, _, err := c.Latest(t.Context(), terraform, call)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Fetch(t.Context(), terraform, newest); err != nil || mainOf(t, p) != "# two" {
		t.Errorf("Fetch(%+v) = %v", newest, err)
	}
}
