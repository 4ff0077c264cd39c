package module

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/scan"
)

// dirHash is the hash of a directory with these files, by the code that the tools use.
func dirHash(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := dir + "/" + name // not cleaned
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, text, 0o644)
	}
	sum, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// hashOf fetches a source and asks for its hash.
func hashOf(t *testing.T, c *Client, source string) scan.Package {
	t.Helper()
	p, err := c.Fetch(t.Context(), terraform, scan.Call{Source: source, Hash: true})
	if err != nil {
		t.Fatalf("Fetch(%q) = %v", source, err)
	}
	return p
}

// TestGitHash names the commit, also for a package of the cache that is older than hashes.
func TestGitHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"), moduletest.Commit{Tag: "v1.0.0", Files: map[string]string{"a/main.tf": "# one"}})
	cache := t.TempDir()
	source := "git::file://" + dir + "/r.git//a?ref="
	c := newClient(t, Options{AllowLocal: true, Cache: cache})
	p := fetch(t, c, source+"v1.0.0")
	c.cache.save(contents{fs: p.FS, id: p.ID}, p.ID)
	for _, ref := range []string{"v1.0.0", ids[0], "main"} {
		c := newClient(t, Options{AllowLocal: true, Cache: cache})
		if p := fetch(t, c, source+ref); p.Hash != "git:"+ids[0] || p.Repository != "" || c.Packages() != 0 {
			t.Errorf("Fetch of %s has the hash %q and repository %q, want git:%s and none, from the cache", ref, p.Hash, p.Repository, ids[0])
		}
	}
}

// manyFiles are members of an archive, and the files of the directory that they become. A
// link counts as an empty file.
func manyFiles() ([]member, map[string]string) {
	return []member{
			{name: "main.tf", data: "# old"}, {name: "./main.tf", data: "# new"}, {name: "docs", dir: true}, {name: "docs/README.md", data: "text"},
			{name: "empty", dir: true}, {name: "/rooted/a.bin", data: "\x00\x01"}, {name: `a\b.tf`, data: "# one name"},
			{name: "caf\xe9.md", data: "latin"}, {name: "caf\xe9/a.tf", data: "latin"}, {name: "large.txt", data: strings.Repeat("x", 1<<20)},
			{name: "link.tf", link: "main.tf"}, {name: "out", link: "/etc/passwd"}, {name: "dir", link: "docs"},
			{name: "was", link: "docs"}, {name: "was", data: "a file"}, {name: "becomes", data: "a file"}, {name: "becomes", link: "docs/README.md"},
		}, map[string]string{
			"main.tf": "# new", "docs/README.md": "text", "rooted/a.bin": "\x00\x01", `a\b.tf`: "# one name",
			"caf\xe9.md": "latin", "caf\xe9/a.tf": "latin", "large.txt": strings.Repeat("x", 1<<20),
			"link.tf -> main.tf": "", "out -> /etc/passwd": "", "dir -> docs": "", "was": "a file", "becomes -> docs/README.md": "",
		}
}

// TestArchiveHash hashes all files of an archive as it is unpacked, and keeps no others than
// without a hash.
func TestArchiveHash(t *testing.T) {
	t.Parallel()
	members, files := manyFiles()
	want := dirHash(t, files)
	served := map[string][]byte{"/a.zip": zipOf(t, members...), "/a.tar": tarOf(t, members...), "/a.tar.gz": gzipOf(t, tarOf(t, members...))}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(served[r.URL.Path])
	})
	for name := range served {
		c := newClient(t, Options{}, s)
		p, plain := hashOf(t, c, s.URL+name), fetch(t, newClient(t, Options{}, s), s.URL+name)
		if p.Hash != want || plain.Hash != "" {
			t.Errorf("%s has the hash %q, and %q where none is wanted; want %q and none", name, p.Hash, plain.Hash, want)
		}
		if got, want := strings.Join(names(t, p.FS), " "), strings.Join(names(t, plain.FS), " "); got != want || p.ID != plain.ID {
			t.Errorf("%s with a hash = %q of %q, want %q of %q as without", name, got, p.ID, want, plain.ID)
		}
		if part := hashOf(t, c, s.URL+name+"//docs"); part.Hash != want || c.Packages() != 1 {
			t.Errorf("a directory of %s has the hash %q after %d fetches, want that of the whole after one", name, part.Hash, c.Packages())
		}
	}
}

// TestPartHash holds that the directory that a server refers to has the hash of the archive.
func TestPartHash(t *testing.T) {
	t.Parallel()
	var s string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/get" {
			w.Header().Set(getHeader, s+"/a.zip//docs")
			return
		}
		w.Write(zipOf(t, member{name: "docs/main.tf", data: "# docs"}, member{name: "LICENSE", data: "free"}))
	})
	s = server.URL
	p := hashOf(t, newClient(t, Options{}, server), s+"/get")
	if want := dirHash(t, map[string]string{"docs/main.tf": "# docs", "LICENSE": "free"}); p.Hash != want || mainOf(t, p) != "# docs" {
		t.Errorf("hash = %q, want %q", p.Hash, want)
	}
}

// TestStoreHash reads all objects of a directory for its hash, and otherwise only those that
// are kept.
func TestStoreHash(t *testing.T) {
	t.Parallel()
	s3, google := newFakeS3(t), newFakeGoogle(t)
	ofS3, ofGoogle := serve(t, s3.ServeHTTP), serve(t, google.ServeHTTP)
	below := func(objects map[string]string) map[string]string {
		files := map[string]string{}
		for name, text := range objects {
			if place, ok := strings.CutPrefix(name, "dir/"); ok && !strings.HasSuffix(name, "/") {
				files[place] = text
			}
		}
		return files
	}
	for name, tt := range map[string]struct {
		client  func() *Client
		base    string
		query   string
		objects map[string]string
		asked   *[]string
		inZip   map[string]string
	}{
		"s3": {func() *Client { return newClient(t, Options{}, ofS3) }, "s3::" + ofS3.URL + "/modules/", keysInURL, s3.objects, &s3.asked, map[string]string{"top/main.tf": "# zip"}},
		"gcs": {func() *Client { return withGoogle(t, ofGoogle, ownToken) }, "www.googleapis.com/storage/v1/modules/", "", google.objects, &google.asked,
			map[string]string{"main.tf": "# zip"}},
	} {
		readsAll := func() bool { return strings.Contains(strings.Join(*tt.asked, "\n"), "README") }
		plain := fetch(t, tt.client(), tt.base+"dir"+tt.query)
		if plain.Hash != "" || readsAll() {
			t.Errorf("%s: without a wish there is the hash %q, and the store was asked %q", name, plain.Hash, *tt.asked)
		}
		p := hashOf(t, tt.client(), tt.base+"dir"+tt.query)
		if want := dirHash(t, below(tt.objects)); p.Hash != want || p.ID != plain.ID || !readsAll() {
			t.Errorf("%s: hash of the directory = %q with ID %q, want %q with %q", name, p.Hash, p.ID, want, plain.ID)
		}
		if p, want := hashOf(t, tt.client(), tt.base+"a.zip"+tt.query), dirHash(t, tt.inZip); p.Hash != want {
			t.Errorf("%s: hash of the archive = %q, want %q", name, p.Hash, want)
		}
	}
}

// TestDiskHasNoHash holds that only git repositories on this machine have a hash.
func TestDiskHasNoHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir+"/a.zip", string(zipOf(t, member{name: "main.tf"})), 0o600)
	for _, source := range []string{dir, dir + "/a.zip"} {
		if p := hashOf(t, newClient(t, Options{AllowLocal: true}), source); p.Hash != "" {
			t.Errorf("%s has the hash %q", source, p.Hash)
		}
	}
}

// TestHashIsBounded holds that files that are read only for the hash count like kept ones.
func TestHashIsBounded(t *testing.T) {
	t.Parallel()
	file := func(name, text string) packed {
		return packed{name: name, open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	}
	made := newFilling(archiveForm{hashed: true})
	made.unpacked = maxUnpacked - 6
	for _, e := range []packed{file("a.md", "12"), file("a.tf", "34"), file("a.md", "56")} {
		if err := made.entry(e); err != nil {
			t.Errorf("entry %s within the budget: %v", e.name, err)
		}
	}
	for _, name := range []string{"b.md", "b.tf"} {
		if err := made.entry(file(name, "7")); !errors.Is(err, errUnpacked) {
			t.Errorf("entry %s beyond the budget = %v, want %v", name, err, errUnpacked)
		}
	}
	for says, data := range map[string][]byte{
		"line break":   tarOf(t, member{name: "a\nb.md"}),
		"target of":    tarOf(t, member{name: "a.md", link: strings.Repeat("x", maxTarget+1)}),
		"target of ":   zipOf(t, member{name: "a.md", link: strings.Repeat("x", maxTarget+1)}),
		"names of its": longNames(t),
	} {
		kind := "tar"
		if bytes.HasPrefix(data, []byte("PK")) {
			kind = "zip"
		}
		got, err := unpack(t.Context(), io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), archiveForm{kind: kind, hashed: true})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("unpack = %v, %v; want an error that says %q", got, err, says)
		}
	}
	// Data that entries share is refused only if it is read.
	data := bytes.ReplaceAll(shared(t, 2), []byte("a.tf"), []byte("a.md"))
	if _, err := unpackBytes("zip", data); err != nil {
		t.Errorf("unpack without a hash = %v", err)
	}
	got, err := unpack(t.Context(), io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), archiveForm{kind: "zip", hashed: true})
	if err == nil || !strings.Contains(err.Error(), "share their data") {
		t.Errorf("unpack with a hash = %v, %v; want an error", got, err)
	}
}

// longNames is a tar archive of files whose names are too long together.
func longNames(t *testing.T) []byte {
	t.Helper()
	members := make([]member, maxNames/(1<<19)/2+1)
	for i := range members {
		members[i] = member{name: fmt.Sprint(strings.Repeat("x", 1<<19), i)}
	}
	return tarOf(t, members...)
}

// TestCacheKeepsHashes holds that a package of the cache has its hash, and that one from
// before hashes is fetched again only where its hash is wanted.
func TestCacheKeepsHashes(t *testing.T) {
	t.Parallel()
	body := zipOf(t, member{name: "main.tf", data: "# sum"}, member{name: "README.md", data: "text"})
	want := dirHash(t, map[string]string{"main.tf": "# sum", "README.md": "text"})
	sum := sha256.Sum256(body)
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Write(body)
	})
	cache := t.TempDir()
	source := s.URL + "/a.zip?checksum=sha256:" + hex.EncodeToString(sum[:])
	for i, step := range []struct {
		hash  bool
		asked int64
	}{{false, 1}, {false, 1}, {true, 2}, {true, 2}, {false, 2}} {
		p, err := newClient(t, Options{Cache: cache}, s).Fetch(t.Context(), terraform, scan.Call{Source: source, Hash: step.hash})
		if err != nil || mainOf(t, p) != "# sum" || step.hash && p.Hash != want || asked.Load() != step.asked {
			t.Errorf("step %d: hash %q, %v after %d requests; want %q after %d", i, p.Hash, err, asked.Load(), want, step.asked)
		}
	}
}
