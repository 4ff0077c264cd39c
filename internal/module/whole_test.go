package module

import (
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// wholeOf are the files of a whole package: x for one with the x bit, -> for a link, / for a
// directory, and the content.
func wholeOf(t *testing.T, c *Client, tool provider.Tool, call scan.Call) map[string]string {
	t.Helper()
	w, err := c.Whole(t.Context(), tool, call)
	if err != nil {
		t.Fatalf("Whole(%q) = %v", call.Source, err)
	}
	files := map[string]string{}
	err = w.Files(func(m Member, content io.Reader) error {
		text, err := io.ReadAll(content)
		switch {
		case m.Mode.IsDir():
			files[m.Name] = "/"
		case m.Mode&fs.ModeSymlink != 0:
			files[m.Name] = "-> " + m.Target
		case m.Mode&0o111 != 0:
			files[m.Name] = "x " + string(text)
		default:
			files[m.Name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if got[name] != want[name] {
				t.Errorf("%s is %.80q, want %.80q", name, got[name], want[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[name]; !ok {
				t.Errorf("%s is missing", name)
			}
		}
	}
}

// savedIn are the whole packages in a cache.
func savedIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+wholeFile))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestWholeGit fetches all files of a commit with one request for objects, and never again.
func TestWholeGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib := moduletest.Repository(t, filepath.Join(dir, "lib.git"), moduletest.Commit{Files: map[string]string{"a.txt": "lib"}})
	var s string
	var fetches atomic.Int64
	git := moduletest.Handler(t, dir, "uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/r.git/git-upload-pack") {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "command=fetch") {
				fetches.Add(1)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		git.ServeHTTP(w, r)
	})
	s = server.URL
	large := strings.Repeat("0123456789abcdef", 200_000)
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{
		Tag:         "v1",
		Executables: map[string]string{"bin/run.sh": "#!/bin/sh\n"},
		Links:       map[string]string{"link": "main.tf", "out": "../x"},
		Modules:     map[string]string{"vendor/lib": lib[0], "none": lib[0]},
		Files: map[string]string{
			"main.tf": "# main\n", "crlf.txt": "a\r\nb\r\n", "large.bin": large, ".gitattributes": "crlf.txt text eol=lf\nhidden export-ignore\n", "hidden": "h",
			".gitmodules": "[submodule \"l\"]\n\tpath = vendor/lib\n\turl = ../lib.git\n[submodule \"n\"]\n\tpath = none\n\turl = ../lib.git\n\tupdate = none\n",
		},
	})
	cache := t.TempDir()
	call := scan.Call{Source: "git::" + s + "/r.git//bin?ref=v1", Pin: scan.Pin{Hash: "git:" + ids[0]}}
	want := map[string]string{
		"bin/run.sh": "x #!/bin/sh\n", "link": "-> main.tf", "out": "-> ../x", "vendor/lib/a.txt": "lib", "none": "/",
		"main.tf": "# main\n", "crlf.txt": "a\r\nb\r\n", "large.bin": large, "hidden": "h",
	}
	for i := range 2 {
		c := newClient(t, Options{Whole: true, Cache: cache, Silent: i == 1}, server)
		p := pinnedTo(t, c, call)
		got := wholeOf(t, c, terraform, call)
		for _, name := range []string{".gitattributes", ".gitmodules"} {
			if got[name] == "" {
				t.Errorf("%s is missing", name)
			}
			delete(got, name)
		}
		wantFiles(t, got, want)
		if p.Dir != "bin" || p.Hash != call.Pin.Hash || fetches.Load() != 1 {
			t.Errorf("Fetch = %q of %q after %d fetches, want bin of %q after one", p.Dir, p.Hash, fetches.Load(), call.Pin.Hash)
		}
	}
	foreign := call
	foreign.Pin.Hash = "git:" + lib[0]
	_, err := newClient(t, Options{Whole: true, Cache: cache}, server).Whole(t.Context(), terraform, foreign)
	wantCode(t, "a commit of another repository", err, problem.CodeModuleForeign)
	if left := savedIn(t, cache); len(left) != 1 {
		t.Errorf("the cache has %v, want one package", left)
	}
}

// TestWholeArchive takes what the tools unpack: of two files at one path the last one, and for
// links files.
func TestWholeArchive(t *testing.T) {
	t.Parallel()
	members, files := manyFiles()
	good := dirHash(t, files)
	lies := false
	var at string
	served := map[string][]byte{"/a.zip": zipOf(t, members...), "/a.tar.gz": gzipOf(t, tarOf(t, members...))}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/get":
			w.Header().Set(getHeader, at+"/a.zip//docs")
		case lies:
			w.Write(zipOf(t, member{name: "main.tf", data: "# other"}))
		default:
			w.Write(served[r.URL.Path])
		}
	})
	at = s.URL
	for name, target := range map[string]string{"/a.zip": "main.tf", "/a.tar.gz": ""} {
		c := newClient(t, Options{Whole: true, Cache: t.TempDir()}, s)
		got := wholeOf(t, c, terraform, scan.Call{Source: s.URL + name, Pin: scan.Pin{Hash: good}})
		for place, text := range map[string]string{
			"main.tf": "# new", "docs": "/", "docs/README.md": "text", "empty": "/", "rooted/a.bin": "\x00\x01", "was": "a file", "caf\xe9.md": "latin",
		} {
			if got[place] != text {
				t.Errorf("%s of %s is %q, want %q", place, name, got[place], text)
			}
		}
		if link := strings.TrimPrefix(got["link.tf"], "x "); link != target {
			t.Errorf("link.tf of %s has %q, want %q", name, link, target)
		}
	}
	cache := t.TempDir()
	part := scan.Call{Source: s.URL + "/get", Pin: scan.Pin{Hash: good}}
	for i := range 2 {
		wantFiles(t, wholeOf(t, newClient(t, Options{Whole: true, Cache: cache, Silent: i == 1}, s), terraform, part), map[string]string{"README.md": "text"})
	}
	lies, cache = true, t.TempDir()
	_, err := newClient(t, Options{Whole: true, Cache: cache}, s).Whole(t.Context(), terraform, scan.Call{Source: s.URL + "/a.zip", Pin: scan.Pin{Hash: good}})
	wantCode(t, "another archive", err, problem.CodeModuleMoved)
	if left := savedIn(t, cache); len(left) > 0 {
		t.Errorf("the cache has %v, want nothing", left)
	}
}

func TestWholeStore(t *testing.T) {
	t.Parallel()
	f := newFakeS3(t)
	s := serve(t, f.ServeHTTP)
	call := scan.Call{Source: "s3::" + s.URL + "/modules/dir" + keysInURL}
	call.Pin.Hash = hashOf(t, newClient(t, Options{}, s), call.Source).Hash
	want := map[string]string{}
	for name, text := range f.objects {
		if place, ok := strings.CutPrefix(name, "dir/"); ok && !strings.HasSuffix(name, "/") {
			want[place] = text
		}
	}
	got := wholeOf(t, newClient(t, Options{Whole: true, Cache: t.TempDir()}, s), terraform, call)
	maps.DeleteFunc(got, func(_, text string) bool { return text == "/" })
	wantFiles(t, got, want)
}

func TestWholeOCI(t *testing.T) {
	t.Parallel()
	o := &ociRepository{blobs: map[digest.Digest][]byte{}, manifests: map[string][]byte{}}
	sum := o.add(t, "1.0.0", o.layer(layerType, zipOf(t, member{name: "main.tf", data: "# one"}, member{name: "bin/a", data: "a"})))
	s := serveTLS(t, o.ServeHTTP)
	call := scan.Call{Source: "oci://" + s.Listener.Addr().String() + "/acme/net?tag=1.0.0", Pin: scan.Pin{Hash: "oci:" + sum.String()}}
	cache, want := t.TempDir(), map[string]string{"main.tf": "# one", "bin/a": "a"}
	for i := range 2 {
		wantFiles(t, wholeOf(t, newClient(t, Options{Whole: true, Cache: cache, Silent: i == 1}, s), tofu, call), want)
	}
	if _, err := newClient(t, Options{Whole: true, Cache: t.TempDir()}, s).Whole(t.Context(), terraform, call); err == nil {
		t.Error("Terraform gets a package of an OCI registry, which it cannot fetch")
	}
}

// TestWholeIsDamaged cuts and changes a package in the cache: it is fetched again.
func TestWholeIsDamaged(t *testing.T) {
	t.Parallel()
	data := zipOf(t, member{name: "main.tf", data: "# main"}, member{name: "x.bin", data: strings.Repeat("x", 4000)})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(data) })
	cache := t.TempDir()
	call := scan.Call{Source: s.URL + "/a.zip", Pin: scan.Pin{Hash: hashOf(t, newClient(t, Options{}, s), s.URL+"/a.zip").Hash}}
	want := wholeOf(t, newClient(t, Options{Whole: true, Cache: cache}, s), terraform, call)
	name := savedIn(t, cache)[0]
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{
		"empty": nil, "short": good[:len(good)/2], "its end is missing": good[:len(good)-1], "a byte more": append(slices.Clip(good), 0),
		"changed": []byte(strings.Replace(string(good), "# main", "# MAIN", 1)),
	} {
		writeFile(t, name, string(damaged), 0o600)
		if _, err := newClient(t, Options{Whole: true, Cache: cache, Silent: true}, s).Whole(t.Context(), terraform, call); err == nil {
			t.Errorf("%s: the package is taken", what)
		}
		wantFiles(t, wholeOf(t, newClient(t, Options{Whole: true, Cache: cache}, s), terraform, call), want)
		if now, err := os.ReadFile(name); err != nil || string(now) != string(good) {
			t.Errorf("%s: the cache has another file after the repair, %v", what, err)
		}
	}
}
